"""Where nothing was measured: parts of what is known, else equal parts."""

import numpy as np
import pytest
from tests.estimation.hierarchy.trees import rows

from holdfast.estimation.hierarchy.level import KnownSums, Level, spread

PARENT = np.zeros(2, dtype=np.int64)


def test_without_any_sum_parts_are_equal() -> None:
    found = KnownSums.of(rows(np.zeros((0, 3)))).below(
        np.zeros((2, 0), dtype=np.int64), PARENT, np.array([[4.0, 6, 1]])
    )
    assert found.tolist() == [[2, 3, 0.5], [2, 3, 0.5]]


def test_parts_are_those_of_the_smallest_sum_around_a_cell() -> None:
    sums = rows([[1, 1, 1], [0, 1, 1], [2, 0, 0]])
    found = KnownSums.of(sums).below(np.array([[3, 2, 0], [9, 0, 0]]), PARENT, np.array([[4.0, 6, 1]]))
    assert found.tolist() == [[1, 6, 1], [3, 0, 0]]


def test_a_sum_that_nobody_has_part_in_is_shared_equally() -> None:
    found = KnownSums.of(rows([[1, 1]])).below(np.zeros((2, 1), dtype=np.int64), PARENT, np.array([[0.0, 0]]))
    assert found.tolist() == [[0, 0], [0, 0]]


def test_every_family_has_its_own_parts() -> None:
    parent = np.array([0, 0, 1, 2, 2, 2])
    values = np.array([[1], [3], [7], [0], [5], [5]])
    counts = np.array([[8.0, 4], [7, 0], [6, 4]])
    found = KnownSums.of(rows([[1, 1]])).below(values, parent, counts)
    assert found.tolist() == [[2, 1], [6, 3], [7, 0], [0, 0], [3, 2], [3, 2]]


def test_without_a_parent_the_cells_of_a_sum_share_it() -> None:
    assert KnownSums.of(rows([[1, 1, 0, 0], [1, 1, 1, 0]])).alone(np.array([[6, 9]])).tolist() == [
        [3, 3, 3, 0]
    ]
    assert KnownSums.of(rows(np.zeros((0, 2)))).alone(np.zeros((1, 0), dtype=np.int64)).tolist() == [[0, 0]]


def test_a_level_is_given_what_to_aim_at() -> None:
    level = Level.of("blocks", 2, 2, invariants=rows([[1, 1]]), values=np.array([[1], [3]]))
    found = spread(level, PARENT, np.array([[2, 2]]))
    assert found.queries[0].detailed
    assert found.answers[0] == pytest.approx(np.array([[0.5, 0.5], [1.5, 1.5]]))
