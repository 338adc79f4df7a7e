from collections.abc import Callable

import numpy as np

from holdfast.programs.solver import UNBOUNDED
from holdfast.universe.tables import capacities
from holdfast.universe.universe import Universe

Design = Callable[..., Universe]


def test_rows_bound_their_cells(rows: Design) -> None:
    assert capacities(rows([[1, 2, 0], [1, 0, 1]], [1, 2, 1])).tolist() == [2, 2, 2]


def test_a_difference_bounds_nothing_alone(rows: Design) -> None:
    assert capacities(rows([[1, -1]], [3, 1])).tolist() == [UNBOUNDED, UNBOUNDED]


def test_a_difference_and_a_weighted_sum_bound_together(rows: Design) -> None:
    bound = capacities(rows([[1, -1, 0], [0, 1, 1]], [3, 1, 0]))
    assert bound.tolist() == [3, 1, 1]


def test_cells_in_no_row_are_unbounded(rows: Design) -> None:
    assert capacities(rows([[1, 0]], [3, 1])).tolist() == [3, UNBOUNDED]


def test_bounds_hold_for_patterns(margins: Design) -> None:
    assert capacities(margins(np.ones((2, 3)), [(0,)])).tolist() == [3, 3]
