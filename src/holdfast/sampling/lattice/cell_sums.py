"""How likely many independent cells sum to s, next to 0, to any precision.

Cells have symmetric weights w(z). Let G_k(s) be the sum of w(z_1) ... w(z_k) over all k integers with sum s.
Its *share* G_k(s) / G_k(0) is at most 1 and falls with |s|: the weights used here are log-concave, and so are
their convolutions. With phi(t) = sum w(z) cos(z t) and any M,

    sum over l of G_k(s + l M)  =  (1 / M) sum over j mod M of phi(2 pi j / M)^k cos(2 pi j s / M).

For M beyond all sums that weigh anything, the left side is G_k(s). On the right few terms weigh anything, as
phi falls from 0 to pi: about 30 of them give a share to 2^-40, however many the cells and however wide. What
is left out is bounded, next to phi(0)^k: on the left by the tails of the sums, on the right by M times the
first term that is left out [theory, 6].

Floats decide what is clear: a word closer to a share than BAND is decided by enclosures, with as many further
bits as it takes.
"""

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import cache
from math import ceil, comb, exp, expm1, log, log1p, pi, prod, sqrt

import flint
import numpy as np

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.sampling.decisions import Real, ball_of, compare, is_below, real, uniforms
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.numbers.exponential import DoubleGeometric
from holdfast.sampling.numbers.gaussian import DiscreteGaussian

BAND = 2.0**-36
"""A term exp(-x) of a sum is right to x exp(-x) 2^-45 and a few roundings, and so a sum to 2^-43 of that at
s = 0. What is left out of a sum, on either side, is less than that, too."""
NEGLIGIBLE = 44 * log(2)
FIRST = 32
"""Terms that are usually enough."""
AT_ONCE = 1 << 20
"""Cosines that are computed at once."""


