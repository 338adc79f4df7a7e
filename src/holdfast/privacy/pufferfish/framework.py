"""What epsilon-TP is relative to: public facts, secrets, discriminative pairs, and the laws of the data.

A Pufferfish framework [kifer2014] says which **secrets** are to be kept, which **pairs** of them nobody
shall tell apart, and under which laws of the data that is promised. With public facts Z = z the laws are
conditional ones, a **class** Theta_z of laws of the data given Z = z [partially-private-data, Definition 3].
A pair counts under a law that gives both of its secrets a chance, and neither all of it.

Each part is stated in claims, which words are made of for readers, and as data; the digest identifies the
data.

A framework **holds** another where every pair under every law of that is a pair under a law of its own.
A guarantee for the larger one is one for the smaller [partially-private-data, Definition 3].

**Delta_z** is how far the secrets of a pair move the data, given what is public:

    Delta_z = sup over laws in the class, sup over discriminative pairs (s_1, s_2) of
              W_infinity( law given s_1, law given s_2 ),

the smallest r such that the two laws can be coupled with no pair of values further apart than r
[partially-private-data, Theorem 9]. It takes the place that a sensitivity has without public facts.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

from holdfast.privacy.claims import Claim, claim, words_of
from holdfast.privacy.evidence import Assumed, Evidence, evidence_dict
from holdfast.privacy.guarantee import Scope
from holdfast.spec.privacy import RECORD, LawKind, ProtectedUnit
from holdfast.system.errors import GuaranteeError
from holdfast.system.text import canonical


@dataclass(frozen=True)
class Stated:
    """A part of a framework, in claims or somebody's own words, and as plain JSON values."""

    said: str | Claim | tuple[Claim, ...]
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What is claimed."""
        if isinstance(self.said, tuple):
            return self.said
        return (own_words(self.said) if isinstance(self.said, str) else self.said,)

    @property
    def words(self) -> str:
        """The part as readers are told of it."""
        return words_of(self.claims)

    def to_dict(self) -> dict[str, Any]:
        """Return both by name."""
        return {"said": [one.to_dict() for one in self.claims], "data": dict(self.data)}


@claim("own-words")
def own_words(words: str) -> str:
    """Claim a part of a framework that is stated in somebody's own words."""
    return words


@dataclass(frozen=True)
class LawClass(Stated):
    """The class Theta_z of laws of the data given Z = z."""

    kind: LawKind = "listed"

    def to_dict(self) -> dict[str, Any]:
        """Return claims, data and kind by name."""
        return {"kind": self.kind, **super().to_dict()}


