import random
from collections.abc import Callable
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.linalg import block_diag
from scipy.sparse import csr_array, vstack

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.margins import LevelledAxis, MarginStrategy
from holdfast.lattice.product import AxisMargins
from holdfast.universe import move_programs, separate
from holdfast.universe import sensitivity as module
from holdfast.universe.sensitivity import Sensitivity, sensitivity
from holdfast.universe.universe import Universe

Design = Callable[..., Universe]

DEMO = [[15, 1, 3, 1], [20, 10, 10, 15], [3, 10, 10, 2], [12, 14, 7, 2]]
TWO_WAY = [(0,), (1,)]


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(
    ("table", "cliques", "adjacency", "norms"),
    [
        (DEMO, TWO_WAY, 3, (6, 6, 1)),
        (np.eye(3), TWO_WAY, 3, (6, 6, 1)),
        (np.full((2, 5), 2), TWO_WAY, 3, (4, 4, 1)),
        (np.full((2, 3), 2), [(0,)], 2, (4, 8, 2)),
        (np.eye(3), [(0,)], 2, (4, 4, 1)),
        ([4, 3, 2], [()], 1, (2, 2, 1)),
        (DEMO, TWO_WAY, 0, (0, 0, 0)),
        (DEMO, [(0, 1)], 3, (0, 0, 0)),
        (np.full((3, 3), 4), TWO_WAY, 4, (8, 16, 2)),
    ],
)
def test_known_values(
    margins: Design,
    table: object,
    cliques: object,
    adjacency: int,
    norms: tuple[int, int, int],
    *,
    named: bool,
) -> None:
    found = sensitivity(margins(table, cliques, named=named), adjacency)
    assert found == Sensitivity(*norms, exact=True)


designs = st.tuples(st.integers(1, 3), st.integers(2, 5)).flatmap(
    lambda shape: st.tuples(
        arrays(np.int64, shape, elements=st.sampled_from([0, 0, 1, 1, 2])),
        arrays(np.int64, shape[1], elements=st.integers(0, 2)),
    )
)


def _by_definition(tables: IntArray, adjacency: int) -> Sensitivity:
    one, other = np.triu_indices(len(tables))
    u = tables[one] - tables[other]
    u = u[(u.sum(axis=1) == 0) & (np.abs(u).sum(axis=1) <= 2 * adjacency)]
    return Sensitivity(
        int(np.abs(u).sum(axis=1).max()),
        int((u**2).sum(axis=1).max()),
        int(np.abs(u).max()),
        exact=True,
    )


@settings(max_examples=60, deadline=None)
@given(designs, st.integers(1, 4), st.booleans())
def test_any_rows_against_the_definition(
    design: tuple[IntArray, IntArray], adjacency: int, with_total: bool
) -> None:
    matrix, table = design
    if with_total or not matrix.any(axis=0).all():
        matrix = np.vstack([matrix, np.ones(table.size, dtype=np.int64)])
    while table.sum() > 5:  # keep the enumeration small
        table[np.argmax(table)] -= 1
    values = matrix @ table
    most = max(
        min(values[r] // matrix[r, j] for r in range(len(values)) if matrix[r, j]) for j in range(table.size)
    )
    grid = np.array(list(product(range(most + 1), repeat=table.size)))
    tables = grid[(grid @ matrix.T == values).all(axis=1)]
    expected = _by_definition(tables, adjacency)
    assert sensitivity(Universe.of(csr_array(matrix), values), adjacency) == expected


def test_beyond_reach_bounds_are_returned(margins: Design, monkeypatch: pytest.MonkeyPatch) -> None:
    for room in (module, move_programs):
        monkeypatch.setattr(room, "CLASSES", 0)
    monkeypatch.setattr(move_programs, "UNARY", 0)
    found = sensitivity(margins(np.full((3, 3), 4), TWO_WAY, named=False), 4)
    assert found == Sensitivity(8, 32, 4, exact=False)


BLOCKS = [
    [[1, 1, 1]],
    [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0]],
    [[1, 2, 3], [1, 1, 1]],
    [[1, 2, 3, 3], [1, 1, 1, 1]],
    [[0, 1, 3, 4], [1, 1, 1, 1]],
    [[1, 1]],
    [[1, 0], [1, 1]],
    [[2, 2], [1, 1]],
]
blocks = st.sampled_from(BLOCKS).flatmap(
    lambda rows: st.tuples(
        st.just(np.array(rows)), arrays(np.int64, len(rows[0]), elements=st.integers(0, 2))
    )
)


@settings(max_examples=40, deadline=None)
@given(st.lists(blocks, min_size=2, max_size=4), st.integers(1, 5), st.randoms())
def test_products_against_the_definition(
    parts: list[tuple[IntArray, IntArray]], adjacency: int, order: random.Random
) -> None:
    tables = np.zeros((1, 0), dtype=np.int64)
    for rows, table in parts:
        grid = np.array(list(product(range(table.sum() + 1), repeat=table.size)))
        inside = grid[(grid @ rows.T == rows @ table).all(axis=1)]
        tables = np.hstack([tables.repeat(len(inside), axis=0), np.tile(inside, (len(tables), 1))])
        if len(tables) > 500:
            return
    matrix = block_diag(*[rows for rows, _ in parts])
    places = order.sample(range(tables.shape[1]), tables.shape[1])
    matrix, tables = matrix[:, places], tables[:, places]
    universe = Universe.of(csr_array(matrix), matrix @ tables[0])
    assert sensitivity(universe, adjacency) == _by_definition(tables, adjacency)


