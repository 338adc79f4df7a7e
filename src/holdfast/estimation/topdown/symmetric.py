"""The equations of a step, (M F M^T + added) x = right: dense where they are few or filled, sparse elsewhere."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csc_array, csr_array, diags_array

from holdfast.lattice.arrays import FloatArray

DENSE, FEW, FILLED = 6_000, 300, 0.05
"""Dense are so many equations at most: a few of them always, more where such a part of them is filled."""


class Equations:
    """A symmetric positive definite matrix, scaled to a diagonal of ones and factored."""

    def __init__(
        self, rows: csr_array, columns: csr_array, free: FloatArray, added: FloatArray, ridge: float
    ) -> None:
        """Take M as ``rows`` and M^T as ``columns``; ``ridge`` is added to the ones of the scaled diagonal.

        A row that has nothing on its diagonal is left alone: its part of a solution is 0.
        """
        matrix = csr_array(rows @ diags_array(free) @ columns)
        diagonal = matrix.diagonal() + added
        self._scale = np.divide(1.0, np.sqrt(diagonal), out=np.zeros_like(diagonal), where=diagonal > 0)
        self._dense = self._sparse = None
        count = diagonal.size
        extra = added * self._scale**2 + ridge + (diagonal <= 0)
        if count <= FEW or (count <= DENSE and matrix.nnz > FILLED * count * count):
            full = matrix.toarray()
            full *= self._scale[:, None]
            full *= self._scale
            full[np.diag_indices(count)] += extra
            try:
                self._dense = cho_factor(full, overwrite_a=True)
            except np.linalg.LinAlgError:  # rounding has made it indefinite
                pass
        if self._dense is None:
            from scipy.sparse.linalg import splu  # noqa: PLC0415 - loaded late

            scaling = diags_array(self._scale)
            scaled = csc_array(scaling @ matrix @ scaling + diags_array(extra))
            self._sparse = splu(scaled, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})

    def solve(self, right: FloatArray) -> FloatArray:
        """Return the solution for a right side."""
        scaled = self._scale * right
        found = cho_solve(self._dense, scaled) if self._sparse is None else self._sparse.solve(scaled)
        return np.asarray(self._scale * found)
