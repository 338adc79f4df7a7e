"""How likely many independent cells sum to s, next to 0, to any precision.

Cells have symmetric weights w(z). Let G_k(s) be the sum of w(z_1) ... w(z_k) over all k integers with sum s.
Its *share* G_k(s) / G_k(0) is at most 1 and falls with |s|: the weights used here are log-concave, and so are
their convolutions. With phi(t) = sum w(z) cos(z t) and any M,

    sum over l of G_k(s + l M)  =  (1 / M) sum over j mod M of phi(2 pi j / M)^k cos(2 pi j s / M).

For M beyond all sums that weigh anything, the left side is G_k(s). On the right few terms weigh anything, as
phi falls from 0 to pi: about 30 of them give a share to 2^-40, however many the cells and however wide. What
is left out is bounded, next to phi(0)^k: on the left by the tails of the sums, on the right by M times the
first term that is left out [theory, 6].

Floats decide what is clear: a word closer to a share than BAND is decided by enclosures, with as many further
bits as it takes.
"""

from abc import ABC, abstractmethod
from math import log, pi

import flint
import numpy as np

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.decisions.enclosure import Real, is_below, real
from holdfast.sampling.decisions.floats import Flags, Floats, compare, uniforms
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.numbers.exponential import DoubleGeometric
from holdfast.sampling.numbers.gaussian import DiscreteGaussian

BAND = 2.0**-36
"""A term exp(-x) of a sum is right to x exp(-x) 2^-45 and a few roundings, and so a sum to 2^-43 of that at
s = 0. What is left out of a sum, on either side, is less than that, too."""
NEGLIGIBLE = 44 * log(2)
FIRST = 32
"""Terms that are usually enough."""
AT_ONCE = 1 << 20
"""Cosines that are computed at once."""


class CellSums(ABC):
    """Independent cells of one law, and the weights of their sums."""

    def __init__(self, cell: DiscreteGaussian | DoubleGeometric, deviation: float) -> None:
        self.cell, self.deviation = cell, deviation
        self._series: dict[int, tuple[int, Floats]] = {}

    @abstractmethod
    def common(self, sums: IntArray, cells: IntArray) -> IntArray:
        """Return whole numbers by which all cells of a given sum may be moved: their law moves along."""

    @abstractmethod
    def _decay(self, angles: Floats) -> Floats:
        """Return log(phi(0) / phi(t)), right to one part in 2^46."""

    @abstractmethod
    def _ratio_ball(self, j: int, modulus: int) -> flint.arb:
        """Return a ball around phi(2 pi j / M) / phi(0)."""

    @abstractmethod
    def _reach(self, k: int, rest: float) -> int:
        """Return a sum of k cells beyond which all sums together weigh less than exp(-rest) phi(0)^k."""

    @abstractmethod
    def _tail_ball(self, k: int, beyond: int) -> flint.arb:
        """Return a ball with an upper end above the weight of all sums from ``beyond`` on, over phi(0)^k."""

    def toss(self, cells: IntArray, sums: IntArray, entropy: Entropy) -> Flags:
        """Return heads with probability G_k(s) / G_k(0) for each number of cells k and sum s."""
        words = entropy.words(sums.size)
        heads, unsure = compare(uniforms(words), self.shares(cells, sums), BAND)
        for i in np.flatnonzero(unsure):
            k, s = int(cells[i]), abs(int(sums[i]))
            heads[i] = s == 0 or is_below(int(words[i]), 64, self.share(k, s), entropy)
        return heads

    def shares(self, cells: IntArray, sums: IntArray) -> Floats:
        """Return G_k(s) / G_k(0) in floats, each pair of k and |s| once."""
        sizes = np.abs(sums)
        order = np.lexsort((sizes, cells))
        k, s = cells[order], sizes[order]
        new = np.ones(k.size, dtype=np.bool_)
        new[1:] = (k[1:] != k[:-1]) | (s[1:] != s[:-1])
        numbers, begins = np.unique(k[new], return_index=True)
        parts = np.split(s[new], begins)[1:]
        each = [self._shares(number, part) for number, part in zip(numbers.tolist(), parts, strict=True)]
        found = np.empty(k.size)
        found[order] = np.concatenate([np.zeros(0), *each])[np.cumsum(new) - 1]
        return found

    def share(self, k: int, s: int) -> Real:
        """Return G_k(s) / G_k(0) to any precision, for s >= 0."""
        return real(lambda: self._share_ball(k, s))

    def _shares(self, k: int, sizes: IntArray) -> Floats:
        """Return the shares of some |s| in floats."""
        if k not in self._series:
            self._series[k] = self._weighted(k)
        reach, weights = self._series[k]
        j, modulus = np.arange(1, weights.size + 1), 2 * reach + 1
        s = np.minimum(sizes, reach)  # beyond, no share is larger
        waves, step = np.empty(s.size), AT_ONCE // weights.size + 1
        for begin in range(0, s.size, step):
            turns = s[begin : begin + step, None] * j % modulus
            waves[begin : begin + step] = np.cos(turns * (2 * pi / modulus)) @ weights
        shares: Floats = np.maximum((1 + 2 * waves) / (1 + 2 * weights.sum()), 0.0)
        return shares

    def _weighted(self, k: int) -> tuple[int, Floats]:
        """Return a reach R and the terms (phi(2 pi j / M) / phi(0))^k from j = 1 on, for M = 2 R + 1."""
        reach, terms = self._terms(k, NEGLIGIBLE)
        angles = np.multiply(np.arange(1, terms + 1), 2 * pi / (2 * reach + 1), dtype=np.float64)
        return reach, np.exp(-k * self._decay(angles))

    def _terms(self, k: int, rest: float) -> tuple[int, int]:
        """Return a reach R of the sums, and how many terms are enough for M = 2 R + 1: at most R."""
        rest += log(2 * self._reach(k, rest) + 1) + 2
        reach = max(1, self._reach(k, rest))
        terms = min(FIRST, reach)
        while (
            terms < reach and k * float(self._decay(np.array([pi * (terms + 1) / (reach + 0.5)]))[0]) < rest
        ):
            terms = min(2 * terms, reach)
        return reach, terms

    def _share_ball(self, k: int, s: int) -> flint.arb:
        """Return a ball around a share, at the working precision."""
        reach, terms = self._terms(k, (flint.ctx.prec + 8) * log(2))
        modulus = 2 * max(reach, s) + 1
        terms = min(terms * (modulus // reach), modulus // 2)
        powers = [self._ratio_ball(j, modulus) ** k for j in range(1, terms + 1)]
        missing = 2 * modulus * self._tail_ball(k, modulus - s)
        if terms < modulus // 2:
            missing += modulus * self._ratio_ball(terms + 1, modulus) ** k
        below = above = 1 + flint.arb(0, missing.upper())
        turn = 2 * flint.arb.pi() / modulus
        for j, power in enumerate(powers, 1):
            above += 2 * power * (turn * (j * s % modulus)).cos()
            below += 2 * power
        return above / below
