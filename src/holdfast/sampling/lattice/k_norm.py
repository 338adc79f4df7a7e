"""The K-norm law on a lattice: q(z) proportional to exp(-epsilon ||z||_K) on {z : A z = 0}.

It is the integer form of [semi-dp, Algorithm 2]. Let M be the largest l1 norm in the unit ball K; then
||z||_1 <= M ||z||_K. So a draw z of the l1 law with parameter epsilon / M is accepted with probability

    exp(-(epsilon ||z||_K - epsilon ||z||_1 / M)) <= 1,

so what is accepted has the law q. The coin is tossed exactly: by proved bounds on ||z||_K where they
suffice, by its exact value where they do not.
"""

from fractions import Fraction
from functools import cached_property
from math import exp
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from holdfast.errors import SamplingError
from holdfast.lattice.arrays import IntArray
from holdfast.sampling.decisions.accept import first_accepted, rows_at_once
from holdfast.sampling.decisions.coin import toss_coins
from holdfast.sampling.decisions.enclosure import Real, exp_of_minus, real
from holdfast.sampling.decisions.floats import Flags, Floats
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.sampling.lattice.plan import MOST_WORK, Block

PILOT, SMALLEST_PILOT = 1000, 32
PILOT_WORK = 5e6
"""Integers that a pilot may propose, or whose time it may spend on norms: about a second."""
BATCH = 1 << 12
"""Norms asked for at once."""
ROUNDINGS = 2.0**-48
"""Covers the roundings of epsilon ||z||_K - epsilon ||z||_1 / M, relative to its first term."""


class Gauge(Protocol):
    """A norm on the span of a lattice, with ||z|| >= ||z||_1 / l1."""

    @property
    def l1(self) -> int:
        """M, the largest l1 norm in the unit ball."""
        ...

    @property
    def additive(self) -> bool:
        """Whether ||z|| is ||z||_1 / M."""
        ...

    @property
    def effort(self) -> float:
        """How many integers could be drawn in the time that one norm takes, roughly."""
        ...

    def bounds(self, points: IntArray) -> tuple[Floats, Floats]:
        """Return proved bounds on the norm of each row."""
        ...

    def exact(self, point: IntArray) -> Fraction:
        """Return the norm of one point."""
        ...


class KNormLaw:
    """q(z) proportional to exp(-epsilon ||z||_K) on the kernel of a full-rank integer matrix.

    The kernel must be the span of the norm's unit ball.
    """

    def __init__(self, matrix: csr_array, epsilon: Fraction, norm: Gauge) -> None:
        self.matrix, self.epsilon, self.norm = matrix, epsilon, norm

    @cached_property
    def proposals(self) -> LatticeLaplaceLaw:
        """The l1 law with parameter epsilon / M."""
        return LatticeLaplaceLaw(self.matrix, self.epsilon / self.norm.l1, "l1")

    @cached_property
    def acceptance(self) -> float:
        """The share of proposals that is kept, estimated by a seeded pilot."""
        if self.norm.additive:
            return 1.0
        affordable = int(PILOT_WORK / (self.proposals.work + self.norm.effort))
        draws = self.proposals.sample(SeededEntropy(0), min(PILOT, max(SMALLEST_PILOT, affordable)))
        low, high = self._exponents(draws)
        return max(float(np.exp(-(low + high) / 2).mean()), exp(-700))

    @property
    def floats(self) -> bool:
        """Whether floats sort out the clear cases."""
        return not self.norm.additive or self.proposals.floats

    @property
    def work(self) -> float:
        """Integers proposed for one draw, expected; the time of norms counts as integers."""
        return (self.proposals.work + self.norm.effort) / self.acceptance

    @property
    def methods(self) -> tuple[str, ...]:
        """What is done, in sentences."""
        if self.norm.additive:
            return self.proposals.methods
        return (*self.proposals.methods, f"thinned to the K-norm (acceptance {self.acceptance:.2g})")

    @property
    def steps(self) -> tuple[Block, ...]:
        """The parts that are drawn one by one, before the thinning."""
        return self.proposals.steps

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent exact draws, one a row."""
        if self.norm.additive:
            return self.proposals.sample(entropy, size)
        if self.work > MOST_WORK:
            raise SamplingError(
                f"no exact sampler draws K-norm noise on {self.matrix.shape[1]} cells in reasonable time"
                f' (acceptance about {self.acceptance:.0e}): set name = "lattice-laplace" in [mechanism].'
            )

        def attempt(count: int) -> IntArray:
            draws = self.proposals.sample(entropy, count)
            return draws[self._toss(draws, entropy)]

        most = min(BATCH, rows_at_once(self.matrix.shape[1]))
        return first_accepted(attempt, size, chance=self.acceptance, most=most)

    def log_prob(self, points: IntArray) -> Floats:
        """Return -epsilon ||z||_K for each row, minus infinity off the lattice."""
        on_lattice = ~(self.matrix @ points.T).any(axis=0)
        result = np.full(points.shape[0], -np.inf)
        low, high = self.norm.bounds(points[on_lattice])
        result[on_lattice] = -float(self.epsilon) * (low + high) / 2
        return result

    def _toss(self, draws: IntArray, entropy: Entropy) -> Flags:
        def exact(place: int) -> Real:
            size = int(np.abs(draws[place]).sum())
            exponent = self.epsilon * (self.norm.exact(draws[place]) - Fraction(size, self.norm.l1))
            return real(lambda: exp_of_minus(exponent))

        low, high = self._exponents(draws)
        return toss_coins(-(low + high) / 2, (high - low) / 2, exact, entropy)

    def _exponents(self, draws: IntArray) -> tuple[Floats, Floats]:
        """Return proved bounds on epsilon ||z||_K - epsilon ||z||_1 / M."""
        low, high = self.norm.bounds(draws)
        epsilon, line = float(self.epsilon), np.abs(draws).sum(axis=1) * float(self.epsilon / self.norm.l1)
        margin = ROUNDINGS * epsilon * high
        return np.maximum(epsilon * low - line - margin, 0.0), epsilon * high - line + margin
