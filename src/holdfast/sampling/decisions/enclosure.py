"""Integer enclosures of the real numbers that decide draws, to any precision.

An enclosure of p at ``bits`` is a pair of integers (low, high) with low <= p 2^bits <= high. It comes
from ball arithmetic [johansson2017], which bounds its own rounding.
"""

from collections.abc import Callable
from fractions import Fraction

import flint

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
