"""Sums of which any two are nested or disjoint: the closed form of every interval, at any size.

A row is the sum of the rows next inside of it and of the columns that are in none of these. Such a tree of
sums of whole numbers has exact intervals in two passes: going up, a row holds what its parts can add up to,
within its own bounds, and each value between two is attained, as the parts are free of each other; going
down, a part holds what the row leaves beside the other parts. So nested exact, rounded and suppressed totals
need no solver.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, csr_array

from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.programs.solver import UNBOUNDED
from holdfast.publication.bounds import ContradictionError, SumSystem


@dataclass(frozen=True, eq=False)
class Tree:
    """The rows around each row and each column: the next larger one, -1 where there is none."""

    around_row: IntArray
    around_column: IntArray
    depth: IntArray
    """How many rows are around each row."""


def tree_of(matrix: csr_array) -> tuple[Tree, BoolArray]:
    """Return for each row and column the next row around it, and the rows of which that is not one row.

    The rows of a column stand in order of their size. They are nested exactly where every column of a row
    has the same one next.
    """
    rows, columns = matrix.shape
    by_size = np.argsort(np.diff(matrix.indptr), kind="stable")
    rank = np.argsort(by_size)
    by_column = csc_array(matrix)
    entries = np.ones(matrix.nnz, dtype=np.int8), rank[by_column.indices], by_column.indptr
    ordered = csr_array(entries, shape=(columns, rows))
    ordered.sort_indices()
    row = by_size[ordered.indices]
    here = np.diff(ordered.indptr)
    last = np.zeros(row.size, dtype=np.bool_)
    last[(ordered.indptr[1:] - 1)[here > 0]] = True
    following = np.where(last, -1, np.append(row[1:], -1))
    above = np.arange(row.size)
    level = np.repeat(ordered.indptr[1:], here) - 1 - above
    around = np.full(rows, -2, dtype=np.int64)
    around[row] = following
    depth = np.zeros(rows, dtype=np.int64)
    depth[row] = level
    crossing = np.zeros(rows, dtype=np.bool_)
    crossing[row[(around[row] != following) | (depth[row] != level)]] = True
    around[around == -2] = -1
    owner = np.full(columns, -1, dtype=np.int64)
    owner[here > 0] = row[ordered.indptr[:-1][here > 0]]
    return Tree(around, owner, depth), crossing


def tightened(sums: SumSystem, tree: Tree) -> SumSystem:
    """Return exact bounds on every row and column of nested sums; raises ContradictionError."""
    rows = sums.matrix.shape[0]
    low, high = sums.low.copy(), sums.high.copy()
    levels = [np.flatnonzero(tree.depth == d) for d in range(int(tree.depth.max(initial=-1)) + 1)]
    inside = tree.around_column >= 0
    owner = tree.around_column[inside]
    least, most = sums.least.copy(), sums.most.copy()
    below = np.zeros(rows, dtype=np.int64)
    above, open_ = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)
    _add(below, above, open_, owner, least[inside], most[inside])
    for level in reversed(levels):
        np.maximum.at(low, level, below[level])
        high[level] = np.minimum(high[level], np.where(open_[level] > 0, UNBOUNDED, above[level]))
        if (low[level] > high[level]).any():
            raise ContradictionError
        inner = level[tree.around_row[level] >= 0]
        _add(below, above, open_, tree.around_row[inner], low[inner], high[inner])
    for level in levels[1:]:
        low[level], high[level] = _left(
            tree.around_row[level], low[level], high[level], (low, high, below, above, open_)
        )
    least[inside], most[inside] = _left(owner, least[inside], most[inside], (low, high, below, above, open_))
    return SumSystem(sums.matrix, low, high, least, most)


def _add(
    below: IntArray, above: IntArray, open_: IntArray, to: IntArray, low: IntArray, high: IntArray
) -> None:
    """Add parts to what the rows around them can be."""
    far = high == UNBOUNDED
    np.add.at(below, to, low)
    np.add.at(above, to, np.where(far, 0, high))
    np.add.at(open_, to, far.astype(np.int64))


def _left(
    around: IntArray,
    low: IntArray,
    high: IntArray,
    known: tuple[IntArray, IntArray, IntArray, IntArray, IntArray],
) -> tuple[IntArray, IntArray]:
    """Return what the rows around some parts leave them beside the other parts."""
    outer_low, outer_high, below, above, open_ = known
    far = high == UNBOUNDED
    others_open = open_[around] - far > 0
    others = above[around] - np.where(far, 0, high)
    needed = np.where(others_open, 0, outer_low[around] - others)
    limit = outer_high[around]
    room = np.where(limit == UNBOUNDED, UNBOUNDED, limit - (below[around] - low))
    return np.maximum(low, needed), np.minimum(high, room)
