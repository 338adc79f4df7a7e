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

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.decisions.accept import until_accepted
from holdfast.sampling.decisions.floats import Flags
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.numbers.exponential import DoubleGeometric, ExpCoin
from holdfast.sampling.numbers.half_norm import half_norm
from holdfast.sampling.numbers.inversion import MAX_TABLE, Inversion
from holdfast.sampling.numbers.uniform import uniform_compositions


def tabulated(cells: int, epsilon: Fraction) -> bool:
    """Whether the law of m has a table: 20 standard deviations of it."""
    return 20 * sqrt(cells) / float(epsilon) < MAX_TABLE / 4


class OneTotal:
    """Exact draws of the l1 Laplace law on vectors of ``cells`` >= 2 integers that sum to zero.

    Where m spreads too widely to be tabulated, all cells but one are drawn as double geometric variables
    and the last one, minus their sum s, is accepted with probability a^|s|.
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
        def attempt(places: IntArray) -> tuple[IntArray, Flags]:
            free = self._cell.sample(entropy, places.size * (self._cells - 1)).reshape(places.size, -1)
            last = -free.sum(axis=1)
            return np.column_stack([free, last]), self._coin.toss(np.abs(last), entropy)

        draws = np.empty((size, self._cells), dtype=np.int64)
        until_accepted(attempt, draws)
        return draws
