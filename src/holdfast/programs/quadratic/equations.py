"""The equations of a step, (M F M^T + added) x = right, factored in one order of operations.

Dense where they are few or filled, else sparse. The order in which sparse ones are eliminated is one of the
places of their entries alone, and the factor is made row by row [davis2006, 4.7]. All of it is the same on
every machine [holdfast, programs/quadratic/inorder.py].
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array, diags_array, eye_array

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.system.compiled import compiled

DENSE, FEW, FILLED = 6_000, 300, 0.05
"""Dense are so many equations at most: a few of them always, more where such a part of them is filled."""
BLOCK = 32
"""Rows of a dense factor that are made together."""


class Layout(NamedTuple):
    """Where the entries of equations are, as compiled loops need it.

    Attributes:
        dense: whether the factor is a full matrix.
        order: the equations in the order in which they are eliminated.
        starts: where the rows of the lower half begin, in this order; the last of each is on the diagonal.
        cells: the columns of its entries.
        by_cell: where the cells of M begin among its entries by cell.
        entries: these entries.
        spots: where the product of each two of them in one cell goes; -1 for the upper half.
        parent: the parent of each row in the tree of eliminations; none where the factor is dense.
        begins: where the columns of a sparse factor begin.

    """

    dense: bool
    order: IntArray
    starts: IntArray
    cells: IntArray
    by_cell: IntArray
    entries: FloatArray
    spots: IntArray
    parent: IntArray
    begins: IntArray


@dataclass(frozen=True, eq=False)
class Equations:
    """The equations of rows M, for any F, with the same by cell: where their entries are is found once.

    ``ordered`` says that rows are listed in an order that fills little where they are eliminated one by one.
    """

    rows: csr_array
    columns: csr_array
    ordered: bool = False

    @cached_property
    def layout(self) -> Layout:
        """Where entries are."""
        count = self.rows.shape[0]
        own, others = (
            [it.indptr.astype(np.int64), it.indices.astype(np.int64)] for it in (self.rows, self.columns)
        )
        order = np.arange(count)
        starts, cells = _lower(*own, *others, order)
        dense = not self.ordered and (
            count <= FEW or (count <= DENSE and 2 * cells.size > FILLED * count * count)
        )
        if not dense and not self.ordered:
            order = self._least_fill()
            starts, cells = _lower(*own, *others, np.argsort(order))
        tree = (order[:0], np.zeros(1, dtype=np.int64)) if dense else _analysed(starts, cells)
        spots = _find(*others, np.argsort(order), starts, cells)
        entries = self.columns.data.astype(np.float64)
        return Layout(dense, order, starts, cells, others[0], entries, spots, *tree)

    def solve(self, free: FloatArray, added: FloatArray, ridge: float) -> Callable[[FloatArray], FloatArray]:
        """Return the solution as a function of the right side."""
        layout = self.layout
        factor = factored(layout, free, added, ridge)
        return lambda right: np.asarray(solved(layout, factor, right))

    def _least_fill(self) -> IntArray:
        """Return an order of elimination that is made of the pattern; values only have to let it end."""
        from scipy.sparse.linalg import splu  # noqa: PLC0415 - loaded late

        ones = csr_array(
            (np.ones(self.rows.nnz, dtype=np.int64), self.rows.indices, self.rows.indptr),
            shape=self.rows.shape,
        )
        pattern = csr_array(ones @ ones.T + eye_array(ones.shape[0], dtype=np.int64))
        matrix = csc_array(pattern.sign() + diags_array(np.diff(pattern.indptr) + 1.0))
        found = splu(matrix, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}).perm_c
        return np.argsort(found, kind="stable")


@compiled
def factored(layout: Any, free: Any, added: Any, ridge: float) -> Any:
    """Return a factor of the equations: the scale of each, a full matrix, and sparse columns; one is empty.

    The matrix is scaled to a diagonal of ones, to which ``ridge`` is added. A row that has nothing on its
    diagonal is left alone: its part of a solution is 0.
    """
    count = layout.order.size
    values = np.zeros(layout.cells.size)
    at = 0
    for cell in range(free.size):  # the products of M F M^T
        for one in range(layout.by_cell[cell], layout.by_cell[cell + 1]):
            part = layout.entries[one] * free[cell]
            for other in range(layout.by_cell[cell], layout.by_cell[cell + 1]):
                if layout.spots[at] >= 0:
                    values[layout.spots[at]] += part * layout.entries[other]
                at += 1
    scale = np.zeros(count)
    for k in range(count):
        diagonal = values[layout.starts[k + 1] - 1] + added[layout.order[k]]
        if diagonal > 0:
            scale[k] = 1.0 / np.sqrt(diagonal)
    for k in range(count):
        for place in range(layout.starts[k], layout.starts[k + 1]):
            values[place] *= scale[layout.cells[place]] * scale[k]
        last = layout.starts[k + 1] - 1
        values[last] += added[layout.order[k]] * (scale[k] * scale[k]) + ridge
        if scale[k] == 0:
            values[last] += 1.0
    if layout.dense:
        matrix = np.zeros((count, count))
        for k in range(count):
            for place in range(layout.starts[k], layout.starts[k + 1]):
                matrix[layout.cells[place], k] = values[place]
        _dense_factor(matrix)
        return scale, matrix, np.empty(0, dtype=np.int64), np.empty(0)
    cells, entries = np.empty(layout.begins[-1], dtype=np.int64), np.empty(layout.begins[-1])
    _sparse_factor(layout.starts, layout.cells, values, layout.parent, layout.begins, cells, entries)
    return scale, np.empty((0, 0)), cells, entries


@compiled
def solved(layout: Any, factor: Any, right: Any) -> Any:
    """Return the solution for a right side."""
    scale, matrix, cells, entries = factor
    count = right.size
    found = np.empty(count)
    for k in range(count):
        found[k] = scale[k] * right[layout.order[k]]
    if layout.dense:
        _dense_solved(matrix, found)
    else:
        _sparse_solved(layout.begins, cells, entries, found)
    result = np.empty(count)
    for k in range(count):
        result[layout.order[k]] = scale[k] * found[k]
    return result


@compiled
def _lower(starts: Any, cells: Any, by_cell: Any, rows: Any, place: Any) -> Any:
    """Return the lower half of the pattern of M M^T, its rows at their places: each ends on the diagonal."""
    count = starts.size - 1
    order, seen = np.empty(count, dtype=np.int64), np.full(count, -1, dtype=np.int64)
    for row in range(count):
        order[place[row]] = row
    begins, found = np.zeros(count + 1, dtype=np.int64), np.empty(0, dtype=np.int64)
    for turn in range(2):  # count them, then list them
        size = 0
        seen[:] = -1
        for i in range(count):
            for at in range(starts[order[i]], starts[order[i] + 1]):
                for other in range(by_cell[cells[at]], by_cell[cells[at] + 1]):
                    j = place[rows[other]]
                    if j < i and seen[j] != i:
                        seen[j] = i
                        if turn:
                            found[size] = j
                        size += 1
            if turn:
                found[begins[i] : size].sort()
                found[size] = i
            size += 1
            begins[i + 1] = size
        if not turn:
            found = np.empty(size, dtype=np.int64)
    return begins, found


@compiled
def _find(by_cell: Any, rows: Any, place: Any, lower: Any, cells: Any) -> Any:
    """Return the spots of all products."""
    size = 0
    for column in range(by_cell.size - 1):
        size += (by_cell[column + 1] - by_cell[column]) ** 2
    found, at = np.empty(size, dtype=np.int64), 0
    for column in range(by_cell.size - 1):
        for one in range(by_cell[column], by_cell[column + 1]):
            i = place[rows[one]]
            for other in range(by_cell[column], by_cell[column + 1]):
                j = place[rows[other]]
                found[at] = -1
                if j <= i:
                    low, high = lower[i], lower[i + 1]
                    while high - low > 1:
                        middle = (low + high) // 2
                        if cells[middle] <= j:
                            low = middle
                        else:
                            high = middle
                    found[at] = low
                at += 1
    return found


@compiled
def _analysed(lower: Any, cells: Any) -> Any:
    """Return the parents of rows, and where the columns of the factor begin."""
    count = lower.size - 1
    parent, ancestor = np.full(count, -1, dtype=np.int64), np.full(count, -1, dtype=np.int64)
    for k in range(count):
        for place in range(lower[k], lower[k + 1]):
            i = cells[place]
            while i != -1 and i < k:
                above = ancestor[i]
                ancestor[i] = k
                if above == -1:
                    parent[i] = k
                i = above
    seen, begins = np.full(count, -1, dtype=np.int64), np.zeros(count + 1, dtype=np.int64)
    for k in range(count):
        begins[k + 1] += 1
        seen[k] = k
        for place in range(lower[k], lower[k + 1]):
            i = cells[place]
            while seen[i] != k:
                seen[i] = k
                begins[i + 1] += 1
                i = parent[i]
    return parent, np.cumsum(begins)


@compiled
def _root(pivot: float) -> float:
    """Return the root of a pivot; one that rounding has left nothing of lets its part of a solution be 0."""
    return np.sqrt(pivot) if pivot > 1e-15 else 1e100  # the diagonal was 1


@compiled
def _dense_factor(matrix: Any) -> None:
    """Put the upper factor in the place of the upper half of a matrix, some rows at a time."""
    count = matrix.shape[0]
    for begin in range(0, count, BLOCK):
        end = min(begin + BLOCK, count)
        for k in range(begin, end):
            root = _root(matrix[k, k])
            matrix[k, k] = root
            for j in range(k + 1, count):
                matrix[k, j] /= root
            for i in range(k + 1, end):
                part = matrix[k, i]
                for j in range(i, count):
                    matrix[i, j] -= part * matrix[k, j]
        for i in range(end, count):
            for k in range(begin, end):
                part = matrix[k, i]
                if part != 0:
                    for j in range(i, count):
                        matrix[i, j] -= part * matrix[k, j]


@compiled
def _dense_solved(factor: Any, found: Any) -> None:
    count = found.size
    for k in range(count):
        found[k] /= factor[k, k]
        for j in range(k + 1, count):
            found[j] -= factor[k, j] * found[k]
    for k in range(count - 1, -1, -1):
        added = found[k]
        for j in range(k + 1, count):
            added -= factor[k, j] * found[j]
        found[k] = added / factor[k, k]


@compiled
def _sparse_factor(
    lower: Any, rows: Any, values: Any, parent: Any, begins: Any, cells: Any, entries: Any
) -> None:
    """Make the factor row by row: each solves a triangle of those before it."""
    count = lower.size - 1
    ends, row = begins[:-1].copy(), np.zeros(count)
    seen, stack = np.full(count, -1, dtype=np.int64), np.empty(count, dtype=np.int64)
    for k in range(count):
        top = count
        seen[k] = k
        for place in range(lower[k], lower[k + 1]):  # the rows that reach this one, first to last
            i = rows[place]
            row[i] = values[place]
            length = 0
            while seen[i] != k:
                stack[length] = i
                length += 1
                seen[i] = k
                i = parent[i]
            while length > 0:
                length -= 1
                top -= 1
                stack[top] = stack[length]
        pivot = row[k]
        row[k] = 0.0
        for at in range(top, count):
            i = stack[at]
            entry = row[i] / entries[begins[i]]
            row[i] = 0.0
            for place in range(begins[i] + 1, ends[i]):
                row[cells[place]] -= entries[place] * entry
            pivot -= entry * entry
            cells[ends[i]] = k
            entries[ends[i]] = entry
            ends[i] += 1
        cells[ends[k]] = k
        entries[ends[k]] = _root(pivot)
        ends[k] += 1


@compiled
def _sparse_solved(begins: Any, cells: Any, entries: Any, found: Any) -> None:
    for k in range(found.size):
        found[k] /= entries[begins[k]]
        for place in range(begins[k] + 1, begins[k + 1]):
            found[cells[place]] -= entries[place] * found[k]
    for k in range(found.size - 1, -1, -1):
        added = found[k]
        for place in range(begins[k] + 1, begins[k + 1]):
            added -= entries[place] * found[cells[place]]
        found[k] = added / entries[begins[k]]
