"""Coins whose heads probability is a real number, decided exactly.

A float first: with 53 bits the exponent and its exponential are off by far less than the margin used
here, so a word outside the margin is decided. A word inside it, about one in 2^44, is decided by ball
arithmetic with as many further bits as it takes.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from holdfast.sampling.entropy import Entropy
from holdfast.sampling.exact.enclosure import Real, is_below
from holdfast.sampling.exact.inversion import Flags

RELATIVE_MARGIN = 2.0**-45
"""Covers eight roundings of 2^-53 and an exponential function accurate to 2^-48."""


def toss_coins(
    log_chance: NDArray[np.float64],
    margin: NDArray[np.float64],
    exact: Callable[[int], Real],
    entropy: Entropy,
) -> Flags:
    """Toss coins whose log probability is known up to a margin; ``exact(i)`` is that of the ith, in full."""
    if not (np.isfinite(margin).all() and np.all(log_chance <= margin)):
        raise ArithmeticError("a coin's probability is not between 0 and 1")
    words = entropy.words(log_chance.size)
    uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    chance = np.exp(log_chance)
    heads: Flags = uniform < chance
    # exp is within e^margin of the truth; a word stands for an interval of 2^-53
    unsure = (
        np.abs(uniform - chance) <= 2 * np.minimum(margin, 1.0) * chance + RELATIVE_MARGIN * chance + 2.0**-53
    )
    for i in np.flatnonzero(unsure):
        heads[i] = is_below(int(words[i]), 64, exact(int(i)), entropy)
    return heads
