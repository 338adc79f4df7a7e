"""`lattice-gaussian`: integer Gaussian noise on the lattice of the invariants.

q(z) is proportional to exp(-||z||_2^2 / (2 sigma^2)) on L = {u in Z^d : A u = 0} [integer-subspace-dp,
Definition 13]. For u in L and alpha > 1, completing the square,

    D_alpha(q || q(. - u)) = alpha ||u||^2 / (2 sigma^2)
                             + log(rho_sigma(L + (alpha - 1) u) / rho_sigma(L)) / (alpha - 1),

and rho_sigma(L + c) <= rho_sigma(L) by Poisson summation. Hence rho-zCDP with rho = Delta_2^2 / (2 sigma^2),
the constant of the continuous Gaussian in any dimension [theory, 4]. At u = 0 in the second term (integer
alpha) the bound is attained.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor
from typing import Literal

from holdfast.errors import GuaranteeError
from holdfast.mechanisms.mechanism import Calibrated, MechanismOptions, MechanismRecord, drawn_exactly
from holdfast.mechanisms.unchanged import Unchanged, on_lattice
from holdfast.premises import Premises
from holdfast.privacy.conversion import zcdp_within
from holdfast.privacy.evidence import Evidence, Proved
from holdfast.privacy.guarantee import Guarantee
from holdfast.privacy.intensity import Approximate, ZeroConcentrated
from holdfast.privacy.profile import SquaredLoss
from holdfast.sampling.lattice.gaussian import LatticeGaussianLaw
from holdfast.spec.rational import PositiveRational

DIGITS = 10**9


class LatticeGaussianRecord(MechanismRecord):
    """The variance of the noise, were it real and free."""

    name: Literal["lattice-gaussian"]
    sigma_squared: PositiveRational


@dataclass(frozen=True, eq=False)
class LatticeGaussian(Calibrated[MechanismOptions, LatticeGaussianRecord]):
    """The generalized discrete Gaussian mechanism on one universe."""

    sigma_squared: Fraction

    name = "lattice-gaussian"
    Record = LatticeGaussianRecord
    standards = ("zcdp", "approximate")
    intensities = (ZeroConcentrated, Approximate)

    @classmethod
    def calibrate(cls, premises: Premises, *, intensity: ZeroConcentrated | Approximate) -> "LatticeGaussian":
        """Return the mechanism with the least noise whose guarantee implies the intensity.

        An approximate target is met through the largest rho that implies it.
        """
        rho = largest_rho(intensity) if isinstance(intensity, Approximate) else intensity.rho
        return cls(premises, premises.squared_stretch("l2") / (2 * rho))

    @property
    def guarantee(self) -> Guarantee:
        """Rho is the squared stretch over 2 sigma^2 [theory, 4]."""
        premises, profile = self.premises, SquaredLoss(self.sigma_squared)
        rho = premises.squared_stretch("l2") / (2 * self.sigma_squared)
        return Guarantee(
            premises.scope, premises.unit, ZeroConcentrated(rho), tuple(self._evidence()), profile
        )

    @cached_property
    def noise(self) -> LatticeGaussianLaw:
        """The law of the noise, which every table shares."""
        universe = self.premises.universe
        return LatticeGaussianLaw(universe.matrix, self.sigma_squared, universe.margins)

    @cached_property
    def unchanged(self) -> Unchanged | None:
        """The chance of noise 0, where at most one total ties the cells."""
        twice = float(2 * self.sigma_squared)
        return on_lattice(self.premises.universe.matrix, lambda steps: -(steps**2) / twice)

    def _evidence(self) -> list[Evidence]:
        return [
            Proved(
                "noise with probability proportional to exp(-||z||^2 / (2 sigma^2)) on the lattice of the"
                f" invariants, sigma^2 = {self.sigma_squared}, has Renyi divergences of order alpha of at"
                " most alpha ||u||^2 / (2 sigma^2) between tables u apart",
                "theory, 4; canonne2020, Theorem 4",
            ),
            *self.premises.evidence("l2"),
            *drawn_exactly(floats=self.noise.floats),
        ]


def largest_rho(target: Approximate) -> Fraction:
    """Return the largest rho that is known to imply an approximate guarantee, rounded down."""
    within = zcdp_within(epsilon=float(target.epsilon), delta=float(target.delta)).value
    rho = Fraction(floor(within * (1 - 1e-9) * DIGITS), DIGITS)
    if rho <= 0:
        raise GuaranteeError("no zCDP guarantee implies this target: give a larger epsilon or delta.")
    return rho
