"""Total unimodularity: all minors of a matrix are -1, 0 or 1.

The rows of a 0/1 matrix that split into two laminar families (any two sets of a family are nested
or disjoint) form a totally unimodular matrix [edmonds1970], [schrijver1986, 19.3]. One-way margins
of two features and two nested hierarchies are of this kind.
"""

from itertools import combinations
from math import comb

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from holdfast.lattice.arrays import IntArray, to_flint
from holdfast.lattice.components import canonical, patterns

MINORS = 20_000  # decide by all minors up to this many
ROWS = 5_000  # compare all pairs of rows up to this many


def is_totally_unimodular(matrix: csr_array) -> bool | None:
    """Return whether the matrix is totally unimodular; None when it is not known."""
    # equal columns and equal rows change no minor but 0
    distinct = patterns(csr_array(patterns(matrix).columns.T)).columns.T.tocsr()
    distinct = csr_array(distinct)
    if distinct.nnz and int(np.abs(distinct.data).max()) > 1:
        return False
    binary = distinct.nnz == 0 or int(distinct.data.min()) >= 0
    if binary and distinct.shape[0] <= ROWS and _two_laminar_families(distinct):
        return True
    rows, columns = distinct.shape
    minors = sum(comb(rows, k) * comb(columns, k) for k in range(2, min(rows, columns) + 1))
    return _all_minors_small(distinct.toarray()) if minors <= MINORS else None


def _two_laminar_families(matrix: csr_array) -> bool:
    """Whether the graph of crossing rows has two sides and no edge within one."""
    common = coo_array(canonical(matrix) @ canonical(matrix).T)
    size = np.asarray(matrix.sum(axis=1)).ravel()
    smaller = np.minimum(size[common.row], size[common.col])
    crossing = (common.data > 0) & (common.data < smaller)
    one, other = common.row[crossing], common.col[crossing]
    count = matrix.shape[0]
    graph = csr_array((np.ones(one.size, dtype=np.int8), (one, other)), shape=(count, count))
    _, label = connected_components(graph, directed=False)
    side = np.zeros(count, dtype=np.int8)
    for root in np.unique(label, return_index=True)[1]:
        order, parent = breadth_first_order(graph, root, directed=False)
        for node in order[1:]:
            side[node] = 1 - side[parent[node]]
    return not bool((side[one] == side[other]).any())


def _all_minors_small(dense: IntArray) -> bool:
    """Whether every square submatrix has determinant -1, 0 or 1."""
    rows, columns = dense.shape
    return all(
        abs(int(to_flint(dense[np.ix_(some, others)]).det())) <= 1
        for k in range(2, min(rows, columns) + 1)
        for some in combinations(range(rows), k)
        for others in combinations(range(columns), k)
    )
