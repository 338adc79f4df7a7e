"""Integers with a given sum, under the l1 Laplace law, exactly.

For n cells and a sum s the law is q(z | s) prop. to a^||z||_1 on {z in Z^n : sum z = s}, of total weight G_s.
``OffsetTotal`` draws from it and tosses coins with heads probability G_s / G_0, which is at most 1 because
G_s is the n-fold convolution of a symmetric unimodal sequence. One cell has G_s = a^|s|.

Sums differ from draw to draw, so the laws of all sums that matter are tabulated at once, in floats. They
decide only what is clear: a word closer to a threshold than BAND, far more than the floats can be off, is
decided by the enclosures of half_norm with as many further bits as it takes.
"""

from fractions import Fraction
from functools import cached_property
from math import sqrt

import flint
import numpy as np
from scipy.special import gammaln

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.decisions.enclosure import (
    GUARD_BITS,
    Enclosure,
    LazyUniform,
    Real,
    enclose,
    is_below,
    least,
)
from holdfast.sampling.decisions.floats import Flags, Floats, compare, uniforms
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.numbers.exponential import ExpCoin
from holdfast.sampling.numbers.half_norm import half_norm, weight
from holdfast.sampling.numbers.inversion import invert
from holdfast.sampling.numbers.log_concave import LogConcave
from holdfast.sampling.numbers.uniform import uniform_compositions

BAND = 2.0**-26
"""gammaln of arguments below 2^14 is below 2^18; were it right to 2^-50 only, relatively, six of them in an
exponent would be off by less than 2^-29, and a share or a cdf by less than 2^-27. What is left out of a
table weighs less than 2^-40, and a key of a table has its last digit at 2^-40."""
WIDEST = 4096
"""Cells, and the typical l1 norm of a draw, up to which sums can be tabulated."""
MOST_ENTRIES = 1 << 25
"""Numbers in a table: 256 MB."""
AT_ONCE = 1 << 18
"""Numbers of a table that are computed at once."""
RARE = 20
"""Sums with a share below exp(-20), which is less than 2^-28, need no row."""


def fits(cells: int, epsilon: Fraction) -> bool:
    """Whether the laws of all sums that matter can be tabulated."""
    if cells > WIDEST or cells > WIDEST * epsilon or WIDEST * epsilon < RARE:
        return False
    rows, columns = _extent(cells, float(epsilon))
    return rows * columns <= MOST_ENTRIES and rows + columns + cells <= 1 << 14


def _extent(cells: int, epsilon: float) -> tuple[int, int]:
    """Return about how many sums s matter, and how large m becomes.

    A sum of n cells has a variance of 2 n a / (1 - a)^2 < 2 n / epsilon^2, and exponential tails beyond;
    m is about n a / (1 - a) < n / epsilon, with a quarter of that variance.
    """
    deviation = sqrt(2 * cells) / epsilon
    rows = RARE / epsilon + sqrt(2 * RARE) * deviation
    columns = cells / epsilon + 4 * deviation + RARE / epsilon
    return int(rows) + 2, int(columns) + 2


