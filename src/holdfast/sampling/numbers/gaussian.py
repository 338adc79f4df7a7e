"""The discrete Gaussian law on the integers [canonne2020], exactly.

P(z) is proportional to exp(-z^2 / (2 sigma^2)) with rational sigma^2. A narrow law is one table
(log_concave). In a wide one cells of R successive integers are drawn with weight exp(-m^2 / (2 sigma^2)), m
the least |z| in the cell, then z uniformly in its cell, which is accepted with probability exp(-E),

    2 sigma^2 E  =  z^2 - m^2  =  (|z| - m)(|z| + m)  >=  0.

What is accepted has the law, and with R between sigma/1024 and sigma/512 that is nearly all.
[canonne2020, Algorithm 3] rejects from a discrete Laplace law instead, and accepts three in four.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import count

import flint
import numpy as np

from holdfast.errors import SamplingError
from holdfast.lattice.arrays import IntArray
from holdfast.sampling.decisions.accept import until_accepted
from holdfast.sampling.decisions.enclosure import GUARD_BITS, Enclosure, enclose, exp_of_minus, is_below, real
from holdfast.sampling.decisions.floats import Flags, compare, uniforms
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.numbers.inversion import BLOCK, WORD_BITS, Inversion
from holdfast.sampling.numbers.log_concave import LogConcave, Side

NARROW = 1 << 10
"""The largest sigma, in cells, of one table."""
NARROWEST, WIDEST = Fraction(1, 1 << 40), 1 << 40
AT_ONCE = 64
MARGIN = 2.0**-45
"""Covers a dozen roundings of 2^-53 in an exponent E >= 0, as E exp(-E) < 1, and those of exp itself."""


class DiscreteGaussian:
    """Exact draws of P(z) prop. to exp(-z^2 / (2 sigma_squared)) on the integers."""

    def __init__(self, sigma_squared: Fraction, *, bits: int = WORD_BITS) -> None:
        if not NARROWEST**2 <= sigma_squared <= WIDEST**2:
            raise SamplingError(
                f"a discrete Gaussian of variance {float(sigma_squared):.1e} cannot be drawn in 64-bit"
                " integers: ask for a standard deviation between 2^-40 and 2^40."
            )
        self._sigma_squared = sigma_squared
        self._low_bits = 0
        while sigma_squared > (NARROW << self._low_bits) ** 2:
            self._low_bits += 1
        self._radix = 1 << self._low_bits
        side = _sides(1 / (2 * sigma_squared), lambda q: self._least(q) ** 2)
        self._cell = Inversion(LogConcave(0, above=side(1), below=side(-1)).cdf, bits=bits, around=0)

    @property
    def floats(self) -> bool:
        """Whether floats sort out the clear cases: for a law wider than one table."""
        return self._low_bits > 0

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws."""
        if not self._low_bits:
            return self._cell.sample(entropy, size)
        draws = np.empty(size, dtype=np.int64)
        for begin in range(0, size, BLOCK):
            until_accepted(lambda places: self._attempt(places.size, entropy), draws[begin : begin + BLOCK])
        return draws

    def _least(self, q: int) -> int:
        """Return the least |z| in cell q, the integers from q R - R // 2 to that plus R - 1."""
        first = q * self._radix - self._radix // 2
        return max(first, 1 - self._radix - first, 0)

    def _attempt(self, size: int, entropy: Entropy) -> tuple[IntArray, Flags]:
        first = self._cell.sample(entropy, size) * self._radix - self._radix // 2
        words = entropy.words(size)  # the low bits place z in its cell, the others are the coin
        z = first + (words & np.uint64(self._radix - 1)).astype(np.int64)
        m = np.maximum(np.maximum(first, 1 - self._radix - first), 0)
        far = np.abs(z).astype(np.float64)
        chance = np.exp((far - m) * (far + m) * -float(1 / (2 * self._sigma_squared)))
        coins, coin_bits = words >> np.uint64(self._low_bits), 64 - self._low_bits
        heads, unsure = compare(uniforms(coins, coin_bits), chance, MARGIN + 2.0**-coin_bits)
        for i in np.flatnonzero(unsure):
            exponent = (int(z[i]) ** 2 - int(m[i]) ** 2) / (2 * self._sigma_squared)
            power = real(partial(exp_of_minus, exponent))
            heads[i] = is_below(int(coins[i]), coin_bits, power, entropy)
        return z, heads


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
