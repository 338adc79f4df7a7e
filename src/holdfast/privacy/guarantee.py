"""Guarantees relative to a universe, as values of five building blocks with their evidence.

The blocks [swapping-slides]: the protection *domain*, the *scope* (which universe), the *unit* (which
datasets in it count as close), the *standard* (how outputs are compared) and the *intensity*. A guarantee
without its scope says nothing: invariants are outside of every promise made here.
"""

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log
from typing import Literal

import numpy as np

from holdfast.errors import GuaranteeError
from holdfast.privacy.evidence import Evidence
from holdfast.universe.universe import Universe

DOMAIN = "tables of counts of records, the records of equal cells alike"


@dataclass(frozen=True)
class Scope:
    """The universe a guarantee speaks of: tables with the same values of these invariants.

    ``digest`` identifies the system A x = t; it is a function of what is published anyway.
    """

    invariants: tuple[str, ...]
    constraints: tuple[str, ...]
    digest: str

    @classmethod
    def of(cls, universe: Universe, *, invariants: tuple[str, ...], constraints: tuple[str, ...]) -> "Scope":
        """Name the conforming tables of a universe."""
        digest = hashlib.sha256()
        matrix = universe.matrix.tocsr()
        for part in (
            np.array(matrix.shape),
            matrix.indptr,
            matrix.indices,
            matrix.data,
            universe.values,
        ):
            digest.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
        return cls(invariants, constraints, digest.hexdigest())


@dataclass(frozen=True)
class Unit:
    """Which datasets of the scope are protected against each other.

    ``semi``: all pairs at most ``distance`` records apart, the distance that lets any one person take
    any possible value [semi-dp, Definition 13, worst case as in theory, 2]. ``unit``: all pairs, with a
    loss in proportion to how many records apart they are [swapping-slides]; ``distance`` is then 1.
    """

    name: Literal["record"]
    adjacency: Literal["semi", "unit"]
    distance: int


@dataclass(frozen=True)
class Pure:
    """Pure differential privacy: no output is more than exp(epsilon) times as likely."""

    epsilon: Fraction

    standard = "pure"

    def implies(self, other: "Pure") -> bool:
        """Whether this intensity is at least as strong."""
        return self.epsilon <= other.epsilon


@dataclass(frozen=True)
class Target:
    """What was asked for: an adjacency and an intensity."""

    adjacency: Literal["semi", "unit"]
    intensity: Pure


@dataclass(frozen=True)
class Guarantee:
    """What was proved of a mechanism."""

    scope: Scope
    unit: Unit
    intensity: Pure
    evidence: tuple[Evidence, ...]
    domain: str = DOMAIN

    @property
    def statement(self) -> str:
        """The guarantee in one sentence."""
        epsilon = self.intensity.epsilon
        if self.unit.adjacency == "semi":
            return (
                "For any two tables with the same invariants that differ in at most"
                f" {self.unit.distance} {_records(self.unit.distance)}, no release is more than"
                f" exp({epsilon}) = {_times(epsilon)} times as likely under one as under the other."
            )
        return (
            "For any two tables with the same invariants, each record in which they differ makes no"
            f" release more than exp({epsilon}) = {_times(epsilon)} times as likely under one as under"
            " the other."
        )

    def implies(self, target: Target) -> bool:
        """Whether this guarantee meets a target; raises where the two cannot be compared.

        Scope and unit are those of the target's own universe, so only the intensities are left to
        compare [semi-dp, Definition 20].
        """
        if self.unit.adjacency != target.adjacency:
            raise GuaranteeError(
                f"a guarantee for adjacency {self.unit.adjacency!r} cannot be compared with a target"
                f" for {target.adjacency!r}: set the same adjacency in [privacy]."
            )
        return self.intensity.implies(target.intensity)


def _records(count: int) -> str:
    return "record" if count == 1 else "records"


def _times(epsilon: Fraction) -> str:
    """Return exp(epsilon) rounded up to three digits, so that the sentence stays true."""
    ten = float(epsilon) / log(10)
    digits, power = 10 ** (ten % 1), floor(ten)
    shown = ceil(digits * 100 + 1e-9) / 100
    return f"{shown * 10**power:.6g}" if abs(power) < 6 else f"{shown:.2f}e{power}"
