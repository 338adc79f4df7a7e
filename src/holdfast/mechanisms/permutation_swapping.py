"""Permutation swapping: records of a stratum exchange some of their values [swapping-slides].

Each record of a stratum is selected with probability p, and the selected ones pass the swapped columns on by
a uniform derangement. The counts of stratum by swapped values and of stratum by everything held never change:
these are its induced invariants, and subject to them it is differentially private [theory, 8].
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from holdfast.errors import GuaranteeError
from holdfast.mechanisms.mechanism import Mechanism, MechanismOptions, MechanismRecord, Traits, missing, pure
from holdfast.privacy.evidence import Proved
from holdfast.privacy.guarantee import Target, Unit, shown
from holdfast.privacy.intensity import Pure, Standard
from holdfast.privacy.records import FilesGuarantee, FilesScope
from holdfast.privacy.swapping import LEAST_RATE, Bound, epsilon, least_epsilon, rates
from holdfast.spec.part import Text
from holdfast.spec.rational import Rational, short
from holdfast.spec.whom import Whom

MOST_DENOMINATOR = 2**62
"""As `sampling/permute.py` can decide."""


class SwappingOptions(MechanismOptions):
    """What is swapped within what; ``rate`` is solved for where it is left out."""

    stratify: tuple[Text, ...]
    swap: tuple[Text, ...]
    renumber: tuple[Text, ...] = ()
    """Columns of ids, which are replaced by numbers that tell nothing."""
    rate: Rational | None = None
    nulls: Literal["error", "level"] = "error"
    """Whether a missing value of a key is an error, or a level of its own."""
    bound: Literal["slides", "tight"] = "slides"
    """Which of the two bounds the guarantee states."""

    @field_validator("stratify", "swap", "renumber")
    @classmethod
    def _distinct(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if "" in names:
            raise ValueError("has an empty name: name a column")
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"names {name!r} twice: keep one")
        return names

    @field_validator("swap")
    @classmethod
    def _some(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if not names:
            raise ValueError("is empty: name the columns that move together")
        return names

    @field_validator("rate")
    @classmethod
    def _inside(cls, rate: Rational | None) -> Rational | None:
        if rate is None:
            return None
        if not 0 < rate < 1:
            raise ValueError(
                f'is {short(str(rate))}: give a rate above 0 and below 1, as "1/20"; at 0 and 1 there is no'
                " finite epsilon"
            )
        if not LEAST_RATE <= rate <= 1 - LEAST_RATE or rate.denominator > MOST_DENOMINATOR:
            raise ValueError("is out of reach: give a rate from 1e-9 to 1 - 1e-9 with at most 18 digits")
        return rate

    @model_validator(mode="after")
    def _apart(self) -> Self:
        for name in self.swap:
            if name in self.stratify:
                raise ValueError(
                    f"swap names {name!r}, which is also in stratify: records of a stratum share it, so"
                    " nothing would change; take it out of one"
                )
        for name in self.renumber:
            if name in (*self.stratify, *self.swap):
                other = "swap" if name in self.swap else "stratify"
                raise ValueError(f"renumber names {name!r}, which is also in {other}: take it out of one")
        return self

    @property
    def sets_intensity(self) -> str | None:
        """The rate, where one is given."""
        return None if self.rate is None else f'rate = "{self.rate}"'


class SwappingRecord(MechanismRecord):
    """The design of a swap."""

    name: Literal["permutation-swapping"]
    stratify: tuple[str, ...]
    swap: tuple[str, ...]
    held: tuple[str, ...]
    renumber: Annotated[tuple[str, ...], Field(exclude_if=lambda names: not names)] = ()
    rate: Rational
    nulls: Literal["error", "level"]
    bound: Literal["slides", "tight"]


@dataclass(frozen=True)
class Strata:
    """What is public of the strata of a file: how many there are of each size, and what cannot change.

    ``alike`` counts the records of strata of two or more in which all swapped or all held values agree.
    """

    sizes: tuple[tuple[int, int], ...]
    alike: int = 0

    @property
    def number(self) -> int:
        """The number of strata."""
        return sum(strata for _, strata in self.sizes)

    @property
    def records(self) -> int:
        """The number of records."""
        return sum(size * strata for size, strata in self.sizes)

    @property
    def largest(self) -> int:
        """The size of the largest stratum."""
        return max((size for size, _ in self.sizes), default=0)

    @property
    def singletons(self) -> int:
        """The number of strata of one record: these are published as they are."""
        return sum(strata for size, strata in self.sizes if size == 1)

    def checked(self, whom: Whom) -> "Strata":
        """Return them; raises GuaranteeError where no swap could change anything."""
        if self.largest < 2:
            raise GuaranteeError(
                f"every stratum has one {whom.record}: nothing would be swapped, and nothing protected; name"
                " fewer columns in stratify."
            )
        if self.singletons + self.alike == self.records:
            raise GuaranteeError(
                f"in every stratum all {whom.counted} agree in what is swapped, or in all that is held: every"
                " swap would leave the file as it is, and protect nothing; name other columns in stratify or"
                " swap."
            )
        return self


@dataclass(frozen=True, eq=False)
class PermutationSwapping(Mechanism[SwappingOptions, SwappingRecord]):
    """Swapping at a rate within the strata of a file; sees public values only."""

    strata: Strata
    scope: FilesScope
    stratify: tuple[str, ...]
    swap: tuple[str, ...]
    held: tuple[str, ...]
    rate: Fraction
    nulls: Literal["error", "level"]
    bound: Bound
    whom: Whom
    renumber: tuple[str, ...] = ()

    name: ClassVar[str] = "permutation-swapping"
    Options: ClassVar[type[MechanismOptions]] = SwappingOptions
    Record: ClassVar[type[MechanismRecord]] = SwappingRecord
    standards: ClassVar[tuple[Standard, ...]] = ("pure",)
    output: ClassVar[str] = "microdata"
    bounded: ClassVar[bool] = True

    @classmethod
    def answer(
        cls,
        strata: Strata,
        scope: FilesScope,
        held: tuple[str, ...],
        target: Target,
        options: SwappingOptions,
        whom: Whom,
    ) -> Self:
        """Return the swap of a spec; where it gives no rate, the lower one of the two that meet its target.

        Fewer records move at the lower rate, so its error is less.
        """
        if target.adjacency != "unit":
            raise GuaranteeError(
                "swapping protects in proportion to the distance in records: set"
                ' adjacency = "unit" in [privacy].'
            )
        strata.checked(whom)
        rate = options.rate
        if rate is None:
            if target.intensity is None:
                raise missing("epsilon")
            asked = pure(target).epsilon / whom.records
            rate = rates(strata.largest, asked, options.bound).lower
        return cls(
            strata,
            scope,
            options.stratify,
            options.swap,
            held,
            rate,
            options.nulls,
            options.bound,
            whom,
            options.renumber,
        )

    @classmethod
    def of(cls, record: SwappingRecord, strata: Strata, scope: FilesScope, whom: Whom) -> Self:
        """Return the swap that a certificate records."""
        return cls(
            strata.checked(whom),
            scope,
            record.stratify,
            record.swap,
            record.held,
            record.rate,
            record.nulls,
            record.bound,
            whom,
            record.renumber,
        )

    def epsilon(self, bound: Bound, size: int | None = None) -> Fraction:
        """Return the loss for each record of distance in strata of up to a size, the largest if none."""
        return epsilon(self.strata.largest if size is None else size, self.rate, bound)

    @property
    def guarantee(self) -> FilesGuarantee:
        """The loss for each record of distance, subject to the induced invariants."""
        b, o = self.strata.largest, self.rate / (1 - self.rate)
        stated = Pure(self.epsilon(self.bound)).group(self.whom.records)
        slides, tight = self.epsilon("slides"), self.epsilon("tight")
        evidence = (
            Proved(
                f"selected with odds {shown(o)} and deranged within strata of at most {b:,}, records lose at"
                f" most ln({b + 1:,}) - ln o, or ln o where that is more: {shown(slides)} each",
                "swapping-slides, theorem",
            ),
            Proved(
                "they lose at most ln(d_b / d_(b-2)) / 2 - ln o, or ln o where that is more, d_k being the"
                f" number of derangements: {shown(tight)} each, which is attained where no two records of a"
                " stratum share a swapped value, nor all that is held",
                "theory, 8",
            ),
            Proved(
                "selection, derangements and the order of the records are drawn exactly, in integers",
                "holdfast, sampling/permute.py; lemire2019",
            ),
        )
        unit = Unit(self.whom.unit, "unit", self.whom.records, self.whom.records)
        return FilesGuarantee(self.scope, unit, stated, evidence)

    @property
    def least(self) -> tuple[Fraction, Fraction]:
        """The smallest epsilon of any rate, by the slides' bound and by the tight one."""
        return least_epsilon(self.strata.largest), least_epsilon(self.strata.largest, "tight")

    @property
    def rates(self) -> tuple[Fraction, Fraction]:
        """The two rates that give the stated epsilon, to nine digits."""
        return rates(self.strata.largest, self.epsilon(self.bound), self.bound)

    @property
    def methods(self) -> tuple[str, ...]:
        """How it is drawn."""
        return (
            f"each {self.whom.record} is selected with probability {self.rate}, on its own",
            "a stratum in which exactly one was selected selects again",
            "the selected ones of a stratum exchange the swapped columns by a uniform derangement",
            "strata leave in the order of a hash of their key, their records in an order that is drawn",
            *(f"{name} is replaced by the number of each in that order" for name in self.renumber),
        )

    @property
    def traits(self) -> Traits:
        """Exact, whole and never below zero; the law depends on the records."""
        return Traits(additive=False, nonnegative=True)
