"""What a certificate says of a swap beside its record: what it keeps, what strata lose, and caveats."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, StrictFloat, StrictInt, StrictStr

from holdfast.data.sections import IF_SAID, Section
from holdfast.mechanisms.details import MechanismDetails
from holdfast.mechanisms.mechanism import MechanismRecord
from holdfast.mechanisms.records import RecordsPartLike
from holdfast.mechanisms.swapping.bounds import BOUNDS, LEAST_RATE, epsilon, least_epsilon
from holdfast.mechanisms.swapping.rounds import RateRule, Round, rounds_of
from holdfast.privacy.claims import Claim, claim
from holdfast.privacy.guarantee import CLOSEST, times
from holdfast.spec.privacy import ProtectedUnit
from holdfast.spec.values import Range, Rational, Where, levels_or_range
from holdfast.system.errors import ReleaseError
from holdfast.system.text import counted

if TYPE_CHECKING:
    from holdfast.mechanisms.swapping.mechanism import PermutationSwapping


IF_ANY = Field(exclude_if=lambda values: not values)


class RuleSection(Section):
    """The rate of some strata, by levels of their key and by their size."""

    rate: Rational
    where: Annotated[Where | None, IF_SAID] = None
    at_least: Annotated[StrictInt | None, IF_SAID] = None
    at_most: Annotated[StrictInt | None, IF_SAID] = None

    @property
    def rule(self) -> RateRule:
        """What it says."""
        return RateRule(**dict(self))

    @property
    def words(self) -> str:
        """For which strata which rate is."""
        levels = [f"{name} {_choice(given)}" for name, given in (self.where or {}).items()]
        least = [] if self.at_least is None else [f"at least {self.at_least:,}"]
        most = [] if self.at_most is None else [f"at most {self.at_most:,}"]
        return f"{self.rate} of {' and '.join([*levels, *least, *most])}"


class RoundSection(Section):
    """A round before the last: within which places, and its rates."""

    within: tuple[StrictStr, ...]
    rate: Rational
    rates: Annotated[tuple[RuleSection, ...], IF_ANY] = ()


def settled_rounds(
    stratify: tuple[str, ...],
    rates: tuple[RuleSection, ...],
    rounds: tuple[RoundSection, ...],
    rate: Fraction,
) -> tuple[Round, ...]:
    """Return all rounds of a design, the last one last; none where there is one, at one rate."""
    before = [(one.within, tuple(each.rule for each in one.rates), one.rate) for one in rounds]
    return rounds_of(stratify, tuple(each.rule for each in rates), before, rate)


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
    rates: Annotated[tuple[RuleSection, ...], IF_ANY] = ()
    rounds: Annotated[tuple[RoundSection, ...], IF_ANY] = ()

    @property
    def every_round(self) -> tuple[Round, ...]:
        """All rounds, the last one last; none where there is one, at one rate."""
        return settled_rounds(self.stratify, self.rates, self.rounds, self.rate)

    def parameters(self, write: Callable[[Fraction], str] = str) -> dict[str, str]:
        """Return the parameters by name, rates and rounds in words."""
        found = super().parameters(write)
        for name in ("rates", "rounds"):
            found.pop(name, None)
        if self.rates:
            found["rates"] = "; ".join(one.words for one in self.rates)
        for one in self.rounds:
            said = [str(one.rate), *(each.words for each in one.rates)]
            found[f"round within {_names(one.within)}"] = "; ".join(said)
        return found


class InducedSection(Section):
    """Joint counts that every swap keeps, by a fingerprint: of so many records and columns."""

    name: StrictStr
    columns: tuple[StrictStr, ...]
    rows: StrictInt
    fingerprint: StrictStr


class SizeSection(Section):
    """Strata of one size: how many there are, and what swapping loses in them for each record."""

    size: StrictInt
    strata: StrictInt
    epsilon: StrictFloat
    epsilon_tight: StrictFloat
    smallest_epsilon: StrictFloat


class StrataSection(Section):
    """The strata of the file."""

    strata: StrictInt
    largest: StrictInt
    singletons: StrictInt
    """Strata of one record, which is published as it is."""
    alike: StrictInt
    """Records of other strata that no swap changes."""
    sizes: tuple[SizeSection, ...]


class SwappingSection(Section):
    """What swapping loses for each record of distance, in strata of up to the largest size."""

    stratum_size: StrictInt
    rate: Rational
    epsilon: StrictFloat
    """The bound of the slides."""
    epsilon_tight: StrictFloat
    """The least that holds for all files with such strata."""
    smallest_epsilon: StrictFloat
    smallest_epsilon_tight: StrictFloat
    rates: tuple[Rational, Rational]
    """The two rates that give the stated epsilon; fewer records move at the first."""

    @property
    def two_rates(self) -> bool:
        """Whether both rates are within reach, and so give that epsilon."""
        low, high = self.rates
        return low > LEAST_RATE and high < 1 - LEAST_RATE


class RatedSection(Section):
    """Strata of one rate and size in a round: how many there are, and what each loses."""

    kind: StrictInt
    """The place of its rule; -1 where no rule fits."""
    size: StrictInt
    strata: StrictInt
    rate: Rational
    epsilon: StrictFloat
    epsilon_tight: StrictFloat


class RoundStrataSection(Section):
    """A round: its strata, what it loses alone, and what all rounds lose of files that share its strata."""

    stratify: tuple[StrictStr, ...]
    swap: tuple[StrictStr, ...]
    epsilon: StrictFloat
    epsilon_tight: StrictFloat
    composed: StrictFloat
    composed_tight: StrictFloat
    sizes: tuple[RatedSection, ...]


class SwappingDetails(MechanismDetails):
    """What every swap of the file keeps, its strata, and what swapping loses in them."""

    induced: tuple[InducedSection, ...]
    strata: StrataSection
    swapping: SwappingSection
    rounds: Annotated[tuple[RoundStrataSection, ...], IF_ANY] = ()

    def rows(self, record: Any, whom: ProtectedUnit) -> dict[str, list[str]]:
        """Say what moved within what, what is kept, and who is not protected."""
        strata, found = self.strata, self.swapping
        key = " and ".join(record.stratify) or "the whole file"
        chosen = (
            "lower" if abs(record.rate - found.rates[0]) <= abs(record.rate - found.rates[1]) else "upper"
        )
        both = f"{float(found.rates[0]):.6g} and {float(found.rates[1]):.9g}"
        same = (
            f"the same epsilon has the rates {both}; this is the {chosen}"
            if found.two_rates
            else f"no rate in reach loses as much as was asked: {float(record.rate):.6g} is the least"
        )
        least = found.smallest_epsilon if record.bound == "slides" else found.smallest_epsilon_tight
        return {
            "Swapped": [
                f"{' and '.join(record.swap)} within {key}, at a rate of {float(record.rate):.6g}",
                f"{counted(strata.strata, 'stratum', 'strata')}, the largest of {strata.largest:,}",
                *(_round_words(one, record.bound) for one in self.rounds),
                *([] if self.rounds else [same]),
                (
                    f"epsilon {found.epsilon:.6g} by the slides, {found.epsilon_tight:.6g} tight; no rate"
                    f" gives less than {least:.6g} with such strata"
                ),
            ],
            "Kept by the swap": [item.name for item in self.induced],
            "Left as they are": [
                f"{counted(strata.singletons, whom.record, whom.counted)} alone in a stratum",
                f"{counted(strata.alike, whom.record, whom.counted)} in strata where nothing can change",
            ],
        }


def swapping_of(part: RecordsPartLike) -> tuple[SwappingRecord, SwappingDetails]:
    """Return the design of a swap, and what every swap of the file keeps, as a certificate states them."""
    if not isinstance(part.mechanism, SwappingRecord) or not isinstance(part.details, SwappingDetails):
        raise ReleaseError(f"records of {part.mechanism.name} cannot be surveyed here.")
    return part.mechanism, part.details


def swapping_details(mechanism: "PermutationSwapping") -> SwappingDetails:
    """Return what is said of a swap."""
    return SwappingDetails(
        induced=mechanism.public.induced,
        strata=_strata(mechanism),
        swapping=_swapping(mechanism),
        rounds=tuple(_rounds(mechanism)),
    )


def _rounds(mechanism: "PermutationSwapping") -> Iterator[RoundStrataSection]:
    every = list(zip(mechanism.every_round, mechanism.public.rounds, strict=True))
    moved = mechanism.public.columns.swap
    for place, (design, strata) in enumerate(every):
        worst = {bound: [later.worst(of, bound) for of, later in every[place:]] for bound in BOUNDS}
        yield RoundStrataSection(
            stratify=design.stratify,
            swap=tuple(name for name in moved if name not in design.stratify),
            epsilon=float(worst["slides"][0]),
            epsilon_tight=float(worst["tight"][0]),
            composed=float(min(worst["slides"])),
            composed_tight=float(min(worst["tight"])),
            sizes=tuple(
                RatedSection(
                    kind=kind,
                    size=size,
                    strata=number,
                    rate=design.rate_of(kind),
                    epsilon=float(epsilon(size, design.rate_of(kind), "slides")),
                    epsilon_tight=float(epsilon(size, design.rate_of(kind), "tight")),
                )
                for kind, size, number in strata.classes
            ),
        )


def _round_words(one: RoundStrataSection, bound: str) -> str:
    alone, all_rounds = (
        (one.epsilon, one.composed) if bound == "slides" else (one.epsilon_tight, one.composed_tight)
    )
    return (
        f"a round within {_names(one.stratify) or 'the whole file'}: epsilon {alone:.6g} by itself,"
        f" {all_rounds:.6g} for files that share its strata"
    )


def _choice(given: Any) -> str:
    choice = levels_or_range(given)
    return f"{choice.low} to {choice.high}" if isinstance(choice, Range) else " or ".join(choice)


def _strata(mechanism: "PermutationSwapping") -> StrataSection:
    strata = mechanism.strata
    return StrataSection(
        strata=strata.number,
        largest=strata.largest,
        singletons=strata.singletons,
        alike=strata.alike,
        sizes=tuple(
            SizeSection(
                size=size,
                strata=number,
                epsilon=float(mechanism.epsilon("slides", size)),
                epsilon_tight=float(mechanism.epsilon("tight", size)),
                smallest_epsilon=float(least_epsilon(size)),
            )
            for size, number in strata.sizes
        ),
    )


def _swapping(mechanism: "PermutationSwapping") -> SwappingSection:
    slides, tight = mechanism.least
    return SwappingSection(
        stratum_size=mechanism.strata.largest,
        rate=mechanism.rate,
        epsilon=float(mechanism.epsilon("slides")),
        epsilon_tight=float(mechanism.epsilon("tight")),
        smallest_epsilon=float(slides),
        smallest_epsilon_tight=float(tight),
        rates=mechanism.rates,
    )


def swapping_caveats(mechanism: "PermutationSwapping") -> tuple[Claim, ...]:
    """Return what readers of a swapped file have to know."""
    public, strata = mechanism.public, mechanism.strata
    whom, columns, records = public.whom, public.columns, public.records
    closest = CLOSEST * mechanism.epsilon(mechanism.bound)
    whole = records.persons is not None or records.id is not None
    return (
        _distance(whom, columns.swap, columns.stratify, closest),
        _singletons(whom, columns.swap, strata.records, strata.singletons, strata.alike),
        *((_in_rounds(whom, len(public.rounds), closest),) if len(public.rounds) > 1 else ()),
        _held(whom, columns.swap, columns.stratify),
        _visible(whom, columns.swap, columns.held, columns.renumber),
        *((_whole(whom, records.id),) if whole else ()),
    )


@claim("swap-distance")
def _distance(
    whom: ProtectedUnit, swap: tuple[str, ...], stratify: tuple[str, ...], closest: Fraction
) -> str:
    within = f"with the same {_names(stratify)}" if stratify else "of the file"
    return (
        f"Distance counts {whom.counted}, in no order: how many must change to make one file the other. With"
        f" all that is kept, nobody's {_names(swap)} changes alone: another one {within} takes it. So the"
        f" closest files are two {whom.counted} apart, and for these the odds change by up to"
        f" exp({float(closest):.6g}) = {times(closest)}."
    )


@claim("swap-rounds")
def _in_rounds(whom: ProtectedUnit, rounds: int, closest: Fraction) -> str:
    return (
        f"Of {rounds} rounds the last exchanges within the widest strata, and its loss is what is stated:"
        f" rounds before it move {whom.counted} of any two files alike, and add nothing. Files that differ"
        " within finer strata alone are protected by the rounds within these, too: where one of these loses"
        f" less, their odds change by less than exp({float(closest):.6g})."
    )


@claim("swap-held")
def _held(whom: ProtectedUnit, swap: tuple[str, ...], stratify: tuple[str, ...]) -> str:
    swapped = _names(swap)
    return (
        f"Everything of a {whom.record} but its {swapped} is published as it is, together with"
        f" {_names(stratify) or 'nothing else'}, and so is how many {whom.counted} have each {swapped} in"
        f" each stratum. Whoever knows enough of a {whom.one} to find it in the file learns the rest that is"
        f" held. The guarantee is about which {swapped} belongs to which {whom.record}, and about nothing"
        " else."
    )


@claim("swap-whole")
def _whole(whom: ProtectedUnit, column: str | None) -> str:
    return (
        f"A {whom.one} moves whole: all rows with its {column} follow it, and what they hold is published as"
        " it is."
    )


@claim("swap-visible")
def _visible(
    whom: ProtectedUnit, swap: tuple[str, ...], held: tuple[str, ...], renumbered: tuple[str, ...]
) -> str:
    """Say what stays visible, by the design alone: what the data would tell is not for a certificate."""
    new = f" Ids in {_names(renumbered)} are new." if renumbered else ""
    return (
        f"What stays visible: {_names(held)} {'remains' if len(held) == 1 else 'remain'} with each"
        f" {whom.record}. Where {'that' if len(held) == 1 else 'one of them'} goes with"
        f" {_names(swap)} by what everybody knows, as a tract lies in one county or numbers were given out"
        f" place by place, a {whom.record} whose values do not fit is seen to have moved, and from where. The"
        " guarantee compares all files with the same counts, also those that such knowledge rules out: it"
        f" does not hide that.{new}"
    )


@claim("swap-singletons")
def _singletons(whom: ProtectedUnit, swap: tuple[str, ...], records: int, alone: int, alike: int) -> str:
    if not alone and not alike:
        return f"Every stratum has at least two {whom.counted} that differ: none is left out of the swap."
    parts = []
    if alone:
        is_alone = "is" if alone == 1 else "are"
        parts.append(
            f"{counted(alone, whom.record, whom.counted)} of {records:,} {is_alone} alone in a stratum, and"
            f" published as {'it is' if alone == 1 else 'they are'}, {_names(swap)} included: nothing"
            f" protects {'it' if alone == 1 else 'them'}."
        )
    if alike:
        parts.append(
            f"{counted(alike, whom.record, whom.counted)} more {'is' if alike == 1 else 'are'} in strata that"
            f" share one {_names(swap)}, or all else: no swap changes these."
        )
    return " ".join(parts)


def _names(names: tuple[str, ...]) -> str:
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)
