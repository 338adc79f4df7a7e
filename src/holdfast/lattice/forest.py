"""Bases of two families of nested totals: spanning forests of a graph.

Let rows of ones split into two families, in each of which any two are nested or disjoint. What a row has
beyond those inside of it is its *part* [holdfast, lattice/nested.py]; taking inner rows from outer ones is a
unimodular change of rows, after which every column has at most one 1 in each family. So a column is an edge
between two parts, or between a part and the *ground*, which stands for no row, and bases are spanning trees
from the ground. With P_v the signed edges on the way from v to the ground,

    e_v = P_v,    P_v = (the edge from v to the next vertex w) - P_w,

and a column between v and w is P_v + P_w: entries are -1, 0 and 1, and the basis is unimodular [theory, 12].
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csc_array, csr_array, vstack
from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.components import canonical
from holdfast.lattice.nested import Nested

PAIRS = 50_000_000
"""Pairs of rows that share columns, which are compared."""
MOST_STEPS = 100_000_000
"""Edges on the ways of all columns together."""


class DeepError(ValueError):
    """The ways through a forest are too long to be listed."""


@dataclass(frozen=True, eq=False)
class Basis:
    """Columns that are a basis, and every column as a whole combination of them: rows by columns."""

    columns: IntArray
    combination: csr_array


def two_families(columns: csr_array) -> IntArray:
    """Return the side of each row, 0 or 1, such that none cross within one side; -1 where there is none.

    Rows with a path of crossings of odd length back to themselves have no side, nor have rows with other
    entries than 1.
    """
    by_column = canonical(columns)
    count = columns.shape[0]
    length = np.diff(by_column.indptr)
    if int((length.astype(np.int64) ** 2).sum()) > PAIRS:
        return np.full(count, -1, dtype=np.int64)
    common = coo_array(by_column @ by_column.T)
    size = np.bincount(by_column.indices, minlength=count)
    smaller = np.minimum(size[common.row], size[common.col])
    crossing = (common.data != 0) & (common.data < smaller) & (common.row != common.col)
    one, other = common.row[crossing], common.col[crossing]
    graph = _graph(np.ones(one.size), one, other + count, 2 * count)
    _, label = connected_components(graph, directed=False)
    plain = np.ones(count, dtype=np.bool_)
    plain[by_column.indices[by_column.data != 1]] = False
    side = np.where(label[:count] < label[count:], 0, 1)
    return np.where(plain & (label[:count] != label[count:]), side, -1)


def _graph(lengths: IntArray | FloatArray, one: IntArray, other: IntArray, size: int) -> csr_array:
    """Return edges between some of so many places; older SciPy looks at graphs with short indices alone."""
    ends = one.astype(np.int32), other.astype(np.int32)
    return csr_array((lengths, ends), shape=(size, size))


def forest(columns: csr_array, weight: FloatArray, sides: IntArray) -> Basis:
    """Return a basis of largest weight of distinct columns, whose independent rows have these sides.

    Of equal columns the first is taken.
    """
    rows, count = columns.shape
    one, other = (_ends(columns, np.flatnonzero(sides == side)) for side in (0, 1))
    # ranks in place of weights: different, so that every machine finds the same forest
    rank = np.empty(count, dtype=np.float64)
    rank[np.argsort(-weight, kind="stable")] = np.arange(1, count + 1)
    edges = np.flatnonzero(one != other)  # a column without rows is no edge
    graph = _graph(rank[edges], one[edges], other[edges], rows + 1)
    tree = minimum_spanning_tree(graph).tocoo()
    at = np.argsort(rank)[tree.data.astype(np.int64) - 1]
    reached, before = breadth_first_order(tree.tocsr(), 0, directed=False)
    column = np.full(rows + 1, -1, dtype=np.int64)
    below = np.where(before[tree.row] == tree.col, tree.row, tree.col)
    column[below] = at
    ways = _ways(reached.astype(np.int64), before.astype(np.int64), one[edges], other[edges])
    ends = csr_array(
        (
            np.ones(2 * edges.size, dtype=np.int64),
            (np.tile(edges, 2), np.concatenate([one[edges], other[edges]])),
        ),
        shape=(count, rows + 1),
    )
    combination = csr_array(csr_array(ends @ ways).T)
    combination.eliminate_zeros()
    return Basis(column[1:], combination)


def _ends(columns: csr_array, rows: IntArray) -> IntArray:
    """Return the part of each column in a family, by its row counted from 1; 0 is the ground."""
    family = csc_array(columns[rows])
    length = np.diff(family.indptr)
    if length.max(initial=0) > 1:
        owner = Nested.of(family).owner
    else:
        owner = np.full(length.size, -1, dtype=np.int64)
        owner[length == 1] = family.indices
    return np.where(owner < 0, 0, np.append(rows, -1)[owner] + 1).astype(np.int64)


def _ways(reached: IntArray, before: IntArray, one: IntArray, other: IntArray) -> csr_array:
    """Return P, one row a vertex and one column the edge above a vertex other than the ground."""
    vertices = before.size
    depth = np.zeros(vertices, dtype=np.int64)
    layer, layers = reached[:1], [reached[:1]]
    position = np.empty(vertices, dtype=np.int64)
    position[reached] = np.arange(reached.size)
    above = position[before[reached[1:]]]  # ascending: vertices are reached layer by layer
    begin, end = 0, 1
    while end < reached.size:
        stop = 1 + int(np.searchsorted(above, end))
        layer = reached[end:stop]
        depth[layer] = len(layers)
        layers.append(layer)
        begin, end = end, stop
    if int(depth[one].sum() + depth[other].sum()) > MOST_STEPS:
        raise DeepError("the cells hang together along ways that are too long to be closed one by one")
    found = [csr_array((1, vertices - 1), dtype=np.int64)]
    begin = 0
    for layer in layers[1:]:
        own = csr_array(
            (np.ones(layer.size, dtype=np.int64), (np.arange(layer.size), layer - 1)),
            shape=(layer.size, vertices - 1),
        )
        found.append(csr_array(own - found[-1][position[before[layer]] - begin]))
        begin += found[-2].shape[0]
    stacked = csr_array(vstack(found, format="csr"))
    return csr_array(stacked[position])
