"""Quadratic programs by their dual, where every cell has a weight: semismooth Newton steps.

With M, t, s, d as in [holdfast, programs/quadratic/program.py] and a price for every row,
z = clip(y + M^T p / d, low, high), and the prices maximise the concave, piecewise quadratic

    D(p) = 1/2 sum_i d_i (z_i - y_i)^2 + p (t - M z) - 1/2 sum_r s_r p_r^2.

A semismooth Newton step [qi2006] solves (M F M^T + s) step = t - M z - s p, with F = 1 / d for the cells
between their bounds and 0 for others: as many equations as there are rows. It is gone all of its way, or to
near the top of its line. A few steps end at the maximum, unless many rows and bounds meet in one point.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.lattice.arrays import FloatArray
from holdfast.programs.quadratic.inorder import dot
from holdfast.programs.quadratic.program import Quadratic
from holdfast.system.compiled import compiled

STEPS = 80
TOLERANCE, LOOSE, IDLE = 1e-14, 1e-9, 3
"""Errors at which a climb ends, or ends once so many steps have not halved the least one."""
TRIALS = 40
SLOPE = 1e-4
"""The part of the expected gain that a step must reach."""
HALF = 0.5
"""A slope that has fallen to this part of the first is near enough to the top."""
NOISE = 1e-12
"""Rounding, relative to the value."""
FAR = 10.0
"""A step may be as long as this many times the numbers it is made of."""
RIDGE = 1e-13
"""What is added to equations that may be singular, relative to their size."""


@dataclass(frozen=True, eq=False)
class Priced:
    """Prices of rows and what goes with them.

    Attributes:
        prices: of all rows.
        centre: where cells would be without bounds.
        point: where they are.
        left: how far rows are from their values.
        error: how far they are at most, relative to their size.
        value: D.

    """

    prices: FloatArray
    centre: FloatArray
    point: FloatArray
    left: FloatArray
    error: float
    value: float


def by_prices(program: Quadratic) -> Priced:
    """Return the best prices that were found on the way up: their error tells whether they are the best."""
    now = best = _priced(program, np.zeros(program.values.size))
    idle = 0
    for _ in range(STEPS):
        if now.error <= TOLERANCE or idle >= IDLE:
            break
        now = _onward(program, now)
        idle = 0 if now.error < 0.5 * best.error else idle + (now.error < LOOSE)
        best = now if now.error < best.error else best
    return best


def _onward(program: Quadratic, now: Priced) -> Priced:
    """Return where a Newton step leads, gone all of its way or to near the top of its line."""
    step = _step(program, now)
    start = dot(now.left, step)
    low, high, tried = (0.0, start), (1.0, 0.0), 1.0
    for _ in range(TRIALS):
        reached = _priced(program, now.prices + tried * step)
        slope = dot(reached.left, step)
        # slopes decide where rounding hides the gain
        hidden = abs(reached.value - now.value) <= NOISE * abs(now.value)
        if slope >= 0 and (slope <= HALF * start or tried == 1.0):
            break
        gained = reached.value > now.value + SLOPE * tried * start
        if slope < 0 and (gained or (hidden and -slope <= HALF * start)):
            break
        if slope < 0:
            high = (tried, slope)
        else:
            low = (tried, slope)
        # a chord to the top, kept away from both ends
        chord = low[0] + (high[0] - low[0]) * low[1] / (low[1] - high[1])
        margin = 0.1 * (high[0] - low[0])
        tried = min(max(chord, low[0] + margin), high[0] - margin)
    return reached


def _step(program: Quadratic, now: Priced) -> FloatArray:
    """Return a Newton step; a kept row without a free cell goes where it may get one."""
    it, free, added = program, np.empty(now.point.size), np.empty(now.left.size)
    _free(it.arrays, now.centre, free, added)
    step = it.equations.solve(free, added, RIDGE)(now.left)
    longest = FAR * (1 + np.abs(it.weights * now.centre).max() + np.abs(now.prices).max(initial=0.0))
    return np.asarray(step * min(1.0, longest / max(float(np.abs(step).max(initial=0.0)), 1.0)))


def _priced(program: Quadratic, prices: FloatArray) -> Priced:
    """Return what goes with some prices."""
    return Priced(prices, *_at(program.arrays, prices))


@compiled
def _at(it: Any, prices: Any) -> Any:
    centre, point, left = np.zeros(it.targets.size), np.empty(it.targets.size), np.empty(prices.size)
    for row in range(prices.size):
        for place in range(it.starts[row], it.starts[row + 1]):
            centre[it.cells[place]] += it.entries[place] * prices[row]
    value, error = 0.0, 0.0
    for cell in range(centre.size):
        centre[cell] = it.targets[cell] + centre[cell] / it.weights[cell]
        point[cell] = min(max(centre[cell], it.low[cell]), it.high[cell])
        off = point[cell] - it.targets[cell]
        value += 0.5 * (it.weights[cell] * (off * off))
    for row in range(prices.size):
        give, added = it.soft[row] * prices[row], 0.0
        size = 1 + abs(it.values[row]) + abs(give)
        for place in range(it.starts[row], it.starts[row + 1]):
            part = it.entries[place] * point[it.cells[place]]
            added += part
            size += abs(part)
        left[row] = it.values[row] - added - give
        error = max(error, abs(left[row]) / size)
        value += prices[row] * left[row] + 0.5 * (give * prices[row])
    return centre, point, left, error, value


@compiled
def _free(it: Any, centre: Any, free: Any, added: Any) -> None:
    """Put in 1 / d for the cells between their bounds, and what is added to the diagonal of each row."""
    for cell in range(free.size):
        free[cell] = 1 / it.weights[cell] if it.low[cell] < centre[cell] < it.high[cell] else 0.0
    for row in range(added.size):
        stuck = it.soft[row] == 0
        for place in range(it.starts[row], it.starts[row + 1]):
            stuck = stuck and (free[it.cells[place]] == 0 or it.entries[place] == 0)
        added[row] = 1 / FAR if stuck else it.soft[row]
