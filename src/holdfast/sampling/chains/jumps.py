"""Double geometric jumps, alone or for two chains that are to meet.

One chain's coordinate is ahead of the other's by s. With jumps J and J' of the law P(e) prop. to a^|e|,
the two land on the same value when J' = J + s. Take J' = J + s with probability min(1, P(J + s) / P(J)),
else J' = -J. Both outcomes leave the law of J' as it should be, because the law is symmetric and what is left
of it on one side is the mirror image of the other; and no coupling lands on the same value more often
[jacob2020]. The exponents are whole, so the coin is exact.
"""

from fractions import Fraction
from functools import cached_property

import numpy as np

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.numbers.exponential import DoubleGeometric, ExpCoin


class Jumps:
    """Jumps with P(e) prop. to exp(-rate |e|)."""

    def __init__(self, rate: Fraction) -> None:
        self.rate = rate
        self._law = DoubleGeometric(rate)

    @cached_property
    def _coin(self) -> ExpCoin:
        return ExpCoin(self.rate)

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent jumps."""
        return self._law.sample(entropy, size)

    def draw_pairs(self, ahead: IntArray, entropy: Entropy) -> tuple[IntArray, IntArray]:
        """Return jumps for two chains, element by element, the first being ``ahead`` of the second."""
        one = self.sample(entropy, ahead.size).reshape(ahead.shape)
        same = one + ahead
        exponents = np.maximum(np.abs(same) - np.abs(one), 0)
        meets = self._coin.toss(exponents.ravel(), entropy).reshape(ahead.shape)
        return one, np.where(meets, same, -one)
