"""Integers with a given sum under the l1 Laplace law, exactly: `OneTotal`, `OffsetTotal`.

For n cells and a sum s the law is q(z | s) prop. to a^||z||_1 on {z in Z^n : sum z = s}, of total weight G_s.
``OffsetTotal`` draws from it and tosses coins with heads probability G_s / G_0, which is at most 1 because
G_s is the n-fold convolution of a symmetric unimodal sequence. One cell has G_s = a^|s|.

Sums differ from draw to draw, so the laws of all sums that matter are tabulated at once, in floats. They
decide only what is clear: a word closer to a threshold than BAND, far more than the floats can be off, is
decided by the enclosures of `half_norm` with as many further bits as it takes.
"""

from fractions import Fraction
from functools import cached_property
from math import lgamma, sqrt

import flint
import numpy as np

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.sampling.decisions import (
    GUARD_BITS,
    Enclosure,
    LazyUniform,
    Real,
    compare,
    enclose,
    is_below,
    least,
    uniforms,
)
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.numbers.exponential import DoubleGeometric, ExpCoin
from holdfast.sampling.numbers.inversion import MAX_TABLE, Inversion, LogConcave, half_norm, invert, weight
from holdfast.sampling.numbers.uniform import uniform_compositions
from holdfast.sampling.rejection import until_accepted


def tabulated(cells: int, epsilon: Fraction) -> bool:
    """Whether the law of m has a table: 20 standard deviations of it."""
    return 20 * sqrt(cells) / float(epsilon) < MAX_TABLE / 4


class OneTotal:
    """Exact draws of the l1 Laplace law on vectors of ``cells`` >= 2 integers that sum to zero.

    q(z) is proportional to a^||z||_1 with a = exp(-epsilon). A double geometric variable is the difference of
    two geometric ones, so q is the law of x - y for geometric vectors x and y conditioned on equal sums m.
    Given m, both are uniform compositions of m into n parts, and

        P(m)  is proportional to  [C(n + m - 1, m) a^m]^2,

    whose cdf `half_norm` encloses to any precision. Where m spreads too widely to be tabulated, all cells but
    one are drawn as double geometric variables and the last one, minus their sum s, is accepted with
    probability a^|s|.
    """

    floats = False

    def __init__(self, cells: int, epsilon: Fraction, *, bits: int = 64) -> None:
        self._cells = cells
        self._tabulated = tabulated(cells, epsilon)
        if self._tabulated:
            law = half_norm(cells, epsilon)
            self._m = Inversion(law.cdf, bits=bits, around=law.centre)
        else:
            self._cell, self._coin = DoubleGeometric(epsilon), ExpCoin(epsilon)

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row."""
        if not self._tabulated:
            return self._draw_by_rejection(entropy, size)
        m = self._m.sample(entropy, size)
        x = uniform_compositions(m, self._cells, entropy)
        return x - uniform_compositions(m, self._cells, entropy)

    def _draw_by_rejection(self, entropy: Entropy, size: int) -> IntArray:
        def attempt(places: IntArray) -> tuple[IntArray, BoolArray]:
            free = self._cell.sample(entropy, places.size * (self._cells - 1)).reshape(places.size, -1)
            last = -free.sum(axis=1)
            return np.column_stack([free, last]), self._coin.toss(np.abs(last), entropy)

        draws = np.empty((size, self._cells), dtype=np.int64)
        until_accepted(attempt, draws)
        return draws


BAND = 2.0**-26
"""lgamma of arguments below 2^14 is below 2^18; were it right to 2^-32 only, six of them in an exponent
would be off by less than 2^-29, and a share or a cdf by less than 2^-27. What is left out of a
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


def log_ways(cells: int, terms: int) -> FloatArray:
    """Return log C(n + m - 1, m), of the ways to share out m among n cells, for each m below ``terms``."""
    gamma: FloatArray = np.array([lgamma(k) for k in range(1, cells + terms)])
    ways: FloatArray = gamma[cells - 1 :] - gamma[:terms] - gamma[cells - 1]
    return ways


class OffsetTotal:
    """Draws of ``cells`` integers with given sums, and coins for the weights of those sums."""

    def __init__(self, cells: int, epsilon: Fraction) -> None:
        self._cells, self._epsilon = cells, epsilon
        self._power = ExpCoin(epsilon) if cells == 1 else None
        self._laws: dict[int, LogConcave] = {}

    def toss(self, sums: IntArray, entropy: Entropy) -> BoolArray:
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

    def shares(self, sums: IntArray) -> FloatArray:
        """Return G_s / G_0 for each sum s, in floats; beyond the table the last, which is larger."""
        size = np.abs(sums)
        if self._power is not None:
            return np.exp(-float(self._epsilon) * size)
        shares: FloatArray = self._shares[np.minimum(size, self._shares.size - 1)]
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
    def _tabulated(self) -> tuple[FloatArray, FloatArray]:
        """The cdf of m for every sum s, with s added, and the share of every s; in floats.

        m falls as s grows, so s = 0 sets its range. The largest exponent of a row is subtracted first: the
        weights themselves would overflow for a few hundred cells.
        """
        n, epsilon = self._cells, float(self._epsilon)
        rows = _extent(n, epsilon)[0]
        law = self._law(0)
        last = least(lambda k: law.cdf(k, 64)[0] > (1 << 64) - (1 << 24), law.centre)  # but for 2^-40
        m = np.arange(last + 1)[None, :]
        ways = log_ways(n, last + rows)
        once = ways[m] - 2 * epsilon * m
        table, log_weight = np.empty((rows, m.size)), np.empty(rows)
        step = max(1, AT_ONCE // m.size)
        for begin in range(0, rows, step):
            s = np.arange(begin, min(begin + step, rows))[:, None]
            exponents = once + ways[m + s] - epsilon * s
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
    def _shares(self) -> FloatArray:
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
