"""Sums, products and solutions in one order: the same bits on every machine.

Each +, -, *, / and square root of floats has one result, to the last bit. What their standard leaves open is
the order in which sums are added up, and whether a product that is added at once is rounded by itself.
Libraries of linear algebra choose both by the processor they find. Here the loops are written out, and
compiled without leave to change either: whatever is made of these, and of single operations on arrays, is the
same wherever it is computed.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.compiled import compiled
from holdfast.lattice.arrays import FloatArray

Numbers = NDArray[Any]


def total(values: Numbers) -> float:
    """Return the sum of all values, first to last."""
    return float(_total(_floats(values).ravel()))


def dot(one: Numbers, other: Numbers) -> float:
    """Return the sum of products, first to last."""
    return float(_dot(_floats(one).ravel(), _floats(other).ravel()))


def across(table: Numbers) -> FloatArray:
    """Return the sum of each row."""
    return np.asarray(_across(_floats(table)))


def down(table: Numbers) -> FloatArray:
    """Return the sum of each column."""
    return np.asarray(_down(_floats(table)))


def times(rows: csr_array, column: Numbers) -> FloatArray:
    """Return sparse rows times a column."""
    return np.asarray(_times(rows.indptr, rows.indices, _floats(rows.data), _floats(column)))


def product(one: Numbers, other: Numbers) -> FloatArray:
    """Return the product of two dense matrices."""
    return np.asarray(_product(_floats(one), _floats(other)))


def solved(matrix: Numbers, right: Numbers) -> FloatArray:
    """Return the solution of equations, by elimination with the largest pivot of each column."""
    column = _floats(right).reshape(-1, 1).copy()
    eliminate(_floats(matrix).copy(), column)
    return column[:, 0]


def _floats(values: Numbers) -> FloatArray:
    return np.ascontiguousarray(values, dtype=np.float64)


@compiled
def _total(values: Any) -> float:
    found = 0.0
    for value in values:
        found += value
    return found


@compiled
def _dot(one: Any, other: Any) -> float:
    found = 0.0
    for place in range(one.size):
        found += one[place] * other[place]
    return found


@compiled
def _across(table: Any) -> Any:
    rows, columns = table.shape
    found = np.zeros(rows)
    for i in range(rows):
        for j in range(columns):
            found[i] += table[i, j]
    return found


@compiled
def _down(table: Any) -> Any:
    rows, columns = table.shape
    found = np.zeros(columns)
    for i in range(rows):
        for j in range(columns):
            found[j] += table[i, j]
    return found


@compiled
def _times(starts: Any, cells: Any, values: Any, column: Any) -> Any:
    found = np.zeros(starts.size - 1)
    for row in range(found.size):
        added = 0.0
        for place in range(starts[row], starts[row + 1]):
            added += values[place] * column[cells[place]]
        found[row] = added
    return found


@compiled
def _product(one: Any, other: Any) -> Any:
    rows, inner = one.shape
    columns = other.shape[1]
    found = np.zeros((rows, columns))
    for i in range(rows):
        for k in range(inner):
            value = one[i, k]
            if value != 0:
                for j in range(columns):
                    found[i, j] += value * other[k, j]
    return found


@compiled
def eliminate(matrix: Any, right: Any) -> None:  # noqa: PLR0912 - one loop
    """Put the solutions of equations in the place of their right sides; the matrix is used up.

    A column without any pivot has the solution 0.
    """
    count, sides = right.shape
    for k in range(count):
        pivot = k
        for i in range(k + 1, count):
            if abs(matrix[i, k]) > abs(matrix[pivot, k]):
                pivot = i
        if pivot != k:
            for j in range(k, count):
                matrix[k, j], matrix[pivot, j] = matrix[pivot, j], matrix[k, j]
            for j in range(sides):
                right[k, j], right[pivot, j] = right[pivot, j], right[k, j]
        if matrix[k, k] == 0:
            continue
        for i in range(k + 1, count):
            if matrix[i, k] != 0:
                part = matrix[i, k] / matrix[k, k]
                for j in range(k + 1, count):
                    matrix[i, j] -= part * matrix[k, j]
                for j in range(sides):
                    right[i, j] -= part * right[k, j]
    for k in range(count - 1, -1, -1):
        for i in range(k + 1, count):
            for j in range(sides):
                right[k, j] -= matrix[k, i] * right[i, j]
        for j in range(sides):
            right[k, j] = right[k, j] / matrix[k, k] if matrix[k, k] != 0 else 0.0
