"""What each sum says of its cells at once, and what is left of a system of sums when that is taken in.

For a row low <= sum of y_j <= high over whole y_j in [least_j, most_j], each y_k is at least low - sum of the
other most_j, and at most high - sum of the other least_j. Such bounds are passed on until nothing moves.
Cells that are settled then leave the system, and so do rows that follow from the bounds on their cells.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.programs.solver import UNBOUNDED

PASSES = 200
"""Bounds that still move then are good enough to begin with: programs find the rest."""


class ContradictionError(ValueError):
    """No table has all the published numbers."""


@dataclass(frozen=True, eq=False)
class SumSystem:
    """Whole y with low <= M y <= high and least <= y <= most; M has zeros and ones."""

    matrix: csr_array
    low: IntArray
    high: IntArray
    least: IntArray
    most: IntArray

    @classmethod
    def of(cls, matrix: csr_array, low: IntArray, high: IntArray) -> "SumSystem":
        """Return a system in which every y is only known to be no less than 0."""
        count = matrix.shape[1]
        none = np.full(count, UNBOUNDED)
        return cls(csr_array(matrix), low, high, np.zeros(count, dtype=np.int64), none)

    def part(self, rows: IntArray, columns: IntArray) -> "SumSystem":
        """Return the rows and columns at some places."""
        inner = csr_array(csr_array(self.matrix[rows])[:, columns])
        return SumSystem(inner, self.low[rows], self.high[rows], self.least[columns], self.most[columns])


@dataclass(frozen=True, eq=False)
class RowEnds:
    """Sums over rows of numbers that may be UNBOUNDED: what is finite, and how many are not."""

    finite: IntArray
    open: IntArray

    @classmethod
    def of(cls, matrix: csr_array, ends: IntArray) -> "RowEnds":
        """Return the sum of each row."""
        far = ends == UNBOUNDED
        return cls(matrix @ np.where(far, 0, ends), matrix @ far.astype(np.int64))

    @property
    def values(self) -> IntArray:
        """The sums, UNBOUNDED where a part is."""
        return np.where(self.open > 0, UNBOUNDED, self.finite)


def propagated(sums: SumSystem) -> SumSystem:
    """Return the same points within bounds on columns and rows that follow from each other."""
    matrix = sums.matrix
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    column = matrix.indices
    least, most = sums.least.copy(), sums.most.copy()
    low, high = sums.low.copy(), sums.high.copy()
    for _ in range(PASSES):
        below, above = matrix @ least, RowEnds.of(matrix, most)
        np.maximum(low, below, out=low)
        np.minimum(high, above.values, out=high)
        if (low > high).any() or (least > most).any():
            raise ContradictionError
        far = most[column] == UNBOUNDED
        others_open = above.open[row] - far > 0
        others = above.finite[row] - np.where(far, 0, most[column])
        needed = np.where(others_open, 0, low[row] - others)
        room = np.where(high[row] == UNBOUNDED, UNBOUNDED, high[row] - (below[row] - least[column]))
        before = least, most
        least, most = least.copy(), most.copy()
        np.maximum.at(least, column, needed)
        np.minimum.at(most, column, room)
        if np.array_equal(before[0], least) and np.array_equal(before[1], most):
            break
    if (least > most).any():
        raise ContradictionError
    return SumSystem(matrix, low, high, least, most)


@dataclass(frozen=True, eq=False)
class Reduced:
    """A system without settled columns and rows that follow; ``columns`` and ``rows`` are what is left."""

    sums: SumSystem
    columns: IntArray
    rows: IntArray


def reduced(sums: SumSystem) -> Reduced:
    """Return what bounds leave open; the bounds must have been propagated."""
    matrix = sums.matrix
    free: BoolArray = sums.least < sums.most
    columns = np.flatnonzero(free)
    fixed = matrix @ np.where(free, 0, sums.least)
    implied_low = matrix @ sums.least >= sums.low
    implied_high = RowEnds.of(matrix, sums.most).values <= sums.high
    rows = np.flatnonzero(~(implied_low & implied_high) & (matrix @ free.astype(np.int64) > 0))
    inner = csr_array(csr_array(matrix[rows])[:, columns])
    low = sums.low[rows] - fixed[rows]
    high = np.where(sums.high[rows] == UNBOUNDED, UNBOUNDED, sums.high[rows] - fixed[rows])
    return Reduced(SumSystem(inner, low, high, sums.least[columns], sums.most[columns]), columns, rows)
