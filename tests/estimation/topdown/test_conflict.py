"""What contradicts: a set that does, none of which can be left out."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from holdfast.estimation.topdown.conflict import Constraint, UnmetError, conflict
from holdfast.programs.solver import UNBOUNDED

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
