"""Sums of discrete Gaussian cells, w(z) = exp(-z^2 / (2 sigma^2)) (cell_sums.py).

By Poisson summation

    phi(t) = sum w(z) cos(z t) = sigma sqrt(2 pi) sum over m of exp(-sigma^2 (t + 2 pi m)^2 / 2),

which falls from t = 0 to pi: by Jacobi it is a product of factors 1 + 2 q cos t + q^2, 0 < q < 1. In the same
way sum w(z) exp(u z) <= exp(sigma^2 u^2 / 2) phi(0), so that sums of k cells from x on weigh at most
exp(-x^2 / (2 k sigma^2)) phi(0)^k (u = x / (k sigma^2)). The squares of cells with a given sum change by a
constant where all of them are moved by one number, so their law just moves.
"""

from fractions import Fraction
from math import ceil, log1p, pi, sqrt

import flint
import numpy as np

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.decisions.enclosure import ball_of
from holdfast.sampling.decisions.floats import Floats
from holdfast.sampling.lattice.cell_sums import CellSums
from holdfast.sampling.numbers.gaussian import DiscreteGaussian

SHARE_ERROR, FAINT = 2.0**-41, 2.0**-100
"""A bound on the error of a share, and a share that tells nothing of its logarithm."""


class GaussianSums(CellSums):
    """Cells of the discrete Gaussian law, and the weights of their sums."""

    def __init__(self, sigma_squared: Fraction) -> None:
        self._variance = float(sigma_squared)
        super().__init__(DiscreteGaussian(sigma_squared), sqrt(self._variance))
        self._exactly, self._narrow = sigma_squared, sigma_squared < 1

    def common(self, sums: IntArray, cells: IntArray) -> IntArray:
        """Return the whole number nearest to the mean of the cells."""
        return (2 * sums + cells) // (2 * cells)

    def log_waves(self, cells: IntArray, sums: IntArray) -> tuple[Floats, Floats]:
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

    def _decay(self, angles: Floats) -> Floats:
        variance, t = self._variance, angles[:, None]
        if self._narrow:  # phi(0) - phi(t) is a sum of squares
            z = np.arange(1, 11)
            weights = np.exp(-z * z / (2 * variance))
            missing = (4 * np.sin(t * (z / 2)) ** 2) @ weights / (1 + 2 * weights.sum())
            decay: Floats = -np.log1p(-missing)
            return decay
        m = np.arange(1, 3)
        forth = np.exp(-2 * pi * variance * m * (pi * m - t)).sum(axis=1)
        back = np.exp(-2 * pi * variance * m * (pi * m + t)).sum(axis=1)
        still = 2 * float(np.exp(-2 * pi * pi * variance * m * m).sum())
        waves: Floats = variance * angles * angles / 2 - np.log1p(forth + back) + log1p(still)
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
