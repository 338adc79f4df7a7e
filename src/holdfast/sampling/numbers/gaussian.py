"""The discrete Gaussian law on the integers [canonne2020], exactly.

`DiscreteGaussian` has one rational variance; `draw_near` draws integers near many centres, one centre and one
width a draw.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import count
from math import pi, sqrt

import flint
import numpy as np
import scipy

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray, WordArray
from holdfast.sampling.decisions import (
    GUARD_BITS,
    Enclosure,
    LazyUniform,
    Real,
    ball_of,
    compare,
    decide_coins,
    enclose,
    exp_of_minus,
    is_below,
    least,
    real,
    uniforms,
)
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.numbers.inversion import BLOCK, WORD_BITS, Inversion, LogConcave, TailSide, invert
from holdfast.sampling.rejection import until_accepted
from holdfast.system.errors import SamplingError

NARROW = 1 << 10
"""The largest sigma, in cells, of one table."""
NARROWEST, WIDEST = Fraction(1, 1 << 40), 1 << 40
AT_ONCE = 64
MARGIN = 2.0**-45
"""Covers a dozen roundings of 2^-53 in an exponent E >= 0, as E exp(-E) < 1, and those of exp itself."""


class DiscreteGaussian:
    """Exact draws of P(z) prop. to exp(-z^2 / (2 sigma_squared)) on the integers, sigma^2 rational.

    A narrow law is one table (`LogConcave`). In a wide one cells of R successive integers are drawn with
    weight exp(-m^2 / (2 sigma^2)), m the least |z| in the cell, then z uniformly in its cell, which is
    accepted with probability exp(-E),

        2 sigma^2 E  =  z^2 - m^2  =  (|z| - m)(|z| + m)  >=  0.

    What is accepted has the law, and with R between sigma/1024 and sigma/512 that is nearly all.
    [canonne2020, Algorithm 3] rejects from a discrete Laplace law instead, and accepts three in four.
    """

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

    def _attempt(self, size: int, entropy: Entropy) -> tuple[IntArray, BoolArray]:
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


def _sides(unit: Fraction, exponent: Callable[[int], int]) -> Callable[[int], TailSide]:
    """Enclose the weights exp(-unit exponent(k)) for k = 1, 2, ... times the direction."""

    def towards(direction: int) -> TailSide:
        def side(bits: int) -> Iterator[Enclosure]:
            for begin in count(1, AT_ONCE):
                with flint.ctx.workprec(bits + GUARD_BITS):
                    ball = flint.arb(-unit.numerator) / unit.denominator
                    places = range(begin, begin + AT_ONCE)
                    weights = [enclose((ball * exponent(direction * k)).exp(), bits) for k in places]
                yield from weights

        return side

    return towards


WIDE = 1.5
REACH = 9.0
"""Widths to either side that a window covers: what is beyond weighs less than 2^-57."""
NARROW_MARGIN = 2.0**-44
"""Covers the sum of at most 40 exponentials, each right to 2^-48, next to a word of 53 bits."""
WIDE_MARGIN = 2.0**-46
"""Covers a quantile of the normal law and two roundings."""
WIDE_BLOCK = 1 << 14
"""Wide draws that are made at once: their floats stay near the processor."""
COIN_BITS = 20
PLACE_BITS = 64 - COIN_BITS
"""The bits of one word that begin the coin of a wide draw, and those that say its place."""
LAST_CELLS = 16
"""At either end, words that floats do not tell; between them the density hardly changes within one."""
COIN_MARGIN = 2.0**-46
SUM_ERROR = 2.0**-44
"""A bound on the error of log(rho_s(m) / rho_s(0))."""
# Gauss-Legendre nodes in (0, 1/2) and weights on (-1/2, 1/2): 12 points integrate g with an error of about
# 10^-38 times its 24th derivative, of order (|d| / s^2)^24: below 2^-60 for |d| <= 10 s and s >= WIDE.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
NODES, WEIGHTS = _NODES[6:] / 2, _WEIGHTS[6:]


def draw_near(centres: FloatArray, widths: FloatArray, entropy: Entropy) -> IntArray:
    """Return one integer near each centre: P(c) prop. to exp(-(c - m)^2 / (2 s^2)).

    The centre m and the width s are floats, taken as the exact dyadic numbers they are. A narrow law (s <
    WIDE) is drawn by inversion of its cdf over a window. A wide one is drawn as the integer c nearest to a
    normal variable X ~ N(m, s^2), and accepted: with d = c - m,

        P(|X - c| < 1/2)  =  exp(-d^2 / (2 s^2)) g(d) / (s sqrt(2 pi)),
        g(d) = int_{-1/2}^{1/2} exp(-t^2 / (2 s^2)) cosh(d t / s^2) dt  >=  g(0),

    so accepting with probability g(0) / g(d), which is nearly 1, leaves the discrete Gaussian law.
    """
    if not (np.isfinite(centres).all() and np.all(widths > 0)):
        raise ArithmeticError("a discrete Gaussian has no finite centre or no positive width")
    values = np.empty(centres.size, dtype=np.int64)
    narrow = np.flatnonzero(widths < WIDE)
    if narrow.size:
        values[narrow] = _draw_narrow(centres[narrow], widths[narrow], entropy)
    if narrow.size == centres.size:
        return values
    wide = np.flatnonzero(widths >= WIDE) if narrow.size else slice(None)
    values[wide] = _draw_wide(centres[wide], widths[wide], entropy)
    return values


def log_sum_ratio(centres: FloatArray, widths: FloatArray) -> FloatArray:
    """Return log(rho_s(m) / rho_s(0)), rho_s(m) the sum of exp(-(n - m)^2 / (2 s^2)) over the integers n.

    It is at most 0, by Poisson summation:

        rho_s(m)  =  s sqrt(2 pi) (1 + 2 sum_{n>0} exp(-2 pi^2 s^2 n^2) cos(2 pi n m)).
    """
    ratio = np.zeros(centres.shape)
    some = np.flatnonzero(widths < 2.0)  # beyond, exp(-2 pi^2 s^2) is below 2^-110
    if some.size:
        s, f = widths[some], centres[some] - np.rint(centres[some])
        below, above = np.zeros(some.size), np.zeros(some.size)
        small = s < 1.0
        for n in range(-10, 11):
            below[small] += np.exp(-n * n / (2 * s[small] ** 2))
            above[small] += np.exp(-(n * n - 2 * n * f[small]) / (2 * s[small] ** 2))
        big = ~small
        below[big] = above[big] = 1.0
        for n in (1, 2):
            wave = 2 * np.exp(-2 * pi * pi * n * n * s[big] ** 2)
            below[big] += wave
            above[big] += wave * np.cos(2 * pi * n * f[big])
        ratio[some] = np.log(above / below) - np.where(small, f * f / (2 * s * s), 0.0)
    return ratio


def log_sum(widths: FloatArray) -> FloatArray:
    """Return log rho_s(0)."""
    sums = np.ones(widths.shape)
    small = widths < 1.0
    for n in range(1, 11):
        sums[small] += 2 * np.exp(-n * n / (2 * widths[small] ** 2))
    wave = sum(2 * np.exp(-2 * pi * pi * n * n * widths[~small] ** 2) for n in (1, 2))
    sums[~small] = widths[~small] * sqrt(2 * pi) * (1 + wave)
    return np.log(sums)


def sum_ratio_ball(centre: float, width: float) -> flint.arb:
    """Return a ball around rho_s(m) / rho_s(0), at the working precision."""
    if width < 1.0:
        return _window_ball(centre, width) / _window_ball(0.0, width)
    return _waves_ball(centre, width) / _waves_ball(0.0, width)


def sum_ball(width: float) -> flint.arb:
    """Return a ball around rho_s(0), at the working precision."""
    if width < 1.0:
        return _window_ball(0.0, width)
    return ball_of(width) * (2 * flint.arb.pi()).sqrt() * _waves_ball(0.0, width)


def _draw_wide(m: FloatArray, s: FloatArray, entropy: Entropy) -> IntArray:
    draws = np.empty(m.size, dtype=np.int64)
    for begin in range(0, m.size, WIDE_BLOCK):
        some = slice(begin, begin + WIDE_BLOCK)
        until_accepted(partial(_attempt_wide, m[some], s[some], entropy), draws[some])
    return draws


def _attempt_wide(
    m: FloatArray, s: FloatArray, entropy: Entropy, places: IntArray
) -> tuple[IntArray, BoolArray]:
    """Return a proposal for each place, and which are accepted: by one word, a part of it for the coin."""
    centres, widths = (m, s) if places.size == m.size else (m[places], s[places])
    words = entropy.words(places.size)
    drawn = _round(centres, widths, words >> np.uint64(COIN_BITS), entropy)
    return drawn, _accept(drawn, centres, widths, words & np.uint64((1 << COIN_BITS) - 1), entropy)


def _round(m: FloatArray, s: FloatArray, words: WordArray, entropy: Entropy) -> IntArray:
    """Return the integers nearest to normal variables, by words of PLACE_BITS.

    Within five widths of a centre a float is off by less than one margin for all; beyond, and where that does
    not tell the integer, each has its own.
    """
    uniform = uniforms(words, PLACE_BITS)
    x = scipy.special.ndtri(uniform)
    places = m + x * s
    nearest = np.rint(places)
    drawn: IntArray = nearest.astype(np.int64)
    widest = float(s.max(initial=0.0))
    all_of = WIDE_MARGIN * (float(np.abs(m).max(initial=0.0)) + 6 * widest) + widest * 2.0 ** (
        21 - PLACE_BITS
    )
    near = np.abs(places - nearest, out=places)
    some = np.flatnonzero(compare(near, 0.5, all_of)[1] | (np.abs(x) > 5))
    if some.size:
        x, density = x[some], np.exp(-(x[some] ** 2) / 2) / sqrt(2 * pi)
        margin = WIDE_MARGIN * (np.abs(m[some]) + s[some] * (1 + np.abs(x)))
        margin += s[some] * 2.0 ** (1 - PLACE_BITS) / density
        ends = np.minimum(words[some], np.uint64((1 << PLACE_BITS) - 1) - words[some])
        margin[ends < LAST_CELLS] = 1.0  # there the quantile grows beyond all bounds: no float tells it
        for i in some[compare(near[some], 0.5, margin)[1]].tolist():
            lazy = LazyUniform(int(words[i]), PLACE_BITS, entropy)
            drawn[i] = _nearest(float(m[i]), float(s[i]), int(drawn[i]), lazy)
    return drawn


def _nearest(m: float, s: float, guess: int, uniform: LazyUniform) -> int:
    """Return the integer nearest to X = m + s q, q the quantile at the uniform number."""

    def at_most(v: int) -> bool:  # X <= v + 1/2, that is u <= Phi(y)
        def share() -> flint.arb:
            y = (flint.arb(v) + flint.arb(1) / 2 - ball_of(m)) / (ball_of(s) * flint.arb(2).sqrt())
            return (-y).erfc() / 2

        return uniform.is_below(real(share))

    return least(at_most, guess)


def _accept(drawn: IntArray, m: FloatArray, s: FloatArray, coins: WordArray, entropy: Entropy) -> BoolArray:
    """Toss coins with heads probability g(0) / g(d), which begin with ``coins``.

    With y = d / s^2, cosh(y t) rises with |t| and exp(-t^2 / (2 s^2)) falls, so g(d) / g(0) is at most the
    mean of cosh(y t) over |t| < 1/2, sinh(y / 2) / (y / 2). The probability is 1 - y^2 / 24 at least [theory,
    6]: that decides most coins. The others get the bits of another word.
    """
    d = drawn - m
    y = d / (s * s)
    clear = (coins + np.uint64(1)) * 2.0**-COIN_BITS <= (1 - 2.0**-45) - y * y / 24
    some = np.flatnonzero(~clear)
    if not some.size:
        return clear
    more = entropy.words(some.size) >> np.uint64(COIN_BITS)
    words = (coins[some] << np.uint64(64 - COIN_BITS)) | more
    log_chance = np.log(_spread(np.zeros(some.size), s[some]) / _spread(d[some], s[some]))

    def exact(i: int) -> Real:
        at = some[i]
        return real(lambda: _spread_ball(int(drawn[at]), float(m[at]), float(s[at])))

    clear[some] = decide_coins(words, log_chance, COIN_MARGIN, exact, entropy)
    return clear


def _spread(d: FloatArray, s: FloatArray) -> FloatArray:
    """Return g(d)."""
    square = 1 / (s * s)
    total = np.zeros(d.shape)
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        total += weight * np.exp(-node * node / 2 * square) * np.cosh(node * d * square)
    return total


def _spread_ball(c: int, m: float, s: float) -> flint.arb:
    """Return a ball around g(0) / g(c - m)."""
    d, width, half = flint.arb(c) - ball_of(m), ball_of(s), flint.arb(1) / 2
    root = width * flint.arb(2).sqrt()
    share = (((d + half) / root).erf() - ((d - half) / root).erf()) / 2
    return (half / root).erf() * (-d * d / (2 * width * width)).exp() / share


def _draw_narrow(m: FloatArray, s: FloatArray, entropy: Entropy) -> IntArray:
    nearest = np.rint(m)
    f = m - nearest
    reach = int(REACH * float(s.max())) + 2
    steps = np.arange(-reach, reach + 1, dtype=np.float64)
    # (n - f)^2 - f^2 = n^2 - 2 n f >= 0 as |f| <= 1/2
    weights = np.exp(-(steps * steps - 2 * f[:, None] * steps) / (2 * s * s)[:, None])
    sums = np.cumsum(weights, axis=1)
    total = sums[:, -1:]
    words = entropy.words(m.size)
    uniform = uniforms(words)[:, None]
    above, unsure = compare(uniform * total, sums, NARROW_MARGIN * total)
    unsure |= compare(uniform, 0.0, NARROW_MARGIN)[1]  # the last sum is the one at 1
    values: IntArray = nearest.astype(np.int64) + (reach + 1 - above.sum(axis=1))
    for i in np.flatnonzero(unsure.any(axis=1)):
        number = LazyUniform(int(words[i]), 64, entropy)
        values[i] = _invert(float(m[i]), float(s[i]), int(nearest[i]), number)
    return values


def _invert(m: float, s: float, guess: int, uniform: LazyUniform) -> int:
    def cdf(v: int, bits: int) -> Enclosure:
        with flint.ctx.workprec(bits + 2 * GUARD_BITS):
            return enclose(_window_ball(m, s, upto=v) / _window_ball(m, s), bits)

    return invert(cdf, uniform, guess)


def _window_ball(m: float, s: float, upto: int | None = None) -> flint.arb:
    """Return a ball around the sum of exp(-(n - m)^2 / (2 s^2)) over n, or over n <= ``upto``.

    Beyond the window of k +- N around the nearest integer k the terms fall at least as fast as a geometric
    series with ratio 1/2, as ((N + 1/2)^2 - (N - 1/2)^2) / (2 s^2) = N / s^2 >= 2.
    """
    centre, unit = ball_of(m), 1 / (2 * ball_of(s) ** 2)
    k = round(m)
    reach = int(2 + 2 * s * s + 1.2 * s * sqrt(flint.ctx.prec + 16))
    last = k + reach if upto is None else min(upto, k + reach)
    total = flint.arb(0)
    for n in range(k - reach, last + 1):
        total += (-((centre - n) ** 2) * unit).exp()
    tail = 4 * (-((flint.arb(reach) - flint.arb(1) / 2) ** 2) * unit).exp()
    return total + flint.arb(0, tail.upper())


def _waves_ball(m: float, s: float) -> flint.arb:
    """Return a ball around rho_s(m) / (s sqrt(2 pi)) for s >= 1: the waves fall faster than 2^-n."""
    square, turn = 2 * flint.arb.pi() ** 2 * ball_of(s) ** 2, 2 * flint.arb.pi() * ball_of(m)
    last = 2 + int(sqrt(flint.ctx.prec / 28))
    total = flint.arb(1)
    for n in range(1, last):
        total += 2 * (-square * n * n).exp() * (turn * n).cos()
    tail = 4 * (-square * last * last).exp()
    return total + flint.arb(0, tail.upper())