@pytest.mark.parametrize("named", [True, False])
def test_many_blocks(margins: Design, *, named: bool) -> None:
    table = np.random.default_rng(1).integers(1, 51, size=(58, 2, 23))
    found = sensitivity(margins(table, [(0, 1), (0, 2)], named=named), 3)
    assert found == Sensitivity(4, 4, 1, exact=True)


@pytest.mark.parametrize(
    ("adjacency", "norms"), [(1, (0, 0, 0)), (2, (4, 4, 1)), (3, (4, 4, 1)), (4, (8, 8, 1)), (5, (8, 8, 1))]
)
def test_two_blocks_move_together(margins: Design, adjacency: int, norms: tuple[int, int, int]) -> None:
    # each of the first two can swap one pair; the third cannot move
    table = [[[1, 0], [0, 1]], [[1, 0], [0, 1]], [[3, 0], [0, 0]]]
    for named in (True, False):
        found = sensitivity(margins(table, [(0, 1), (0, 2)], named=named), adjacency)
        assert found == Sensitivity(*norms, exact=True)


def test_no_block_can_move(margins: Design) -> None:
    found = sensitivity(margins(np.zeros((3, 2, 2)), [(0, 1), (0, 2)]), 2)
    assert found == Sensitivity(0, 0, 0, exact=True)


def test_a_lattice_bound_is_not_that_of_one_table(margins: Design) -> None:
    # the block with the most room cannot use it
    table = [[[3, 0, 9], [0, 0, 9]], [[2, 0, 0], [0, 2, 0]], [[1, 0, 0], [0, 1, 0]]]
    for named in (True, False):
        found = sensitivity(margins(table, [(0, 1), (0, 2)], named=named), 4)
        together = module._together(margins(table, [(0, 1), (0, 2)]), 4, symmetric=True)
        assert found == together


def test_bounds_when_the_blocks_are_too_many_to_solve(
    margins: Design, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(separate, "WORK", 0)
    table = [[[0, 2], [2, 0]], [[1, 0], [0, 1]], [[1, 0], [0, 1]]]
    universe = margins(table, [(0, 1), (0, 2)])
    assert sensitivity(universe, 6) == Sensitivity(12, 16 + 4, 2, exact=False)


def test_too_many_kinds_are_solved_together(margins: Design, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KINDS", 0)
    found = sensitivity(margins([[[1, 0], [0, 1]]] * 2, [(0, 1), (0, 2)]), 4)
    assert found == Sensitivity(8, 8, 1, exact=True)


def test_a_search_that_is_cut_short_gives_the_bound_that_it_reached(
    margins: Design, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above the truth, and below what holds of any table: as the search has proved it until then."""
    counts = np.random.default_rng(0).integers(0, 4, (2, 2, 2, 2))
    universe = margins(counts, list(combinations(range(4), 2)))
    assert sensitivity(universe, 26) == Sensitivity(24, 72, 3, exact=True)
    monkeypatch.setattr(move_programs, "ENTRIES", 1)
    monkeypatch.setattr(move_programs, "LEAST_NODES", 1)
    cut = sensitivity(universe, 26)
    assert not cut.exact
    assert 24 <= cut.l1 < 52
    assert 72 <= cut.l2_squared < cut.l1 * cut.linf


@pytest.mark.parametrize(
    ("shape", "sets", "adjacency"),
    [
        ((6, 2, 2), [{0, 1}, {1, 2}, {0, 2}], 4),
        ((7, 2, 2), [{0, 1}, {0, 2}], 3),
        ((7, 2, 2), [{0}, {1, 2}], 3),
        ((5, 3, 4), [{0, 1}, {2}], 2),
        ((2, 9), [{0}, {1}], 4),
    ],
)
@pytest.mark.parametrize("people", [0, 1, 6])
def test_few_entries_stand_for_all_where_margins_cross(
    shape: tuple[int, ...], sets: list[set[int]], adjacency: int, people: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The norms are those of programs over all tables, and where levels are rare they are left to these."""
    margins = AxisMargins(shape, tuple(map(frozenset, sets)))
    axes = tuple(axis for axis in (LevelledAxis.of(size, ()) for size in shape) if axis is not None)
    readings = [tuple(int(axis in one) for axis in range(len(shape))) for one in sets]
    strategy = MarginStrategy(axes, (), ())
    matrix = csr_array(vstack([strategy.rows(each) for each in readings], format="csr"))
    table = np.random.default_rng(people).poisson(people, int(np.prod(shape)))
    universe = Universe.of(matrix, matrix @ table, margins=margins)
    quick = module._of_margins(universe, adjacency)
    if people == 0:
        assert quick is None or quick.linf == 0
    if people == 6:
        assert quick is not None
    monkeypatch.setattr(module, "_of_margins", lambda *_: None)
    monkeypatch.setattr(module, "_of_product", lambda *_: None)
    slow = sensitivity(universe, adjacency)
    assert slow.exact
    assert quick is None or quick == slow
