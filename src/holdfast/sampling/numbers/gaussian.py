"""The discrete Gaussian law on the integers [canonne2020], exactly.

P(z) is proportional to exp(-(z - c)^2 / (2 sigma^2)) with rational sigma^2 and c. Shifted by the integer
nearest to c, the centre is f with -1/2 <= f < 1/2, and up to a constant the exponent is
(z^2 - 2 z f) / (2 sigma^2): nonnegative, zero at z = 0, convex. So a narrow law is one table (log_concave).

A wide law, and one whose centre changes from draw to draw, is drawn from one short table that serves all
centres. Since |f| <= 1/2,

    z^2 - 2 z f  >=  z^2 - |z|  >=  m (m - 1),    m = the least |z| in the cell of z,

where cells are R successive integers. Draw the cell with weight exp(-m (m - 1)/(2 sigma^2)), then z
uniformly in it, and accept with probability exp(-E),

    2 sigma^2 E  =  z^2 - 2 z f - m (m - 1)  =  (|z| - m)(|z| + m - 1) + (|z| - 2 z f)  >=  0.

What is accepted has the law. With R between sigma/1024 and sigma/512 nearly all is accepted. Where R = 1
it is at least a third: with t = sum exp(-z^2/(2 sigma^2)) >= 1, what the law weighs is at least t (pair z
with -z), and what is proposed weighs at most t + 2 (compare m (m - 1) with (m - 1)^2).

[canonne2020, Algorithm 3] rejects from a discrete Laplace law instead, and accepts three in four.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import count
from math import floor
from typing import NamedTuple

import flint
import numpy as np
from numpy.typing import NDArray

from holdfast.errors import SamplingError
from holdfast.lattice.arrays import IntArray
from holdfast.sampling.decisions.accept import until_accepted
from holdfast.sampling.decisions.enclosure import (
    GUARD_BITS,
    Enclosure,
    Real,
    enclose,
    exp_of_minus,
    is_below,
    real,
)
from holdfast.sampling.decisions.floats import Flags, compare, uniforms
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.numbers.inversion import BLOCK, WORD_BITS, Inversion
from holdfast.sampling.numbers.log_concave import LogConcave, Side

NARROW = 1 << 10
"""The largest sigma, in cells, of one table."""
NARROWEST, WIDEST = Fraction(1, 1 << 40), 1 << 40
FARTHEST = 1 << 61
AT_ONCE = 64
MARGIN = 2.0**-45
"""Covers a dozen roundings of 2^-53 in an exponent E >= 0, as E exp(-E) < 1, and those of exp itself."""


class DiscreteGaussian:
    """Exact draws of P(z) prop. to exp(-(z - centre)^2 / (2 sigma_squared)) on the integers."""

    def __init__(
        self, sigma_squared: Fraction, centre: Fraction = Fraction(0), *, bits: int = WORD_BITS
    ) -> None:
        if not NARROWEST**2 <= sigma_squared <= WIDEST**2:
            raise SamplingError(
                f"a discrete Gaussian of variance {float(sigma_squared):.1e} cannot be drawn in 64-bit"
                " integers: ask for a standard deviation between 2^-40 and 2^40."
            )
        self._sigma_squared, self._bits = sigma_squared, bits
        self._nearest = floor(centre + Fraction(1, 2))
        if abs(self._nearest) > FARTHEST:
            raise SamplingError("a centre beyond 2^61 leaves no room for noise in 64-bit integers.")
        self._offset = centre - self._nearest
        self._any_centre: _AnyCentre | None = None
        self._table = _table(sigma_squared, self._offset, bits) if sigma_squared <= NARROW**2 else None

    @property
    def floats(self) -> bool:
        """Whether floats sort out the clear cases: for a law wider than one table."""
        return self._table is None

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws."""
        if self._table is not None:
            draws = self._table.sample(entropy, size)
        else:
            draws = self._rejection().draw(_one_offset(self._offset, size), entropy)
        draws += self._nearest
        return draws

    def draw_at(self, numerators: IntArray, denominator: int, entropy: Entropy) -> IntArray:
        """Return one draw around each centre numerators / denominator; the law's own centre is not used."""
        if not 0 < denominator <= FARTHEST or np.abs(numerators).max(initial=0) > FARTHEST:
            raise SamplingError("centres need a positive denominator, and whole numbers of at most 2^61.")
        nearest = numerators // denominator
        rest = numerators - nearest * denominator
        up = rest >= denominator - rest
        nearest, rest = nearest + up, rest - up * denominator
        return nearest + self._rejection().draw(_offsets(rest, denominator), entropy)

    def _rejection(self) -> "_AnyCentre":
        if self._any_centre is None:
            self._any_centre = _AnyCentre(self._sigma_squared, self._bits)
        return self._any_centre


