"""The equations of a step, (M F M^T + added) x = right: dense where they are few or filled, else sparse."""

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csc_array, csr_array, diags_array

from holdfast.lattice.arrays import FloatArray

DENSE, FEW, FILLED = 6_000, 300, 0.05
"""Dense are so many equations at most: a few of them always, more where such a part of them is filled."""

Solve = Callable[[FloatArray], FloatArray]


def equations(
    rows: csr_array, columns: csr_array, free: FloatArray, added: FloatArray, ridge: float
) -> Solve:
    """Return the solution as a function of the right side, for M as ``rows`` and M^T as ``columns``.

    The matrix is scaled to a diagonal of ones, to which ``ridge`` is added. A row that has nothing on its
    diagonal is left alone: its part of a solution is 0.
    """
    matrix = csr_array(rows @ diags_array(free) @ columns)
    diagonal = matrix.diagonal() + added
    scale = np.divide(1.0, np.sqrt(diagonal), out=np.zeros_like(diagonal), where=diagonal > 0)
    scaling = diags_array(scale)
    more = added * scale**2 + ridge + (diagonal <= 0)
    inner = _factored(csc_array(scaling @ matrix @ scaling + diags_array(more)))
    return lambda right: np.asarray(scale * inner(scale * right))


def _factored(matrix: csc_array) -> Solve:
    count = matrix.shape[0]
    if count <= FEW or (count <= DENSE and matrix.nnz > FILLED * count * count):
        try:
            factor = cho_factor(matrix.toarray(order="F"), overwrite_a=True)
            return lambda right: np.asarray(cho_solve(factor, right))
        except np.linalg.LinAlgError:  # rounding has made it indefinite
            pass
    from scipy.sparse.linalg import splu  # noqa: PLC0415 - loaded late

    solve: Solve = splu(matrix, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}).solve
    return solve
