"""`projected-gaussian`: real Gaussian noise in the span of the sensitivity space [semi-dp, Algorithm 1].

Notation: S_a is the sensitivity space, Delta its largest l2 norm, P the projection onto its span, s the
dimension of the span. The noise is N(0, sigma^2 P): independent normal noise in every cell, projected.

For tables u = x - x' in S_a apart P u = u, and the two laws differ as N(0, 1) and N(||u|| / sigma, 1) do.
Hence mu-Gaussian DP with mu = Delta / sigma [semi-dp, Proposition 28], and so rho-zCDP with
rho = Delta^2 / (2 sigma^2) [bun2016, Proposition 1.6]. The expected squared error is s sigma^2.

The noise is real. Invariants are kept up to floating-point rounding, counts are not whole, and floats are
not safe [mironov2012]: `lattice-gaussian` has the same constant in integers. This one is to compare with.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Literal

import numpy as np

from holdfast.mechanisms.mechanism import Calibrated, MechanismOptions, MechanismRecord, NoiseLaw, Traits
from holdfast.mechanisms.span import FLOATING, Floats, Span, normals
from holdfast.premises import Premises
from holdfast.privacy.evidence import Evidence, Proved
from holdfast.privacy.guarantee import Guarantee
from holdfast.privacy.intensity import GaussianDP, ZeroConcentrated
from holdfast.privacy.profile import SquaredLoss
from holdfast.privacy.roots import ceil_root, floor_root
from holdfast.sampling.entropy import Entropy
from holdfast.spec.rational import PositiveRational


@dataclass(frozen=True, eq=False)
class SpanGaussian(NoiseLaw):
    """N(0, sigma^2 P), P the projection onto a span."""

    span: Span
    sigma_squared: Fraction

    @property
    def work(self) -> float:
        """Numbers drawn for one draw."""
        return float(self.span.cells)

    @property
    def methods(self) -> tuple[str, ...]:
        """What is done, in sentences."""
        return (f"{self.span.cells:,} normal numbers, projected onto {self.span.dimension:,} dimensions",)

    @property
    def floats(self) -> bool:
        """The noise is floats."""
        return True

    def sample(self, entropy: Entropy, size: int) -> Floats:
        """Return ``size`` independent draws, one a row."""
        return self.span.project(normals(entropy, size, self.span.cells)) * sqrt(self.sigma_squared)

    def log_prob(self, points: Floats) -> Floats:
        """Return -||z||^2 / (2 sigma^2) for each row, minus infinity off the span."""
        squares = (points**2).sum(axis=1)
        return np.where(self.span.holds(points), -squares / float(2 * self.sigma_squared), -np.inf)


class ProjectedGaussianRecord(MechanismRecord):
    """The variance of the noise before its projection."""

    name: Literal["projected-gaussian"]
    sigma_squared: PositiveRational


@dataclass(frozen=True, eq=False)
class ProjectedGaussian(Calibrated[MechanismOptions, ProjectedGaussianRecord]):
    """The Gaussian mechanism in the span of the sensitivity space, in floats. Not for releases."""

    sigma_squared: Fraction

    name = "projected-gaussian"
    Record = ProjectedGaussianRecord
    standards = ("gaussian", "zcdp")
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
            Proved(
                f"normal noise of variance {self.sigma_squared} in the span of the differences of tables is"
                " mu-Gaussian DP, mu being the l2 distance of two tables over the standard deviation",
                "semi-dp, Proposition 28",
            ),
            *premises.evidence("l2"),
            FLOATING,
        )
        return Guarantee(
            premises.scope, premises.unit, GaussianDP(mu), evidence, SquaredLoss(self.sigma_squared)
        )

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
        return SpanGaussian(Span.of(self.premises), self.sigma_squared)
