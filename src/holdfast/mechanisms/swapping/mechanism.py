"""Permutation swapping: records of a stratum exchange some of their values [swapping-slides].

Each record of a stratum is selected with probability p, and the selected ones pass the swapped columns on by
a uniform derangement. The counts of stratum by swapped values and of stratum by everything held never change:
these are its induced invariants, and subject to them it is differentially private [theory, 8].
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from holdfast.data.schema import Schema
from holdfast.mechanisms.details import MechanismDetails
from holdfast.mechanisms.mechanism import MechanismRecord, Traits, missing, pure
from holdfast.mechanisms.records import DrawAndReport, RecordsMechanism, RecordsPartLike
from holdfast.mechanisms.swapping.bounds import LEAST_RATE, EpsilonBound, epsilon, least_epsilon, rates
from holdfast.mechanisms.swapping.details import (
    RoundSection,
    RuleSection,
    SwappingDetails,
    SwappingRecord,
    settled_rounds,
    swapping_caveats,
    swapping_details,
)
from holdfast.mechanisms.swapping.embedded import Swap
from holdfast.mechanisms.swapping.file import ConfidentialStrata, ReleasedStrata
from holdfast.mechanisms.swapping.options import PermutationSwappingOptions
from holdfast.mechanisms.swapping.public import PublicStrata, Strata, stated_strata
from holdfast.mechanisms.swapping.rounds import RateRule, Round
from holdfast.mechanisms.swapping.utility import Tabulated
from holdfast.privacy.claims import Claim, claim
from holdfast.privacy.evidence import Evidence, Proved
from holdfast.privacy.guarantee import Guarantee, Target, Unit, format_parameter
from holdfast.privacy.intensity import Pure, Standard
from holdfast.spec.mechanism import MechanismOptions
from holdfast.spec.model import Spec
from holdfast.spec.privacy import ProtectedUnit
from holdfast.system.errors import GuaranteeError
from holdfast.system.ways import assigned, setting

ROUNDED = Fraction(1, 10**6)
"""The share of a target that the digits of a rate may leave unused, and more."""


@dataclass(frozen=True, eq=False)
class PermutationSwapping(RecordsMechanism[PermutationSwappingOptions, SwappingRecord]):
    """Swapping at a rate within the strata of a file; sees public values only."""

    public: PublicStrata
    rate: Fraction
    nulls: Literal["error", "level"]
    bound: EpsilonBound
    rules: tuple[RuleSection, ...] = ()
    """The rates of some strata of the last round."""
    before: tuple[RoundSection, ...] = ()
    """The rounds before the last."""

    name: ClassVar[str] = "permutation-swapping"
    Options: ClassVar[type[MechanismOptions]] = PermutationSwappingOptions
    Record: ClassVar[type[MechanismRecord]] = SwappingRecord
    Details: ClassVar[type[MechanismDetails] | None] = SwappingDetails
    standards: ClassVar[tuple[Standard, ...]] = ("pure",)
    bounded: ClassVar[bool] = True
    engines: ClassVar[tuple[str, ...]] = ("embedded", "spark")
    reports: ClassVar[bool] = True

    @classmethod
    def survey(cls, spec: Spec, data: Any) -> ConfidentialStrata:
        """Look through the file of a spec; raises where it, or what is asked of it, cannot be swapped."""
        return ConfidentialStrata.of(spec, data)

    @classmethod
    def answer(cls, public: PublicStrata, target: Target, options: PermutationSwappingOptions) -> Self:
        """Return the swap of a spec; where it gives no rate, the lower one of the two that meet its target.

        Fewer records move at the lower rate, so its error is less.
        """
        if target.adjacency != "unit":
            raise GuaranteeError(
                "swapping protects in proportion to the distance in records: set"
                f" {assigned('adjacency', 'unit')} in {setting('privacy')}."
            )
        strata, whom = public.strata.checked(public.whom), public.whom
        asked = None if target.intensity is None else pure(target).epsilon / whom.records

        def settled(rate: Fraction | None, size: int) -> Fraction:
            """Return a rate, if none is given the lower one that meets the target in strata of a size."""
            if rate is not None:
                return rate
            if asked is not None and size:
                return rates(size, asked, options.bound).lower
            if options.rate is not None or options.rates:
                return options.rate or options.rates[0].rate
            raise missing("epsilon")

        sizes = [one.others for one in public.rounds] or [strata.largest]
        before = tuple(
            RoundSection(within=one.within, rate=settled(one.rate, size), rates=_sections(one.rates))
            for one, size in zip(options.rounds, sizes, strict=False)
        )
        rate, rules = settled(options.rate, sizes[-1]), _sections(options.rates)
        found = cls(public, rate, options.nulls, options.bound, rules, before)
        if not found.guarantee.meets(target):
            given, largest = format_parameter(found.intensity.epsilon), f"{strata.largest:,} {whom.counted}"
            if rules:
                raise GuaranteeError(
                    f"{setting('mechanism.rates')} give epsilon {given} here, with {largest} in the largest"
                    f" stratum, above the target {format_parameter(pure(target).epsilon)} in"
                    f" {setting('privacy')}: leave out rules of the strata that lose most, whose rate is"
                    " solved for then, or ask for that much."
                )
            raise GuaranteeError(
                f'{setting("mechanism", "rate")} = "{rate}" gives epsilon {given} here, with {largest}'
                f" in the largest stratum, above the target {format_parameter(pure(target).epsilon)} in"
                f" {setting('privacy')}: leave the rate out and it is solved for, or ask for that much."
            )
        return found

    @classmethod
    def least_loss(
        cls, target: Target, whom: ProtectedUnit, options: PermutationSwappingOptions
    ) -> Fraction | None:
        """Return the loss at a given rate in strata of two; of a rate that is solved for, all but the target.

        Losses grow with strata, and a rate that is solved for meets its target but for rounding, unless it
        is the least within reach [holdfast, mechanisms/swapping/bounds.py]. A rate that misses its target
        is refused for that, once the file is read.
        """
        if options.rates or target.adjacency != "unit":
            return None
        asked = target.intensity.epsilon / whom.records if isinstance(target.intensity, Pure) else None
        if options.rate is not None:
            least = epsilon(2, options.rate, options.bound)
            return least if asked is None or least <= asked else None
        return None if asked is None else min(asked * (1 - ROUNDED), epsilon(2, LEAST_RATE, options.bound))

    @classmethod
    def stated(cls, part: RecordsPartLike, whom: ProtectedUnit) -> PublicStrata:
        """Return what a certificate states to be public."""
        return stated_strata(part, whom)

    @classmethod
    def of(cls, record: SwappingRecord, public: PublicStrata) -> Self:
        """Return the swap that a certificate records."""
        public.strata.checked(public.whom)
        return cls(public, record.rate, record.nulls, record.bound, record.rates, record.rounds)

    @classmethod
    def survey_released(cls, part: RecordsPartLike, folder: Path, whom: ProtectedUnit) -> ReleasedStrata:
        """Look through the files of a release."""
        return ReleasedStrata.of(part, folder, whom)

    @property
    def strata(self) -> Strata:
        """The strata of the file."""
        return self.public.strata

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The columns, and how they are swapped."""
        own = {"rate": self.rate, "nulls": self.nulls, "bound": self.bound}
        return {**vars(self.public.columns), **own, "rates": self.rules, "rounds": self.before}

    @cached_property
    def every_round(self) -> tuple[Round, ...]:
        """All rounds, the last one last; none where there is one, at one rate."""
        return settled_rounds(self.public.columns.stratify, self.rules, self.before, self.rate)

    @property
    def derangement_rate(self) -> Fraction | None:
        """The rate at which records of a stratum are selected and deranged, where there is one."""
        return None if self.public.rounds else self.rate

    def epsilon(self, bound: EpsilonBound, size: int | None = None) -> Fraction:
        """Return the loss for each record of distance in strata of up to a size, the largest if none.

        Of rounds it is the loss of the last, and of rates by stratum the largest loss [theory, 8].
        """
        if self.public.rounds:
            return self.public.rounds[-1].worst(self.every_round[-1], bound, size)
        return epsilon(self.strata.largest if size is None else size, self.rate, bound)

    @property
    def intensity(self) -> Pure:
        """The loss for all records that one unit has."""
        return Pure(self.epsilon(self.bound)).group(self.public.whom.records)

    @property
    def guarantee(self) -> Guarantee:
        """The loss for each record of distance, subject to the induced invariants."""
        b, o = self.strata.largest, self.rate / (1 - self.rate)
        slides, tight = self.epsilon("slides"), self.epsilon("tight")
        lost: tuple[Evidence, ...] = (
            Proved(_by_slides(o, b, slides), "swapping-slides, theorem"),
            Proved(_tightly(tight), "theory, 8"),
        )
        if self.public.rounds:
            lost = (
                Proved(_by_stratum(len(self.rules), slides, tight), "swapping-slides, theorem; theory, 8"),
            )
        if self.before:
            lost = (*lost, Proved(_by_rounds(1 + len(self.before)), "theory, 8"))
        drawn = Proved(_drawn(), "holdfast, mechanisms/swapping/permute.py; lemire2019")
        evidence = (*lost, drawn)
        unit = Unit(self.public.whom.unit, "unit", self.public.whom.records, self.public.whom.records)
        return Guarantee(self.public.scope, unit, self.intensity, evidence)

    @property
    def least(self) -> tuple[Fraction, Fraction]:
        """The smallest epsilon of any rate, by the slides' bound and by the tight one."""
        return least_epsilon(self.strata.largest), least_epsilon(self.strata.largest, "tight")

    @property
    def rates(self) -> tuple[Fraction, Fraction]:
        """The two rates that give the stated epsilon, to nine digits."""
        return rates(self.strata.largest, self.epsilon(self.bound), self.bound)

    @property
    def methods(self) -> tuple[Claim, ...]:
        """How it is drawn."""
        every = self.every_round
        return (
            *(
                _selected_within(self.public.whom, one.stratify, one.rate or self.rate, len(one.rules))
                for one in every
            ),
            *(() if every else (_selected(self.public.whom, self.rate),)),
            _selected_again(),
            _deranged(),
            _ordered(),
            *map(_renumbered, self.public.columns.renumber),
        )

    @property
    def traits(self) -> Traits:
        """Exact, whole and never below zero; the law depends on the records."""
        return Traits(additive=False, nonnegative=True)

    @property
    def details(self) -> SwappingDetails:
        """What every swap keeps, the strata, and what is lost in them."""
        return swapping_details(self)

    @property
    def caveats(self) -> tuple[Claim, ...]:
        """How far files are apart, who is not protected, and what stays visible."""
        return swapping_caveats(self)

    @property
    def comparison(self) -> Mapping[str, Any]:
        """The rate, the largest stratum, epsilon by both bounds, and how many records stay as they are."""
        return {
            "rate": str(self.rate),
            "largest_stratum": self.strata.largest,
            "epsilon": float(self.epsilon("slides")),
            "epsilon_tight": float(self.epsilon("tight")),
            "alone": self.strata.singletons,
            "alike": self.strata.alike,
        }

    def draw(self, file: ConfidentialStrata, seed: int | None, engine: str) -> DrawAndReport:
        """Settle everything but the draw, which is made as it is written; a seed is for studies."""
        return file.draw(self._swap(file, seed), engine)

    def simulate(self, file: ConfidentialStrata, schema: Schema) -> Tabulated:
        """Return a tabulation of a file, to swap it many times."""
        return Tabulated.of(file.records, self._swap(file, None), schema)

    def _swap(self, file: ConfidentialStrata, seed: int | None) -> Swap:
        return Swap(file.public.columns, self.rate, seed, self.every_round)


