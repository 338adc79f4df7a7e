"""`lattice-laplace`: integer noise on the lattice of the invariants [integer-subspace-dp, Definition 9].

Notation: L = {u in Z^d : A u = 0}; kappa is the parameter per unit of the norm, q(z) prop. to
exp(-kappa ||z||) on L; S_a is the sensitivity space at distance a.

The noise does not depend on the table, and x - x' lies in L for conforming tables, so the log ratio of
the two laws at any output is kappa (||z + u|| - ||z||) <= kappa ||u|| with u = x - x'
[integer-subspace-dp, Theorem 10]; z = 0 attains it. Hence at semi-adjacency a the loss is exactly kappa
times the largest norm in S_a, and per record of distance it is kappa times the largest ||u|| / (||u||_1 / 2).
The *stretch* is that largest norm; its square is rational.

With queries the norm is the root of z'Fz, F = sum of the strength of each query times W'W [holdfast,
mechanisms/weights/strategy.py]: a norm on L, so all of this holds [theory, 13].
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from holdfast.lattice.forms import Form
from holdfast.mechanisms.cut.noise import CutNoise, approximate, counts_within, cut_laplace
from holdfast.mechanisms.errors.closed import closed_errors
from holdfast.mechanisms.errors.counts import Counts
from holdfast.mechanisms.errors.forms import form_errors
from holdfast.mechanisms.errors.laws import CountErrors, Radial
from holdfast.mechanisms.errors.zero_noise import ZeroNoiseChances, on_lattice
from holdfast.mechanisms.mechanism import (
    Calibrated,
    drawn_exactly,
    noise_repeats,
    premises_at,
    premises_for,
    pure,
)
from holdfast.mechanisms.weights.queries import QueryOptions, WeightedRecord, counted_queries
from holdfast.mechanisms.weights.strategy import Strategy, form_loss, squared_stretch
from holdfast.privacy.claims import Claim, claim
from holdfast.privacy.evidence import Evidence, Proved
from holdfast.privacy.guarantee import Guarantee, Target, Unit
from holdfast.privacy.intensity import Pure, Standard
from holdfast.privacy.premises import Premises
from holdfast.privacy.profile import NormLoss, Profile
from holdfast.privacy.roots import ceil_root, floor_root
from holdfast.privacy.tradeoff import PiecewiseLinear
from holdfast.public import Public
from holdfast.sampling.lattice.cut import CutLaw
from holdfast.sampling.lattice.laplace import LaplaceNorm, LatticeLaplaceLaw, require_few_crossings
from holdfast.spec.values import PositiveRational
from holdfast.system.errors import SpecError
from holdfast.system.machine import IN_PARTS
from holdfast.system.ways import assigned


def _crossing() -> str:
    """Return the way out where the l1 norm cannot be drawn."""
    return (
        f"take {assigned('norm', 'l2')} or the mechanism lattice-gaussian, which draw whole margins of any"
        " size, or keep fewer margins or coarser attributes"
    )


class LatticeLaplaceOptions(QueryOptions):
    """The norm, queries that weigh it, and a parameter in place of a target.

    >>> hf.LatticeLaplace(norm="l2").norm
    'l2'
    """

    name: Literal["lattice-laplace"] = "lattice-laplace"
    norm: LaplaceNorm = "l1"
    epsilon_per_unit: PositiveRational | None = None

    @model_validator(mode="after")
    def _weighted_in_l2(self) -> Self:
        if (self.queries or self.optimise_for) and self.norm != "l2":
            raise ValueError(f"queries go with the l2 norm: set {assigned('norm', 'l2')}, or leave them out")
        return self

    @property
    def sets_intensity(self) -> str | None:
        """The parameter, if it is given."""
        return None if self.epsilon_per_unit is None else assigned("epsilon_per_unit", self.epsilon_per_unit)


class LatticeLaplaceRecord(WeightedRecord):
    """Kappa and the norm, and the queries where it is weighted."""

    name: Literal["lattice-laplace"]
    norm: LaplaceNorm
    kappa: PositiveRational = Field(alias="epsilon_per_unit")
    given: Literal["by the spec"] | None = Field(default=None, exclude_if=lambda given: given is None)
    """Who gave kappa, where it does not follow from the target."""


@dataclass(frozen=True, eq=False)
class LatticeLaplace(Calibrated[LatticeLaplaceOptions, LatticeLaplaceRecord]):
    """The generalized discrete Laplace mechanism on one universe."""

    norm: LaplaceNorm
    kappa: Fraction
    given: Literal["by the spec"] | None = None
    strategy: Strategy | None = None
    cut: CutNoise | None = None
    """What is known of the noise within a bound, where it has one."""
    at_epsilon: Fraction | None = None
    repeatable: bool = False

    name = "lattice-laplace"
    Options = LatticeLaplaceOptions
    Record = LatticeLaplaceRecord
    standards = ("pure",)
    neighbours = ("replace", "add-remove")
    intensities = (Pure,)
    beside_records = True
    drawable: ClassVar = {"norm": "l2"}

    @classmethod
    def answer(cls, public: Public, target: Target, options: LatticeLaplaceOptions) -> "LatticeLaplace":
        """Take the parameter of the spec, or the one that meets the target."""
        if options.norm == "l1" and public.margins is not None:
            require_few_crossings(public.margins, _crossing())
        premises = premises_for(public, target)
        strategy = Strategy.of_options(public, options, premises)
        if options.bound is not None:
            cut, asked = (
                CutNoise.of(premises, public, options.norm, strategy, options.bound),
                approximate(target),
            )
            given: Literal["by the spec"] | None = None if options.epsilon_per_unit is None else "by the spec"
            kappa = options.epsilon_per_unit or cut.calibrated(asked)
            found = cls(premises, options.norm, kappa, given, strategy, cut, asked.epsilon)
        elif options.epsilon_per_unit is not None:
            found = cls(premises, options.norm, options.epsilon_per_unit, "by the spec", strategy)
        else:
            found = cls.calibrate(premises, norm=options.norm, intensity=pure(target), strategy=strategy)
        return replace(found, repeatable=options.repeatable)

    @classmethod
    def of(cls, record: LatticeLaplaceRecord, public: Public, unit: Unit) -> "LatticeLaplace":
        """Return the mechanism of a record."""
        premises = premises_at(public, unit)
        strategy = Strategy.of_record(public, record, premises)
        if strategy is not None and record.norm != "l2":
            raise SpecError("queries go with the l2 norm, and the record has another.")
        cut = CutNoise.of_record(premises, public, record.norm, strategy, record.bound)
        found = cls(premises, record.norm, record.kappa, record.given, strategy, cut, record.at_epsilon)
        return replace(found, repeatable=record.repeatable)

    @classmethod
    def room_per_cell(cls, chosen: LatticeLaplaceOptions, *, apart: bool) -> int:
        """Noise of the l1 norm is drawn in parts under totals of many leaves; one radius ties all others."""
        return IN_PARTS if apart and chosen.norm == "l1" else cls.bytes_per_cell

    @classmethod
    def standards_with(cls, chosen: QueryOptions | WeightedRecord) -> tuple[Standard, ...]:
        """Within a bound nothing but delta pays for the edge."""
        return cls.standards if chosen.bound is None else ("approximate",)

    @classmethod
    def calibrate(
        cls,
        premises: Premises,
        *,
        intensity: Pure,
        norm: LaplaceNorm = "l1",
        strategy: Strategy | None = None,
    ) -> "LatticeLaplace":
        """Return the mechanism with the least noise whose guarantee meets the intensity."""
        square = premises.squared_stretch(norm) if norm == "l1" else squared_stretch(premises, strategy)
        kappa = floor_root(intensity.epsilon**2 / square)
        if ceil_root(kappa**2 * square) > intensity.epsilon:  # an irrational root: round once more
            kappa *= 1 - Fraction(1, 10**10)
        return cls(premises, norm, kappa, None, strategy)

    def calibration(self, public: Public, target: Target) -> Mapping[str, Any] | None:
        """Return the kappa that meets a target; None where the spec gave one."""
        del public
        if target.intensity is None or self.given is not None:
            return None
        if self.cut is not None:
            asked = approximate(target)
            return {"kappa": self.cut.calibrated(asked), "at_epsilon": asked.epsilon}
        again = self.calibrate(self.premises, norm=self.norm, intensity=pure(target), strategy=self.strategy)
        return {"kappa": again.kappa}

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Kappa, the norm, the queries and the bound, and whether the noise is the same each time."""
        shape = {} if self.strategy is None else self.strategy.parameters
        bound = {} if self.cut is None else {"bound": self.cut.bound, "at_epsilon": self.at_epsilon}
        own = {"norm": self.norm, "kappa": self.kappa, "given": self.given, "repeatable": self.repeatable}
        return {**own, **shape, **bound}

    def caveats(self, public: Public) -> tuple[Claim, ...]:
        """Return what a bound says for sure, and what noise that is the same each time tells."""
        bound = () if self.cut is None else (counts_within(self.cut.bound),)
        same = (noise_repeats(),) if self.repeatable else ()
        return (*bound, *same, *super().caveats(public))

    @cached_property
    def _squared_stretch(self) -> Fraction:
        if self.norm == "l1":
            return self.premises.squared_stretch("l1")
        return squared_stretch(self.premises, self.strategy)

    @cached_property
    def epsilon(self) -> Fraction:
        """Kappa times the stretch, rounded up where that is irrational."""
        return ceil_root(self.kappa**2 * self._squared_stretch)

    @property
    def guarantee(self) -> Guarantee:
        """The loss is kappa times the stretch [integer-subspace-dp, Theorem 10]."""
        premises = self.premises
        if self.cut is not None and self.at_epsilon is not None:
            queries = 0 if self.strategy is None else self.strategy.squares
            told = cut_laplace(self.kappa, self.norm, self.cut.bound, queries)
            return self.cut.guarantee(self.kappa, self.at_epsilon, told, self._drawn)
        profile: Profile = NormLoss(self.kappa, self.norm)
        if self.strategy is not None:
            profile = form_loss("pure", premises, self.strategy.form, self.kappa**2)
        return premises.guarantee(Pure(self.epsilon), self._evidence(), profile, self._exact)

    @cached_property
    def _exact(self) -> PiecewiseLinear | None:
        return self.premises.worst_on_a_line(self.noise.log_prob)

    @property
    def form(self) -> Form | None:
        """The form that queries make."""
        return None if self.strategy is None else self.strategy.form

    @property
    def remark(self) -> str | None:
        """The norm, where it is not l1, the queries and the bound."""
        shape = None if self.norm == "l1" else "in the l2 norm"
        if self.strategy is not None:
            shape = f"in the l2 norm, weighted: {self.strategy.words}"
        return shape if self.cut is None else self.cut.remark(shape)

    @cached_property
    def noise(self) -> LatticeLaplaceLaw | CutLaw:
        """The law of the noise, which every table shares."""
        universe = self.premises.universe
        whole = LatticeLaplaceLaw(
            universe.given, self.kappa, self.norm, universe.margins, self.form, otherwise=_crossing()
        )
        return whole if self.cut is None else self.cut.law(whole, self.kappa)

    @cached_property
    def unchanged(self) -> ZeroNoiseChances | None:
        """The chance of noise 0, where the law is a product over cells that at most one total ties."""
        if self.norm == "l2" or self.cut is not None:
            return None
        kappa = float(self.kappa)
        return on_lattice(self.premises.universe.given, lambda steps: -kappa * np.abs(steps))

    def errors(self, public: Public, asked: Sequence[Counts]) -> list[CountErrors | None]:
        """Return the errors of counts: of a radial law in l2, and in closed form in l1 if there is one.

        Within a bound they are simulated.
        """
        universe, kappa, noise = public.universe, float(self.kappa), self.noise
        if isinstance(noise, CutLaw):
            return [None] * len(asked)
        if self.norm == "l1":
            return closed_errors(noise, public, asked)
        width = sqrt(universe.dimension + 1) / kappa
        return form_errors(public, asked, self.strategy, self.error_law, width=width)

    def error_law(self, variance: float) -> Radial:
        """Return the law of the error of a count with w'F^-1 w = variance, in l2."""
        return Radial(sqrt(variance) / float(self.kappa), self.premises.universe.dimension)

    @property
    def _drawn(self) -> list[Evidence]:
        return drawn_exactly(floats=self.noise.floats, repeatable=self.repeatable)

    def _evidence(self) -> list[Evidence]:
        drawn = self._drawn
        if self.strategy is None:
            loses = Proved(_loses(self.kappa, self.norm), "integer-subspace-dp, Theorem 10; theory, 4")
            return [loses, *self.premises.evidence(self.norm), *drawn]
        told = _loses_in_form(self.kappa, self.strategy.squares)
        loses = Proved(told, "integer-subspace-dp, Theorem 10; theory, 13")
        return [loses, *self.premises.form_evidence(self.strategy.form), *drawn]


@claim("lattice-laplace")
def _loses(kappa: Fraction, norm: LaplaceNorm) -> str:
    return (
        f"noise with probability proportional to exp(-{kappa} ||z||) on the lattice of the invariants, in the"
        f" {norm} norm, loses at most {kappa} for each unit of the norm between two tables"
    )


@claim("lattice-laplace-weighted")
def _loses_in_form(kappa: Fraction, queries: int) -> str:
    return (
        f"noise with probability proportional to exp(-{kappa} sqrt(Q(z))) on the lattice of the invariants,"
        f" Q the weighted sum of squares of {counted_queries(queries)}, loses at most {kappa} sqrt(Q(u))"
        " between tables u apart"
    )
