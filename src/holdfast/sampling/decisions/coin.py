"""Coins whose heads probability is a real number, decided exactly.

A float first: it decides the words that are clear. A word closer to the probability than its float can be
off, about one in 2^44, is decided by ball arithmetic with as many further bits as it takes.
"""

from collections.abc import Callable

import numpy as np

from holdfast.sampling.decisions.enclosure import Real, is_below
from holdfast.sampling.decisions.floats import Flags, Floats, blur, compare, uniforms
from holdfast.sampling.entropy import Entropy, Words

RELATIVE_MARGIN = 2.0**-45
"""Covers eight roundings of 2^-53 and an exponential function accurate to 2^-48."""


def toss_coins(
    log_chance: Floats, margin: Floats | float, exact: Callable[[int], Real], entropy: Entropy
) -> Flags:
    """Toss coins whose log probability is known up to a margin; ``exact(i)`` is that of the ith, in full."""
    return decide_coins(entropy.words(log_chance.size), log_chance, margin, exact, entropy)


def decide_coins(
    words: Words, log_chance: Floats, margin: Floats | float, exact: Callable[[int], Real], entropy: Entropy
) -> Flags:
    """Decide coins by the words given; ``entropy`` gives the bits of a refinement."""
    if not np.all(log_chance <= margin):
        raise ArithmeticError("a coin's probability is not between 0 and 1")
    wide = np.greater(margin, 1.0)
    if wide.any():
        log_chance = np.minimum(log_chance, 0.0)
    uniform, chance = uniforms(words), np.exp(log_chance)
    off = chance * (2 * margin + RELATIVE_MARGIN)  # e^m - 1 <= 2 m for margins m <= 1
    off += blur(uniform)
    if wide.any():
        off = np.where(wide, 1.0, off)  # it decides nothing
    heads, unsure = compare(uniform, chance, off)
    for i in np.flatnonzero(unsure):
        heads[i] = is_below(int(words[i]), 64, exact(int(i)), entropy)
    return heads
