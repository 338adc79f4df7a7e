"""What contradicts: a set that does, none of which can be left out."""

from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array
from tests.estimation.hierarchy.families import conflict

from holdfast.estimation.hierarchy.conflict import Constraint, UnmetError
from holdfast.programs.solver import UNBOUNDED

Table = NDArray[np.int64]
TOTAL = csr_array(np.ones((1, 3), dtype=np.int64))


def test_what_agrees_has_none() -> None:
    assert conflict(np.array([3, 4, 5]), children=2) is None
    assert conflict(np.array([3, 4, 5]), children=2, invariants=TOTAL, values=np.array([[5], [7]])) is None


def test_totals_that_do_not_add_up_need_every_total_and_count() -> None:
    found = conflict(np.array([3, 4, 5]), children=2, invariants=TOTAL, values=np.array([[5], [8]]))
    assert found is not None
    assert {(each.kind, each.child, each.place) for each in found} == {
        *(("parent", -1, cell) for cell in range(3)),
        *(("invariant", child, 0) for child in range(2)),
    }


def test_a_bound_and_a_count_among_many_that_agree() -> None:
    low = np.zeros((4, 3), dtype=np.int64)
    low[[0, 2, 3], [1, 1, 0]] = 3, 2, 1
    high = np.full((4, 3), UNBOUNDED)
    high[1] = 7
    found = conflict(np.array([3, 4, 5]), children=4, low=low, high=high)
    assert found == (
        Constraint("least", 1, 0, 3),
        Constraint("least", 1, 2, 2),
        Constraint("parent", 1, -1, 4),
    )


def test_nothing_of_a_set_can_be_left_out() -> None:
    generator = np.random.default_rng(0)
    seen = 0
    for _ in range(20):
        parent = generator.integers(0, 5, 3)
        low, high = generator.integers(0, 2, (3, 3)), generator.integers(1, 4, (3, 3))
        values = generator.integers(0, 6, (3, 1))
        found = conflict(parent, children=3, invariants=TOTAL, values=values, low=low, high=high)
        if found is None:
            continue
        seen += 1
        for left_out in found:
            assert not without(left_out, found)
        assert without(None, found)
    assert seen > 10


def without(one: Constraint | None, found: tuple[Constraint, ...]) -> bool:
    """Whether the set contradicts without one of its constraints, by another solver."""
    kept = [each for each in found if each != one]
    low, high, rows, sums = np.zeros((3, 3)), np.full((3, 3), np.inf), [], []
    for each in kept:
        row = np.zeros((3, 3))
        if each.kind == "least":
            low[each.child, each.place] = each.value
        elif each.kind == "most":
            high[each.child, each.place] = each.value
        elif each.kind == "parent":
            row[:, each.place] = 1
        else:
            row[each.child] = 1
        if row.any():
            rows.append(row.ravel())
            sums.append(each.value)
    constraints = [LinearConstraint(np.array(rows), sums, sums)] if rows else []
    bounds = Bounds(low.ravel(), high.ravel())
    if (low > high).any():
        return True
    return bool(
        milp(
            np.zeros(9), integrality=np.ones(9, dtype=np.int64), bounds=bounds, constraints=constraints
        ).status
        == 2
    )


def test_parity_that_only_fractions_keep_is_a_conflict() -> None:
    triangle = csr_array(np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]]))
    found = conflict(
        np.array([9, 9, 9]), children=2, invariants=triangle, values=np.array([[1, 1, 1], [9, 9, 9]])
    )
    assert found is not None
    assert len(found) >= 3


def test_the_sentence_names_each() -> None:
    error = UnmetError((Constraint("most", 1, 0, 3), Constraint("parent", 1, -1, 4)))
    assert str(error) == (
        "no counts of the children keep at most 3 in cell 1 of child 0, the parent's count 4 of cell 1 at"
        " once: correct one of these."
    )


def test_ranges_take_part() -> None:
    ranges = csr_array(np.array([[1, 1, 0], [0, 0, 1]]))
    least, most = np.array([[2, 0], [3, 1]]), np.array([[9, UNBOUNDED], [UNBOUNDED, 9]])
    assert conflict(np.array([3, 2, 5]), children=2, ranges=ranges, least=least, most=most) is None
    found = conflict(np.array([3, 1, 5]), children=2, ranges=ranges, least=least, most=most)
    assert found == (
        Constraint("parent", 0, -1, 3),
        Constraint("parent", 1, -1, 1),
        Constraint("range least", 0, 0, 2),
        Constraint("range least", 0, 1, 3),
    )
    low = np.zeros((2, 3), dtype=np.int64)
    low[1, 2] = 10
    found = conflict(np.array([9, 9, 99]), children=2, low=low, ranges=ranges, least=least, most=most)
    assert found == (Constraint("least", 2, 1, 10), Constraint("range most", 1, 1, 9))
    assert "at most 9 in range 1 of child 1" in str(UnmetError(found))


def test_nothing_of_a_set_with_ranges_can_be_left_out() -> None:
    generator = np.random.default_rng(1)
    seen = 0
    for _ in range(15):
        parent = generator.integers(0, 5, 3)
        ranges = csr_array(generator.integers(0, 2, (2, 3)))
        least = generator.integers(0, 4, (2, 2))
        most = least + generator.integers(0, 2, (2, 2))
        found = conflict(parent, children=2, ranges=ranges, least=least, most=most)
        possible = _listed(parent, ranges, least, most, None)
        assert (found is None) == possible
        if found is not None:
            seen += 1
            assert not _listed(parent, ranges, least, most, found)
            for left_out in found:
                assert _listed(parent, ranges, least, most, tuple(each for each in found if each != left_out))
    assert seen > 5


def _listed(
    parent: Table, ranges: csr_array, least: Table, most: Table, some: tuple[Constraint, ...] | None
) -> bool:
    """Whether counts of two children up to 9 keep all constraints, or some of them."""
    asked = {(each.kind, each.child, each.place) for each in some or ()}
    points = np.array(list(product(range(10), repeat=3)))
    sums = points @ ranges.toarray().T
    kept = []
    for child in range(2):
        low = [some is None or ("range least", child, row) in asked for row in range(2)]
        high = [some is None or ("range most", child, row) in asked for row in range(2)]
        kept.append(
            points[
                ((sums >= least[child]) | ~np.array(low)).all(axis=1)
                & ((sums <= most[child]) | ~np.array(high)).all(axis=1)
            ]
        )
    cells = [some is None or ("parent", -1, cell) in asked for cell in range(3)]
    if not len(kept[0]) or not len(kept[1]):
        return False
    added = kept[0][:, None, :] + kept[1][None, :, :]
    return bool(((added == parent) | ~np.array(cells)).all(axis=2).any())
