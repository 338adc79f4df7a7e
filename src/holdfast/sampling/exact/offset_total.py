"""Integers with a given sum, under the l1 Laplace law, exactly.

For n cells and a sum s the law is q(z | s) prop. to a^||z||_1 on {z in Z^n : sum z = s}, of total weight G_s.
``OffsetTotal`` draws from it and tosses coins with heads probability G_s / G_0, which is at most 1 because
G_s is the n-fold convolution of a symmetric unimodal sequence. One cell has G_s = a^|s|.

Sums differ from draw to draw, so the laws of all sums are tabulated at once, in floats. They decide only
what is clear: a word closer to a threshold than BAND, far more than the floats can be off, is decided by the
enclosures of half_norm with as many further bits as it takes.
"""

from fractions import Fraction
from functools import cached_property

import flint
import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from holdfast.sampling.entropy import Entropy
from holdfast.sampling.exact.enclosure import GUARD_BITS, Enclosure, Real, enclose, is_below
from holdfast.sampling.exact.exponential import REACH, ExpCoin
from holdfast.sampling.exact.half_norm import HalfNorm
from holdfast.sampling.exact.inversion import Flags, Integers
from holdfast.sampling.exact.uniform import uniform_compositions

BAND = 2.0**-26
"""gammaln of arguments below 2^14 is below 2^17; were it right to 2^-50 only, relatively, six of them in an
exponent would be off by less than 2^-30, and a share or a cdf by less than 2^-28. What is left out of a
table weighs less than 2^-40."""
WIDEST = 2048
"""Sums beyond this many are too many to tabulate."""


def fits(cells: int, epsilon: Fraction) -> bool:
    """Whether the laws of all sums that matter can be tabulated."""
    return REACH / epsilon < WIDEST and cells / epsilon < 2 * WIDEST


class OffsetTotal:
    """Draws of ``cells`` integers with given sums, and coins for the weights of those sums."""

    def __init__(self, cells: int, epsilon: Fraction) -> None:
        self._cells, self._epsilon = cells, epsilon
        self._power = ExpCoin(epsilon) if cells == 1 else None
        self._laws: dict[int, HalfNorm] = {}

    def toss(self, sums: Integers, entropy: Entropy) -> Flags:
        """Return heads with probability G_s / G_0 for each sum s."""
        size = np.abs(sums)
        if self._power is not None:
            return self._power.toss(size, entropy)
        words = entropy.words(size.size)
        shares, uniform = self._shares[np.minimum(size, self._shares.size - 1)], _uniform(words)
        heads: Flags = uniform < shares
        for i in np.flatnonzero((np.abs(uniform - shares) < BAND) | (size >= self._shares.size)):
            s = int(size[i])
            heads[i] = s == 0 or is_below(int(words[i]), 64, self._share(s), entropy)
        return heads

    def draw(self, sums: Integers, entropy: Entropy) -> Integers:
        """Return one row for each sum, adding up to it."""
        if self._cells == 1 or not sums.size:
            return np.repeat(sums[:, None], self._cells, axis=1)
        size = np.abs(sums)
        halves = self._halves(size, entropy)
        more = uniform_compositions(halves + size, self._cells, entropy)
        signed: Integers = more - uniform_compositions(halves, self._cells, entropy)
        signed[sums < 0] *= -1
        return signed

    def _halves(self, size: Integers, entropy: Entropy) -> Integers:
        """Draw m for each sum: row s of the table holds s + F(0), s + F(1), ..., and the rows follow."""
        rows, columns = self._table.shape
        words = entropy.words(size.size)
        key = np.minimum(size, rows - 1) + _uniform(words)
        flat = self._table.ravel()
        found = np.searchsorted(flat, key, side="right")
        above = flat[np.minimum(found, flat.size - 1)] - key
        below = key - flat[np.maximum(found - 1, 0)]
        last = key - np.floor(key) > 1 - BAND
        halves: Integers = (found - np.minimum(size, rows - 1) * columns).astype(np.int64)
        for i in np.flatnonzero((np.abs(above) < BAND) | (np.abs(below) < BAND) | last | (size >= rows)):
            halves[i] = self._law(int(size[i])).find(int(words[i]), 64, entropy)
        return halves

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        """The weights w(m) for every sum s, in floats; m falls as s grows, so s = 0 sets its range."""
        n, epsilon = self._cells, float(self._epsilon)
        s = np.arange(int(REACH / self._epsilon) + 2)[:, None]
        m = np.arange(self._law(0).last(40) + 1)[None, :]
        choose = gammaln(n + m) - gammaln(m + 1) + gammaln(n + m + s) - gammaln(m + s + 1)
        return np.exp(choose - 2 * gammaln(n) - epsilon * (2 * m + s))

    @cached_property
    def _shares(self) -> NDArray[np.float64]:
        totals = self._weights.sum(axis=1)
        shares: NDArray[np.float64] = totals / totals[0]
        return shares

    @cached_property
    def _table(self) -> NDArray[np.float64]:
        sums = np.cumsum(self._weights, axis=1)
        cdf = sums / sums[:, -1:]
        cdf[:, -1] = 1.0
        return np.arange(cdf.shape[0])[:, None] + cdf

    def _law(self, s: int) -> HalfNorm:
        if s not in self._laws:
            self._laws[s] = HalfNorm(self._cells, self._epsilon, s)
        return self._laws[s]

    def _share(self, s: int) -> Real:
        """Return G_s / G_0 to any precision."""

        def at(bits: int) -> Enclosure:
            above, below = self._law(s).weight(bits), self._law(0).weight(bits)
            with flint.ctx.workprec(bits + GUARD_BITS):
                return enclose(above / below, bits)

        return at


def _uniform(words: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return the leading 53 bits of words, as numbers below 1."""
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
