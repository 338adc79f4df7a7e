"""Coins whose heads probability is a real number, decided exactly.

A float first: with 53 bits the exponent and its exponential are off by far less than the margin used
here, so a word outside the margin is decided. A word inside it, about one in 2^44, is decided by ball
arithmetic with as many further bits as it takes.
"""

from collections.abc import Callable
from fractions import Fraction

import flint
import numpy as np
from numpy.typing import NDArray

from holdfast.sampling.entropy import Entropy
from holdfast.sampling.exact.enclosure import Real, is_below, real
from holdfast.sampling.exact.inversion import Flags, Integers

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
    unsure = np.abs(uniform - chance) <= 2 * np.minimum(margin, 1.0) * chance + 2.0**-45 * chance + 2.0**-53
    for i in np.flatnonzero(unsure):
        heads[i] = is_below(int(words[i]), 64, exact(int(i)), entropy)
    return heads


def root_exponents(root: Fraction, line: Fraction, n: Integers, m: Integers) -> NDArray[np.float64]:
    """Return root sqrt(n) - line m in floats, for predicting."""
    return float(root) * np.sqrt(n.astype(np.float64)) - float(line) * m


def toss_root_coin(root: Fraction, line: Fraction, n: Integers, m: Integers, entropy: Entropy) -> Flags:
    """Toss one coin for each pair, heads with probability exp(-(root sqrt(n) - line m)) <= 1."""
    words = entropy.words(n.size)
    uniform = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    chance = np.exp(-root_exponents(root, line, n, m))
    margin = RELATIVE_MARGIN * (1 + float(root) * np.sqrt(n.astype(np.float64)) + float(line) * m)
    if not (np.isfinite(chance).all() and np.isfinite(margin).all()):
        raise ArithmeticError("a coin's probability is not finite")
    heads: Flags = uniform < chance
    for i in np.flatnonzero(np.abs(uniform - chance) <= margin):
        heads[i] = is_below(int(words[i]), 64, _chance(root, line, int(n[i]), int(m[i])), entropy)
    return heads


def _chance(root: Fraction, line: Fraction, n: int, m: int) -> Real:
    def ball() -> flint.arb:
        slope = flint.arb(root.numerator) / root.denominator
        return (flint.arb((line * m).numerator) / (line * m).denominator - slope * flint.arb(n).sqrt()).exp()

    return real(ball)