def _sections(rules: tuple[RateRule, ...]) -> tuple[RuleSection, ...]:
    return tuple(RuleSection(**dict(rule)) for rule in rules)


@claim("swap-selected")
def _selected(whom: ProtectedUnit, rate: Fraction) -> str:
    return f"each {whom.record} is selected with probability {rate}, on its own"


@claim("swap-selected-within")
def _selected_within(whom: ProtectedUnit, stratify: tuple[str, ...], rate: Fraction, rules: int) -> str:
    own = f", or at the rate of its stratum, of {rules}" if rules else ""
    key = " and ".join(stratify) or "the whole file"
    return f"within {key} each {whom.record} is selected with probability {rate}{own}, on its own"


@claim("swap-selected-again")
def _selected_again() -> str:
    return "a stratum in which exactly one was selected selects again"


@claim("swap-deranged")
def _deranged() -> str:
    return "the selected ones of a stratum exchange the swapped columns by a uniform derangement"


@claim("swap-ordered")
def _ordered() -> str:
    return "strata leave in the order of a hash of their key, their records in an order that is drawn"


@claim("swap-renumbered")
def _renumbered(column: str) -> str:
    return f"{column} is replaced by the number of each in that order"


@claim("swapping-slides")
def _by_slides(odds: Fraction, largest: int, epsilon: Fraction) -> str:
    return (
        f"selected with odds {format_parameter(odds)} and deranged within strata of at most {largest:,},"
        f" records lose at most ln({largest + 1:,}) - ln o, or ln o where that is more:"
        f" {format_parameter(epsilon)} each"
    )


@claim("swapping-tight")
def _tightly(epsilon: Fraction) -> str:
    return (
        "they lose at most ln(d_b / d_(b-2)) / 2 - ln o, or ln o where that is more, d_k being the number of"
        f" derangements: {format_parameter(epsilon)} each, which is attained where no two records of a"
        " stratum share a swapped value, nor all that is held"
    )


@claim("swapping-by-stratum")
def _by_stratum(rules: int, slides: Fraction, tight: Fraction) -> str:
    own = (
        f"at a rate that levels of its key and its size decide, by {rules} rules, all of them public"
        if rules
        else "at one rate"
    )
    return (
        f"strata are independent, each {own}: records lose at most the largest loss of any stratum,"
        f" {format_parameter(slides)} each by the slides' bound, {format_parameter(tight)} by the tight one"
    )


@claim("swapping-in-rounds")
def _by_rounds(rounds: int) -> str:
    return (
        f"of {rounds} rounds, each within coarser strata than the one before, those before the last permute"
        " places by a law that is the same for all files of the scope, and leave any two as far apart as they"
        " were: all rounds lose no more than the last"
    )


@claim("swaps-in-integers")
def _drawn() -> str:
    return "selection, derangements and the order of the records are drawn exactly, in integers"
