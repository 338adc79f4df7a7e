"""`neighbours`: records move between neighbouring levels of one attribute whose total is kept.

With d levels in order, k_i records move over the border between level i and the next, k_i double geometric:
z = (k_1, k_2 - k_1, ..., -k_{d-1}). The flows follow from the noise, k_i = z_1 + ... + z_i, so

    q(z) is proportional to exp(-kappa sum |k_i|)  on  {z : sum z = 0}.

A record that takes another level crosses at most d - 1 borders. Tables a records apart differ by at most
a (d - 1) in their flows, and two such tables do. Hence the loss is kappa a (d - 1), attained at z = 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.mechanism import (
    Additive,
    MechanismRecord,
    NoiseLaw,
    drawn_exactly,
    premises_at,
    premises_for,
    pure,
)
from holdfast.privacy.claims import Claim, claim
from holdfast.privacy.evidence import Proved
from holdfast.privacy.guarantee import Guarantee, Target, Unit
from holdfast.privacy.intensity import Pure
from holdfast.privacy.premises import Premises
from holdfast.public import Public
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.numbers.exponential import DoubleGeometric
from holdfast.spec.mechanism import MechanismOptions
from holdfast.spec.values import PositiveRational
from holdfast.system.errors import SpecError


@dataclass(frozen=True, eq=False)
class Flows(NoiseLaw):
    """Noise that moves records over the borders between levels."""

    borders: int
    kappa: Fraction

    @property
    def work(self) -> float:
        """Integers proposed for one draw."""
        return float(self.borders)

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row."""
        flows = DoubleGeometric(self.kappa).sample(entropy, size * self.borders).reshape(size, -1)
        return np.diff(flows, axis=1, prepend=0, append=0)

    def log_prob(self, points: IntArray) -> NDArray[np.float64]:
        """Return the log probability of each row up to one constant, minus infinity off the lattice."""
        flows = points.cumsum(axis=1)
        return np.where(flows[:, -1] == 0, -float(self.kappa) * np.abs(flows).sum(axis=1), -np.inf)


class NeighboursRecord(MechanismRecord):
    """Kappa, the loss for each border that a record crosses."""

    name: Literal["neighbours"]
    kappa: PositiveRational


@dataclass(frozen=True, eq=False)
class Neighbours(Additive[MechanismOptions, NeighboursRecord]):
    """Double geometric flows between neighbouring levels."""

    premises: Premises
    kappa: Fraction

    name = "neighbours"
    Record = NeighboursRecord
    standards = ("pure",)

    @classmethod
    def answer(cls, public: Public, target: Target, options: MechanismOptions) -> "Neighbours":
        """Take the kappa that spends the target in full."""
        del options  # it has none
        if public.cliques != (frozenset(),) or len(public.schema.names) > 1:
            raise SpecError("[mechanism] name = 'neighbours' is for one attribute: keep its total, alone.")
        premises = premises_for(public, target)
        return cls(premises, pure(target).epsilon / _crossed(premises))

    @classmethod
    def of(cls, record: NeighboursRecord, public: Public, unit: Unit) -> "Neighbours":
        """Return the mechanism of a record."""
        return cls(premises_at(public, unit), record.kappa)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Kappa."""
        return {"kappa": self.kappa}

    @cached_property
    def noise(self) -> Flows:
        """The law of the noise, which every table shares."""
        return Flows(self.premises.universe.cells - 1, self.kappa)

    @property
    def methods(self) -> tuple[Claim, ...]:
        """How the flows are drawn."""
        return (_drawn(self.noise.borders),)

    @property
    def guarantee(self) -> Guarantee:
        """The loss is kappa for each border, by the triangle inequality."""
        premises, crossed = self.premises, _crossed(self.premises)
        borders = Proved(_borders(crossed), "theory, 1")
        evidence = (borders, *premises.evidence(), *drawn_exactly(floats=self.noise.floats))
        return Guarantee(premises.scope, premises.unit, Pure(self.kappa * crossed), evidence)


@claim("tests:borders-drawn")
def _drawn(borders: int) -> str:
    return f"{borders:,} borders between levels, each crossed independently"


@claim("tests:borders")
def _borders(crossed: int) -> str:
    return f"the records between two such tables cross {crossed} borders at most"


def _crossed(premises: Premises) -> int:
    return premises.unit.distance * (premises.universe.cells - 1)
