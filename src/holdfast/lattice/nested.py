"""Rows of which any two are nested or disjoint, as the totals of a geography at all its levels.

What a row has beyond those inside of it are columns of its own: its *part*. Parts share no column, so nothing
has to be solved for: a row without a part is the sum of those next inside, and all others are independent.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csc_array, csr_array

from holdfast.lattice.arrays import BoolArray, IntArray

RowCombination = dict[int, int]
"""Coefficients by row; all others are 0."""


@dataclass(frozen=True, eq=False)
class Nested:
    """A family of nested rows of a matrix, many of them; those with others inside are rows of ones.

    Attributes:
        taken: for each row whether it is one of them.
        outer: for each row the next one around it, -1 where there is none.
        owner: for each column the innermost row that holds it, -1 where there is none.
        entry: for each column the entry of its owner.

    """

    taken: BoolArray
    outer: IntArray
    owner: IntArray
    entry: IntArray

    @classmethod
    def none(cls, part: csc_array) -> "Nested":
        """Return no rows of a matrix."""
        rows, columns = (np.full(size, -1, dtype=np.int64) for size in part.shape)
        return cls(np.zeros(rows.size, dtype=np.bool_), rows, columns, columns.copy())

    @classmethod
    def of(cls, part: csc_array) -> "Nested":
        """Take short rows first, and each that holds those before it wholly or not at all."""
        by_row, found = csr_array(part), cls.none(part)
        starts, length = by_row.indptr, np.diff(by_row.indptr)
        plain = (
            np.bincount(np.repeat(np.arange(length.size), length)[by_row.data != 1], minlength=length.size)
            == 0
        )
        outermost = found.owner.copy()
        for row in np.argsort(length, kind="stable")[np.count_nonzero(length == 0) :].tolist():
            here = slice(starts[row], starts[row + 1])
            columns, entries = by_row.indices[here], by_row.data[here]
            around = outermost[columns]
            if around.max() >= 0:
                held, times = np.unique(around[around >= 0], return_counts=True)
                if not (plain[row] and plain[held].all() and np.array_equal(times, length[held])):
                    continue
                found.outer[held] = row
                outermost[columns] = row
                columns, entries = columns[around < 0], entries[around < 0]
            found.taken[row] = True
            found.owner[columns], found.entry[columns], outermost[columns] = row, entries, row
        return found

    @property
    def cover(self) -> IntArray | None:
        """Return disjoint rows of ones that add up to all columns; None where there are none."""
        if (self.owner < 0).any() or (self.entry != 1).any():
            return None
        return np.flatnonzero(self.taken & (self.outer < 0))

    @cached_property
    def parts(self) -> IntArray:
        """The rows with columns of their own."""
        return np.unique(self.owner[self.owner >= 0])

    @property
    def own(self) -> csr_array:
        """What each row with columns of its own has of these, one a column."""
        held = np.flatnonzero(self.owner >= 0)
        places = held, np.searchsorted(self.parts, self.owner[held])
        return csr_array((self.entry[held], places), shape=(self.owner.size, self.parts.size))

    def beyond(self, row: int) -> RowCombination:
        """Return a row less those next inside of it."""
        order, ends = self._inside
        inside = order[ends[row] : ends[row + 1]]
        return {row: 1, **dict.fromkeys(inside.tolist(), -1)}

    def values_beyond(self, values: IntArray) -> IntArray:
        """Return the value of each row less those of the rows next inside of it."""
        left, inner = values.copy(), np.flatnonzero(self.outer >= 0)
        np.subtract.at(left, self.outer[inner], values[inner])
        return left

    @cached_property
    def _inside(self) -> tuple[IntArray, IntArray]:
        """The rows by the row next around them, and where those of each begin."""
        order = np.argsort(self.outer, kind="stable")
        return order, np.searchsorted(self.outer[order], np.arange(self.outer.size + 1))


def nested_counts(columns: csr_array, values: IntArray) -> IntArray | None:
    """Return the whole x with C x = values where all rows of a square matrix C are nested, else None."""
    if columns.shape[0] != columns.shape[1]:
        return None
    nested = Nested.of(csc_array(columns))
    if not nested.taken.all() or (nested.owner < 0).any() or nested.parts.size < columns.shape[0]:
        return None
    left = nested.values_beyond(values)[nested.owner]
    counts, rest = np.divmod(left, nested.entry)
    return None if rest.any() else np.asarray(counts, dtype=np.int64)
