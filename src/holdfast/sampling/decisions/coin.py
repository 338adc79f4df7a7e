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


def toss_coins(log_chance: Floats, margin: Floats, exact: Callable[[int], Real], entropy: Entropy) -> Flags:
    """Toss coins whose log probability is known up to a margin; ``exact(i)`` is that of the ith, in full."""
    return decide_coins(entropy.words(log_chance.size), log_chance, margin, exact, entropy)


def decide_coins(
    words: Words, log_chance: Floats, margin: Floats, exact: Callable[[int], Real], entropy: Entropy
) -> Flags:
    """Decide coins by the words given; ``entropy`` gives the bits of a refinement."""
    if not np.all(log_chance <= margin):
        raise ArithmeticError("a coin's probability is not between 0 and 1")
    uniform = uniforms(words)
    off = blur(uniform)
    least, most = np.exp(log_chance - margin), np.exp(np.minimum(log_chance + margin, 0.0))
    heads, near_least = compare(uniform, least, RELATIVE_MARGIN * least + off)
    maybe, near_most = compare(uniform, most, RELATIVE_MARGIN * most + off)
    for i in np.flatnonzero(near_least | near_most | (heads != maybe)):
        heads[i] = is_below(int(words[i]), 64, exact(int(i)), entropy)
    return heads
