"""How the l1 norm of integers with a given sum is distributed, as enclosures.

Let x - y be n integers with sum s >= 0, x and y geometric vectors (a = exp(-epsilon)), y summing to m and x
to m + s. Then

    P(m)  prop. to  w(m) = C(n + m - 1, m) C(n + m + s - 1, m + s) a^(2 m + s),

and sum_m w(m) is G_s = sum_z a^||z||_1 over all z with sum s, but for the factor (1 - a^2)^-n that does not
depend on s. The ratio

    w(m + 1) / w(m) = (n + m)/(m + 1) (n + m + s)/(m + s + 1) a^2

falls with m, so the weights on both sides of the mode are bounded by geometric series.
"""

from bisect import bisect_left
from collections import deque
from fractions import Fraction
from math import exp, sqrt
from typing import NamedTuple

import flint

from holdfast.sampling.entropy import Entropy
from holdfast.sampling.exact.enclosure import GUARD_BITS, Enclosure, enclose, exp_of_minus


class HalfNorm:
    """The law of m for n cells with sum s, as enclosures of its cdf and of its weight."""

    def __init__(self, cells: int, epsilon: Fraction, offset: int = 0) -> None:
        self._cells, self._epsilon, self._offset = cells, epsilon, offset
        self._mode = _mode(cells, exp(-float(epsilon)), offset)
        self._tables: dict[int, _Cumulative] = {}

    def start(self, bits: int) -> int:
        """Return a value below which less than 2^-bits of the mass lies."""
        return self._table(bits).first

    def cdf(self, m: int, bits: int) -> Enclosure:
        """Enclose P(M <= m) 2^bits."""
        table = self._table(bits)
        if m < table.first:
            return 0, 1
        return table.sums[min(m - table.first, len(table.sums) - 1)]

    def last(self, bits: int) -> int:
        """Return a value above which less than 2^-bits of the mass lies."""
        table = self._table(bits)
        return table.first + len(table.sums) - 1

    def find(self, word: int, bits: int, entropy: Entropy) -> int:
        """Return the draw of the uniform u that begins with a word, adding bits until it is certain."""
        u = word
        while True:
            table = self._table(bits)
            place = bisect_left(table.sums, u + 1, key=lambda sum_: sum_[0])
            m = table.first + place
            if place < len(table.sums) and (m == 0 or self.cdf(m - 1, bits)[1] <= u):
                return m
            u, bits = (u << 64) | int(entropy.words(1)[0]), bits + 64

    def weight(self, bits: int) -> flint.arb:
        """Return a ball around G_s (1 - a^2)^-n, good to about ``bits`` bits."""
        return self._table(bits).weight

    def _table(self, bits: int) -> "_Cumulative":
        if bits not in self._tables:
            with flint.ctx.workprec(bits + 2 * GUARD_BITS):
                self._tables[bits] = self._cumulate(bits)
        return self._tables[bits]

    def _cumulate(self, bits: int) -> "_Cumulative":
        n, s, a_squared = self._cells, self._offset, exp_of_minus(2 * self._epsilon)
        negligible = flint.arb(2) ** -(bits + 2)

        def ratio(m: int) -> flint.arb:
            return flint.arb((n + m) * (n + m + s)) / ((m + 1) * (m + s + 1)) * a_squared

        weights, weight, m = deque([flint.arb(1)]), flint.arb(1), self._mode
        below = flint.arb(0)  # bounds the mass before the first weight kept
        while m > 0:
            back = 1 / ratio(m - 1)
            if back < 1 and (below := weight * back / (1 - back)) < negligible:
                break
            m, weight = m - 1, weight * back
            weights.appendleft(weight)
        else:
            below = flint.arb(0)
        first, weight, m = m, flint.arb(1), self._mode
        while True:
            step = ratio(m)
            if step < 1 and (above := weight * step / (1 - step)) < negligible:
                break
            m, weight = m + 1, weight * step
            weights.append(weight)
        # The true total lies between the kept sum and the kept sum plus both tails.
        kept = sum(weights, flint.arb(0))
        total = kept.union(kept + below + above)
        partial, sums = flint.arb(0).union(below), []
        for weight in weights:
            partial += weight
            sums.append(enclose((partial / total).min(flint.arb(1)), bits))
        # The last entry also serves every m beyond the table: it encloses up to 1.
        sums[-1] = (sums[-1][0], 1 << bits)
        return _Cumulative(first, sums, total * self._at(self._mode))

    def _at(self, m: int) -> flint.arb:
        n, s = self._cells, self._offset
        power = exp_of_minus(self._epsilon * (2 * m + s))
        return flint.arb.bin_uiui(n + m - 1, m) * flint.arb.bin_uiui(n + m + s - 1, m + s) * power


class _Cumulative(NamedTuple):
    first: int
    sums: list[Enclosure]
    weight: flint.arb


def _mode(cells: int, a: float, offset: int) -> int:
    """Solve (n + m)(n + m + s) a^2 = (m + 1)(m + s + 1) for m, roughly: any start is valid."""
    leading = 1 - a * a
    linear = 2 + offset - a * a * (2 * cells + offset)
    constant = (offset + 1) - a * a * cells * (cells + offset)
    inside = linear * linear - 4 * leading * constant
    return max(0, int((-linear + sqrt(max(inside, 0.0))) / (2 * leading)))
