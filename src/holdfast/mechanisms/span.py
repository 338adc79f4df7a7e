"""Real noise in the span of the sensitivity space, for studies: in floats, never for a release.

Let S be the span of S_a [semi-dp, Proposition 26]. It is the kernel of an integer matrix A: that of the
invariants and, where tables at most a records apart always agree in something else that everybody knows
(a cell that must be empty), of that too. Noise in a wider span is as private, since S_a lies in it: where S_a
cannot be listed, or its span would publish more than the invariants, the kernel of the invariants is taken.

Floating point rounds z, so A z = 0 holds up to rounding only, and the digits of a rounded number can
reveal more than the theory says [mironov2012].
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array
from scipy.special import ndtri

from holdfast.errors import GuaranteeError
from holdfast.premises import Premises
from holdfast.privacy.evidence import Assumed
from holdfast.sampling.decisions import floats
from holdfast.sampling.entropy import Entropy

Floats = NDArray[np.float64]

MOST_LISTED = 150
"""Cells up to which S_a is listed for its span."""
ROUNDING = 1e-9
"""How far from 0 the sums of a point of the span may be, relative to the size of their terms."""

FLOATING = Assumed(
    "the noise is a real number, drawn and added without rounding",
    "a computer rounds both, and the rounded digits can reveal more than the theory says (mironov2012): this"
    " is for studies and never for a release",
)


@dataclass(frozen=True, eq=False)
class Span:
    """The real vectors z with A z = 0, for an integer matrix with independent rows."""

    matrix: csr_array

    @classmethod
    def of(cls, premises: Premises) -> "Span":
        """Return the span of the sensitivity space, or the kernel of the invariants that holds it."""
        universe = premises.universe
        if premises.adjacency == "semi" and universe.cells <= MOST_LISTED:
            from holdfast.universe.hull.lattice import span_matrix  # noqa: PLC0415 - loaded late
            from holdfast.universe.hull.moves import sensitivity_moves  # noqa: PLC0415

            try:
                moves = sensitivity_moves(universe, premises.unit.distance)
                return cls(span_matrix(universe, moves))
            except GuaranteeError:
                pass
        return cls(universe.matrix)

    @property
    def cells(self) -> int:
        """The number of cells, d."""
        return int(self.matrix.shape[1])

    @property
    def dimension(self) -> int:
        """The dimension of the span, s."""
        return self.cells - int(self.matrix.shape[0])

    def project(self, points: Floats) -> Floats:
        """Return the orthogonal projection of each row: z - A^T (A A^T)^-1 A z."""
        if self.dimension == self.cells:
            return points
        once = points - (self._transposed @ self._solve(self.matrix @ points.T)).T
        # a second step takes off most of what rounding left of A z
        return np.asarray(once - (self._transposed @ self._solve(self.matrix @ once.T)).T)

    def holds(self, points: Floats) -> NDArray[np.bool_]:
        """Whether A z = 0 for each row, up to rounding."""
        sums = np.abs(self.matrix @ points.T)
        sizes = abs(self.matrix) @ np.abs(points.T)
        return np.asarray((sums <= ROUNDING * (1 + sizes)).all(axis=0))

    @cached_property
    def _transposed(self) -> csr_array:
        return csr_array(self.matrix.T.astype(np.float64))

    @cached_property
    def _solve(self) -> Callable[[Floats], Floats]:
        from scipy.sparse.linalg import splu  # noqa: PLC0415 - loaded late

        solve: Callable[[Floats], Floats] = splu(csc_array(self.matrix @ self._transposed)).solve
        return solve


def uniforms(entropy: Entropy, *shape: int) -> Floats:
    """Return independent numbers between 0 and 1, never 0 or 1, from one word each."""
    return floats.uniforms(entropy.words(int(np.prod(shape)))).reshape(shape)


def normals(entropy: Entropy, *shape: int) -> Floats:
    """Return independent standard normal numbers, as quantiles of uniform ones."""
    return np.asarray(ndtri(uniforms(entropy, *shape)), dtype=np.float64)
