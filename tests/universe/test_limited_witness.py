"""Costliest tables within public bounds: searched, and compared with a list of all tables."""

from collections.abc import Iterable
from functools import cache

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.universe.designs import at_most, bounded_margins, in_order, random_design, two_way

from holdfast.system.errors import GuaranteeError
from holdfast.universe import limited, limited_witness
from holdfast.universe import semi_adjacency as module
from holdfast.universe.bounds import AdjacencyBound
from holdfast.universe.limited import ordered_bound, readings
from holdfast.universe.limits import Limits
from holdfast.universe.semi_adjacency import semi_adjacency
from holdfast.universe.tables import conforming_tables
from holdfast.universe.universe import Universe


@pytest.fixture
def unlisted(monkeypatch: pytest.MonkeyPatch) -> None:
    """No universe is listed."""
    limited.listed.cache_clear()
    limited.one_limited_table.cache_clear()
    monkeypatch.setattr(limited, "CELLS", 0)


@cache
def margins(seed: int) -> Universe:
    return bounded_margins(seed)


@cache
def truth(universe: Universe) -> tuple[int, int]:
    tables = conforming_tables(universe, 3000)
    return readings(tables) if len(tables) > 1 else (0, 0)


def agree_with_a_list(universes: Iterable[Universe]) -> None:
    limited_ones = [universe for universe in universes if universe.limits is not None]
    assert len(limited_ones) > 30
    for universe in limited_ones:
        found = semi_adjacency(universe)
        assert found.exact
        assert (found.worst_case, found.literal) == truth(universe), universe


@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.usefixtures("unlisted")
def test_margins_within_bounds_agree_with_a_list(bounded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not bounded:
        monkeypatch.setattr(module, "limited_bound", lambda *_: None)
    agree_with_a_list(map(margins, range(56)))


@pytest.mark.usefixtures("unlisted")
def test_random_designs_agree_with_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "limited_bound", lambda *_: None)
    agree_with_a_list(random_design(seed).universe for seed in range(56))


@pytest.mark.parametrize("places", [4, 67])
def test_cases_and_deaths_take_two_records(places: int) -> None:
    x = np.array([[42, 3], [120, 9], [7, 0], [31, 2]] + [[5, 1]] * (places - 4))[None]
    found = semi_adjacency(in_order(x))
    assert (found.worst_case, found.literal, found.exact, found.searched) == (2, 2, True, False)


@pytest.mark.parametrize("seed", range(30))
def test_the_bound_of_cells_in_order_holds(seed: int) -> None:
    draw = np.random.default_rng(seed)
    levels = 2 + seed % 2
    shape = (1 + seed % 4 // 2 if levels == 2 else 1, 2, levels)
    universe = in_order(-np.sort(-draw.integers(0, 3, shape), axis=2))
    if universe.limits is None or universe.met:
        return  # some order is implied, or an equation
    bound = ordered_bound(universe, universe.limits)
    assert bound is not None
    assert bound.value >= truth(universe)[0]


@pytest.mark.parametrize(
    ("x", "worst"), [([[[2, 2], [1, 0]]], 2), ([[[3, 2, 1], [1, 0, 0]]], 3), ([[[2, 1], [1, 0]]] * 2, 3)]
)
def test_the_bound_of_cells_in_order_is_attained(x: list[list[list[int]]], worst: int) -> None:
    universe = in_order(np.array(x))
    assert universe.limits is not None
    assert ordered_bound(universe, universe.limits) == AdjacencyBound(worst, "theory, 2")
    assert truth(universe)[0] == worst


@pytest.mark.parametrize(
    ("rows", "least"),
    [
        ([[1, -1, 0, 0]], [0]),  # one place alone is in order
        ([[1, -1, 0, 0], [0, 0, 1, -1]], [0, -1]),
        ([[1, -2, 0, 0], [0, 0, 1, -1]], [0, 0]),
        ([[1, -1, 0, 0], [0, 0, -1, 1]], [0, 0]),  # one upside down
        ([[1, -1, 0, 0], [0, -1, 1, 0]], [0, 0]),  # one below two
    ],
)
def test_other_bounds_are_not_taken_for_orders(rows: list[list[int]], least: list[int]) -> None:
    totals = np.array([[1, 0, 1, 0], [0, 1, 0, 1]])
    bounds = Limits(csr_array(np.array(rows)), np.array(least))
    universe = Universe.of(csr_array(totals), np.array([5, 3]), limits=bounds)
    assert ordered_bound(universe, bounds) is None


def test_larger_tables_are_searched() -> None:
    bits = Universe.of(
        csr_array(two_way(5, 5)), np.array([2, 1, 1, 2, 1, 2, 1, 1, 2, 1]), limits=at_most(25, 1)
    )
    found = semi_adjacency(bits)
    assert (found.worst_case, found.literal, found.exact, found.searched) == (4, 2, True, True)


def test_beyond_the_work_limit_a_bound_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    bits = Universe.of(
        csr_array(two_way(5, 5)), np.array([2, 1, 1, 2, 1, 2, 1, 1, 2, 1]), limits=at_most(25, 1)
    )
    monkeypatch.setattr(limited_witness, "WORK", 100_000)
    found = semi_adjacency(bits)
    assert (found.worst_case, found.exact) == (6, False)
    monkeypatch.setattr(module, "limited_bound", lambda *_: None)
    with pytest.raises(GuaranteeError, match="within these inequalities is out of reach"):
        semi_adjacency(bits)
