"""Sums of double geometric cells, w(z) = a^|z| with a = exp(-epsilon) (cell_sums.py).

Here phi(t) / phi(0) = 1 / (1 + sin^2(t / 2) / sinh^2(epsilon / 2)), and for 0 < u < epsilon sums of k cells
from x on weigh at most exp(-u x) (1 - sinh^2(u / 2) / sinh^2(epsilon / 2))^-k phi(0)^k. For few cells phi^k
falls too slowly; but then a polynomial of s >= 0 tells the weights. With y = 1 / (exp(2 epsilon) - 1),

    G_k(s)  prop. to  a^s sum_{i<k} C(k - 1, i) (k (k + 1) ... (k + i - 1)) y^i (s + i + 1) ... (s + k - 1):

it is the sum of half_norm.py, a^s C(k + s - 1, s) F(k, k + s; s + 1; a^2) with the hypergeometric F, which is
(1 - a^2)^-k F(k, 1 - k; s + 1; -y) by Pfaff's transformation. All terms are positive.
"""

from fractions import Fraction
from functools import cache
from math import ceil, comb, exp, expm1, prod, sqrt

import flint
import numpy as np

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.decisions.enclosure import ball_of
from holdfast.sampling.decisions.floats import Floats
from holdfast.sampling.lattice.cell_sums import CellSums
from holdfast.sampling.numbers.exponential import DoubleGeometric

FEW = 32
"""Cells up to which the polynomial is used."""
NOTHING = 2000.0
"""epsilon s beyond which the share of a sum of few cells is no float above 0."""


class LaplaceSums(CellSums):
    """Cells of the double geometric law, and the weights of their sums."""

    def __init__(self, epsilon: Fraction) -> None:
        self._exactly, self._epsilon = epsilon, float(epsilon)
        super().__init__(DoubleGeometric(epsilon), sqrt(2) * exp(-self._epsilon / 2) / -expm1(-self._epsilon))

    def common(self, sums: IntArray, cells: IntArray) -> IntArray:
        """Return 0: the law does not move."""
        return np.zeros_like(sums + cells)

    def _shares(self, k: int, sizes: IntArray) -> Floats:
        if k > FEW:
            return super()._shares(k, sizes)
        s = np.minimum(sizes, int(NOTHING / self._epsilon) + 1).astype(np.float64)
        larger = self._polynomial(k, s) / self._polynomial(k, np.zeros(1))
        shares: Floats = larger * np.exp(-self._epsilon * s)
        return shares

    def _polynomial(self, k: int, s: Floats) -> Floats:
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

    def _decay(self, angles: Floats) -> Floats:
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

    def _tilts(self) -> Floats:
        """Return some 0 < u < epsilon: small ones for many cells."""
        return self._epsilon * np.concatenate([2.0 ** np.arange(-24, -2, 0.25), np.arange(0.25, 1, 1 / 64)])

    def _log_moments(self, tilts: Floats) -> Floats:
        """Return -log(1 - sinh^2(u / 2) / sinh^2(epsilon / 2)), for a choice among tilts."""
        root = np.exp((tilts - self._epsilon) / 2) * np.expm1(-tilts) / expm1(-self._epsilon)
        moments: Floats = -np.log1p(-root * root)
        return moments


@cache
def _coefficients(k: int) -> list[int]:
    """Return C(k - 1, i) k (k + 1) ... (k + i - 1) for i = 0, ..., k - 1."""
    return [comb(k - 1, i) * prod(range(k, k + i)) for i in range(k)]
