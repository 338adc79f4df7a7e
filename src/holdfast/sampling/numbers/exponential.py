"""Coins and noise whose probabilities are powers of exp(-epsilon), exactly.

With a = exp(-epsilon), epsilon a positive rational:

* ``ExpCoin`` is heads with probability a^s for an integer s >= 0 given per toss;
* ``DoubleGeometric`` has P(z) = (1 - a)/(1 + a) a^|z| on the integers: the discrete Laplace law of
  [canonne2020], the difference of two geometric variables, P(k) = (1 - a) a^k on 0, 1, 2, ...

Powers factorise over digits: with s = s_0 + s_1 R + ..., a^s is the product of the powers
(a^(R^j))^(s_j). So a coin for a^s is one coin a digit, all heads, and the digits of a geometric variable
are independent. That keeps every table short, whatever the scale.
"""

from fractions import Fraction

import numpy as np

from holdfast.lattice.arrays import BoolArray, IntArray, WordArray
from holdfast.sampling.decisions import (
    Enclosure,
    Real,
    exp_of_minus,
    floor_of,
    is_below,
    real,
)
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.numbers.inversion import BLOCK, WORD_BITS, Cdf, Inversion
from holdfast.system.errors import SamplingError

RADIX_BITS = 11
REACH = Fraction(45)
"""exp(-45) < 2^-64: powers beyond it are below one word."""
SMALLEST, LARGEST = Fraction(1, 2**40), Fraction(2**40)


def checked_rate(epsilon: Fraction) -> Fraction:
    """Return a noise parameter that can be drawn in 64-bit integers; raises SamplingError for another."""
    if epsilon < SMALLEST:
        raise SamplingError(
            f"a noise parameter of {float(epsilon):.1e} per unit is too small to draw in 64-bit integers:"
            " ask for a larger epsilon."
        )
    if epsilon > LARGEST:
        raise SamplingError("a noise parameter above 2^40 per unit is no noise: ask for a smaller epsilon.")
    return epsilon


def _digits(epsilon: Fraction) -> int:
    """Return how many digits are needed until the top one fits a table."""
    digits = 1
    while REACH / (epsilon * 2 ** (RADIX_BITS * (digits - 1))) > 2 ** (RADIX_BITS + 2):
        digits += 1
    return digits


class ExpCoin:
    """Tosses that come up heads with probability exp(-epsilon s)."""

    def __init__(self, epsilon: Fraction, *, bits: int = 64) -> None:
        self._bits = bits
        top = _digits(checked_rate(epsilon)) - 1
        self._tables = [
            _PowerTable(epsilon * 2 ** (RADIX_BITS * j), bits=bits, last=j == top) for j in range(top + 1)
        ]

    def toss(self, exponents: IntArray, entropy: Entropy) -> BoolArray:
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

    def heads(self, exponents: IntArray, words: WordArray, entropy: Entropy) -> BoolArray:
        floor = self._floor[np.minimum(exponents, self._floor.size - 1)]
        heads = words < floor
        for i in np.flatnonzero(words == floor):
            s = int(exponents[i])
            power = _power(self._epsilon * s)
            heads[i] = s == 0 or is_below(int(words[i]), self._bits, power, entropy)
        return heads


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

    z >= 0 has probability 1/(1 + a), and z or, for z < 0, -1 - z is then geometric. So with z = q R + r,
    0 <= r < R, the low digits r are those of a geometric variable where q >= 0, and R - 1 - r are where
    q < 0, independently of q. A narrow law is its top digit q alone: one look-up.
    """

    floats = False

    def __init__(self, epsilon: Fraction, *, bits: int = WORD_BITS) -> None:
        low = _digits(checked_rate(epsilon)) - 1
        self._low_bits = RADIX_BITS * low
        self._top = Inversion(_signed_digit_cdf(epsilon, 1 << self._low_bits), bits=bits, around=0)
        self._low = [
            Inversion(_digit_cdf(epsilon * 2 ** (RADIX_BITS * j), bounded=True), bits=bits)
            for j in range(low)
        ]

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws."""
        draws = self._top.sample(entropy, size)
        for begin in range(0, size if self._low else 0, BLOCK):
            block = draws[begin : begin + BLOCK]
            rest = (block >> 63) & ((1 << self._low_bits) - 1)  # R - 1 below zero: r -> R - 1 - r
            for j, law in enumerate(self._low):
                rest ^= law.sample(entropy, block.size) << (RADIX_BITS * j)
            block <<= self._low_bits
            block += rest
        return draws


def _signed_digit_cdf(epsilon: Fraction, radix: int) -> Cdf:
    """F(q) of the top digit: a^(1 - (q + 1) R)/(1 + a) below zero, 1 - a^((q + 1) R)/(1 + a) from zero on."""

    def cdf(q: int, bits: int) -> Enclosure:
        after = epsilon * (q + 1) * radix
        if q < 0:
            return real(lambda: exp_of_minus(epsilon - after) / (1 + exp_of_minus(epsilon)))(bits)
        return real(lambda: 1 - exp_of_minus(after) / (1 + exp_of_minus(epsilon)))(bits)

    return cdf
