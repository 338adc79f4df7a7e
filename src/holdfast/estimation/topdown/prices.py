"""Quadratic programs by their dual: prices of rows, where every cell has a weight.

With M, t, s, d as in [holdfast, estimation/topdown/quadratic.py] and a price for every row,
z = clip(y + M^T p / d, low, high), and the prices maximise the concave, piecewise quadratic

    D(p) = 1/2 sum_i d_i (z_i - y_i)^2 + p (t - M z) - 1/2 sum_r s_r p_r^2.

A semismooth Newton step [qi2006] solves (M F M^T + s) step = t - M z - s p, with F = 1 / d for the cells
between their bounds and 0 for others: as many equations as there are rows. A few steps end at the maximum,
unless many rows and bounds meet in one point.
"""

from dataclasses import dataclass

import numpy as np

from holdfast.estimation.topdown.ascent import climbed, length
from holdfast.estimation.topdown.inorder import dot, times
from holdfast.estimation.topdown.quadratic import Quadratic
from holdfast.lattice.arrays import FloatArray

STEPS = 80
FAR = 10.0
"""A step may be as long as this many times the numbers it is made of."""
RIDGE = 1e-13
"""What is added to equations that may be singular, relative to their size."""


@dataclass(frozen=True, eq=False)
class Priced:
    """Prices, the point that goes with them, and how far rows are from their values: at most, and each."""

    prices: FloatArray
    point: FloatArray
    error: float
    left: FloatArray


def by_prices(program: Quadratic) -> Priced:
    """Return the point at the best prices that were found; its error tells whether they are the best."""
    climb = _Climb(program)
    return climbed(climb.at(np.zeros(program.values.size)), climb.onward, STEPS)


@dataclass(frozen=True, eq=False)
class _Climb:
    """D and its Newton steps."""

    program: Quadratic

    def centre(self, prices: FloatArray) -> FloatArray:
        """Return where cells would be without bounds."""
        it = self.program
        return np.asarray(it.targets + times(it.columns, prices) / it.weights)

    def at(self, prices: FloatArray) -> Priced:
        """Return what goes with some prices."""
        it = self.program
        point = np.clip(self.centre(prices), it.low, it.high)
        give = it.soft * prices
        left = it.values - times(it.rows, point) - give
        size = 1 + np.abs(it.values) + np.abs(give) + times(it.sizes, np.abs(point))
        return Priced(prices, point, float((np.abs(left) / size).max(initial=0.0)), left)

    def value(self, now: Priced) -> float:
        """Return D."""
        it = self.program
        cells = dot(it.weights, (now.point - it.targets) ** 2)
        return 0.5 * cells + dot(now.prices, now.left) + 0.5 * dot(it.soft, now.prices**2)

    def onward(self, now: Priced) -> Priced:
        """Return where a Newton step leads."""
        step = self.step(now)

        def at(part: float) -> tuple[float, float]:
            reached = self.at(now.prices + part * step)
            return dot(reached.left, step), self.value(reached)

        return self.at(now.prices + length(dot(now.left, step), self.value(now), at) * step)

    def step(self, now: Priced) -> FloatArray:
        """Return a Newton step; a kept row without a free cell goes where it may get one."""
        it = self.program
        centre = self.centre(now.prices)
        free = ((centre > it.low) & (centre < it.high)) / it.weights
        stuck = (it.soft == 0) & (times(it.sizes, free) == 0)
        step = it.equations.solve(free, it.soft + stuck / FAR, RIDGE)(now.left)
        longest = FAR * (1 + np.abs(it.weights * centre).max() + np.abs(now.prices).max(initial=0.0))
        return np.asarray(step * min(1.0, longest / max(float(np.abs(step).max(initial=0.0)), 1.0)))
