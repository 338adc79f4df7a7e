"""Coins with heads probability exp(-s), where s lies between proved bounds and can be had exactly.

The bounds decide nearly every word. A word between exp(-high) and exp(-low), give or take the roundings of
the exponential function, asks for the exact rational s and is decided by ball arithmetic.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from holdfast.sampling.entropy import Entropy
from holdfast.sampling.exact.coin import RELATIVE_MARGIN
from holdfast.sampling.exact.enclosure import exp_of_minus, is_below, real
from holdfast.sampling.exact.inversion import Flags


def toss_bounded_coin(
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    exact: Callable[[int], Fraction],
    entropy: Entropy,
) -> Flags:
    """Toss one coin for each pair of bounds; ``exact`` is asked by place, and answers with s >= 0."""
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise ArithmeticError("a coin's probability is not finite")
    words = entropy.words(low.size)
    uniform = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    most = np.exp(-np.maximum(low, 0)) * (1 + RELATIVE_MARGIN)
    least = np.exp(-high) * (1 - RELATIVE_MARGIN)
    heads: Flags = uniform + 2.0**-53 <= least
    for i in np.flatnonzero(~heads & (uniform < most)):
        chance = real(partial(exp_of_minus, exact(int(i))))
        heads[i] = is_below(int(words[i]), 64, chance, entropy)
    return heads
