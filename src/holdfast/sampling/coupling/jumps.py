"""Maximal coupling of two double geometric jumps, by reflection.

One chain's coordinate is ahead of the other's by s. With jumps J and J' of the law P(e) prop. to a^|e|,
the two land on the same value when J' = J + s. Take J' = J + s with probability min(1, P(J + s) / P(J)),
else J' = -J. Both outcomes leave the law of J' as it should be, because the law is symmetric and what is left
of it on one side is the mirror image of the other; and no coupling lands on the same value more often
[jacob2020]. The exponents are whole, so the coin is exact.
"""

import numpy as np

from holdfast.sampling.entropy import Entropy
from holdfast.sampling.exact.exponential import DoubleGeometric, ExpCoin
from holdfast.sampling.exact.inversion import Integers


def coupled_jumps(
    ahead: Integers, law: DoubleGeometric, coin: ExpCoin, entropy: Entropy
) -> tuple[Integers, Integers]:
    """Return jumps for both chains, element by element; ``coin`` has the rate of ``law``."""
    one = law.draw(entropy, ahead.size).reshape(ahead.shape)
    same = one + ahead
    exponents = np.maximum(np.abs(same) - np.abs(one), 0)
    meets = coin.toss(exponents.ravel(), entropy).reshape(ahead.shape)
    return one, np.where(meets, same, -one)
