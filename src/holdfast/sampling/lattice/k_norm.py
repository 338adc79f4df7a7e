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

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.sampling.decisions import Real, exp_of_minus, real, toss_coins
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.sampling.lattice.plan import MOST_WORK, Block
from holdfast.sampling.rejection import first_accepted, rows_at_once
from holdfast.system.errors import SamplingError

PILOT, SMALLEST_PILOT = 1000, 16
"""Proposals of a pilot, as many as `PILOT_WORK` allows."""
PILOT_WORK = 1.5e6
"""Integers that a pilot may propose, or whose time it may spend on norms: a third of a second."""
OTHERWISE = "take the noise of another norm, or coarser attributes"
BATCH = 1 << 12
"""Norms asked for at once."""
ROUNDINGS = 2.0**-48
"""Covers the roundings of epsilon ||z||_K - epsilon ||z||_1 / M, relative to its first term."""


class Gauge(Protocol):
    """A norm on the span of a lattice, with ||z|| >= ||z||_1 / l1."""

    @property
    def l1(self) -> int:
        """M, the largest l1 norm in the unit ball."""

    @property
    def additive(self) -> bool:
        """Whether ||z|| is ||z||_1 / M."""

    @property
    def effort(self) -> float:
        """How many integers could be drawn in the time that one norm takes, roughly."""

    def bounds(self, points: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return proved bounds on the norm of each row."""

    def exact(self, point: IntArray) -> Fraction:
        """Return the norm of one point."""


class RareError(SamplingError):
    """Proposals are hardly ever kept."""

    def __init__(self, cells: int, acceptance: float, otherwise: str) -> None:
        super().__init__(
            f"no exact sampler draws K-norm noise on {cells} cells in reasonable time (acceptance about"
            f" {acceptance:.0e}): {otherwise}."
        )
        self.cells, self.acceptance = cells, acceptance


class KNormLaw:
    """q(z) proportional to exp(-epsilon ||z||_K) on the kernel of a full-rank integer matrix.

    The kernel must be the span of the norm's unit ball. ``otherwise`` says what to do where it cannot be
    drawn, in the words of who asks for it.
    """

    def __init__(
        self, matrix: csr_array, epsilon: Fraction, norm: Gauge, *, otherwise: str = OTHERWISE
    ) -> None:
        self.matrix, self.epsilon, self.norm, self._otherwise = matrix, epsilon, norm, otherwise

    @cached_property
    def proposals(self) -> LatticeLaplaceLaw:
        """The l1 law with parameter epsilon / M."""
        return LatticeLaplaceLaw(self.matrix, self.epsilon / self.norm.l1, "l1", otherwise=self._otherwise)

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
    def steps(self) -> tuple[Block, ...]:
        """The parts that are drawn one by one, before the thinning."""
        return self.proposals.steps

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent exact draws, one a row."""
        if self.norm.additive:
            return self.proposals.sample(entropy, size)
        if self.work > MOST_WORK:
            raise RareError(self.matrix.shape[1], self.acceptance, self._otherwise)

        def attempt(count: int) -> IntArray:
            draws = self.proposals.sample(entropy, count)
            return draws[self._toss(draws, entropy)]

        most = min(BATCH, rows_at_once(self.matrix.shape[1]))
        return first_accepted(attempt, size, chance=self.acceptance, most=most)

    def log_prob(self, points: IntArray) -> FloatArray:
        """Return -epsilon ||z||_K for each row, minus infinity off the lattice."""
        on_lattice = ~(self.matrix @ points.T).any(axis=0)
        result = np.full(points.shape[0], -np.inf)
        low, high = self.norm.bounds(points[on_lattice])
        result[on_lattice] = -float(self.epsilon) * (low + high) / 2
        return result

    def _toss(self, draws: IntArray, entropy: Entropy) -> BoolArray:
        def exact(place: int) -> Real:
            size = int(np.abs(draws[place]).sum())
            exponent = self.epsilon * (self.norm.exact(draws[place]) - Fraction(size, self.norm.l1))
            return real(lambda: exp_of_minus(exponent))

        low, high = self._exponents(draws)
        return toss_coins(-(low + high) / 2, (high - low) / 2, exact, entropy)

    def _exponents(self, draws: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return proved bounds on epsilon ||z||_K - epsilon ||z||_1 / M."""
        low, high = self.norm.bounds(draws)
        epsilon, line = float(self.epsilon), np.abs(draws).sum(axis=1) * float(self.epsilon / self.norm.l1)
        margin = ROUNDINGS * epsilon * high
        return np.maximum(epsilon * low - line - margin, 0.0), epsilon * high - line + margin
