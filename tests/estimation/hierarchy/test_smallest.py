"""A smallest set of constraints that contradict, against all sets of them."""

from itertools import combinations, product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.estimation.hierarchy import smallest
from holdfast.estimation.hierarchy.smallest import ConstrainedCounts
from holdfast.programs.solver import UNBOUNDED


def asked(rows: object, least: object, most: object, links: object = None) -> ConstrainedCounts:
    matrix = csr_array(np.array(rows, dtype=np.int64))
    linked = np.zeros((0, matrix.shape[1]), dtype=np.int64) if links is None else np.array(links)
    sides = np.array(least, dtype=np.int64), np.array(most, dtype=np.int64)
    return ConstrainedCounts(csr_array(linked), matrix, *sides, np.zeros(matrix.shape[0], dtype=np.bool_))


TOTALS = [[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]
"""A total, two sums of the first kind and two of the second one."""


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (0, 3, 4, 1, 2), (4, 3, 2, 1, 0)])
def test_two_numbers_are_told_wherever_others_contradict_as_well(order: tuple[int, ...]) -> None:
    values = [257, 258, 0, 3, 4]
    rows, known = [TOTALS[each] for each in order], [values[each] for each in order]
    found = asked(rows, known, known).smallest()
    assert found is not None
    assert {order[each] for each in found.tolist()} == {0, 1}


def test_numbers_beyond_the_reach_of_the_solver_are_told_by_exact_sums() -> None:
    nation = 331_000_000
    values = [nation, nation - 5, 6, 3, 4]
    found = asked(TOTALS, values, values).smallest()
    assert found is not None
    assert found.tolist() in ([0, 1, 2], [0, 3, 4])
    values = [nation, nation - 5, 5, nation - 7, 7]
    assert asked(TOTALS, values, values).smallest() is None


def test_what_agrees_has_none() -> None:
    assert asked(TOTALS, [7, 3, 4, 2, 5], [7, 3, 4, 2, 5]).smallest() is None


def test_links_are_always_kept() -> None:
    """The first count is the sum of the others, which nobody could give up."""
    found = asked(np.eye(3), [5, -UNBOUNDED, -UNBOUNDED], [UNBOUNDED, 2, 2], [[1, -1, -1]]).smallest()
    assert found is not None
    assert found.tolist() == [0, 1, 2]


def test_of_two_sets_of_one_size_the_one_with_fewer_bounds_is_told() -> None:
    base = asked([[1], [1], [1]], [3, -UNBOUNDED, 4], [3, 2, 4])
    for bounds, expected in (([False, True, False], [0, 2]), ([False, False, True], [0, 1])):
        found = ConstrainedCounts(base.links, base.rows, base.least, base.most, np.array(bounds)).smallest()
        assert found is not None
        assert found.tolist() == expected


def test_no_set_of_fewer_contradicts() -> None:
    generator = np.random.default_rng(0)
    points = np.array(list(product(range(6), repeat=3)))
    seen = set()
    for _ in range(40):
        rows = generator.integers(0, 2, (7, 3))
        least = generator.integers(0, 5, 7)
        most = np.where(generator.integers(0, 2, 7) == 1, 15, least + generator.integers(0, 2, 7))
        sums = points @ rows.T
        kept = (sums >= least) & (sums <= most)
        found = asked(rows, least, most).smallest()
        size = fewest(kept)
        assert (None if found is None else found.size) == size
        if found is not None:
            assert not kept[:, found].all(axis=1).any()
            seen.add(size)
    assert {1, 2, 3} <= seen


def fewest(kept: NDArray[np.bool_]) -> int | None:
    """Return how many columns at least have no row with all of them, None where no columns are so."""
    for size in range(1, kept.shape[1] + 1):
        for some in combinations(range(kept.shape[1]), size):
            if not kept[:, list(some)].all(axis=1).any():
                return size
    return None


def test_without_work_to_spend_none_of_the_set_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smallest, "WORK", 0)
    values = np.array([257, 258, 0, 3, 4])
    system = asked(TOTALS, values, values)
    found = system.smallest()
    assert found is not None
    assert system.contradict(found)
    for each in found.tolist():
        assert not system.contradict(found[found != each])
