"""How noise of a mechanism weighs: its norm, and its probability as a function of the size in that norm.

    l1        exp(-kappa s),             s = ||z||_1
    l2        exp(-kappa sqrt(s)),       s = z'Fz, F = 1 where there are no queries
    squared   exp(-s / (2 sigma^2)),     s = z'Fz

Slices. Let S(t) be the weight of the z with z_i = t. Weights are functions of positive type on the lattice
of the other cells (a Gaussian, a product of exp(-kappa |z_j|), a mixture of Gaussians), so that its sum over
a coset is at most that over the lattice itself [theory, 17]. With v_i = e_i'F^-1 e_i on the span of it,

    S(t) <= exp(-t^2 / (2 v_i sigma^2)) S(0)        squared, completing the square,
    S(t) <= exp(-kappa |t|) S(0)                    l1,

so P(z_i >= t) is at most what these say, and no dimension enters. Where w is on the lattice with w_i = 1,
S(t) is at least exp(-t^2 w'Fw / (2 sigma^2)) S(0), or exp(-kappa |t| ||w||_1) S(0), so that P(z_i = 0) is at
most one over the sum of these; whole margins have such a w of few cells.

The l2 law is a mixture of Gaussian laws whose variance is at most, in the usual order, of the gamma law of
shape (n + 1) / 2 and rate kappa^2 / 2 in n dimensions: the weight of a lattice over sigma^n falls with sigma.
The mean of exp(-t^2 / (2 v w)) over it is a Bessel function, which balls enclose [johansson2017].
"""

from dataclasses import dataclass
from fractions import Fraction
from math import erfc, exp, expm1, pi, sqrt, tanh
from typing import Literal

import flint
import numpy as np

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.forms import Form

CutNorm = Literal["l1", "l2", "squared"]
BITS = 256
ROUNDING = 1 + 1e-9
"""What floats may be off by, many times over."""


@dataclass(frozen=True, eq=False)
class NoiseShape:
    """A norm of noise, in so many dimensions; ``variance`` is the largest v_i, at least."""

    norm: CutNorm
    form: Form | None
    dimension: int
    variance: float
    move: int | None = None
    """How many cells the smallest w with an entry of 1 in each of them moves, where that is known."""
    least: int = 1
    """A number m with ||z||_1 >= m |z_i| for all z on the lattice."""

    @property
    def product(self) -> bool:
        """Whether the components of the invariants are independent."""
        return self.norm != "l2" and self.form is None

    def sizes(self, points: IntArray) -> FloatArray:
        """Return the size of each row."""
        if self.norm == "l1":
            return np.asarray(np.abs(points).sum(axis=1), dtype=np.float64)
        if self.form is not None:
            return self.form.squares(points)
        return np.asarray((points * points).sum(axis=1), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Weighing:
    """A shape with a strength: kappa, or sigma^2 of Gaussian noise."""

    shape: NoiseShape
    strength: Fraction

    def log_weight(self, sizes: FloatArray) -> FloatArray:
        """Return the log weight of points of such sizes."""
        strength = float(self.strength)
        match self.shape.norm:
            case "l1":
                return -strength * sizes
            case "l2":
                return -strength * np.sqrt(sizes)
        return -sizes / (2 * strength)

    @property
    def width(self) -> float:
        """About the standard deviation of one cell."""
        if self.shape.norm == "squared":
            return sqrt(float(self.strength) * self.shape.variance)
        scale = sqrt(2) if self.shape.norm == "l1" else sqrt(self.shape.variance * (self.shape.dimension + 1))
        return scale / float(self.strength)

    def beyond(self, t: int) -> float:
        """Return a bound of P(z_i >= t) for t >= 1, in any cell, of the whole law."""
        strength, v, move = float(self.strength), self.shape.variance * ROUNDING, self.shape.move
        match self.shape.norm:
            case "l1":
                at_zero = 1.0 if move is None else tanh(strength * move / 2)
                near = at_zero * exp(-strength * t) / -expm1(-strength)
                return min(0.5, near, self._far(t, strength)) * ROUNDING
            case "squared":
                chernoff = exp(-(t**2) / (2 * v * strength))
                if move is None:
                    return min(0.5, chernoff) * ROUNDING
                form = self.shape.form
                one = move * (1.0 if form is None else float(form.spectrum))
                # sums of exp(-s^2 / 2c) over s >= t, and over all s, by areas
                beyond = sum_beyond(t, v * strength)
                return min(0.5, chernoff, beyond / max(1.0, sqrt(2 * pi * strength / one))) * ROUNDING
        return self._mixed(t, strength, v)

    def _far(self, t: int, kappa: float) -> float:
        """Return a bound that is better far out: exp(-k s) <= exp(-(1 - c) k m t) exp(-c k s), s >= m t.

        The weight of a lattice of n dimensions at c kappa is at most c^-n times that at kappa.
        """
        c = np.linspace(0.01, 0.99, 99)
        rate = kappa * (self.shape.least * (1 - c) + c)
        logs = -self.shape.dimension * np.log(c) - rate * t - np.log(-np.expm1(-rate))
        return exp(min(0.0, float(logs.min())))

    def _mixed(self, t: int, kappa: float, v: float) -> float:
        """Return the mean of exp(-c / w), c = t^2 / (2 v): 2 (rc)^(a/2) K_a(2 sqrt(rc)) / Gamma(a)."""
        with flint.ctx.workprec(BITS):
            a, rc = flint.arb(self.shape.dimension + 1) / 2, flint.arb(kappa**2 / 2 * t**2 / (2 * v))
            logs = rc.log() * a / 2 + (2 * rc.sqrt()).bessel_k(a).log() - a.lgamma()
            return min(0.5, float((2 * logs.exp()).upper())) * ROUNDING


def sum_beyond(t: int, variance: float) -> float:
    """Return a bound of the sum of exp(-s^2 / (2 variance)) over the whole s >= t."""
    first = exp(-(t**2) / (2 * variance))
    return first + sqrt(pi * variance / 2) * erfc(t / sqrt(2 * variance))


def cell_logs(noise: Weighing, values: IntArray) -> FloatArray:
    """Return the log weights of one cell of a product law, the largest being 0."""
    sizes = np.abs(values) if noise.shape.norm == "l1" else values**2
    logs = noise.log_weight(np.asarray(sizes, dtype=np.float64))
    return np.asarray(logs - logs.max())