class OffsetTotal:
    """Draws of ``cells`` integers with given sums, and coins for the weights of those sums."""

    def __init__(self, cells: int, epsilon: Fraction) -> None:
        self._cells, self._epsilon = cells, epsilon
        self._power = ExpCoin(epsilon) if cells == 1 else None
        self._laws: dict[int, LogConcave] = {}

    def toss(self, sums: IntArray, entropy: Entropy) -> Flags:
        """Return heads with probability G_s / G_0 for each sum s."""
        size = np.abs(sums)
        if self._power is not None:
            return self._power.toss(size, entropy)
        words = entropy.words(size.size)
        heads, unsure = compare(uniforms(words), self.shares(sums), BAND)
        unsure |= heads & (size >= self._shares.size)
        for i in np.flatnonzero(unsure):
            s = int(size[i])
            heads[i] = s == 0 or is_below(int(words[i]), 64, self._share(s), entropy)
        return heads

    def shares(self, sums: IntArray) -> Floats:
        """Return G_s / G_0 for each sum s, in floats; beyond the table the last, which is larger."""
        size = np.abs(sums)
        if self._power is not None:
            return np.exp(-float(self._epsilon) * size)
        shares: Floats = self._shares[np.minimum(size, self._shares.size - 1)]
        return shares

    def draw(self, sums: IntArray, entropy: Entropy) -> IntArray:
        """Return one row for each sum, adding up to it."""
        if self._cells == 1 or not sums.size:
            return np.repeat(sums[:, None], self._cells, axis=1)
        size = np.abs(sums)
        halves = self._halves(size, entropy)
        more = uniform_compositions(halves + size, self._cells, entropy)
        signed: IntArray = more - uniform_compositions(halves, self._cells, entropy)
        signed[sums < 0] *= -1
        return signed

    def _halves(self, size: IntArray, entropy: Entropy) -> IntArray:
        """Draw m for each sum: row s of the table holds s + F(0), s + F(1), ..., and the rows follow."""
        table = self._tabulated[0]
        rows, columns = table.shape
        words, row = entropy.words(size.size), np.minimum(size, rows - 1)
        key, flat = row + uniforms(words), table.ravel()
        found = np.searchsorted(flat, key, side="right")
        unsure = compare(key, flat[np.minimum(found, flat.size - 1)], BAND)[1]
        unsure |= compare(key, flat[np.maximum(found - 1, 0)], BAND)[1]
        unsure |= size >= rows
        halves: IntArray = (found - row * columns).astype(np.int64)
        for i in np.flatnonzero(unsure):
            law, uniform = self._law(int(size[i])), LazyUniform(int(words[i]), 64, entropy)
            halves[i] = invert(law.cdf, uniform, law.centre)
        return halves

    @cached_property
    def _tabulated(self) -> tuple[Floats, Floats]:
        """The cdf of m for every sum s, with s added, and the share of every s; in floats.

        m falls as s grows, so s = 0 sets its range. The largest exponent of a row is subtracted first: the
        weights themselves would overflow for a few hundred cells.
        """
        n, epsilon = self._cells, float(self._epsilon)
        rows = _extent(n, epsilon)[0]
        law = self._law(0)
        last = least(lambda k: law.cdf(k, 64)[0] > (1 << 64) - (1 << 24), law.centre)  # but for 2^-40
        m = np.arange(last + 1)[None, :]
        once = gammaln(n + m) - gammaln(m + 1) - 2 * gammaln(n) - 2 * epsilon * m
        table, log_weight = np.empty((rows, m.size)), np.empty(rows)
        step = max(1, AT_ONCE // m.size)
        for begin in range(0, rows, step):
            s = np.arange(begin, min(begin + step, rows))[:, None]
            exponents = once + gammaln(n + m + s) - gammaln(m + s + 1) - epsilon * s
            highest = exponents.max(axis=1, keepdims=True)
            sums = np.cumsum(np.exp(exponents - highest), axis=1)
            log_weight[begin : begin + step] = highest[:, 0] + np.log(sums[:, -1])
            table[begin : begin + step] = s + sums / sums[:, -1:]
        shares = np.exp(log_weight - log_weight[0])
        if not (np.isfinite(table).all() and np.isfinite(shares).all()):
            raise ArithmeticError("a table of sums is not finite")
        kept = int((shares > BAND / 4).sum()) + 1
        return table[:kept], shares[:kept]

    @property
    def _shares(self) -> Floats:
        return self._tabulated[1]

    def _law(self, s: int) -> LogConcave:
        if s not in self._laws:
            self._laws[s] = half_norm(self._cells, self._epsilon, s)
        return self._laws[s]

    def _share(self, s: int) -> Real:
        """Return G_s / G_0 to any precision."""

        def at(bits: int) -> Enclosure:
            above, below = (
                weight(self._law(t), self._cells, self._epsilon, t, bits + GUARD_BITS) for t in (s, 0)
            )
            with flint.ctx.workprec(bits + GUARD_BITS):
                return enclose(above / below, bits)

        return at
