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

from holdfast.mechanisms.mechanism import Calibrated, MechanismOptions, MechanismRecord, Traits, drawn_exactly
from holdfast.premises import Premises
from holdfast.privacy.evidence import Evidence, Proved
from holdfast.privacy.guarantee import Guarantee
from holdfast.privacy.intensity import Pure, ZeroConcentrated
from holdfast.privacy.profile import NormLoss, SquaredLoss
from holdfast.sampling.lattice.gaussian import LatticeGaussianLaw
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.spec.rational import PositiveRational


class NaiveLaplaceRecord(MechanismRecord):
    """Kappa."""

    name: Literal["naive-laplace"]
    kappa: PositiveRational = Field(alias="epsilon_per_unit")


class NaiveGaussianRecord(MechanismRecord):
    """The variance of the noise, were it real."""

    name: Literal["naive-gaussian"]
    sigma_squared: PositiveRational


@dataclass(frozen=True, eq=False)
class NaiveLaplace(Calibrated[MechanismOptions, NaiveLaplaceRecord]):
    """Double geometric noise in every cell; no invariant is kept."""

    kappa: Fraction

    name = "naive-laplace"
    Record = NaiveLaplaceRecord
    standards = ("pure",)
    intensities = (Pure,)
    released = False

    @property
    def traits(self) -> Traits:
        """No invariant is kept, unless there is none."""
        return _traits(self.premises)

    @classmethod
    def calibrate(cls, premises: Premises, *, intensity: Pure) -> "NaiveLaplace":
        """Return the mechanism whose guarantee is the intensity."""
        return cls(premises, intensity.epsilon / (2 * premises.unit.distance))

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon is kappa for each of the 2 a units between tables [integer-subspace-dp, Theorem 10]."""
        premises = self.premises
        claim = Proved(
            f"double geometric noise of parameter {self.kappa} in every cell loses at most"
            f" {self.kappa} for each unit of l1 between any two tables",
            "integer-subspace-dp, Theorem 10",
        )
        return Guarantee(
            premises.scope,
            premises.unit,
            Pure(2 * premises.unit.distance * self.kappa),
            (claim, *_group_evidence(premises, "2 in l1"), *drawn_exactly(floats=self.noise.floats)),
            NormLoss(self.kappa, "l1"),
        )

    @cached_property
    def noise(self) -> LatticeLaplaceLaw:
        """The law of the noise, which every table shares."""
        return LatticeLaplaceLaw(_no_invariants(self.premises), self.kappa, "l1")


@dataclass(frozen=True, eq=False)
class NaiveGaussian(Calibrated[MechanismOptions, NaiveGaussianRecord]):
    """Discrete Gaussian noise in every cell; no invariant is kept."""

    sigma_squared: Fraction

    name = "naive-gaussian"
    Record = NaiveGaussianRecord
    standards = ("zcdp",)
    intensities = (ZeroConcentrated,)
    released = False

    @property
    def traits(self) -> Traits:
        """No invariant is kept, unless there is none."""
        return _traits(self.premises)

    @classmethod
    def calibrate(cls, premises: Premises, *, intensity: ZeroConcentrated) -> "NaiveGaussian":
        """Return the mechanism whose guarantee is the intensity."""
        return cls(premises, Fraction(premises.unit.distance) ** 2 / intensity.rho)

    @property
    def guarantee(self) -> Guarantee:
        """Rho is that of one record, 1 / sigma^2 [canonne2020, Theorem 4], times a^2 [semi-dp, Lemma 39]."""
        premises = self.premises
        claim = Proved(
            f"discrete Gaussian noise in every cell, sigma^2 = {self.sigma_squared}, has Renyi divergences"
            " of order alpha of at most alpha ||u||^2 / (2 sigma^2) between any two tables u apart",
            "canonne2020, Theorem 4",
        )
        return Guarantee(
            premises.scope,
            premises.unit,
            ZeroConcentrated(1 / self.sigma_squared).group(premises.unit.distance),
            (
                claim,
                *_group_evidence(premises, "the root of 2 in l2"),
                *drawn_exactly(floats=self.noise.floats),
            ),
            SquaredLoss(self.sigma_squared),
        )

    @cached_property
    def noise(self) -> LatticeGaussianLaw:
        """The law of the noise, which every table shares."""
        return LatticeGaussianLaw(_no_invariants(self.premises), self.sigma_squared)


def _traits(premises: Premises) -> Traits:
    return Traits(keeps_invariants=premises.universe.rank == 0)


def _no_invariants(premises: Premises) -> csr_array:
    return csr_array((0, premises.universe.cells), dtype=np.int64)


def _group_evidence(premises: Premises, step: str) -> tuple[Evidence, ...]:
    """Say why a loss for one record is one for a records, and for which tables."""
    group = Proved(
        f"one {premises.whom.record} moves a table by at most {step}, and the loss of several is that of a"
        " group",
        "theory, 1; semi-dp, Proposition 15",
    )
    return (group, *premises.evidence())
