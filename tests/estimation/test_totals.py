"""Groups with one sum have the optimum of the general program; crossing margins go through the dual."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from tests.estimation.hierarchy.independent import solution

from holdfast.estimation.conforming import Conforming, Structure
from holdfast.estimation.integers import _nearest, integers_l1, tie_weights
from holdfast.estimation.l2 import nonnegative_l2, real_l2
from holdfast.programs.quadratic.squares import float_bounds
from holdfast.system.errors import DataError
from holdfast.testing.goodness import two_way

NESTED = np.array(
    [
        [1, 1, 1, 1, 1, 1, 1, 0, 0],  # all but the free cells
        [1, 1, 1, 0, 0, 0, 0, 0, 0],
        [0, 1, 1, 0, 0, 0, 0, 0, 0],  # within the second
        [0, 0, 0, 1, 1, 0, 0, 0, 0],
    ]
)
DISJOINT = np.array([[1, 1, 1, 1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 0, 0]])


def by_program(conforming: Conforming) -> Conforming:
    """Return the same set, all of it one block of the general program."""
    return Conforming(
        conforming.rows,
        conforming.low,
        conforming.high,
        conforming.least,
        conforming.most,
        Structure(conforming.rows, np.zeros(conforming.rows.shape[0], dtype=np.bool_)),
    )


def nearest(target: NDArray[np.float64], block: Conforming) -> NDArray[np.float64]:
    """Return the nearest point of a block by another solver."""
    sides = (float_bounds(side) for side in (block.low, block.high, block.least, block.most))
    every = csr_array(np.eye(target.size))
    return solution(every, target, np.ones(target.size), block.rows, *sides)[0]


def test_nested_rows_are_disjoint_sums() -> None:
    structure = Conforming.of(csr_array(NESTED), np.array([20, 9, 4, 6])).structure
    groups = structure.groups
    found = {tuple(groups.cells[groups.of == g].tolist()) for g in range(groups.starts.size)}
    assert found == {(5, 6), (0,), (1, 2), (3, 4)}
    sums = groups.sums(np.array([20, 9, 4, 6]))
    assert sums is not None
    assert dict(zip(groups.rows.tolist(), sums.tolist(), strict=True)) == {0: 5, 1: 5, 2: 4, 3: 6}
    assert structure.blocks == ()


def test_rows_that_cross_and_what_they_touch_are_left_to_programs() -> None:
    rows = np.array([[1, 1, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0], [1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 0]])
    structure = Conforming.of(csr_array(rows), np.array([1, 1, 2, 3])).structure
    assert structure.groups.cells.tolist() == [3, 4]
    ((block, _),) = structure.blocks
    assert (block.cells.tolist(), block.rows.tolist()) == ([0, 1, 2], [0, 1, 2])
    weighted = Conforming.of(csr_array(np.array([[1, 2, 0], [0, 0, 1]])), np.array([4, 1])).structure
    assert weighted.groups.cells.tolist() == [2]


@pytest.mark.parametrize("matrix", [NESTED, DISJOINT], ids=["nested", "disjoint"])
@pytest.mark.parametrize("bounded", [False, True])
def test_the_optimum_is_that_of_the_program(matrix: NDArray[np.int64], bounded: bool) -> None:
    generator = np.random.default_rng(5)
    for trial in range(25):
        table = generator.integers(0, 6, matrix.shape[1])
        bounds = {}
        if bounded:
            least = np.maximum(table - generator.integers(0, 3, table.size), 0)
            bounds = {"least": least, "most": table + generator.integers(0, 3, table.size)}
        conforming = Conforming.of(csr_array(matrix), matrix @ table, **bounds)
        noise = generator.integers(-20, 21, table.size)
        target = table + (noise // 4 if trial % 2 else noise / 4)
        general, weights = by_program(conforming), tie_weights(np.asarray(target, dtype=np.float64))
        found, other = integers_l1(target, conforming), integers_l1(target, general)
        assert conforming.holds(found)
        assert np.abs(found - target).sum() == np.abs(other - target).sum()
        assert found @ weights == other @ weights
        real = real_l2(target, conforming)
        expected = np.clip(target, conforming.least, conforming.most).astype(np.float64)
        for cells, block in general.blocks():
            expected[cells] = nearest(np.asarray(target, dtype=np.float64)[cells], block)
        assert np.abs(real - expected).max() < 1e-6
        grid = nonnegative_l2(target, conforming)
        assert conforming.times(grid.scale).holds(grid.numerators)
        assert np.abs(grid.values - real).max() <= 2e-6


def test_crossing_margins_have_the_point_of_the_program() -> None:
    dense = two_way(4, 5)
    matrix = csr_array(dense)
    generator = np.random.default_rng(3)
    for _ in range(20):
        table = generator.poisson(2, 20)
        target = (table + generator.integers(-6, 7, 20)).astype(np.float64)
        conforming = Conforming.of(matrix, dense @ table)
        ((cells, block),) = conforming.blocks()
        found = real_l2(target, conforming)
        assert np.abs(found - nearest(target, block)).max() < 1e-6
        assert np.abs(dense @ found - dense @ table).max() < 5e-9  # of five counts in nine digits
        assert cells.tolist() == list(range(20))
        assert conforming.holds(_nearest(target, block, tie_weights(target)))


def test_no_point_is_no_answer() -> None:
    matrix = csr_array(np.ones((1, 3), dtype=np.int64))
    crossing = csr_array(np.array([[1, 1, 0], [0, 1, 1]]))
    with pytest.raises(DataError, match="no table keeps"):
        real_l2(np.zeros(3), Conforming.of(crossing, np.array([9, 9]), most=np.array([1, 1, 1])))
    for values, most in (([-1], None), ([9], np.array([2, 2, 2]))):
        conforming = Conforming.of(matrix, np.array(values), most=most)
        for method in (integers_l1, real_l2):
            with pytest.raises(DataError, match="no table keeps"):
                method(np.zeros(3), conforming)


def test_contradicting_nested_rows_are_found() -> None:
    rows = csr_array(np.array([[1, 1, 1], [1, 1, 0], [0, 0, 1]]))
    with pytest.raises(DataError, match="no table keeps"):
        integers_l1(np.zeros(3), Conforming.of(rows, np.array([5, 2, 2])))


def test_large_counts_and_open_bounds_do_not_overflow() -> None:
    matrix = csr_array(np.ones((1, 5000), dtype=np.int64))
    conforming = Conforming.of(matrix, np.array([2**52]))
    found = integers_l1(np.zeros(5000), conforming)
    assert int(found.sum()) == 2**52
    assert np.count_nonzero(found) == 1
