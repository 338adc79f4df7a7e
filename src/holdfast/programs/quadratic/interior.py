"""Convex quadratic programs by an interior point method.

With M, t, s, d as in [holdfast, programs/quadratic/program.py], prices p of rows, a of lower and b of upper
bounds, the conditions of an optimum are

    d (z - y) - M^T p - a + b = 0,   M z + s p = t,   a (z - low) = b (high - z) = 0.

The products are kept above 0 and brought down together. A direction solves (M H M^T + s) dp = right with
1 / H = d + a / (z - low) + b / (high - z). It is told twice: straight to products of 0, which shows how far
down they can go; then to there, with the squares that the first one neglected, or with that part of them that
leads farthest. Rows and bounds that meet in one point do no harm, as they do to Newton's steps.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import FloatArray
from holdfast.programs.quadratic.inorder import dot, times
from holdfast.programs.quadratic.program import Quadratic

STEPS, IDLE = 100, 8
"""Steps at most, and at most so many that make nothing better."""
INSIDE = 0.995
"""The part of the way to the nearest bound that a step may go."""
PARTS, ENOUGH = (1.0, 0.5, 0.25, 0.1, 0.0), 0.9
"""How much of the squares is told, until so much of a step can be gone."""
TOLERANCE = 1e-13
"""Errors and products, relative to the numbers they are made of, at which steps end."""
RIDGE = 1e-13
"""What is added to equations that may be singular, relative to their size."""


@dataclass(frozen=True, eq=False)
class _Iterate:
    """A point, prices of rows and of both bounds, and the distances from these, 1 where there is no bound.

    Distances are kept for themselves: from a point near its bound they could not be told.
    """

    point: FloatArray
    prices: FloatArray
    down: FloatArray
    up: FloatArray
    below: FloatArray
    above: FloatArray


def interior(program: Quadratic) -> tuple[FloatArray, FloatArray]:
    """Return the point and the prices of rows; where no point keeps the rows, they are off."""
    live = program.low < program.high
    if not live.all():
        point = program.low.copy()
        point[live], prices = interior(program.part(live))
        return point, prices
    path = _Path(program)
    now = best = path.first()
    least, idle = path.error(now), 0
    for _ in range(STEPS):
        if least <= TOLERANCE or idle >= IDLE:
            break
        now = path.onward(now)
        error = path.error(now)
        idle = 0 if error < least else idle + 1
        best, least = (now, error) if error < least else (best, least)
    return np.clip(best.point, program.low, program.high), best.prices


class _Path:
    """The way through the inside of the bounds."""

    def __init__(self, program: Quadratic) -> None:
        self.it = program
        self.is_low = np.isfinite(program.low).astype(np.float64)
        self.is_high = np.isfinite(program.high).astype(np.float64)
        self.low = np.where(self.is_low > 0, program.low, 0.0)
        self.high = np.where(self.is_high > 0, program.high, 0.0)
        self.count = max(int(np.count_nonzero(self.is_low) + np.count_nonzero(self.is_high)), 1)
        self.by_cell = csr_array(abs(program.columns))

    def first(self) -> _Iterate:
        """Return a state well inside, with prices as large as what is measured."""
        it = self.it
        margin = np.minimum(1.0, (it.high - it.low) / 4)
        point = np.clip(it.targets, it.low + margin, it.high - margin)
        size = 1.0 + float(np.abs(it.weights * (point - it.targets)).max(initial=0.0))
        return _Iterate(
            point,
            np.zeros(it.values.size),
            size * self.is_low,
            size * self.is_high,
            np.where(self.is_low > 0, point - self.low, 1.0),
            np.where(self.is_high > 0, self.high - point, 1.0),
        )

    def uphill(self, now: _Iterate) -> FloatArray:
        """Return how far the slopes of all cells are from 0."""
        it = self.it
        slopes = it.weights * (now.point - it.targets) - times(it.columns, now.prices)
        return np.asarray(slopes - now.down + now.up)

    def left(self, now: _Iterate) -> FloatArray:
        """Return how far rows are from their values."""
        return np.asarray(self.it.values - times(self.it.rows, now.point) - self.it.soft * now.prices)

    def products(self, now: _Iterate) -> float:
        """Return the mean product of a price of a bound with the distance from it."""
        return (dot(now.down, now.below) + dot(now.up, now.above)) / self.count

    def error(self, now: _Iterate) -> float:
        """Return the largest error of a condition, relative to the numbers it is made of."""
        it = self.it
        rows = 1 + np.abs(it.values) + times(it.sizes, np.abs(now.point))
        cells = 1 + times(self.by_cell, np.abs(now.prices)) + np.abs(it.weights * now.point)
        return max(
            float((np.abs(self.left(now)) / rows).max(initial=0.0)),
            float((np.abs(self.uphill(now)) / cells).max(initial=0.0)),
            self.products(now) / (1 + float((it.weights * now.point**2).max(initial=0.0))),
        )

    def onward(self, now: _Iterate) -> _Iterate:
        """Return the state after a step."""
        it = self.it
        free = 1 / (it.weights + now.down / now.below + now.up / now.above)
        solve = it.equations.solve(free, it.soft, RIDGE)
        uphill, left = self.uphill(now), self.left(now)

        def direction(less_down: FloatArray, less_up: FloatArray) -> tuple[FloatArray, ...]:
            """Return the direction in which products become less by so much."""
            slope = -uphill - less_down / now.below + less_up / now.above
            prices = solve(left - times(it.rows, free * slope))
            point = free * (slope + times(it.columns, prices))
            prices += solve(left - times(it.rows, point) - it.soft * prices)
            point = free * (slope + times(it.columns, prices))
            down = (-less_down - now.down * point) / now.below * self.is_low
            up = (-less_up + now.up * point) / now.above * self.is_high
            return point, prices, down, up

        products = now.down * now.below, now.up * now.above
        straight = direction(*products)
        middle, reached = self.products(now), self._gone(now, straight, self._longest(now, straight))
        aim = middle * _cubed(min(1.0, self.products(reached) / middle)) if middle > 0 else 0.0
        point, _, down, up = straight
        squares = down * point, -up * point
        step, longest = straight, 0.0
        for part in PARTS:
            less = products[0] + part * squares[0] - aim, products[1] + part * squares[1] - aim
            other = direction(less[0] * self.is_low, less[1] * self.is_high)
            reach = self._longest(now, other)
            step, longest = (other, reach) if reach > longest else (step, longest)
            if longest >= ENOUGH:
                break
        return self._gone(now, step, INSIDE * longest)

    def _gone(self, now: _Iterate, step: tuple[FloatArray, ...], part: float) -> _Iterate:
        point, prices, down, up = step
        return _Iterate(
            now.point + part * point,
            now.prices + part * prices,
            now.down + part * down,
            now.up + part * up,
            now.below + part * point * self.is_low,
            now.above - part * point * self.is_high,
        )

    def _longest(self, now: _Iterate, step: tuple[FloatArray, ...]) -> float:
        """Return how much of a step leads to where a distance or a price becomes 0, all of it at most."""
        point, _, down, up = step
        moves = np.concatenate([point * self.is_low, -point * self.is_high, down, up])
        places = np.concatenate([now.below, now.above, now.down, now.up])
        back = moves < 0
        return min(1.0, float((-places[back] / moves[back]).min(initial=1.0)))


def _cubed(value: float) -> float:
    """Return a third power as two products: what powers are made of differs between machines."""
    return value * value * value