class CellSums(ABC):
    """Independent cells of one law, and the weights of their sums."""

    def __init__(self, cell: DiscreteGaussian | DoubleGeometric, deviation: float) -> None:
        self.cell, self.deviation = cell, deviation
        self._series: dict[int, tuple[int, FloatArray]] = {}

    @abstractmethod
    def common(self, sums: IntArray, cells: IntArray) -> IntArray:
        """Return whole numbers by which all cells of a given sum may be moved: their law moves along."""

    @abstractmethod
    def _decay(self, angles: FloatArray) -> FloatArray:
        """Return log(phi(0) / phi(t)), right to one part in 2^46."""

    @abstractmethod
    def _ratio_ball(self, j: int, modulus: int) -> flint.arb:
        """Return a ball around phi(2 pi j / M) / phi(0)."""

    @abstractmethod
    def _reach(self, k: int, rest: float) -> int:
        """Return a sum of k cells beyond which all sums together weigh less than exp(-rest) phi(0)^k."""

    @abstractmethod
    def _tail_ball(self, k: int, beyond: int) -> flint.arb:
        """Return a ball with an upper end above the weight of all sums from ``beyond`` on, over phi(0)^k."""

    def toss(self, cells: IntArray, sums: IntArray, entropy: Entropy) -> BoolArray:
        """Return heads with probability G_k(s) / G_k(0) for each number of cells k and sum s."""
        words = entropy.words(sums.size)
        heads, unsure = compare(uniforms(words), self.shares(cells, sums), BAND)
        for i in np.flatnonzero(unsure):
            k, s = int(cells[i]), abs(int(sums[i]))
            heads[i] = s == 0 or is_below(int(words[i]), 64, self.share(k, s), entropy)
        return heads

    def shares(self, cells: IntArray, sums: IntArray) -> FloatArray:
        """Return G_k(s) / G_k(0) in floats, each pair of k and |s| once."""
        sizes = np.abs(sums)
        order = np.lexsort((sizes, cells))
        k, s = cells[order], sizes[order]
        new = np.ones(k.size, dtype=np.bool_)
        new[1:] = (k[1:] != k[:-1]) | (s[1:] != s[:-1])
        numbers, begins = np.unique(k[new], return_index=True)
        parts = np.split(s[new], begins)[1:]
        each = [self._shares(number, part) for number, part in zip(numbers.tolist(), parts, strict=True)]
        found = np.empty(k.size)
        found[order] = np.concatenate([np.zeros(0), *each])[np.cumsum(new) - 1]
        return found

    def share(self, k: int, s: int) -> Real:
        """Return G_k(s) / G_k(0) to any precision, for s >= 0."""
        return real(lambda: self._share_ball(k, s))

    def _shares(self, k: int, sizes: IntArray) -> FloatArray:
        """Return the shares of some |s| in floats."""
        if k not in self._series:
            self._series[k] = self._weighted(k)
        reach, weights = self._series[k]
        j, modulus = np.arange(1, weights.size + 1), 2 * reach + 1
        s = np.minimum(sizes, reach)  # beyond, no share is larger
        waves, step = np.empty(s.size), AT_ONCE // weights.size + 1
        for begin in range(0, s.size, step):
            turns = s[begin : begin + step, None] * j % modulus
            waves[begin : begin + step] = np.cos(turns * (2 * pi / modulus)) @ weights
        shares: FloatArray = np.maximum((1 + 2 * waves) / (1 + 2 * weights.sum()), 0.0)
        return shares

    def _weighted(self, k: int) -> tuple[int, FloatArray]:
        """Return a reach R and the terms (phi(2 pi j / M) / phi(0))^k from j = 1 on, for M = 2 R + 1."""
        reach, terms = self._terms(k, NEGLIGIBLE)
        angles = np.multiply(np.arange(1, terms + 1), 2 * pi / (2 * reach + 1), dtype=np.float64)
        return reach, np.exp(-k * self._decay(angles))

    def _terms(self, k: int, rest: float) -> tuple[int, int]:
        """Return a reach R of the sums, and how many terms are enough for M = 2 R + 1: at most R."""
        rest += log(2 * self._reach(k, rest) + 1) + 2
        reach = max(1, self._reach(k, rest))
        terms = min(FIRST, reach)
        while (
            terms < reach and k * float(self._decay(np.array([pi * (terms + 1) / (reach + 0.5)]))[0]) < rest
        ):
            terms = min(2 * terms, reach)
        return reach, terms

    def _share_ball(self, k: int, s: int) -> flint.arb:
        """Return a ball around a share, at the working precision."""
        reach, terms = self._terms(k, (flint.ctx.prec + 8) * log(2))
        modulus = 2 * max(reach, s) + 1
        terms = min(terms * (modulus // reach), modulus // 2)
        powers = [self._ratio_ball(j, modulus) ** k for j in range(1, terms + 1)]
        missing = 2 * modulus * self._tail_ball(k, modulus - s)
        if terms < modulus // 2:
            missing += modulus * self._ratio_ball(terms + 1, modulus) ** k
        below = above = 1 + flint.arb(0, missing.upper())
        turn = 2 * flint.arb.pi() / modulus
        for j, power in enumerate(powers, 1):
            above += 2 * power * (turn * (j * s % modulus)).cos()
            below += 2 * power
        return above / below


FEW = 32
"""Cells up to which the polynomial is used: its work grows with the cells, that of cosines falls."""
NOTHING = 2000.0
"""epsilon s beyond which the share of a sum of few cells is no float above 0."""


class LaplaceSums(CellSums):
    """Cells of the double geometric law, w(z) = a^|z|, a = exp(-epsilon), and the weights of their sums.

    Here phi(t) / phi(0) = 1 / (1 + sin^2(t / 2) / sinh^2(epsilon / 2)), and for 0 < u < epsilon sums of k
    cells from x on weigh at most exp(-u x) (1 - sinh^2(u / 2) / sinh^2(epsilon / 2))^-k phi(0)^k. For few
    cells phi^k falls too slowly; but then a polynomial of s >= 0 tells the weights. With
    y = 1 / (exp(2 epsilon) - 1),

        G_k(s) prop. to a^s sum_{i<k} C(k - 1, i) (k (k + 1) ... (k + i - 1)) y^i (s + i + 1) ... (s + k - 1):

    it is the sum of `half_norm`, a^s C(k + s - 1, s) F(k, k + s; s + 1; a^2) with the hypergeometric F, which
    is (1 - a^2)^-k F(k, 1 - k; s + 1; -y) by Pfaff's transformation. All terms are positive.
    """

    def __init__(self, epsilon: Fraction) -> None:
        self._exactly, self._epsilon = epsilon, float(epsilon)
        super().__init__(DoubleGeometric(epsilon), sqrt(2) * exp(-self._epsilon / 2) / -expm1(-self._epsilon))

    def common(self, sums: IntArray, cells: IntArray) -> IntArray:
        """Return 0: the law does not move."""
        return np.zeros_like(sums + cells)

    def _shares(self, k: int, sizes: IntArray) -> FloatArray:
        if k > FEW:
            return super()._shares(k, sizes)
        s = np.minimum(sizes, int(NOTHING / self._epsilon) + 1).astype(np.float64)
        larger = self._polynomial(k, s) / self._polynomial(k, np.zeros(1))
        shares: FloatArray = larger * np.exp(-self._epsilon * s)
        return shares

    def _polynomial(self, k: int, s: FloatArray) -> FloatArray:
        """Return the sum over i, or a k-th power of y less where y > 1: it would overflow."""
        y = exp(-2 * self._epsilon) / -expm1(-2 * self._epsilon)
        scale = max(1.0, y)
        value = np.ones(s.size)
        for i, coefficient in enumerate(_coefficients(k)[1:], 1):
            value = value * ((s + i) / scale) + coefficient * (y / scale) ** i
        return value

    def _share_ball(self, k: int, s: int) -> flint.arb:
        if k > FEW:
            return super()._share_ball(k, s)
        epsilon = ball_of(self._exactly)
        y = 1 / (2 * epsilon).expm1()
        above = below = flint.arb(1)
        for i, coefficient in enumerate(_coefficients(k)[1:], 1):
            above = above * (s + i) + coefficient * y**i
            below = below * i + coefficient * y**i
        return (-epsilon * s).exp() * above / below

    def _decay(self, angles: FloatArray) -> FloatArray:
        inverse = 2 * exp(-self._epsilon / 2) / -expm1(-self._epsilon)  # 1 / sinh(epsilon / 2)
        return np.log1p((np.sin(angles / 2) * inverse) ** 2)

    def _ratio_ball(self, j: int, modulus: int) -> flint.arb:
        sine = (flint.arb.pi() * j / modulus).sin() / (ball_of(self._exactly) / 2).sinh()
        return 1 / (1 + sine * sine)

    def _reach(self, k: int, rest: float) -> int:
        tilts = self._tilts()
        return ceil(float(((rest + k * self._log_moments(tilts)) / tilts).min()))

    def _tail_ball(self, k: int, beyond: int) -> flint.arb:
        tilts = self._tilts()
        best = float(tilts[np.argmin(k * self._log_moments(tilts) - tilts * beyond)])
        sine = (ball_of(best) / 2).sinh() / (ball_of(self._exactly) / 2).sinh()
        return (-ball_of(best) * beyond).exp() / (1 - sine * sine) ** k

    def _tilts(self) -> FloatArray:
        """Return some 0 < u < epsilon: small ones for many cells."""
        return self._epsilon * np.concatenate([2.0 ** np.arange(-24, -2, 0.25), np.arange(0.25, 1, 1 / 64)])

    def _log_moments(self, tilts: FloatArray) -> FloatArray:
        """Return -log(1 - sinh^2(u / 2) / sinh^2(epsilon / 2)), for a choice among tilts."""
        root = np.exp((tilts - self._epsilon) / 2) * np.expm1(-tilts) / expm1(-self._epsilon)
        moments: FloatArray = -np.log1p(-root * root)
        return moments


@cache
def _coefficients(k: int) -> list[int]:
    """Return C(k - 1, i) k (k + 1) ... (k + i - 1) for i = 0, ..., k - 1."""
    return [comb(k - 1, i) * prod(range(k, k + i)) for i in range(k)]


SHARE_ERROR, FAINT = 2.0**-41, 2.0**-100
"""A bound on the error of a share, and a share that tells nothing of its logarithm."""


class GaussianSums(CellSums):
    """Cells of the discrete Gaussian law, w(z) = exp(-z^2 / (2 sigma^2)), and the weights of their sums.

    By Poisson summation

        phi(t) = sum w(z) cos(z t) = sigma sqrt(2 pi) sum over m of exp(-sigma^2 (t + 2 pi m)^2 / 2),

    which falls from t = 0 to pi: by Jacobi it is a product of factors 1 + 2 q cos t + q^2, 0 < q < 1. In the
    same way sum w(z) exp(u z) <= exp(sigma^2 u^2 / 2) phi(0), so that sums of k cells from x on weigh at most
    exp(-x^2 / (2 k sigma^2)) phi(0)^k (u = x / (k sigma^2)). The squares of cells with a given sum change by
    a constant where all of them are moved by one number, so their law just moves.
    """

    def __init__(self, sigma_squared: Fraction) -> None:
        self._variance = float(sigma_squared)
        super().__init__(DiscreteGaussian(sigma_squared), sqrt(self._variance))
        self._exactly, self._narrow = sigma_squared, sigma_squared < 1

    def common(self, sums: IntArray, cells: IntArray) -> IntArray:
        """Return the whole number nearest to the mean of the cells."""
        return (2 * sums + cells) // (2 * cells)

    def log_waves(self, cells: IntArray, sums: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return log h_k(s) and a bound on its error, where G_k(s) = G_k(0) exp(-s^2 / (2 k sigma^2)) h_k(s).

        h_k(s) depends on s mod k alone, so it is read off the share of the s next to 0.
        """
        near = sums - cells * self.common(sums, cells)
        share = np.maximum(self.shares(cells, near), FAINT)
        rest = near.astype(np.float64) ** 2 / (2 * self._variance * cells)
        return np.minimum(np.log(share) + rest, 0.0), SHARE_ERROR / share + 2.0**-50 * rest

    def waves_ball(self, k: int, s: int) -> flint.arb:
        """Return a ball around h_k(s), at the working precision."""
        near = abs(s - k * ((2 * s + k) // (2 * k)))
        return self._share_ball(k, near) * (near * near / (2 * k * ball_of(self._exactly))).exp()

    def _decay(self, angles: FloatArray) -> FloatArray:
        variance, t = self._variance, angles[:, None]
        if self._narrow:  # phi(0) - phi(t) is a sum of squares
            z = np.arange(1, 11)
            weights = np.exp(-z * z / (2 * variance))
            missing = (4 * np.sin(t * (z / 2)) ** 2) @ weights / (1 + 2 * weights.sum())
            decay: FloatArray = -np.log1p(-missing)
            return decay
        m = np.arange(1, 3)
        forth = np.exp(-2 * pi * variance * m * (pi * m - t)).sum(axis=1)
        back = np.exp(-2 * pi * variance * m * (pi * m + t)).sum(axis=1)
        still = 2 * float(np.exp(-2 * pi * pi * variance * m * m).sum())
        waves: FloatArray = variance * angles * angles / 2 - np.log1p(forth + back) + log1p(still)
        return waves

    def _ratio_ball(self, j: int, modulus: int) -> flint.arb:
        variance, angle = ball_of(self._exactly), 2 * flint.arb.pi() * j / modulus
        phi = _by_weights if self._narrow else _by_waves
        return phi(angle, variance) / phi(flint.arb(0), variance)

    def _reach(self, k: int, rest: float) -> int:
        return ceil(sqrt(2 * k * self._variance * rest))

    def _tail_ball(self, k: int, beyond: int) -> flint.arb:
        return (-(flint.arb(beyond) ** 2) / (2 * k * ball_of(self._exactly))).exp()


def _by_weights(angle: flint.arb, variance: flint.arb) -> flint.arb:
    """Return a ball around phi(t) for a variance below 1: each weight is less than half of that before."""
    last = 3 + int(sqrt(1.4 * flint.ctx.prec))
    total = flint.arb(1)
    for z in range(1, last):
        total += 2 * (-flint.arb(z * z) / (2 * variance)).exp() * (angle * z).cos()
    rest = 4 * (-flint.arb(last * last) / (2 * variance)).exp()
    return total + flint.arb(0, rest.upper())


def _by_waves(angle: flint.arb, variance: flint.arb) -> flint.arb:
    """Return a ball around phi(t) / (sigma sqrt(2 pi)), 0 <= t <= pi, for a variance from 1 on.

    Beyond m = +-N, N >= 1, waves are at most exp(-sigma^2 (pi (2 N + 1))^2 / 2), and fall by more than 1/2.
    """
    last = 2 + int(sqrt(flint.ctx.prec / 14))
    total = flint.arb(0)
    for m in range(-last, last + 1):
        total += (-variance * (angle + 2 * flint.arb.pi() * m) ** 2 / 2).exp()
    rest = 4 * (-variance * (flint.arb.pi() * (2 * last + 1)) ** 2 / 2).exp()
    return total + flint.arb(0, rest.upper())
