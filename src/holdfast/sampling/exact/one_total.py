"""The l1 Laplace law on {z in Z^n : sum z = 0}, by uniform compositions.

q(z) is proportional to a^||z||_1 with a = exp(-epsilon). A double geometric variable is the difference of
two geometric ones, so q is the law of x - y for geometric vectors x and y conditioned on equal sums m.
Given m, both are uniform compositions of m into n parts, and

    P(m)  is proportional to  [C(n + m - 1, m) a^m]^2,

whose cdf half_norm encloses to any precision.
"""

from fractions import Fraction
from math import sqrt

import numpy as np

from holdfast.sampling.entropy import Entropy
from holdfast.sampling.exact.exponential import DoubleGeometric, ExpCoin
from holdfast.sampling.exact.half_norm import HalfNorm
from holdfast.sampling.exact.inversion import MAX_TABLE, Integers, Inversion
from holdfast.sampling.exact.uniform import uniform_compositions


class OneTotal:
    """Exact draws of the l1 Laplace law on vectors of ``cells`` >= 2 integers that sum to zero.

    Where m spreads too widely to be tabulated, all cells but one are drawn as double geometric variables
    and the last one, minus their sum s, is accepted with probability a^|s|.
    """

    floats = False

    def __init__(self, cells: int, epsilon: Fraction, *, bits: int = 64) -> None:
        self._cells = cells
        self._tabulated = 20 * sqrt(cells) / float(epsilon) < MAX_TABLE / 4  # 20 standard deviations
        if self._tabulated:
            half_norm = HalfNorm(cells, epsilon)
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
