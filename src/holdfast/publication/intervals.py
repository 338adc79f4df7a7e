"""The least and the largest value of every cell, or of asked sums of cells, beside published numbers.

The cells are whole and not negative, and each published number is an interval for a sum of them [theory, 15].
Cells that no sum tells apart are taken together; blocks that share no sum are settled each by itself:

    nested sums        two passes over their tree, at any size [holdfast, publication/laminar.py]
    one-way margins    exact ones of a full product have the bounds of Frechet [holdfast,
    universe/exposure.py] any other          bounds are passed on, and what is left open is taken apart again;
                       then programs that share their work [holdfast, programs/extremes.py]
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, eye_array, vstack

from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.lattice.components import canonical, components, linked_rows, patterns
from holdfast.lattice.product import product_features
from holdfast.programs.extremes import Extremes, NoPointError
from holdfast.programs.solver import UNBOUNDED
from holdfast.publication.bounds import ContradictionError, SumSystem, propagated, reduced
from holdfast.publication.laminar import tightened, tree_of
from holdfast.system.progress import steps
from holdfast.universe.exposure import frechet


@dataclass(frozen=True, eq=False)
class SumIntervals:
    """The least and the largest value of each of many sums, UNBOUNDED where there is none.

    Where not ``exact`` the interval contains the true one.
    """

    low: IntArray
    high: IntArray
    exact: BoolArray

    @property
    def width(self) -> IntArray:
        """The largest less the least value."""
        return np.where(self.high == UNBOUNDED, UNBOUNDED, self.high - self.low)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Published numbers: an interval for each of some sums of cells."""

    matrix: csr_array
    low: IntArray
    high: IntArray

    def some(self, rows: IntArray) -> "Numbers":
        """Return the numbers at some places."""
        return Numbers(csr_array(self.matrix[rows]), self.low[rows], self.high[rows])

    def without(self, *rows: int) -> "Numbers":
        """Return the numbers but for some."""
        kept = np.ones(self.low.size, dtype=np.bool_)
        kept[list(rows)] = False
        return self.some(np.flatnonzero(kept))


def intervals(numbers: Numbers, asked: csr_array | None = None) -> SumIntervals:
    """Return the interval of every cell, or of the asked sums; raises ContradictionError without a table."""
    matrix, low, high = numbers.matrix, numbers.low, numbers.high
    rows = matrix.shape[0]
    if asked is not None:
        matrix = csr_array(vstack([matrix, asked], format="csr"))
        low = np.concatenate([low, np.zeros(asked.shape[0], dtype=np.int64)])
        high = np.concatenate([high, np.full(asked.shape[0], UNBOUNDED)])
    kinds = patterns(matrix)
    found = _Search(SumSystem.of(kinds.columns, low, high), rows, kinds.size == 1)
    found.settle()
    if asked is not None:
        return SumIntervals(found.low, found.high, found.exact)
    alone = kinds.size[kinds.of_cell] == 1
    return SumIntervals(
        np.where(alone, found.low[kinds.of_cell], 0), found.high[kinds.of_cell], found.exact[kinds.of_cell]
    )


