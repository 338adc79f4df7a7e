"""Integers with a given sum, under the l1 Laplace law, exactly.

For n cells and a sum s the law is q(z | s) prop. to a^||z||_1 on {z in Z^n : sum z = s}, of total weight G_s.
``OffsetTotal`` draws from it and tosses coins with heads probability G_s / G_0, which is at most 1 because
G_s is the n-fold convolution of a symmetric unimodal sequence. One cell has G_s = a^|s|.
"""

from fractions import Fraction

import flint
import numpy as np

from holdfast.sampling.entropy import Entropy
from holdfast.sampling.exact.enclosure import GUARD_BITS, Enclosure, Real, enclose, floor_of, is_below
from holdfast.sampling.exact.exponential import ExpCoin
from holdfast.sampling.exact.half_norm import HalfNorm
from holdfast.sampling.exact.inversion import Flags, Integers, Inversion
from holdfast.sampling.exact.uniform import uniform_compositions

WIDEST = 1 << 12
"""Sums beyond this many are too many to tabulate one by one."""


def fits(epsilon: Fraction) -> bool:
    """Whether the sums that matter can be tabulated."""
    return 45 / epsilon < WIDEST


class OffsetTotal:
    """Draws of ``cells`` integers with given sums, and coins for the weights of those sums."""

    def __init__(self, cells: int, epsilon: Fraction) -> None:
        self._cells, self._epsilon = cells, epsilon
        self._power = ExpCoin(epsilon) if cells == 1 else None
        self._laws: dict[int, HalfNorm] = {}
        self._inversions: dict[int, Inversion] = {}
        self._floors = np.zeros(0, dtype=np.uint64)

    def toss(self, sums: Integers, entropy: Entropy) -> Flags:
        """Return heads with probability G_s / G_0 for each sum s."""
        size = np.abs(sums)
        if self._power is not None:
            return self._power.toss(size, entropy)
        if size.size and (largest := int(size.max())) >= self._floors.size:
            self._extend(largest)
        words, floor = entropy.words(size.size), self._floors[size]
        heads: Flags = (words < floor) | (size == 0)
        for i in np.flatnonzero((words == floor) & (size > 0)):
            heads[i] = is_below(int(words[i]), 64, self._share(int(size[i])), entropy)
        return heads

    def draw(self, sums: Integers, entropy: Entropy) -> Integers:
        """Return one row for each sum, adding up to it."""
        if self._cells == 1 or not sums.size:
            return np.repeat(sums[:, None], self._cells, axis=1)
        size = np.abs(sums)
        order = np.argsort(size, kind="stable")
        halves = np.empty(sums.size, dtype=np.int64)
        values, starts = np.unique(size[order], return_index=True)
        for value, group in zip(values.tolist(), np.split(order, starts[1:]), strict=True):
            halves[group] = self._inversion(value).draw(entropy, group.size)
        more = uniform_compositions(halves + size, self._cells, entropy)
        less = uniform_compositions(halves, self._cells, entropy)
        signs: Integers = np.where(sums < 0, -1, 1)[:, None]
        return signs * (more - less)

    def _law(self, s: int) -> HalfNorm:
        if s not in self._laws:
            self._laws[s] = HalfNorm(self._cells, self._epsilon, s)
        return self._laws[s]

    def _inversion(self, s: int) -> Inversion:
        if s not in self._inversions:
            law = self._law(s)
            self._inversions[s] = Inversion(law.cdf, start=law.start(64))
        return self._inversions[s]

    def _extend(self, largest: int) -> None:
        """Tabulate floor(2^64 G_s / G_0) further; the entry of s = 0 is never used."""
        known = self._floors.size
        more = [0 if s == 0 else floor_of(self._share(s), 64) for s in range(known, 2 * largest + 16)]
        self._floors = np.concatenate([self._floors, np.array(more, dtype=np.uint64)])

    def _share(self, s: int) -> Real:
        """Return G_s / G_0 to any precision."""

        def at(bits: int) -> Enclosure:
            above, below = self._law(s).weight(bits), self._law(0).weight(bits)
            with flint.ctx.workprec(bits + GUARD_BITS):
                return enclose(above / below, bits)

        return at
