"""Coins and noise whose probabilities are powers of exp(-epsilon), exactly.

With a = exp(-epsilon), epsilon a positive rational:

* ``ExpCoin`` is heads with probability a^s for an integer s >= 0 given per toss;
* ``Geometric`` has P(k) = (1 - a) a^k on 0, 1, 2, ...;
* ``DoubleGeometric`` has P(z) = (1 - a)/(1 + a) a^|z| on the integers (the discrete Laplace law of
  [canonne2020], the difference of two such geometric variables).

Powers factorise over digits: with s = s_0 + s_1 R + ..., a^s is the product of the powers
(a^(R^j))^(s_j). So a coin for a^s is one coin a digit, all heads, and the digits of a geometric variable
are independent. That keeps every table short, whatever the scale.
"""

from fractions import Fraction

import numpy as np

from holdfast.errors import SamplingError
from holdfast.sampling.entropy import Entropy, Words
from holdfast.sampling.exact.enclosure import (
    Enclosure,
    Real,
    exp_of_minus,
    floor_of,
    is_below,
    real,
)
from holdfast.sampling.exact.inversion import Cdf, Flags, Integers, Inversion

RADIX_BITS = 11
REACH = Fraction(45)
"""exp(-45) < 2^-64: powers beyond it are below one word."""
SMALLEST = Fraction(1, 2**40)


def _digits(epsilon: Fraction) -> int:
    """Return how many digits are needed until the top one fits a table."""
    if epsilon < SMALLEST:
        raise SamplingError(
            f"a noise parameter of {float(epsilon):.1e} per unit is too small to draw in 64-bit integers:"
            " ask for a larger epsilon."
        )
    digits = 1
    while REACH / (epsilon * 2 ** (RADIX_BITS * (digits - 1))) > 2 ** (RADIX_BITS + 2):
        digits += 1
    return digits


class ExpCoin:
    """Tosses that come up heads with probability exp(-epsilon s)."""

    def __init__(self, epsilon: Fraction, *, bits: int = 64) -> None:
        self._bits = bits
        top = _digits(epsilon) - 1
        self._tables = [
            _PowerTable(epsilon * 2 ** (RADIX_BITS * j), bits=bits, last=j == top) for j in range(top + 1)
        ]

    def toss(self, exponents: Integers, entropy: Entropy) -> Flags:
        """Return heads with probability a^s for each exponent s >= 0."""
        heads = np.ones(exponents.shape, dtype=np.bool_)
        rest = exponents
        for table in self._tables:
            digit = rest if table.last else rest & ((1 << RADIX_BITS) - 1)
            rest = rest >> RADIX_BITS
            words = entropy.words(exponents.size) >> np.uint64(64 - self._bits)
            heads &= table.heads(digit, words, entropy)
        return heads


def _power(exponent: Fraction) -> Real:
    return real(lambda: exp_of_minus(exponent))


class _PowerTable:
    """floor(a^s 2^bits) for one digit."""

    def __init__(self, epsilon: Fraction, *, bits: int, last: bool) -> None:
        self.last, self._epsilon, self._bits = last, epsilon, bits
        length = int(REACH / epsilon) + 2
        if not last:
            length = min(length, 1 << RADIX_BITS)
        self._floor = np.array(
            [(1 << bits) - 1] + [floor_of(_power(epsilon * s), bits) for s in range(1, length)],
            dtype=np.uint64,
        )

    def heads(self, exponents: Integers, words: Words, entropy: Entropy) -> Flags:
        floor = self._floor[np.minimum(exponents, self._floor.size - 1)]
        heads = words < floor
        for i in np.flatnonzero(words == floor):
            s = int(exponents[i])
            power = _power(self._epsilon * s)
            heads[i] = s == 0 or is_below(int(words[i]), self._bits, power, entropy)
        return heads


class Geometric:
    """P(k) = (1 - a) a^k, drawn digit by digit."""

    def __init__(self, epsilon: Fraction, *, bits: int = 64) -> None:
        top = _digits(epsilon) - 1
        self._laws = [
            Inversion(_digit_cdf(epsilon * 2 ** (RADIX_BITS * j), bounded=j < top), bits=bits)
            for j in range(top + 1)
        ]

    def draw(self, entropy: Entropy, size: int) -> Integers:
        """Return ``size`` independent draws."""
        total = np.zeros(size, dtype=np.int64)
        for j, law in enumerate(self._laws):
            total += law.draw(entropy, size) << (RADIX_BITS * j)
        return total


def _digit_cdf(epsilon: Fraction, *, bounded: bool) -> Cdf:
    """F(k) = (1 - a^(k+1)) / (1 - a^R) for a digit, without the division for the unbounded top one."""

    def cdf(k: int, bits: int) -> Enclosure:
        if bounded and k >= (1 << RADIX_BITS) - 1:
            return 1 << bits, 1 << bits
        return real(
            lambda: (
                (1 - exp_of_minus(epsilon * (k + 1)))
                / ((1 - exp_of_minus(epsilon * (1 << RADIX_BITS))) if bounded else 1)
            )
        )(bits)

    return cdf


class DoubleGeometric:
    """P(z) = (1 - a)/(1 + a) a^|z| on the integers.

    A narrow law takes one word: 63 bits for |z|, whose cdf is F(k) = 1 - 2 a^(k+1)/(1 + a), and one for
    the sign. A wide one is the difference of two geometric draws.
    """

    def __init__(self, epsilon: Fraction, *, bits: int = 63) -> None:
        self._wide = _digits(epsilon) > 1
        if self._wide:
            self._geometric = Geometric(epsilon)
        else:
            self._magnitude = Inversion(_magnitude_cdf(epsilon), bits=bits)
        self._bits = bits

    def draw(self, entropy: Entropy, size: int) -> Integers:
        """Return ``size`` independent draws."""
        if self._wide:
            return self._geometric.draw(entropy, size) - self._geometric.draw(entropy, size)
        words = entropy.words(size)
        magnitude = self._magnitude.decide(words >> np.uint64(64 - self._bits), entropy)
        return np.where(words & np.uint64(1), magnitude, -magnitude)


def _magnitude_cdf(epsilon: Fraction) -> Cdf:
    def cdf(k: int, bits: int) -> Enclosure:
        return real(lambda: 1 - 2 * exp_of_minus(epsilon * (k + 1)) / (1 + exp_of_minus(epsilon)))(bits)

    return cdf
