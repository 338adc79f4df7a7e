"""Listed laws of the data, or of a statistic, on any finite metric space.

Distances between points with rational coordinates, or between records of any kind.

Distances are exact: those in l2 are compared by their squares, and a root is rounded up at the end.

One count, whose laws given each answer of a person are listed [partially-private-data, Example 4].
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from holdfast.privacy.claims import claim
from holdfast.privacy.evidence import Proved
from holdfast.privacy.guarantee import format_parameter
from holdfast.privacy.law_distance import DiscreteLaw, Transport, bottleneck, largest_quantile_gap
from holdfast.privacy.pufferfish.framework import (
    COUNT,
    MODELLED,
    RECORDS,
    DeltaZ,
    Framework,
    LawClass,
    Stated,
    Statistic,
    answers,
    stated_in_words,
    unsaid,
)
from holdfast.privacy.roots import ceil_root
from holdfast.system.errors import GuaranteeError
from holdfast.system.text import counted
from holdfast.system.ways import assigned

Metric = Literal["records", "l1", "l2", "linf"]
ListedPoint = tuple[Fraction | str, ...]


@dataclass(frozen=True)
class Measure:
    """A metric in a form that is rational and increases with it."""

    name: Metric
    words: str
    between: Callable[[ListedPoint, ListedPoint], Fraction]

    def radius(self, found: Fraction) -> Fraction:
        """Return the distance that is meant, rounded up where it is irrational."""
        return ceil_root(found) if self.name == "l2" else found

    def exact(self, found: Fraction) -> bool:
        """Whether that is not rounded."""
        return self.name != "l2" or ceil_root(found) ** 2 == found


def _records(one: ListedPoint, other: ListedPoint) -> Fraction:
    return Fraction(sum(x != y for x, y in zip(one, other, strict=True)))


def _differences(one: ListedPoint, other: ListedPoint) -> list[Fraction]:
    found = []
    for x, y in zip(one, other, strict=True):
        if isinstance(x, str) or isinstance(y, str):
            raise GuaranteeError(
                f"{x if isinstance(x, str) else y!r} is not a number: give numbers, or"
                f" {assigned('metric', words=repr('records'))}."
            )
        found.append(abs(x - y))
    return found


MEASURES: Mapping[Metric, Measure] = {
    "records": Measure("records", "records", _records),
    "l1": Measure("l1", "sum of absolute differences", lambda x, y: sum(_differences(x, y), Fraction(0))),
    "l2": Measure(
        "l2", "Euclidean distance", lambda x, y: sum((gap**2 for gap in _differences(x, y)), Fraction(0))
    ),
    "linf": Measure(
        "linf", "largest absolute difference", lambda x, y: max(_differences(x, y), default=Fraction(0))
    ),
}


def table(measure: Measure, one: Sequence[ListedPoint], other: Sequence[ListedPoint]) -> list[list[Fraction]]:
    """Return the distances between two lists of points; GuaranteeError where they are of different sizes."""
    if len({len(point) for point in (*one, *other)}) > 1:
        raise GuaranteeError("the points have different numbers of coordinates: give as many for each.")
    return [[measure.between(x, y) for y in other] for x in one]


Chances = Mapping[ListedPoint, Fraction]


@dataclass(frozen=True)
class SecretPair:
    """Two secrets, and the law of the data given each of them.

    They have names of their own, or say what a ``person``, by number, is.
    """

    secrets: tuple[str, str]
    given: tuple[Chances, Chances]
    person: int | None = None

    @property
    def told(self) -> list[str]:
        """The secrets, for readers."""
        return [_told_secret(secret, self.person) for secret in self.secrets]

    @property
    def stated(self) -> list[Any]:
        """The secrets as data."""
        return [_stated_secret(secret, self.person) for secret in self.secrets]

    @cached_property
    def laws(self) -> tuple[DiscreteLaw[ListedPoint], DiscreteLaw[ListedPoint]]:
        """Both as laws; GuaranteeError where one is none."""
        one, other = (
            DiscreteLaw.of(chances, chances.values(), f"the law given {secret!r}")
            for secret, chances in zip(self.told, self.given, strict=True)
        )
        return one, other

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "secrets": self.stated,
            "given": [
                [[[str(entry) for entry in point], str(chance)] for point, chance in chances.items()]
                for chances in self.given
            ],
        }


@dataclass(frozen=True)
class ListedLaws:
    """Pairs of laws given two secrets, on points that are told apart by a metric."""

    pairs: tuple[SecretPair, ...]
    metric: Metric = "records"
    statistic: str = "data"
    public: str | None = None

    def __post_init__(self) -> None:
        if not self.pairs:
            raise GuaranteeError("no pair of laws is listed: give the law of the data given each secret.")
        for place, pair in enumerate(self.pairs):
            if len(set(pair.secrets)) == 1:
                raise GuaranteeError(
                    f"the secrets of law {place + 1} are both {pair.told[0]!r}: name two that differ."
                )
        self.transports  # noqa: B018  raises where a law is none

    @property
    def framework(self) -> Framework:
        """The listed pairs and laws, and no other."""
        named = sorted({(pair.person or 0, secret) for pair in self.pairs for secret in pair.secrets})
        secrets = [_stated_secret(secret, person or None) for person, secret in named]
        pairs, laws = [pair.stated for pair in self.pairs], [pair.to_dict() for pair in self.pairs]
        return Framework(
            stated_in_words(self.public, unsaid()),
            Stated(_secrets(len(secrets)), {"secrets": secrets}),
            Stated(_pairs(len(pairs)), {"pairs": pairs}),
            LawClass(_laws(len(pairs)), {"laws": laws}, "listed"),
            self._statistic,
        )

    @property
    def _statistic(self) -> Statistic:
        found = Statistic(self.statistic, MEASURES[self.metric].words)
        return RECORDS if found == RECORDS else found

    @cached_property
    def transports(self) -> tuple[Transport, ...]:
        """The best transport of each pair; its radius is that of the measure, squared in l2."""
        found = []
        for pair in self.pairs:
            one, other = pair.laws
            distances = table(MEASURES[self.metric], one.values, other.values)
            found.append(bottleneck(distances, one.probabilities, other.probabilities))
        return tuple(found)

    @property
    def delta(self) -> DeltaZ:
        """The largest radius, with a coupling and a set of values as its witnesses [theory, 7]."""
        measure, worst = MEASURES[self.metric], self.transports[self._worst]
        value, exact = measure.radius(worst.radius), measure.exact(worst.radius)
        pair = self.pairs[self._worst]
        coupled = _coupled(*pair.secrets, pair.person, value, exact=exact)
        return DeltaZ(value, exact, (Proved(coupled, "strassen1965; theory, 7"), MODELLED))

    @property
    def _worst(self) -> int:
        radii = [transport.radius for transport in self.transports]
        return radii.index(max(radii))

    @property
    def details(self) -> dict[str, Any]:
        """The worst pair, and what shows that it is no nearer."""
        pair, transport = self.pairs[self._worst], self.transports[self._worst]
        one, other = pair.laws
        return {
            "worst": pair.told,
            "coupling": [
                [_as_strings(one.values[i]), _as_strings(other.values[j]), str(m)]
                for i, j, m in transport.coupling
            ],
            "crowded": [_as_strings(one.values[i]) for i in transport.crowded],
        }


def _told_secret(secret: str, person: int | None) -> str:
    return secret if person is None else f"person {person} is {secret}"


def _stated_secret(secret: str, person: int | None) -> Any:
    return secret if person is None else [person, secret]


def _as_strings(point: ListedPoint) -> list[str]:
    return [str(entry) for entry in point]


def normalised(law: Chances) -> dict[ListedPoint, Fraction]:
    """Return masses as probabilities."""
    whole = sum(law.values(), Fraction(0))
    return {point: chance / whole for point, chance in law.items()}


Probabilities = Sequence[Fraction]


@dataclass(frozen=True)
class ListedCounts:
    """Pairs of laws of a count given the answers 0 and 1, each as the masses of 0, 1, 2, ..."""

    laws: tuple[tuple[Probabilities, Probabilities], ...]
    public: str | None = None

    def __post_init__(self) -> None:
        if not self.laws:
            raise GuaranteeError("no law of the count is listed: give its masses given each answer.")
        self.gaps  # noqa: B018  raises where a law is none

    @property
    def framework(self) -> Framework:
        """The listed laws, and no other."""
        secrets, pairs = answers()
        listed = [[[str(mass) for mass in masses] for masses in pair] for pair in self.laws]
        laws = LawClass(_laws_of_counts(len(self.laws)), {"counts": listed}, "listed")
        return Framework(stated_in_words(self.public, unsaid()), secrets, pairs, laws, COUNT)

    @property
    def delta(self) -> DeltaZ:
        """The largest gap between quantiles [partially-private-data, Equation 35; theory, 7]."""
        widest = max(self.gaps)
        return DeltaZ(widest, exact=True, evidence=(Proved(_quantiles(widest), "theory, 7"), MODELLED))

    @cached_property
    def gaps(self) -> tuple[Fraction, ...]:
        """The gap of each listed pair."""
        return tuple(
            largest_quantile_gap(
                *(_law(masses, f"law {place}, given {answer},") for answer, masses in enumerate(pair))
            )
            for place, pair in enumerate(self.laws, 1)
        )

    @property
    def details(self) -> dict[str, Any]:
        """Which pair is the worst."""
        return {"worst": self.gaps.index(max(self.gaps)) + 1, "gaps": [str(gap) for gap in self.gaps]}


def _law(masses: Probabilities, name: str) -> DiscreteLaw[Fraction]:
    return DiscreteLaw.of((Fraction(value) for value in range(len(masses))), masses, name)


@claim("secrets-listed")
def _secrets(secrets: int) -> str:
    return f"{counted(secrets, 'listed secret')}, by name"


@claim("pairs-listed")
def _pairs(pairs: int) -> str:
    return f"{counted(pairs, 'listed pair')} of secrets"


@claim("laws-listed")
def _laws(pairs: int) -> str:
    return f"{counted(pairs, 'listed pair')} of laws"


@claim("laws-of-counts-listed")
def _laws_of_counts(pairs: int) -> str:
    return f"{counted(pairs, 'listed pair')} of laws of the count given the answers 0 and 1"


@claim("laws-coupled")
def _coupled(one: str, other: str, person: int | None, radius: Fraction, *, exact: bool) -> str:
    first, second = (_told_secret(secret, person) for secret in (one, other))
    return (
        f"the law given {first!r} can be coupled with that given {second!r} within {format_parameter(radius)}"
        f"{', and no nearer' if exact else ', rounded up'}"
    )


@claim("quantiles-apart")
def _quantiles(gap: Fraction) -> str:
    return f"the quantiles of the count given 0 and given 1 are at most {gap} apart"
