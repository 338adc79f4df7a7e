"""The bridge from arrays to exact integers, and back."""

import numpy as np
from flint import fmpz_mat

from holdfast.lattice.arrays import IntArray


def to_flint(matrix: IntArray) -> fmpz_mat:
    """Return the matrix as exact integers, an empty one with its shape."""
    rows, columns = matrix.shape
    return fmpz_mat(rows, columns, matrix.ravel().tolist())


def from_flint(matrix: fmpz_mat) -> IntArray:
    """Return exact integers as int64; an entry beyond 64 bits raises OverflowError."""
    flat = np.array([int(entry) for entry in matrix.entries()], dtype=np.int64)
    return flat.reshape(matrix.nrows(), matrix.ncols())
