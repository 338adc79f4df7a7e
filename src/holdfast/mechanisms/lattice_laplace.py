"""`lattice-laplace`: integer noise on the lattice of the invariants [integer-subspace-dp, Definition 9].

Notation: L = {u in Z^d : A u = 0}; kappa is the parameter per unit of the norm, q(z) prop. to
exp(-kappa ||z||) on L; S_a is the sensitivity space at distance a.

The noise does not depend on the table, and x - x' lies in L for conforming tables, so the log ratio of
the two laws at any output is kappa (||z + u|| - ||z||) <= kappa ||u|| with u = x - x'
[integer-subspace-dp, Theorem 10]; z = 0 attains it. Hence at semi-adjacency a the loss is exactly kappa
times the largest norm in S_a, and per record of distance it is kappa times the largest ||u|| / (||u||_1 / 2).
The *stretch* is that largest norm; its square is rational.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from pydantic import Field

from holdfast.mechanisms.mechanism import (
    Calibrated,
    MechanismOptions,
    MechanismRecord,
    drawn_exactly,
    premises_for,
    pure,
)
from holdfast.mechanisms.unchanged import Unchanged, on_lattice
from holdfast.premises import Premises
from holdfast.privacy.evidence import Evidence, Proved
from holdfast.privacy.guarantee import Guarantee, Target
from holdfast.privacy.intensity import Pure
from holdfast.privacy.profile import NormLoss
from holdfast.privacy.roots import ceil_root, floor_root
from holdfast.public import Public
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw, Norm
from holdfast.sampling.lattice.plan import require_few_crossings
from holdfast.spec.rational import PositiveRational


class LatticeLaplaceOptions(MechanismOptions):
    """The norm, and a parameter in place of a target."""

    norm: Norm = "l1"
    epsilon_per_unit: PositiveRational | None = None

    @property
    def sets_intensity(self) -> str | None:
        """The parameter, if it is given."""
        return None if self.epsilon_per_unit is None else f"epsilon_per_unit = {self.epsilon_per_unit}"


class LatticeLaplaceRecord(MechanismRecord):
    """Kappa and the norm."""

    name: Literal["lattice-laplace"]
    norm: Norm
    kappa: PositiveRational = Field(alias="epsilon_per_unit")
    given: Literal["by the spec"] | None = Field(default=None, exclude_if=lambda given: given is None)
    """Who gave kappa, where it does not follow from the target."""


@dataclass(frozen=True, eq=False)
class LatticeLaplace(Calibrated[LatticeLaplaceOptions, LatticeLaplaceRecord]):
    """The generalized discrete Laplace mechanism on one universe."""

    norm: Norm
    kappa: Fraction
    given: Literal["by the spec"] | None = None

    name = "lattice-laplace"
    Options = LatticeLaplaceOptions
    Record = LatticeLaplaceRecord
    standards = ("pure",)
    intensities = (Pure,)

    @classmethod
    def answer(cls, public: Public, target: Target, options: LatticeLaplaceOptions) -> "LatticeLaplace":
        """Take the parameter of the spec, or the one that meets the target."""
        if options.norm == "l1" and public.margins is not None:
            require_few_crossings(public.margins)
        premises = premises_for(public, target)
        if options.epsilon_per_unit is not None:
            return cls(premises, options.norm, options.epsilon_per_unit, given="by the spec")
        return cls.calibrate(premises, norm=options.norm, intensity=pure(target))

    @classmethod
    def calibrate(cls, premises: Premises, *, intensity: Pure, norm: Norm = "l1") -> "LatticeLaplace":
        """Return the mechanism with the least noise whose guarantee meets the intensity."""
        square = premises.squared_stretch(norm)
        kappa = floor_root(intensity.epsilon**2 / square)
        if ceil_root(kappa**2 * square) > intensity.epsilon:  # an irrational root: round once more
            kappa *= 1 - Fraction(1, 10**10)
        return cls(premises, norm, kappa)

    def calibration(self, public: Public, target: Target) -> Mapping[str, Any] | None:
        """Return the kappa that meets a target; None where the spec gave one."""
        del public
        if target.intensity is None or self.given is not None:
            return None
        return {"kappa": self.calibrate(self.premises, norm=self.norm, intensity=pure(target)).kappa}

    @cached_property
    def epsilon(self) -> Fraction:
        """Kappa times the stretch, rounded up where that is irrational."""
        return ceil_root(self.kappa**2 * self.premises.squared_stretch(self.norm))

    @property
    def guarantee(self) -> Guarantee:
        """The loss is kappa times the stretch [integer-subspace-dp, Theorem 10]."""
        profile = NormLoss(self.kappa, self.norm)
        premises = self.premises
        return Guarantee(premises.scope, premises.unit, Pure(self.epsilon), tuple(self._evidence()), profile)

    @property
    def remark(self) -> str | None:
        """The norm, where it is not l1."""
        return None if self.norm == "l1" else "in the l2 norm"

    @cached_property
    def noise(self) -> LatticeLaplaceLaw:
        """The law of the noise, which every table shares."""
        universe = self.premises.universe
        return LatticeLaplaceLaw(universe.matrix, self.kappa, self.norm, universe.margins)

    @cached_property
    def unchanged(self) -> Unchanged | None:
        """The chance of noise 0, where the law is a product over cells that at most one total ties."""
        if self.norm == "l2":
            return None
        kappa = float(self.kappa)
        return on_lattice(self.premises.universe.matrix, lambda steps: -kappa * np.abs(steps))

    def _evidence(self) -> list[Evidence]:
        return [
            Proved(
                f"noise with probability proportional to exp(-{self.kappa} ||z||) on the lattice of the"
                f" invariants, in the {self.norm} norm, loses at most {self.kappa} for each unit of the"
                " norm between two tables",
                "integer-subspace-dp, Theorem 10; theory, 4",
            ),
            *self.premises.evidence(self.norm),
            *drawn_exactly(floats=self.noise.floats),
        ]
