"""What epsilon-TP is relative to: public facts, secrets, discriminative pairs, and the laws of the data.

A Pufferfish framework [kifer2014] says which **secrets** are to be kept, which **pairs** of them nobody
shall tell apart, and under which laws of the data that is promised. With public facts Z = z the laws are
conditional ones, a **class** Theta_z of laws of the data given Z = z [partially-private-data, Definition 3].
A pair counts under a law that gives both of its secrets a chance, and neither all of it.

Each part is stated in words, for readers, and as data, for machines; the digest identifies the data.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from holdfast.privacy.guarantee import Scope
from holdfast.privacy.ledger.canonical import canonical
from holdfast.spec.whom import RECORD, Whom


@dataclass(frozen=True)
class Stated:
    """A part of a framework, in words and as plain JSON values."""

    words: str
    data: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return both by name."""
        return {"words": self.words, "data": dict(self.data)}


LawKind = Literal["everything", "pairs", "independent", "family", "listed"]
"""How a class of laws is made, which decides what its guarantee implies.

* ``everything``: every law on the data that agree with the public facts.
* ``pairs``: even chances of two datasets that agree with them and are at most ``distance`` records apart.
* ``independent``: records independent of each other, given that the data agree with the public facts.
* ``family``: the laws of a named family with parameters.
* ``listed``: the laws that the data list, and no other.
"""


@dataclass(frozen=True)
class LawClass(Stated):
    """The class Theta_z of laws of the data given Z = z."""

    kind: LawKind = "listed"

    def to_dict(self) -> dict[str, Any]:
        """Return words, data and kind by name."""
        return {"kind": self.kind, **super().to_dict()}


@dataclass(frozen=True)
class Statistic:
    """What of the data Delta_z is measured on, and by which metric.

    ``name`` "data" is the whole dataset; a mechanism with a finite Delta_z of a coarser statistic must read
    the data through that statistic alone.
    """

    name: str
    metric: str

    def to_dict(self) -> dict[str, str]:
        """Return both by name."""
        return {"name": self.name, "metric": self.metric}


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
    whom: Whom = RECORD
    scope: Scope | None = field(default=None, repr=False, compare=False)
    """The tables that agree with the public facts, where these are invariants of a table."""

    @cached_property
    def digest(self) -> str:
        """Identify what is stated as data, words aside."""
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


def _digest(said: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(said).encode()).hexdigest()
