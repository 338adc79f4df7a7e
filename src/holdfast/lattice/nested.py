"""Rows of which any two are nested or disjoint, as the totals of a geography at all its levels.

What a row has beyond those inside of it are columns of its own: its *part*. Parts share no column, so nothing
has to be solved for: a row without a part is the sum of those next inside, and all others are independent.

**Total unimodularity**: all minors of a matrix are -1, 0 or 1. The rows of a 0/1 matrix that split into two
laminar families (any two sets of a family are nested or disjoint) form a totally unimodular matrix
[edmonds1970], [schrijver1986, 19.3]. One-way margins of two features and two nested hierarchies are of this
kind.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np
from scipy.sparse import coo_array, csc_array, csr_array

from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.lattice.components import canonical, linked_rows, patterns
from holdfast.lattice.kernel import to_flint

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


MINORS = 20_000  # decide by all minors up to this many
PAIRS = 20_000_000  # compare rows that share columns up to this many pairs of entries


def is_totally_unimodular(matrix: csr_array) -> bool | None:
    """Return whether the matrix is totally unimodular; None when it is not known."""
    # equal columns and equal rows change no minor but 0
    distinct = patterns(csr_array(patterns(matrix).columns.T)).columns.T.tocsr()
    distinct = csr_array(distinct)
    if distinct.nnz and int(np.abs(distinct.data).max()) > 1:
        return False
    binary = distinct.nnz == 0 or int(distinct.data.min()) >= 0
    per_column = np.bincount(distinct.indices, minlength=distinct.shape[1])
    if binary and int((per_column**2).sum()) <= PAIRS and _two_laminar_families(distinct):
        return True
    return _all_minors_small(distinct.toarray()) if _few_minors(*distinct.shape) else None


def _two_laminar_families(matrix: csr_array) -> bool:
    """Whether the rows fall into two sides, such that none cross within one.

    They do exactly when no row is on both sides of a path of crossings: in a graph with two copies of every
    row, where each crossing leads from one copy to the other.
    """
    common = coo_array(canonical(matrix) @ canonical(matrix).T)
    size = np.asarray(matrix.sum(axis=1)).ravel()
    smaller = np.minimum(size[common.row], size[common.col])
    crossing = (common.data > 0) & (common.data < smaller)
    one, other, count = common.row[crossing], common.col[crossing], matrix.shape[0]
    edges = np.column_stack([one, other + count]).ravel(), np.arange(0, 2 * one.size + 1, 2)
    label = linked_rows(csc_array((np.ones(2 * one.size), *edges), shape=(2 * count, one.size)))
    return not bool((label[:count] == label[count:]).any())


def _few_minors(rows: int, columns: int) -> bool:
    """Whether all square submatrices can be looked at."""
    minors = 0
    for k in range(2, min(rows, columns) + 1):
        minors += comb(rows, k) * comb(columns, k)
        if minors > MINORS:
            return False
    return True


def _all_minors_small(dense: IntArray) -> bool:
    """Whether every square submatrix has determinant -1, 0 or 1."""
    rows, columns = dense.shape
    return all(
        abs(int(to_flint(dense[np.ix_(some, others)]).det())) <= 1
        for k in range(2, min(rows, columns) + 1)
        for some in combinations(range(rows), k)
        for others in combinations(range(columns), k)
    )
