"""`naive-laplace`, `naive-gaussian`: independent integer noise in every cell, by group privacy.

What one does without looking at the invariants. One record leaves a cell and enters another: it moves a
table by 2 in l1 and by the root of 2 in l2. At a records these are 2 a and, since all may take the same way,
a times the root of 2. Hence double geometric noise, proportional to exp(-kappa |z|), loses epsilon =
2 a kappa, and discrete Gaussian noise rho = (a^2 2) / (2 sigma^2) = a^2 / sigma^2
[semi-dp, Section 5.2; canonne2020, Theorem 4]. Both hold for all tables a records apart, so also for those
with the same invariants [semi-dp, Proposition 15].

**No invariant is kept.** Noise that ignores the invariants publishes them with noise, and where they are
published exactly as well, what is said holds among tables that share them. These mechanisms are here to be
compared with: the others draw in fewer dimensions, for a smaller sensitivity. The laws are the Laplace and
the Gaussian law on the lattice of no invariants, Z^d, and are drawn exactly.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
from pydantic import Field
from scipy.sparse import csr_array

from holdfast.mechanisms.mechanism import (
    Calibrated,
    MechanismRecord,
    OptionsT,
    RecordT,
    Traits,
    drawn_exactly,
)
from holdfast.privacy.claims import claim
from holdfast.privacy.evidence import Evidence, Proved
from holdfast.privacy.guarantee import Guarantee
from holdfast.privacy.intensity import Pure, ZeroConcentrated
from holdfast.privacy.premises import Premises
from holdfast.privacy.profile import NormLoss, SquaredLoss
from holdfast.sampling.lattice.gaussian import LatticeGaussianLaw
from holdfast.sampling.lattice.laplace import LaplaceNorm, LatticeLaplaceLaw
from holdfast.spec.mechanism import MechanismOptions
from holdfast.spec.privacy import ProtectedUnit
from holdfast.spec.values import PositiveRational


class NaiveLaplaceOptions(MechanismOptions):
    """No keys but the name: it is there to compare with.

    >>> hf.NaiveLaplace().name
    'naive-laplace'
    """

    name: Literal["naive-laplace"] = "naive-laplace"


class NaiveLaplaceRecord(MechanismRecord):
    """Kappa."""

    name: Literal["naive-laplace"]
    kappa: PositiveRational = Field(alias="epsilon_per_unit")


class NaiveGaussianOptions(MechanismOptions):
    """No keys but the name: it is there to compare with.

    >>> hf.NaiveGaussian().name
    'naive-gaussian'
    """

    name: Literal["naive-gaussian"] = "naive-gaussian"


class NaiveGaussianRecord(MechanismRecord):
    """The variance of the noise, were it real."""

    name: Literal["naive-gaussian"]
    sigma_squared: PositiveRational


@dataclass(frozen=True, eq=False)
class Naive(Calibrated[OptionsT, RecordT]):
    """Noise in every cell, on the lattice of no invariants."""

    released = False
    neighbours = ("replace", "add-remove")

    @property
    def traits(self) -> Traits:
        """No invariant is kept, unless there is none."""
        return Traits(keeps_invariants=self.premises.universe.rank == 0)

    @property
    def no_invariants(self) -> csr_array:
        """The matrix of the lattice that the noise is on."""
        return csr_array((0, self.premises.universe.cells), dtype=np.int64)

    def in_groups(self, loses: Evidence, norm: LaplaceNorm) -> tuple[Evidence, ...]:
        """Say why a loss for one record is one for a records, and for which tables."""
        group = Proved(_group(self.premises.whom, norm), "theory, 1; semi-dp, Proposition 15")
        return (loses, group, *self.premises.evidence(), *drawn_exactly(floats=self.noise.floats))


@dataclass(frozen=True, eq=False)
class NaiveLaplace(Naive[NaiveLaplaceOptions, NaiveLaplaceRecord]):
    """Double geometric noise in every cell; no invariant is kept."""

    kappa: Fraction

    name = "naive-laplace"
    Options = NaiveLaplaceOptions
    Record = NaiveLaplaceRecord
    standards = ("pure",)
    intensities = (Pure,)

    @classmethod
    def calibrate(cls, premises: Premises, *, intensity: Pure) -> "NaiveLaplace":
        """Return the mechanism whose guarantee is the intensity."""
        return cls(premises, intensity.epsilon / (premises.metric.step * premises.unit.distance))

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon is kappa for each of the units between tables [integer-subspace-dp, Theorem 10].

        These are 2 a of a records that change, and a of those that come or go.
        """
        loses = Proved(_geometric(self.kappa), "integer-subspace-dp, Theorem 10")
        epsilon = Pure(self.premises.metric.step * self.premises.unit.distance * self.kappa)
        return self.premises.guarantee(epsilon, self.in_groups(loses, "l1"), NormLoss(self.kappa, "l1"))

    @cached_property
    def noise(self) -> LatticeLaplaceLaw:
        """The law of the noise, which every table shares."""
        return LatticeLaplaceLaw(self.no_invariants, self.kappa, "l1")


@dataclass(frozen=True, eq=False)
class NaiveGaussian(Naive[NaiveGaussianOptions, NaiveGaussianRecord]):
    """Discrete Gaussian noise in every cell; no invariant is kept."""

    sigma_squared: Fraction

    name = "naive-gaussian"
    Options = NaiveGaussianOptions
    Record = NaiveGaussianRecord
    standards = ("zcdp",)
    intensities = (ZeroConcentrated,)
    beside_records = True

    @classmethod
    def calibrate(cls, premises: Premises, *, intensity: ZeroConcentrated) -> "NaiveGaussian":
        """Return the mechanism whose guarantee is the intensity."""
        one = Fraction(premises.metric.step, 2)
        return cls(premises, one * premises.unit.distance**2 / intensity.rho)

    @property
    def guarantee(self) -> Guarantee:
        """Rho is that of one record [canonne2020, Theorem 4], times a^2 [semi-dp, Lemma 39].

        One that changes has 1 / sigma^2, one that comes or goes half of it.
        """
        loses = Proved(_gaussian(self.sigma_squared), "canonne2020, Theorem 4")
        one = Fraction(self.premises.metric.step, 2)
        rho = ZeroConcentrated(one / self.sigma_squared).group(self.premises.unit.distance)
        return self.premises.guarantee(rho, self.in_groups(loses, "l2"), SquaredLoss(self.sigma_squared))

    @cached_property
    def noise(self) -> LatticeGaussianLaw:
        """The law of the noise, which every table shares."""
        return LatticeGaussianLaw(self.no_invariants, self.sigma_squared)


@claim("naive-laplace")
def _geometric(kappa: Fraction) -> str:
    return (
        f"double geometric noise of parameter {kappa} in every cell loses at most {kappa} for each unit of l1"
        " between any two tables"
    )


@claim("naive-gaussian")
def _gaussian(sigma_squared: Fraction) -> str:
    return (
        f"discrete Gaussian noise in every cell, sigma^2 = {sigma_squared}, has Renyi divergences of order"
        " alpha of at most alpha ||u||^2 / (2 sigma^2) between any two tables u apart"
    )


@claim("group-of-records")
def _group(whom: ProtectedUnit, norm: LaplaceNorm) -> str:
    step = "2 in l1" if norm == "l1" else "the root of 2 in l2"
    if whom.presence:
        step = f"1 in {norm}"
    return f"one {whom.record} moves a table by at most {step}, and the loss of several is that of a group"
