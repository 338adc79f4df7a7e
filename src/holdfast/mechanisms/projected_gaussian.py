"""`projected-gaussian`: real Gaussian noise in the span of the sensitivity space [semi-dp, Algorithm 1].

Notation: S_a is the sensitivity space, Delta its largest l2 norm, P the projection onto its span, s the
dimension of the span. The noise is N(0, sigma^2 P): independent normal noise in every cell, projected.

For tables u = x - x' in S_a apart P u = u, and the two laws differ as N(0, 1) and N(||u|| / sigma, 1) do.
Hence mu-Gaussian DP with mu = Delta / sigma [semi-dp, Proposition 28], and so rho-zCDP with
rho = Delta^2 / (2 sigma^2) [bun2016, Proposition 1.6]. The expected squared error is s sigma^2.

The noise is real. Invariants are kept up to floating-point rounding, counts are not whole, and floats are
not safe [mironov2012]: `lattice-gaussian` has the same constant in integers. This one is to compare with.

Let S be the span of S_a [semi-dp, Proposition 26]. It is the kernel of an integer matrix A: that of the
invariants and, where tables at most a records apart always agree in something else that everybody knows
(a cell that must be empty), of that too. Noise in a wider span is as private, since S_a lies in it: where S_a
cannot be listed, or its span would publish more than the invariants, the kernel of the invariants is taken.

Floating point rounds z, so A z = 0 holds up to rounding only, and the digits of a rounded number can
reveal more than the theory says [mironov2012].
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Literal

import numpy as np
from scipy.sparse import csc_array, csr_array
from scipy.special import ndtri

from holdfast.lattice.arrays import BoolArray, FloatArray
from holdfast.mechanisms.mechanism import Calibrated, MechanismRecord, NoiseLaw, Traits
from holdfast.privacy.claims import Claim, claim
from holdfast.privacy.evidence import Assumed, Evidence, Proved
from holdfast.privacy.guarantee import Guarantee
from holdfast.privacy.intensity import GaussianDP, ZeroConcentrated
from holdfast.privacy.premises import Premises
from holdfast.privacy.profile import SquaredLoss
from holdfast.privacy.roots import ceil_root, floor_root
from holdfast.sampling import decisions
from holdfast.sampling.entropy import Entropy
from holdfast.spec.mechanism import MechanismOptions
from holdfast.spec.values import PositiveRational
from holdfast.system.errors import GuaranteeError

MOST_LISTED = 150
"""Cells up to which S_a is listed for its span."""
ROUNDING = 1e-9
"""How far from 0 the sums of a point of the span may be, relative to the size of their terms."""


@claim("real-noise")
def _floating() -> tuple[str, str]:
    return (
        "the noise is a real number, drawn and added without rounding",
        (
            "a computer rounds both, and the rounded digits can reveal more than the theory says"
            " (mironov2012): this is for studies and never for a release"
        ),
    )


FLOATING = Assumed(_floating())


@dataclass(frozen=True, eq=False)
class NullSpace:
    """The real vectors z with A z = 0, for an integer matrix with independent rows."""

    matrix: csr_array

    @classmethod
    def of(cls, premises: Premises) -> "NullSpace":
        """Return the span of the sensitivity space, or the kernel of the invariants that holds it."""
        universe = premises.universe
        if premises.adjacency == "semi" and universe.cells <= MOST_LISTED:
            from holdfast.universe.hull.moves import sensitivity_moves, span_matrix  # noqa: PLC0415 - loaded late

            try:
                moves = sensitivity_moves(universe, premises.unit.distance, premises.unit.neighbours)
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

    def project(self, points: FloatArray) -> FloatArray:
        """Return the orthogonal projection of each row: z - A^T (A A^T)^-1 A z."""
        if self.dimension == self.cells:
            return points
        once = points - (self._transposed @ self._solve(self.matrix @ points.T)).T
        # a second step takes off most of what rounding left of A z
        return np.asarray(once - (self._transposed @ self._solve(self.matrix @ once.T)).T)

    def holds(self, points: FloatArray) -> BoolArray:
        """Whether A z = 0 for each row, up to rounding."""
        sums = np.abs(self.matrix @ points.T)
        sizes = abs(self.matrix) @ np.abs(points.T)
        return np.asarray((sums <= ROUNDING * (1 + sizes)).all(axis=0))

    @cached_property
    def _transposed(self) -> csr_array:
        return csr_array(self.matrix.T.astype(np.float64))

    @cached_property
    def _solve(self) -> Callable[[FloatArray], FloatArray]:
        from scipy.sparse.linalg import splu  # noqa: PLC0415 - loaded late

        solve: Callable[[FloatArray], FloatArray] = splu(csc_array(self.matrix @ self._transposed)).solve
        return solve


def uniforms(entropy: Entropy, *shape: int) -> FloatArray:
    """Return independent numbers between 0 and 1, never 0 or 1, from one word each."""
    return decisions.uniforms(entropy.words(int(np.prod(shape)))).reshape(shape)


def normals(entropy: Entropy, *shape: int) -> FloatArray:
    """Return independent standard normal numbers, as quantiles of uniform ones."""
    return np.asarray(ndtri(uniforms(entropy, *shape)), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class SpanGaussian(NoiseLaw):
    """N(0, sigma^2 P), P the projection onto a span."""

    span: NullSpace
    sigma_squared: Fraction

    @property
    def work(self) -> float:
        """Numbers drawn for one draw."""
        return float(self.span.cells)

    @property
    def floats(self) -> bool:
        """The noise is floats."""
        return True

    def sample(self, entropy: Entropy, size: int) -> FloatArray:
        """Return ``size`` independent draws, one a row."""
        return self.span.project(normals(entropy, size, self.span.cells)) * sqrt(self.sigma_squared)

    def log_prob(self, points: FloatArray) -> FloatArray:
        """Return -||z||^2 / (2 sigma^2) for each row, minus infinity off the span."""
        squares = (points**2).sum(axis=1)
        return np.where(self.span.holds(points), -squares / float(2 * self.sigma_squared), -np.inf)


class ProjectedGaussianOptions(MechanismOptions):
    """No keys but the name: it is there to compare with.

    >>> hf.ProjectedGaussian().name
    'projected-gaussian'
    """

    name: Literal["projected-gaussian"] = "projected-gaussian"


class ProjectedGaussianRecord(MechanismRecord):
    """The variance of the noise before its projection."""

    name: Literal["projected-gaussian"]
    sigma_squared: PositiveRational


@dataclass(frozen=True, eq=False)
class ProjectedGaussian(Calibrated[ProjectedGaussianOptions, ProjectedGaussianRecord]):
    """The Gaussian mechanism in the span of the sensitivity space, in floats. Not for releases."""

    sigma_squared: Fraction

    name = "projected-gaussian"
    Options = ProjectedGaussianOptions
    Record = ProjectedGaussianRecord
    standards = ("gaussian", "zcdp")
    neighbours = ("replace", "add-remove")
    intensities = (GaussianDP, ZeroConcentrated)
    released = False

    @classmethod
    def calibrate(
        cls, premises: Premises, *, intensity: GaussianDP | ZeroConcentrated
    ) -> "ProjectedGaussian":
        """Return the mechanism with the least noise whose guarantee implies the intensity."""
        # mu^2 / 2 = rho; an irrational mu is rounded down
        mu = intensity.mu if isinstance(intensity, GaussianDP) else floor_root(2 * intensity.rho)
        return cls(premises, premises.squared_stretch("l2") / mu**2)

    @property
    def guarantee(self) -> Guarantee:
        """Mu is the stretch over sigma [semi-dp, Proposition 28], rounded up where that is irrational."""
        premises = self.premises
        mu = ceil_root(premises.squared_stretch("l2") / self.sigma_squared)
        evidence: tuple[Evidence, ...] = (
            Proved(_normal(self.sigma_squared), "semi-dp, Proposition 28"),
            *premises.evidence("l2"),
            FLOATING,
        )
        return premises.guarantee(GaussianDP(mu), evidence, SquaredLoss(self.sigma_squared))

    @property
    def traits(self) -> Traits:
        """Real numbers, which keep the invariants up to rounding only."""
        return Traits(kind="floating", whole=False)

    @property
    def remark(self) -> str:
        """What it is not for."""
        return "real numbers in floating point: not for a release"

    @cached_property
    def noise(self) -> SpanGaussian:
        """The law of the noise, which every table shares."""
        return SpanGaussian(NullSpace.of(self.premises), self.sigma_squared)

    @property
    def methods(self) -> tuple[Claim, ...]:
        """How the noise is drawn."""
        return (_drawn(self.noise.span.cells, self.noise.span.dimension),)


@claim("normals-projected")
def _drawn(cells: int, dimensions: int) -> str:
    return f"{cells:,} normal numbers, projected onto {dimensions:,} dimensions"


@claim("projected-gaussian")
def _normal(sigma_squared: Fraction) -> str:
    return (
        f"normal noise of variance {sigma_squared} in the span of the differences of tables is mu-Gaussian"
        " DP, mu being the l2 distance of two tables over the standard deviation"
    )
