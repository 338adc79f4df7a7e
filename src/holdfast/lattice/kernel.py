"""The integer kernel of a matrix: every integer u with A u = 0.

The Hermite normal form of [A^T | I] has the shape [H | U] with U unimodular; the rows of U beside
the zero rows of H span the kernel over the integers, with nothing missing [schrijver1986, 4.1].
"""

import numpy as np

from holdfast.lattice.arrays import IntArray, from_flint, to_flint


def integer_kernel(A: IntArray) -> IntArray:
    """Return a basis of {u integer : A u = 0} as rows, (d - rank) x d."""
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
