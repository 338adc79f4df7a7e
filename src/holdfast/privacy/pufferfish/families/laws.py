"""Listed laws of the data, or of a statistic, on any finite metric space."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from holdfast.errors import GuaranteeError
from holdfast.privacy.evidence import Proved
from holdfast.privacy.guarantee import shown
from holdfast.privacy.pufferfish.delta import DeltaZ
from holdfast.privacy.pufferfish.families.family import MODELLED, said
from holdfast.privacy.pufferfish.families.metric import MEASURES, Metric, Point, table
from holdfast.privacy.pufferfish.framework import RECORDS, Framework, LawClass, Stated, Statistic
from holdfast.privacy.wasserstein import DiscreteLaw, Transport, bottleneck
from holdfast.words import counted

Chances = Mapping[Point, Fraction]


@dataclass(frozen=True)
class SecretPair:
    """Two secrets, and the law of the data given each of them."""

    secrets: tuple[str, str]
    given: tuple[Chances, Chances]

    @cached_property
    def laws(self) -> tuple[DiscreteLaw[Point], DiscreteLaw[Point]]:
        """Both as laws; GuaranteeError where one is none."""
        one, other = (
            DiscreteLaw.of(chances, chances.values(), f"the law given {secret!r}")
            for secret, chances in zip(self.secrets, self.given, strict=True)
        )
        return one, other

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "secrets": list(self.secrets),
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
    public: str = "what the curator calls public"

    def __post_init__(self) -> None:
        if not self.pairs:
            raise GuaranteeError("no pair of laws is listed: give the law of the data given each secret.")
        for place, pair in enumerate(self.pairs):
            if len(set(pair.secrets)) == 1:
                raise GuaranteeError(
                    f"the secrets of law {place + 1} are both {pair.secrets[0]!r}: name two that differ."
                )
        self.transports  # noqa: B018  raises where a law is none

    @property
    def framework(self) -> Framework:
        """The listed pairs and laws, and no other."""
        named = sorted({secret for pair in self.pairs for secret in pair.secrets})
        pairs = [list(pair.secrets) for pair in self.pairs]
        return Framework(
            said(self.public),
            Stated(f"{counted(len(named), 'listed secret')}", {"secrets": named}),
            Stated(f"{counted(len(pairs), 'listed pair')} of secrets", {"pairs": pairs}),
            LawClass(
                f"{counted(len(pairs), 'listed pair')} of laws",
                {"laws": [pair.to_dict() for pair in self.pairs]},
                "listed",
            ),
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
        one, other = self.pairs[self._worst].secrets
        claim = (
            f"the law given {one!r} can be coupled with that given {other!r} within {shown(value)}"
            f"{', and no nearer' if exact else ', rounded up'}"
        )
        return DeltaZ(value, exact, (Proved(claim, "strassen1965; theory, 7"), MODELLED))

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
            "worst": list(pair.secrets),
            "coupling": [
                [_told(one.values[i]), _told(other.values[j]), str(m)] for i, j, m in transport.coupling
            ],
            "crowded": [_told(one.values[i]) for i in transport.crowded],
        }


def _told(point: Point) -> list[str]:
    return [str(entry) for entry in point]


def normalised(law: Chances) -> dict[Point, Fraction]:
    """Return masses as probabilities."""
    whole = sum(law.values(), Fraction(0))
    return {point: chance / whole for point, chance in law.items()}