@dataclass(frozen=True)
class Statistic:
    """What of the data Delta_z is measured on, and by which metric.

    ``name`` "data" is the whole dataset; a mechanism with a finite Delta_z of a coarser statistic must read
    the data through that statistic alone. A table is named by its ``attributes``.
    """

    name: str
    metric: str
    attributes: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What it is, for readers."""
        return f"{self.name} of {', '.join(self.attributes)}" if self.attributes else self.name

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        said = {"attributes": list(self.attributes)} if self.attributes else {}
        return {"name": self.name, **said, "metric": self.metric}


RECORDS = Statistic("data", "records")
"""Whole datasets, by the number of records in which they differ [theory, 1]."""
COUNT = Statistic("count", "absolute difference")
"""One count."""


@dataclass(frozen=True)
class Framework:
    """Public facts, secrets, discriminative pairs, and the laws of the data given the public facts."""

    public: Stated
    secrets: Stated
    pairs: Stated
    laws: LawClass
    statistic: Statistic = RECORDS
    whom: ProtectedUnit = RECORD
    scope: Scope | None = field(default=None, repr=False, compare=False)
    """The tables that agree with the public facts, where these are invariants of a table."""

    @cached_property
    def digest(self) -> str:
        """Identify what is stated as data, claims aside."""
        content = {name: part.data for name, part in self._parts.items()}
        kind, statistic = self.laws.kind, self.statistic.to_dict()
        said = {**content, "kind": kind, "statistic": statistic, "unit": self.whom.unit}
        return _digest(said)

    @cached_property
    def digest_of_public(self) -> str:
        """Identify the public facts alone."""
        return _digest(self.public.data)

    @property
    def _parts(self) -> dict[str, Stated]:
        return {"public": self.public, "secrets": self.secrets, "pairs": self.pairs, "laws": self.laws}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            **{name: part.to_dict() for name, part in self._parts.items()},
            "statistic": self.statistic.to_dict(),
            "unit": self.whom.unit,
            "digest": self.digest,
        }

    def told(self) -> dict[str, Any]:
        """Return it as reports write it: its parts in words, and as data."""
        parts = {name: {"words": part.words, "data": dict(part.data)} for name, part in self._parts.items()}
        return {**self.to_dict(), **parts, "laws": {"kind": self.laws.kind, **parts["laws"]}}


def _digest(said: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(said).encode()).hexdigest()


def covers(one: Framework, other: Framework) -> bool:
    """Whether the one is known to hold the other: the same public facts and secrets, and its laws."""
    same = (one.public.data, one.secrets.data, one.whom) == (
        other.public.data,
        other.secrets.data,
        other.whom,
    )
    return same and _pairs_of(one, other) and _laws_of(one, other)


def _pairs_of(one: Framework, other: Framework) -> bool:
    if one.pairs.data == other.pairs.data:
        return True
    mine, theirs = (framework.pairs.data.get("pairs") for framework in (one, other))
    return isinstance(mine, list) and isinstance(theirs, list) and all(pair in mine for pair in theirs)


def _laws_of(one: Framework, other: Framework) -> bool:
    mine, theirs = one.laws, other.laws
    if (mine.kind, mine.data) == (theirs.kind, theirs.data) or mine.kind == "everything":
        return True
    if mine.kind != theirs.kind:
        return False
    match mine.kind:
        case "pairs":
            return bool(mine.data["distance"] >= theirs.data["distance"])
        case "family":
            return _wider(mine.data, theirs.data)
        case "listed":
            return mine.data.keys() == theirs.data.keys() and all(
                isinstance(mine.data[key], list) and all(law in mine.data[key] for law in theirs.data[key])
                for key in mine.data
            )
    return False


def _wider(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    """Whether one family has the laws of another of its name, by its parameters.

    Laws of several parts have no name, and answers within public bounds no number of people beside them.
    """
    name = mine.get("family")
    if any(mine.get(key) != theirs.get(key) for key in ("family", "n", "of")):
        return name == theirs.get("family") == "answers" and mine.get("of") == "everything"
    match name:
        case "dependent-counts":
            return (
                Fraction(mine["z0"]) <= Fraction(theirs["z0"])
                and Fraction(mine["z1"]) >= Fraction(theirs["z1"])
                and mine["dependence"] in ("any", theirs["dependence"])
            )
        case "normal":
            return Fraction(mine["correlation"]) >= Fraction(theirs["correlation"])
    return False


@dataclass(frozen=True)
class DeltaZ:
    """A distance between conditional laws, rational, in units of the statistic's metric.

    ``value`` is None where the supremum is infinite; where it is not ``exact`` it is an upper bound.
    ``evidence`` says why.
    """

    value: Fraction | None
    exact: bool
    evidence: tuple[Evidence, ...]

    def __post_init__(self) -> None:
        if self.value is not None and self.value < 0:
            raise GuaranteeError("a distance between laws is not negative: correct Delta_z.")

    @property
    def infinite(self) -> bool:
        """Whether no finite distance is enough: the class allows too much dependence."""
        return self.value is None

    @property
    def finite(self) -> Fraction:
        """The value; raises GuaranteeError where it is infinite."""
        if self.value is None:
            raise GuaranteeError(
                "Delta_z is infinite, so no noise meets epsilon-TP for this class of laws: allow less"
                " dependence between the records and the public facts."
            )
        return self.value

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name; a fraction is text."""
        return {
            "value": "infinite" if self.value is None else str(self.value),
            "exact": self.exact,
            "evidence": [evidence_dict(one) for one in self.evidence],
        }


@claim("law-of-the-class")
def _modelled() -> tuple[str, str]:
    return (
        "given what is public, the data follow a law of the stated class",
        "a choice of the curator, which no data can prove: outside of the class the guarantee says nothing",
    )


MODELLED = Assumed(_modelled())


class Family(Protocol):
    """A class of laws given public facts, with what it is a class for."""

    @property
    def framework(self) -> Framework:
        """Public facts, secrets, pairs and laws."""
        ...

    @property
    def delta(self) -> DeltaZ:
        """How far a secret moves the statistic, at worst over the class."""
        ...

    @property
    def details(self) -> dict[str, Any]:
        """What else is known of it, as plain values: where the worst case is."""
        ...


def stated_in_words(public: str | None, otherwise: Claim) -> Stated:
    """Return public facts in the words of a model; ``otherwise`` is claimed where it has none."""
    return Stated(otherwise if public is None else public, {"stated_in_words": public})


@claim("public-unsaid")
def unsaid() -> str:
    """Claim public facts that nobody put into words."""
    return "what the curator calls public"


def answers(people: int | None = None) -> tuple[Stated, Stated]:
    """Return the secrets and pairs of yes-or-no answers: "person i says 0", "person i says 1"."""
    data = {"values": [0, 1], **({} if people is None else {"people": people})}
    return Stated(_answers(people), data), Stated(_both_answers(), {"by": "person", **data})


@claim("answers-of-people")
def _answers(people: int | None) -> str:
    return f"the answer, 0 or 1, of {'each person' if people is None else f'each of {people:,} people'}"


@claim("both-answers")
def _both_answers() -> str:
    return "each person, the answers 0 and 1"
