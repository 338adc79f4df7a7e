"""The l1 Laplace law on {z in Z^n : sum z = 0}, by uniform compositions.

q(z) is proportional to a^||z||_1 with a = exp(-epsilon). A double geometric variable is the difference of
two geometric ones, so q is the law of x - y for geometric vectors x and y conditioned on equal sums m.
Given m, both are uniform compositions of m into n parts, and

    P(m)  is proportional to  [C(n + m - 1, m) a^m]^2.

The ratio P(m + 1)/P(m) = ((n + m)/(m + 1) a)^2 falls with m, so the weights on both sides of the mode
are bounded by geometric series: that gives enclosures of the cdf of m to any precision.
"""

from collections import deque
from fractions import Fraction
from math import exp, sqrt
from typing import NamedTuple

import flint
import numpy as np

from holdfast.sampling.entropy import Entropy
from holdfast.sampling.exact.enclosure import GUARD_BITS, Enclosure, enclose, exp_of_minus
from holdfast.sampling.exact.exponential import DoubleGeometric, ExpCoin
from holdfast.sampling.exact.inversion import MAX_TABLE, Integers, Inversion
from holdfast.sampling.exact.uniform import uniform_compositions


class OneTotal:
    """Exact draws of the l1 Laplace law on vectors of ``cells`` >= 2 integers that sum to zero.

    Where m spreads too widely to be tabulated, all cells but one are drawn as double geometric variables
    and the last one, minus their sum s, is accepted with probability a^|s|.
    """

    def __init__(self, cells: int, epsilon: Fraction, *, bits: int = 64) -> None:
        self._cells = cells
        self._tabulated = 20 * sqrt(cells) / float(epsilon) < MAX_TABLE / 4  # 20 standard deviations
        if self._tabulated:
            half_norm = _HalfNorm(cells, epsilon)
            self._m = Inversion(half_norm.cdf, bits=bits, start=half_norm.start(bits))
        else:
            self._cell, self._coin = DoubleGeometric(epsilon), ExpCoin(epsilon)

    def draw(self, entropy: Entropy, size: int) -> Integers:
        """Return ``size`` independent draws, one a row."""
        if not self._tabulated:
            return self._draw_by_rejection(entropy, size)
        m = self._m.draw(entropy, size)
        x = uniform_compositions(m, self._cells, entropy)
        return x - uniform_compositions(m, self._cells, entropy)

    def _draw_by_rejection(self, entropy: Entropy, size: int) -> Integers:
        draws = np.empty((size, self._cells), dtype=np.int64)
        waiting = np.arange(size)
        while waiting.size:
            first = self._cell.draw(entropy, waiting.size * (self._cells - 1))
            draws[waiting, :-1] = first.reshape(waiting.size, -1)
            draws[waiting, -1] = -draws[waiting, :-1].sum(axis=1)
            waiting = waiting[~self._coin.toss(np.abs(draws[waiting, -1]), entropy)]
        return draws


class _HalfNorm:
    """The law of m = ||z||_1 / 2, as enclosures of its cdf."""

    def __init__(self, cells: int, epsilon: Fraction) -> None:
        self._cells, self._epsilon = cells, epsilon
        a = exp(-float(epsilon))
        self._mode = max(0, int((cells * a - 1) / (1 - a)))  # a hint only: any start is valid
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

    def _table(self, bits: int) -> "_Cumulative":
        if bits not in self._tables:
            with flint.ctx.workprec(bits + 2 * GUARD_BITS):
                self._tables[bits] = self._cumulate(bits)
        return self._tables[bits]

    def _cumulate(self, bits: int) -> "_Cumulative":
        n, a_squared = self._cells, exp_of_minus(2 * self._epsilon)
        negligible = flint.arb(2) ** -(bits + 2)

        def ratio(m: int) -> flint.arb:  # P(m + 1) / P(m)
            return (flint.arb(n + m) / (m + 1)) ** 2 * a_squared

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
        return _Cumulative(first, sums)


class _Cumulative(NamedTuple):
    first: int
    sums: list[Enclosure]
