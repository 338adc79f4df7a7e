"""Whether people are in the data at all: presence as a secret [partially-private-data, Equations 7 to 9].

Person i is in the data with probability pi_i, and then has a value by a law f_i, independently of all others.
The secrets are "person i is in the data with the value x" and "person i is not in the data"; every such two
are a pair. Of two datasets the distance is the number of people who differ, absence being as good as a value.

Public may be nothing, the number of records (``size``), or how many have each value (``totals``):

* Nothing: the others do not depend on one person, so Delta_z = 1.
* The size: whoever enters pushes somebody else out. With the two parts "in the data" and "not in it" Delta_z
  is at most 2 [theory, 7], and no less, as the sizes without the person differ by 1.
* Totals: values and absence are parts of public sizes, so Delta_z is at most the number of those that anybody
  is in. Where the datasets can be listed, it is that of the best transport.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from holdfast.privacy.claims import Claim, claim
from holdfast.privacy.evidence import Proved
from holdfast.privacy.law_distance import DiscreteLaw
from holdfast.privacy.pufferfish.families.listed import ListedLaws, ListedPoint, SecretPair, normalised
from holdfast.privacy.pufferfish.framework import MODELLED, DeltaZ, Framework, LawClass, Stated, Statistic
from holdfast.system.errors import GuaranteeError
from holdfast.system.text import closest, counted, visible

MOST_DATASETS, MOST_BEGUN, MOST_PEOPLE = 500, 20_000, 200
"""Datasets, beginnings of them and people up to which the best transport is sought: beyond is a bound."""
ABSENT = "not in the data"
MEMBERS = Statistic("data", "people who differ, in the data or not")


@dataclass(frozen=True)
class Person:
    """How likely one is in the data, and with which values."""

    inclusion: Fraction
    values: Mapping[str, Fraction]

    @cached_property
    def chances(self) -> dict[str, Fraction]:
        """The probabilities of all values and of absence, without those that are 0."""
        found = {value: self.inclusion * chance for value, chance in self.values.items()}
        found[ABSENT] = 1 - self.inclusion
        return {value: chance for value, chance in found.items() if chance}


@dataclass(frozen=True)
class Presence:
    """People who are in the data independently, given its size or its totals by value."""

    people: tuple[Person, ...]
    size: int | None = None
    totals: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        if not self.people:
            raise GuaranteeError("no person is listed: say how likely each is in the data.")
        if self.size is not None and self.totals is not None:
            raise GuaranteeError("size follows from totals: give one of both.")
        for place, person in enumerate(self.people, 1):
            if not 0 <= person.inclusion <= 1:
                raise GuaranteeError(
                    f"person {place} is in the data with probability {person.inclusion}: give one from 0 to"
                    " 1."
                )
            if ABSENT in person.values:
                raise GuaranteeError(f"{ABSENT!r} is no value of a person in the data: name it otherwise.")
            DiscreteLaw.of(person.values, person.values.values(), f"the law of the values of person {place}")
        for value, total in (self.totals or {}).items():
            known = {value for person in self.people for value in person.values}
            if value not in known:
                raise GuaranteeError(
                    f"totals name {visible(value)!r}, which nobody has: {closest(value, sorted(known))}"
                )
            if total < 0:
                raise GuaranteeError(f"the total of {visible(value)!r} is {total}: give a number of people.")
        self.delta  # noqa: B018  raises where no secret is left

    @property
    def framework(self) -> Framework:
        """Presence of each person, with a value, against absence."""
        people = len(self.people)
        each = [
            {"inclusion": str(one.inclusion), "values": {v: str(p) for v, p in one.values.items()}}
            for one in self.people
        ]
        return Framework(
            Stated(self._public, {"size": self.size, "totals": self.totals and {**self.totals}}),
            Stated(_presence(people), {"of": "presence"}),
            Stated(_in_or_not(), {"by": "presence"}),
            LawClass(_independent(people), {"family": "presence", "people": each}, "listed"),
            MEMBERS,
        )

    @property
    def _public(self) -> Claim:
        if self.totals is not None:
            return _given_totals(tuple(self.totals), tuple(self.totals.values()))
        return _given_size(self.size)

    @cached_property
    def delta(self) -> DeltaZ:
        """How many people one moves who enters or leaves."""
        uncertain = sum(0 < person.inclusion < 1 for person in self.people)
        if not uncertain:
            raise GuaranteeError("nobody's presence is uncertain, so it is no secret: correct the inclusion.")
        if self.totals is not None:
            return self._of_totals(self.totals)
        if self.size is None:
            return _proved(1, _alone())
        free = self.size - sum(person.inclusion == 1 for person in self.people)
        if not 0 <= free <= uncertain:
            raise GuaranteeError(f"no law gives {counted(self.size, 'record')} a chance: correct the size.")
        if free in (0, uncertain):
            raise GuaranteeError(
                f"with {counted(self.size, 'record')} it is known who is in the data: no secret is left."
            )
        return _proved(2, _in_place())

    def _of_totals(self, totals: Mapping[str, int]) -> DeltaZ:
        if self._listed is not None:
            return self._listed.delta
        parts = sum(total > 0 for total in totals.values()) + (sum(totals.values()) < len(self.people))
        return DeltaZ(Fraction(parts), exact=False, evidence=(Proved(_of_each(parts), "theory, 7"), MODELLED))

    @cached_property
    def _listed(self) -> ListedLaws | None:
        """The laws given all secrets; None where there are too many datasets."""
        found = self._datasets()
        if found is None:
            return None
        pairs = []
        for place in range(len(self.people)):
            given: dict[str, dict[ListedPoint, Fraction]] = {}
            for dataset, chance in found.items():
                given.setdefault(str(dataset[place]), {})[dataset] = chance
            away = given.pop(ABSENT, None)
            for value, law in given.items() if away is not None else ():
                secrets = f"in the data, {value}", ABSENT
                pairs.append(SecretPair(secrets, (normalised(law), normalised(away or {})), place + 1))
        if not pairs:
            raise GuaranteeError(
                f"with {self._public.words} nobody's presence is open: what is public leaves no secret, or"
                " has no chance."
            )
        return ListedLaws(tuple(pairs))

    def _datasets(self) -> dict[ListedPoint, Fraction] | None:
        """Return the datasets that have the totals, with their probabilities beforehand, unless too many."""
        totals = self.totals or {}
        room = {**totals, ABSENT: len(self.people) - sum(totals.values())}
        begun: dict[ListedPoint, Fraction] = {(): Fraction(1)}
        for person in self.people if len(self.people) <= MOST_PEOPLE else ():
            begun = {
                (*taken, value): chance * share
                for taken, chance in begun.items()
                for value, share in person.chances.items()
                if taken.count(value) < room.get(value, 0)
            }
            if len(begun) > MOST_BEGUN:
                return None
        return begun if len(self.people) <= MOST_PEOPLE and len(begun) <= MOST_DATASETS else None

    @property
    def details(self) -> dict[str, Any]:
        """The worst pair and its witnesses, where datasets were listed."""
        return {} if self.totals is None or self._listed is None else self._listed.details


def _proved(value: int, why: Claim) -> DeltaZ:
    return DeltaZ(Fraction(value), exact=True, evidence=(Proved(why, "theory, 7"), MODELLED))


@claim("presence-given-totals")
def _given_totals(values: tuple[str, ...], totals: tuple[int, ...]) -> str:
    each = zip(values, totals, strict=True)
    told = ", ".join(f"{total:,} {visible(value)}" for value, total in each)
    return f"how many in the data have each value ({told})"


@claim("presence-given-size")
def _given_size(size: int | None) -> str:
    return "nothing of who is in the data" if size is None else f"there are {counted(size, 'record')}"


@claim("presence-of-people")
def _presence(people: int) -> str:
    return f"whether each of {counted(people, 'person', 'people')} is in the data, and with which value"


@claim("presence-or-absence")
def _in_or_not() -> str:
    return "each person, in the data with a value and not in the data"


@claim("presence-independent")
def _independent(people: int) -> str:
    return (
        f"the law under which {counted(people, 'person', 'people')} are in the data independently of each"
        " other, with the listed probabilities, given it"
    )


@claim("presence-alone")
def _alone() -> str:
    return "nobody's presence depends on that of another, so one person differs"


@claim("presence-in-place")
def _in_place() -> str:
    return "whoever enters data of a public size takes the place of one, and no more move"


@claim("presence-of-totals")
def _of_each(parts: int) -> str:
    return (
        f"with {parts} public numbers of people, absent ones among them, one who enters moves at most one of"
        " each"
    )
