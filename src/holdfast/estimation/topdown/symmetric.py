"""The equations of a step, (M F M^T + added) x = right, factored in one order of operations.

Dense where they are few or filled, else sparse. The order in which sparse ones are eliminated is one of the
places of their entries alone, and the factor is made row by row [davis2006, 4.7]. All of it is the same on
every machine [holdfast, estimation/topdown/inorder.py].
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array, diags_array, eye_array, tril

from holdfast.compiled import compiled
from holdfast.lattice.arrays import FloatArray, IntArray

DENSE, FEW, FILLED = 6_000, 300, 0.05
"""Dense are so many equations at most: a few of them always, more where such a part of them is filled."""
BLOCK = 32
"""Rows of a dense factor that are made together."""

Solve = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Equations:
    """The equations of some rows M, for any F: where their entries are is found once."""

    rows: csr_array

    @cached_property
    def columns(self) -> csr_array:
        """M^T."""
        return csr_array(self.rows.T)

    def solve(self, free: FloatArray, added: FloatArray, ridge: float) -> Solve:
        """Return the solution as a function of the right side.

        The matrix is scaled to a diagonal of ones, to which ``ridge`` is added. A row that has nothing on its
        diagonal is left alone: its part of a solution is 0.
        """
        order, starts, cells = self._order, self._lower.indptr, self._lower.indices
        values = np.zeros(cells.size)
        columns = self.columns
        _fill(columns.indptr, columns.data.astype(np.float64), self._spots, free, values)
        diagonal = values[starts[1:] - 1] + added[order]
        scale = np.divide(1.0, np.sqrt(diagonal), out=np.zeros_like(diagonal), where=diagonal > 0)
        values *= scale[cells] * scale[np.repeat(np.arange(order.size), np.diff(starts))]
        values[starts[1:] - 1] += added[order] * scale**2 + ridge + (diagonal <= 0)
        inner = self._factored(values)

        def solution(right: FloatArray) -> FloatArray:
            found = np.empty(order.size)
            found[order] = scale * inner(scale * right[order])
            return found

        return solution

    @cached_property
    def _pattern(self) -> csr_array:
        """Where M F M^T may have entries: those of M without values, and the diagonal."""
        ones = csr_array(
            (np.ones(self.rows.nnz, dtype=np.int64), self.rows.indices, self.rows.indptr),
            shape=self.rows.shape,
        )
        found = csr_array(ones @ ones.T + eye_array(ones.shape[0], dtype=np.int64))
        found.sort_indices()
        return found

    @cached_property
    def _dense(self) -> bool:
        count = self._pattern.shape[0]
        return count <= FEW or (count <= DENSE and self._pattern.nnz > FILLED * count * count)

    @cached_property
    def _order(self) -> IntArray:
        """The equations in the order in which they are eliminated."""
        count = self._pattern.shape[0]
        if self._dense:
            return np.arange(count)
        from scipy.sparse.linalg import splu  # noqa: PLC0415 - loaded late

        # the order is made of the pattern; the values only have to let it end
        matrix = csc_array(self._pattern.sign() + diags_array(np.diff(self._pattern.indptr) + 1.0))
        found = splu(matrix, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}).perm_c
        return np.argsort(found, kind="stable")

    @cached_property
    def _lower(self) -> csr_array:
        """The lower half of the pattern, in this order: the last entry of each row is on the diagonal."""
        found = csr_array(tril(self._pattern[self._order][:, self._order], format="csr"))
        found.sort_indices()
        return found

    @cached_property
    def _spots(self) -> IntArray:
        """Where the product of each two entries of a column of M goes; -1 for the upper half."""
        starts, rows = self.columns.indptr, self.columns.indices
        place = np.empty(self._order.size, dtype=np.int64)
        place[self._order] = np.arange(self._order.size)
        found = np.empty(int((np.diff(starts).astype(np.int64) ** 2).sum()), dtype=np.int64)
        _find(starts, rows, place, self._lower.indptr, self._lower.indices, found)
        return found

    @cached_property
    def _tree(self) -> tuple[IntArray, IntArray]:
        """The parent of each row in the tree of eliminations, and where the columns of a factor begin."""
        parent, begins = _analysed(self._lower.indptr, self._lower.indices)
        return parent, begins

    def _factored(self, values: FloatArray) -> Solve:
        lower = self._lower
        if self._dense:
            factor = np.zeros(lower.shape)
            rows = np.repeat(np.arange(lower.shape[0]), np.diff(lower.indptr))
            factor[lower.indices, rows] = values
            _dense_factor(factor)
            return lambda right: np.asarray(_dense_solved(factor, right))
        parent, begins = self._tree
        cells, entries = np.empty(begins[-1], dtype=np.int64), np.empty(begins[-1])
        _sparse_factor(lower.indptr, lower.indices, values, parent, begins, cells, entries)
        return lambda right: np.asarray(_sparse_solved(begins, cells, entries, right))


@compiled
def _find(starts: Any, rows: Any, place: Any, lower: Any, cells: Any, found: Any) -> None:
    """Find the spots of all products."""
    at = 0
    for column in range(starts.size - 1):
        for one in range(starts[column], starts[column + 1]):
            i = place[rows[one]]
            for other in range(starts[column], starts[column + 1]):
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


@compiled
def _fill(starts: Any, values: Any, spots: Any, free: Any, found: Any) -> None:
    """Add up the products of M F M^T."""
    at = 0
    for column in range(starts.size - 1):
        for one in range(starts[column], starts[column + 1]):
            part = values[one] * free[column]
            for other in range(starts[column], starts[column + 1]):
                if spots[at] >= 0:
                    found[spots[at]] += part * values[other]
                at += 1


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
def _dense_solved(factor: Any, right: Any) -> Any:
    count = right.size
    found = right.copy()
    for k in range(count):
        found[k] /= factor[k, k]
        for j in range(k + 1, count):
            found[j] -= factor[k, j] * found[k]
    for k in range(count - 1, -1, -1):
        added = found[k]
        for j in range(k + 1, count):
            added -= factor[k, j] * found[j]
        found[k] = added / factor[k, k]
    return found


@compiled
def _analysed(lower: Any, cells: Any) -> Any:
    """Return the parents of rows, and where the columns of the factor begin."""
    count = lower.size - 1
    parent, ancestor = np.full(count, -1, dtype=np.int64), np.full(count, -1, dtype=np.int64)
    for k in range(count):
        for place in range(lower[k], lower[k + 1]):
            i = np.int64(cells[place])
            while i != -1 and i < k:
                above = ancestor[i]
                ancestor[i] = k
                if above == -1:
                    parent[i] = k
                i = above
    seen, sizes = np.full(count, -1, dtype=np.int64), np.ones(count, dtype=np.int64)
    for k in range(count):
        seen[k] = k
        for place in range(lower[k], lower[k + 1]):
            i = np.int64(cells[place])
            while seen[i] != k:
                seen[i] = k
                sizes[i] += 1
                i = parent[i]
    begins = np.zeros(count + 1, dtype=np.int64)
    for k in range(count):
        begins[k + 1] = begins[k] + sizes[k]
    return parent, begins


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
            i = np.int64(rows[place])
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
def _sparse_solved(begins: Any, cells: Any, entries: Any, right: Any) -> Any:
    found = right.copy()
    for k in range(right.size):
        found[k] /= entries[begins[k]]
        for place in range(begins[k] + 1, begins[k + 1]):
            found[cells[place]] -= entries[place] * found[k]
    for k in range(right.size - 1, -1, -1):
        added = found[k]
        for place in range(begins[k] + 1, begins[k + 1]):
            added -= entries[place] * found[cells[place]]
        found[k] = added / entries[begins[k]]
    return found