class _Search:
    """The intervals of the columns of a system, or of those of its rows that are asked about."""

    def __init__(self, sums: SumSystem, numbers: int, alone: BoolArray) -> None:
        """Take a system whose first rows are numbers; all others, if there are any, are asked about."""
        self._sums, self._numbers, self._alone = sums, numbers, alone
        self._of_cells = numbers == sums.low.size
        count = alone.size if self._of_cells else sums.low.size - numbers
        self.low = np.zeros(count, dtype=np.int64)
        self.high = np.full(count, UNBOUNDED)
        self.exact = np.ones(count, dtype=np.bool_)

    def settle(self) -> None:
        """Settle what is nested, and then each block that is not."""
        sums = self._sums
        by_column = canonical(sums.matrix)
        label = linked_rows(by_column)
        _, crossing = tree_of(sums.matrix)
        crossed = np.zeros(label.size, dtype=np.bool_)
        crossed[label[crossing]] = True
        crossed = crossed[label]
        tied = np.diff(by_column.indptr) > 0
        hard_columns = np.zeros(by_column.shape[1], dtype=np.bool_)
        hard_columns[tied] = crossed[by_column.indices[by_column.indptr[:-1][tied]]]
        rows, columns = np.flatnonzero(~crossed), np.flatnonzero(~hard_columns)
        part = sums.part(rows, columns)
        self._take(tightened(part, tree_of(part.matrix)[0]), rows, columns)
        if crossed.any():
            self._hard(np.flatnonzero(crossed), np.flatnonzero(hard_columns))

    def _take(self, settled: SumSystem, rows: IntArray, columns: IntArray) -> None:
        """Take in the exact bounds of some rows and columns."""
        if self._of_cells:
            self.low[columns], self.high[columns] = settled.least, settled.most
            return
        asked = rows >= self._numbers
        places = rows[asked] - self._numbers
        self.low[places], self.high[places] = settled.low[asked], settled.high[asked]

    def _hard(self, rows: IntArray, columns: IntArray) -> None:
        """Settle blocks whose sums cross."""
        part = self._sums.part(rows, columns)
        if self._of_cells:
            products = [block for block in components(part.matrix) if block.cells.size > 1]
            left_rows, left_columns = [rows[:0]], [columns[:0]]
            for block in products:
                closed = self._product(part.part(block.rows, block.cells))
                if closed is None:
                    left_rows.append(rows[block.rows])
                    left_columns.append(columns[block.cells])
                else:
                    self.low[columns[block.cells]], self.high[columns[block.cells]] = closed
            rows, columns = np.concatenate(left_rows), np.concatenate(left_columns)
            part = self._sums.part(rows, columns)
        part = propagated(part)
        inner = reduced(part)
        asked = self._asked(part, rows, columns, inner.columns)
        self._programs(inner.sums, asked, columns[inner.columns])

    def _product(self, block: SumSystem) -> tuple[IntArray, IntArray] | None:
        """Return the closed form of a block of exact one-way margins, None where it is none."""
        if not np.array_equal(block.low, block.high):
            return None
        closed = frechet(block.matrix, block.low)
        if closed is not None:
            totals = {int(one.count.sum()) for one in product_features(block.matrix, block.low) or ()}
            if len(totals) > 1 or (block.low < 0).any():
                raise ContradictionError
        return closed

    def _asked(self, part: SumSystem, rows: IntArray, columns: IntArray, free: IntArray) -> csr_array:
        """Return what is asked of the free columns, after the share of the others was taken in."""
        if self._of_cells:
            self.low[columns], self.high[columns] = part.least, part.most
            return csr_array(eye_array(free.size, dtype=np.int64, format="csr"))
        places = np.flatnonzero(rows >= self._numbers)
        matrix = csr_array(part.matrix[places])
        fixed = part.least.copy()
        fixed[free] = 0
        self._places = rows[places] - self._numbers
        self.low[self._places] = self.high[self._places] = matrix @ fixed
        return csr_array(matrix[:, free])

    def _programs(self, sums: SumSystem, asked: csr_array, columns: IntArray) -> None:
        """Settle what propagated bounds left open, block by block."""
        blocks = components(sums.matrix)
        for block in steps(blocks, "solving for intervals"):
            part = sums.part(block.rows, block.cells)
            if block.rows.size:
                tree, crossing = tree_of(part.matrix)
                nested = not crossing.any()
                part = tightened(part, tree) if nested else part
            else:
                nested = True
            if self._of_cells and nested:
                self.low[columns[block.cells]], self.high[columns[block.cells]] = part.least, part.most
                continue
            inner = csr_array(asked[:, block.cells])
            places = np.flatnonzero(np.diff(inner.indptr))
            if places.size == 0 and nested:
                continue
            self._solve(part, csr_array(inner[places]), places, columns[block.cells])

    def _solve(self, part: SumSystem, asked: csr_array, places: IntArray, columns: IntArray) -> None:
        """Settle the ends of sums over one block by programs, and add them to what is known."""
        low, above = asked @ part.least, asked @ np.where(part.most == UNBOUNDED, 0, part.most)
        high = np.where(asked @ (part.most == UNBOUNDED).astype(np.int64) > 0, UNBOUNDED, above)
        every = np.ones(places.size, dtype=np.bool_)
        wanted = (self._alone[columns] if self._of_cells else every), every
        try:
            search = Extremes(part.matrix, part.low, part.high, part.least, part.most)
            ends = search.ends(asked, low, high, wanted)
        except NoPointError:
            raise ContradictionError from None
        except ArithmeticError:
            ends = None
        exact = np.zeros(places.size, dtype=np.bool_)
        if ends is not None:
            low, high = ends.low, ends.high
            exact = (ends.low_exact | ~wanted[0]) & (ends.high_exact | (high == UNBOUNDED))
        if self._of_cells:
            self.low[columns], self.high[columns], self.exact[columns] = low, high, exact
            return
        target = self._places[places]
        self.low[target] += low
        open_ = (high == UNBOUNDED) | (self.high[target] == UNBOUNDED)
        self.high[target] = np.where(open_, UNBOUNDED, self.high[target] + np.where(open_, 0, high))
        self.exact[target] &= exact
