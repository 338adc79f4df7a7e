"""The integer kernel of a matrix: every integer u with A u = 0."""

from typing import NamedTuple

import numpy as np
from flint import fmpz_mat
from numpy.typing import NDArray

from holdfast.lattice.arrays import IntArray


def to_flint(matrix: IntArray) -> fmpz_mat:
    """Return the matrix as exact integers, an empty one with its shape."""
    rows, columns = matrix.shape
    return fmpz_mat(rows, columns, matrix.ravel().tolist())


def from_flint(matrix: fmpz_mat) -> IntArray:
    """Return exact integers as int64; an entry beyond 64 bits raises OverflowError."""
    flat = np.array([int(entry) for entry in matrix.entries()], dtype=np.int64)
    return flat.reshape(matrix.nrows(), matrix.ncols())


def integer_kernel(A: IntArray) -> IntArray:
    """Return a basis of {u integer : A u = 0} as rows, (d - rank) x d.

    The Hermite normal form of [A^T | I] has the shape [H | U] with U unimodular; the rows of U beside the
    zero rows of H span the kernel over the integers, with nothing missing [schrijver1986, 4.1].
    """
    rows, cells = A.shape
    if rows == 0 or cells == 0:
        return np.eye(cells, dtype=np.int64)
    joined = np.hstack([A.T, np.eye(cells, dtype=np.int64)])
    form = to_flint(joined).hnf()
    zero = [i for i in range(cells) if all(form[i, j] == 0 for j in range(rows))]
    exact = [[int(form[i, rows + j]) for j in range(cells)] for i in zero]
    return np.array(exact, dtype=np.int64).reshape(len(zero), cells)


def reduced_basis(A: IntArray) -> IntArray:
    """Return a basis of the integer kernel as short rows, reduced by LLL [lll1982]."""
    basis = integer_kernel(A)
    return from_flint(to_flint(basis).lll()) if basis.shape[0] > 1 else basis


LARGEST = 1 << 12


class Elimination(NamedTuple):
    """For each order: the cells solved for, the free ones in the order, and z_closing = -N z_free."""

    closing: IntArray
    free: IntArray
    coefficients: NDArray[np.int16]


def solve_in_order(system: IntArray, orders: IntArray) -> Elimination | None:
    """Solve A z = 0 for some cells, chosen greedily along each row of ``orders``: those that come first.

    Gauss-Jordan elimination with pivots 1 and -1 only: it stays in integers, and the cells it solves for are
    integer combinations of the others. None where some pivots are others. Where A is totally unimodular every
    nonzero entry is such a pivot, the cells found are the greedy basis of the order, and all entries stay in
    {-1, 0, 1} [schrijver1986, 19.1].
    """
    rows, cells = system.shape
    count = orders.shape[0]
    if np.abs(system).max(initial=0) > LARGEST:
        return None
    table = np.repeat(system.astype(np.int16)[None], count, axis=0)
    taken = np.zeros((count, rows), dtype=np.bool_)
    closing = np.full((count, rows), -1, dtype=np.int64)
    everyone = np.arange(count)
    for place in range(cells):
        cell = orders[:, place]
        column = table[everyone, :, cell]
        able = (np.abs(column) == 1) & ~taken
        who = np.flatnonzero(able.any(axis=1))
        if not who.size:
            continue
        pivot = able[who].argmax(axis=1)
        row = table[who, pivot] * column[who, pivot][:, None]
        table[who] -= column[who][:, :, None] * row[:, None, :]
        table[who, pivot] = row
        taken[who, pivot] = True
        closing[who, pivot] = cell[who]
        if np.abs(table).max() > LARGEST:
            return None
        if taken.all():
            break
    if not taken.all():
        return None
    solved = np.zeros((count, cells), dtype=np.bool_)
    solved[everyone[:, None], closing] = True
    in_order = np.take_along_axis(solved, orders, axis=1)
    free = orders[~in_order].reshape(count, cells - rows)
    coefficients = np.take_along_axis(table, free[:, None, :], axis=2)
    return Elimination(closing, free, coefficients)
