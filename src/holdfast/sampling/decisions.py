"""How a draw is decided: integers and proved enclosures decide every draw, never a rounded float.

A word w of b bits is the beginning of a uniform number u: u lies in [w, w + 1) / 2^b. A comparison of u with
a real number p is decided from w and floats where these are clear, or from w and the integer floor(p 2^b),
unless the two are equal. Else u gets more bits and p a narrower enclosure, until they part. So each
comparison has exactly the probability of the real number, at the cost of one word.

* *Enclosures*: at ``bits`` a pair of integers (low, high) with low <= p 2^bits <= high. They come from ball
  arithmetic [johansson2017], which bounds its own rounding.
* *Floats*: ``uniforms`` gives one float for all u that begin with a word, and ``blur`` how far from it they
  may be. It says whether u is below a threshold only where the two are farther apart than both can be off
  (``compare``). What is not finite raises: a comparison with NaN would be silently false, and a draw silently
  wrong.
* *Coins* (``toss_coins``) have a real number for their probability of heads. A word closer to it than its
  float can be off, about one in 2^44, is decided by enclosures.
"""

from collections.abc import Callable
from fractions import Fraction
from math import isfinite

import flint
import numpy as np

from holdfast.lattice.arrays import BoolArray, FloatArray, WordArray
from holdfast.sampling.entropy import Entropy

Enclosure = tuple[int, int]
Real = Callable[[int], Enclosure]
"""A real number: asked for some bits, it answers with an enclosure."""
GUARD_BITS = 32


def enclose(value: flint.arb, bits: int) -> Enclosure:
    """Return integers around 2^bits times a ball."""
    scaled = value * flint.arb(2) ** bits
    low, high = scaled.lower().floor().unique_fmpz(), scaled.upper().ceil().unique_fmpz()
    if low is None or high is None:
        raise ArithmeticError("an enclosure is not finite")
    return int(low), int(high)


def real(ball: Callable[[], flint.arb]) -> Real:
    """Turn a formula in ball arithmetic into a real number of any precision."""

    def at(bits: int) -> Enclosure:
        with flint.ctx.workprec(bits + GUARD_BITS):
            return enclose(ball(), bits)

    return at


def exp_of_minus(exponent: Fraction) -> flint.arb:
    """Return a ball around exp(-exponent), at the working precision."""
    return (flint.arb(-exponent.numerator) / exponent.denominator).exp()


def floor_of(number: Real, bits: int) -> int:
    """Return floor(2^bits number), raising the precision until it is certain.

    The numbers used here are irrational or are given exactly, so the loop ends.
    """
    extra = 0
    while True:
        low, high = number(bits + extra)
        if low >> extra == high >> extra:
            return low >> extra
        extra = 2 * extra + 64


class LazyUniform:
    """A uniform number on [0, 1) of which more bits are drawn as they are needed."""

    def __init__(self, word: int, bits: int, entropy: Entropy) -> None:
        self._word, self._bits, self._entropy = word, bits, entropy

    def is_below(self, number: Real) -> bool:
        """Decide u < number, adding bits until it is certain."""
        while True:
            low, high = number(self._bits)
            if self._word + 1 <= low:
                return True
            if self._word >= high:
                return False
            self._word = (self._word << 64) | int(self._entropy.words(1)[0])
            self._bits += 64


def is_below(word: int, bits: int, number: Real, entropy: Entropy) -> bool:
    """Decide u < number for a uniform u that begins with ``word``."""
    return LazyUniform(word, bits, entropy).is_below(number)


def least(holds: Callable[[int], bool], guess: int) -> int:
    """Return the least integer with a monotone property that some have and some lack, sought from a guess."""
    step = 1
    if holds(guess):
        high, low = guess, guess - 1
        while holds(low):
            high, low, step = low, low - 2 * step, 2 * step
    else:
        low, high = guess, guess + 1
        while not holds(high):
            low, high, step = high, high + 2 * step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def ball_of(value: Fraction | float) -> flint.arb:
    """Return a ball around a rational, at the working precision; a float is the dyadic number it is."""
    numerator, denominator = value.as_integer_ratio()
    return flint.arb(numerator) / denominator


BELOW_ONE = 1 - 2.0**-53


def uniforms(words: WordArray, bits: int = 64) -> FloatArray:
    """Return a float strictly between 0 and 1 for each word: its middle, rounded.

    The word and its middle are rounded once each, by at most 2^-53 relatively.
    """
    middles = words.astype(np.float64)
    middles += 0.5
    middles *= 2.0**-bits
    return np.minimum(middles, BELOW_ONE, out=middles)


def blur(uniform: FloatArray, bits: int = 64) -> FloatArray:
    """Return a bound on |u - uniform| for every u that begins with the word: half a word and the roundings.

    It is at most 2^-50, and larger than the float itself where the word is zero.
    """
    return 2.0**-51 * uniform + 2.0**-bits


def compare(
    left: FloatArray, right: FloatArray | float, margin: FloatArray | float
) -> tuple[BoolArray, BoolArray]:
    """Return where left < right, and where that is unsure as they are no farther apart than the margin."""
    gap = right - left
    if not isfinite(float(np.sum(gap)) + float(np.sum(margin))):  # a sum with NaN or infinity is neither
        raise ArithmeticError("a float that would decide a draw is not finite")
    return gap > 0, np.abs(gap) <= margin


RELATIVE_MARGIN = 2.0**-45
"""Covers eight roundings of 2^-53 and an exponential function accurate to 2^-48."""


def toss_coins(
    log_chance: FloatArray, margin: FloatArray | float, exact: Callable[[int], Real], entropy: Entropy
) -> BoolArray:
    """Toss coins whose log probability is known up to a margin; ``exact(i)`` is that of the ith, in full."""
    return decide_coins(entropy.words(log_chance.size), log_chance, margin, exact, entropy)


def decide_coins(
    words: WordArray,
    log_chance: FloatArray,
    margin: FloatArray | float,
    exact: Callable[[int], Real],
    entropy: Entropy,
) -> BoolArray:
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
