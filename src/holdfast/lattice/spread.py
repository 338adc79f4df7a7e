"""A matrix whose columns stand many times each, held by its distinct ones.

The totals of states are rows over millions of cells, and have one column for each state and cell of a node:
all blocks of a state look alike. What is asked of such a matrix is mostly asked of its columns, so it is
only written out for those who need every entry.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray


@dataclass(frozen=True, eq=False)
class SpreadColumns:
    """Columns of a matrix over runs of cells: each run has the same columns again and again.

    Attributes:
        columns: rows by runs and columns of a run, the runs first.
        times: how often each run repeats its columns, one after the other.

    """

    columns: csr_array
    times: IntArray

    @property
    def width(self) -> int:
        """The number of columns of a run."""
        return int(self.columns.shape[1]) // max(self.times.size, 1)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows, and of cells."""
        return int(self.columns.shape[0]), int(self.times.sum()) * self.width

    @property
    def each(self) -> IntArray:
        """How many cells each column has."""
        return np.repeat(self.times, self.width)

    @property
    def of_cell(self) -> IntArray:
        """The column of each cell."""
        run = np.repeat(np.arange(self.times.size), self.times)
        return (run[:, None] * self.width + np.arange(self.width)).ravel()

    @cached_property
    def expanded(self) -> csr_array:
        """The matrix, every entry of it."""
        indices = np.concatenate([np.zeros(0, dtype=np.int64), *(cells for cells, _ in self.rows())])
        data = np.concatenate([np.zeros(0, dtype=np.int64), *(entries for _, entries in self.rows())])
        return csr_array((data, indices, self.indptr), shape=self.shape)

    def rows(self) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the cells of each row in order, and its entries there."""
        begins, width = np.cumsum(self.times) - self.times, self.width
        for row in range(self.columns.shape[0]):
            own = slice(self.columns.indptr[row], self.columns.indptr[row + 1])
            order = np.argsort(self.columns.indices[own], kind="stable")
            run, place = np.divmod(self.columns.indices[own][order].astype(np.int64), width)
            entries = self.columns.data[own][order]
            parts, values = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
            starts = np.flatnonzero(np.diff(run, prepend=-1))
            for begin, end in zip(starts, np.append(starts[1:], run.size), strict=False):
                some, number = slice(begin, end), run[begin]
                node = np.arange(self.times[number]) + begins[number]
                parts.append((node[:, None] * width + place[some]).ravel())
                values.append(np.tile(entries[some], node.size))
            yield np.concatenate(parts), np.concatenate(values)

    def first_cells(self) -> tuple[IntArray, IntArray]:
        """Return the rows that have a cell, and the first one of each."""
        some = np.diff(self.columns.indptr) > 0
        parts = np.split(self.columns.indices, self.columns.indptr[1:-1])
        first = np.array([cells.min() for cells in parts if cells.size])
        run, place = np.divmod(first.astype(np.int64), self.width)
        begins = np.cumsum(self.times) - self.times
        return np.flatnonzero(some), begins[run] * self.width + place

    @property
    def indptr(self) -> IntArray:
        """Where the entries of each row begin, and where the last ones end."""
        added = np.concatenate([[0], np.cumsum(self.each[self.columns.indices])])
        return added[self.columns.indptr]

    def cells(self, columns: IntArray) -> "SpreadCells":
        """Return the cells of some columns, those of one column after those of another."""
        run, place = np.divmod(columns.astype(np.int64), self.width)
        begins = np.cumsum(self.times) - self.times
        return SpreadCells(begins[run] * self.width + place, self.times[run], self.width)


@dataclass(frozen=True, eq=False)
class SpreadCells:
    """The cells of some columns that stand many times, read where they are needed: nothing of them is kept.

    Attributes:
        first: the first cell of each column.
        times: how many cells each has.
        step: how far its cells are apart.
        rows: how many rows of equal length they make, as components that are alike do.

    """

    first: IntArray
    times: IntArray
    step: int
    rows: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows, and of cells of each."""
        return self.rows, self.size // self.rows

    @cached_property
    def size(self) -> int:
        """The number of cells."""
        return int(self.times.sum())

    @cached_property
    def _ends(self) -> IntArray:
        return np.cumsum(self.times)

    def part(self, begin: int, end: int) -> IntArray:
        """Return the cells from one to before another, where rows follow each other."""
        low, high = np.searchsorted(self._ends, (begin, end - 1), side="right").tolist()
        ends = self._ends[low : high + 1]
        place = np.arange(begin, end)
        column = np.repeat(np.arange(low, high + 1), np.diff(np.minimum(ends, end), prepend=begin))
        found: IntArray = self.first[column] + (place - (self._ends - self.times)[column]) * self.step
        return found

    def all(self) -> IntArray:
        """Return all cells, row by row."""
        return self.part(0, self.size).reshape(self.shape)

    @classmethod
    def joined(cls, each: "Sequence[SpreadCells]", *, rows: int = 1) -> "SpreadCells":
        """Return the cells of several, one after the other."""
        first, times = np.hstack([(one.first, one.times) for one in each])
        return cls(first, times, each[0].step, rows)


def expanded(matrix: csr_array | SpreadColumns) -> csr_array:
    """Return a matrix with every entry of it."""
    return matrix.expanded if isinstance(matrix, SpreadColumns) else matrix