def _table(sigma_squared: Fraction, offset: Fraction, bits: int) -> Inversion:
    n, d = offset.as_integer_ratio()
    side = _sides(1 / (2 * d * sigma_squared), lambda z: z * (z * d - 2 * n))
    law = LogConcave(0, above=side(1), below=side(-1))
    return Inversion(law.cdf, bits=bits, around=0)


def _sides(unit: Fraction, exponent: Callable[[int], int]) -> Callable[[int], Side]:
    """Enclose the weights exp(-unit exponent(k)) for k = 1, 2, ... times the direction."""

    def towards(direction: int) -> Side:
        def side(bits: int) -> Iterator[Enclosure]:
            for begin in count(1, AT_ONCE):
                with flint.ctx.workprec(bits + GUARD_BITS):
                    ball = flint.arb(-unit.numerator) / unit.denominator
                    places = range(begin, begin + AT_ONCE)
                    weights = [enclose((ball * exponent(direction * k)).exp(), bits) for k in places]
                yield from weights

        return side

    return towards


class _Offsets(NamedTuple):
    """Offsets f of the centres from their nearest integers: 1 - 2 f, 1 + 2 f to 53 bits, and f itself."""

    right: NDArray[np.float64]
    left: NDArray[np.float64]
    exact: Callable[[int], Fraction]


def _one_offset(f: Fraction, size: int) -> _Offsets:
    return _Offsets(np.full(size, float(1 - 2 * f)), np.full(size, float(1 + 2 * f)), lambda _: f)


def _offsets(numerators: IntArray, denominator: int) -> _Offsets:
    right, left = (denominator - 2 * numerators) / denominator, (denominator + 2 * numerators) / denominator
    return _Offsets(right, left, lambda i: Fraction(int(numerators[i]), denominator))


class _AnyCentre:
    """Draws by rejection from one table of cells, for centres f with |f| <= 1/2."""

    def __init__(self, sigma_squared: Fraction, bits: int) -> None:
        self._sigma_squared = sigma_squared
        self._low_bits = 0
        while sigma_squared > (NARROW << self._low_bits) ** 2:
            self._low_bits += 1
        self._radix = 1 << self._low_bits
        side = _sides(1 / (2 * sigma_squared), lambda q: (m := self._least(q)) * (m - 1))
        law = LogConcave(0, above=side(1), below=side(-1))
        self._cell = Inversion(law.cdf, bits=bits, around=0)

    def _least(self, q: int) -> int:
        """Return the least |z| in cell q, the integers from q R - R // 2 to that plus R - 1."""
        first = q * self._radix - self._radix // 2
        return max(first, 1 - self._radix - first, 0)

    def draw(self, offsets: _Offsets, entropy: Entropy) -> IntArray:
        """Return one draw for each offset."""
        draws = np.empty(offsets.right.size, dtype=np.int64)
        for begin in range(0, draws.size, BLOCK):
            block = draws[begin : begin + BLOCK]
            until_accepted(partial(self._attempt, offsets, begin, entropy=entropy), block)
        return draws

    def _attempt(
        self, offsets: _Offsets, begin: int, places: IntArray, *, entropy: Entropy
    ) -> tuple[IntArray, Flags]:
        places = begin + places
        first = self._cell.sample(entropy, places.size) * self._radix - self._radix // 2
        words = entropy.words(places.size)  # the low bits place z in its cell, the others are the coin
        z = first + (words & np.uint64(self._radix - 1)).astype(np.int64)
        m = np.maximum(np.maximum(first, 1 - self._radix - first), 0)
        size = np.abs(z).astype(np.float64)
        factor = np.where(z > 0, offsets.right[places], offsets.left[places])
        chance = np.exp(((size - m) * (size + m - 1) + size * factor) * -float(1 / (2 * self._sigma_squared)))
        coins = words >> np.uint64(self._low_bits)
        coin_bits = 64 - self._low_bits
        heads, unsure = compare(uniforms(coins, coin_bits), chance, MARGIN + 2.0**-coin_bits)
        for i in np.flatnonzero(unsure):
            f, x, least = offsets.exact(int(places[i])), int(z[i]), int(m[i])
            exponent = (x * x - 2 * x * f - least * (least - 1)) / (2 * self._sigma_squared)
            heads[i] = is_below(int(coins[i]), coin_bits, _chance(exponent), entropy)
        return z, heads


def _chance(exponent: Fraction) -> Real:
    return real(lambda: exp_of_minus(exponent))
