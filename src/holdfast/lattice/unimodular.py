"""Total unimodularity: all minors of a matrix are -1, 0 or 1.

The rows of a 0/1 matrix that split into two laminar families (any two sets of a family are nested
or disjoint) form a totally unimodular matrix [edmonds1970], [schrijver1986, 19.3]. One-way margins
of two features and two nested hierarchies are of this kind.
"""

from itertools import combinations
from math import comb

import numpy as np
from scipy.sparse import coo_array, csc_array, csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.components import canonical, linked_rows, patterns
from holdfast.lattice.exact import to_flint

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
