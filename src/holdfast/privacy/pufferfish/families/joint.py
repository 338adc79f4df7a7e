"""A listed law of the records and of public facts together: conditioning on the facts is done here.

Outcomes are datasets of the same people, each with what would be public of it and its probability under
every law that is considered. Given the public facts that were observed, the secrets are the values of each
person that are still possible, and any two values of one person are a pair, under every law that gives both
a chance. Given a secret, the law of the datasets is the conditional one [partially-private-data, Definition
3]. Of two datasets the distance is the number of records in which they differ, or that of the values of a
statistic where these are given.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

from holdfast.privacy.claims import claim
from holdfast.privacy.law_distance import DiscreteLaw
from holdfast.privacy.pufferfish.families.listed import ListedLaws, ListedPoint, SecretPair, normalised
from holdfast.privacy.pufferfish.framework import DeltaZ, Framework, LawClass, Stated
from holdfast.system.errors import GuaranteeError
from holdfast.system.text import counted, visible


@dataclass(frozen=True)
class Outcome:
    """A dataset, what is public of it, and its probability under each law.

    ``value`` is that of a statistic, where Delta_z is to be measured on one.
    """

    records: tuple[str, ...]
    public: str
    chances: tuple[Fraction, ...]
    value: Fraction | None = None

    @property
    def point(self) -> ListedPoint:
        """Where it is: the dataset, or the value of the statistic."""
        return self.records if self.value is None else (self.value,)


@dataclass(frozen=True)
class JointLaws:
    """Laws of datasets with public facts, of which ``observed`` is what is public now."""

    outcomes: tuple[Outcome, ...]
    observed: str

    def __post_init__(self) -> None:
        if not self.outcomes:
            raise GuaranteeError(
                "no outcome is listed: give datasets with their public facts and probabilities."
            )
        if len({len(outcome.records) for outcome in self.outcomes}) > 1:
            raise GuaranteeError(
                "the outcomes are of different numbers of people: list the same people in each."
            )
        if len({len(outcome.chances) for outcome in self.outcomes}) > 1:
            raise GuaranteeError(
                "the outcomes have different numbers of laws: give a probability under each."
            )
        if len({outcome.value is None for outcome in self.outcomes}) > 1:
            raise GuaranteeError(
                "some outcomes have a value of the statistic: give one for each, or for none."
            )
        for place in range(self._laws):
            chances = [outcome.chances[place] for outcome in self.outcomes]
            DiscreteLaw.of(range(len(self.outcomes)), chances, self._name(place))
            if not any(outcome.chances[place] for outcome in self._possible):
                raise GuaranteeError(
                    f"{self._name(place)} gives what was observed, {visible(self.observed)!r}, no chance: no"
                    " law of the data follows from it."
                )
        self.listed  # noqa: B018  raises where no secret is left

    @property
    def _laws(self) -> int:
        return len(self.outcomes[0].chances)

    def _name(self, place: int) -> str:
        return "the prior" if self._laws == 1 else f"law {place + 1}"

    @property
    def _possible(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.public == self.observed]

    @cached_property
    def listed(self) -> ListedLaws:
        """The conditional laws of all pairs that count."""
        pairs = [pair for place in range(self._laws) for pair in self._pairs(place)]
        if not pairs:
            raise GuaranteeError(
                f"given {visible(self.observed)!r} no person has two possible values: what is public leaves"
                " no secret to be kept."
            )
        if self.outcomes[0].value is None:
            return ListedLaws(tuple(pairs))
        return ListedLaws(tuple(pairs), metric="l1", statistic="value")

    def _pairs(self, place: int) -> Sequence[SecretPair]:
        """Return the pairs under one law, each with the laws given its secrets."""
        given: dict[tuple[int, str], dict[ListedPoint, Fraction]] = {}
        for outcome in self._possible:
            for person, value in enumerate(outcome.records):
                if chance := outcome.chances[place]:
                    law = given.setdefault((person, value), {})
                    law[outcome.point] = law.get(outcome.point, Fraction(0)) + chance
        laws = {secret: normalised(law) for secret, law in given.items()}
        return [
            SecretPair((one[1], other[1]), (laws[one], laws[other]), one[0] + 1)
            for one, other in combinations(sorted(laws), 2)
            if one[0] == other[0]
        ]

    @property
    def framework(self) -> Framework:
        """The values of each person that are still possible."""
        people, listed = len(self.outcomes[0].records), self.listed.framework
        return Framework(
            Stated(_observed(self.observed), {"observed": self.observed}),
            Stated(_possible_values(people), listed.secrets.data),
            Stated(_two_possible(), listed.pairs.data),
            LawClass(_given(self._laws), listed.laws.data, "listed"),
            listed.statistic,
        )

    @property
    def delta(self) -> DeltaZ:
        """The largest distance over persons, pairs of their values and laws."""
        return self.listed.delta

    @property
    def details(self) -> dict[str, Any]:
        """The worst pair, and what shows that it is no nearer."""
        return self.listed.details


@claim("public-observed")
def _observed(observed: str) -> str:
    return f"the public facts are {visible(observed)!r}"


@claim("possible-values")
def _possible_values(people: int) -> str:
    return f"the possible values of {counted(people, 'person', 'people')}"


@claim("any-two-possible-values")
def _two_possible() -> str:
    return "each person, any two values that are possible"


@claim("laws-given-public")
def _given(laws: int) -> str:
    return f"{counted(laws, 'listed law')} of the data, given the public facts"
