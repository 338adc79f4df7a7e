"""The point nearest to a table y within bounds whose row and column sums are given, or nearly so.

    min 1/2 ||x - y||^2 + sum_i (x_i. - r_i)^2 / (2 s_i) + sum_j (x_.j - c_j)^2 / (2 s_j),  low <= x <= high

A sum with s = 0 is kept. With a price for each sum, x_ij = clip(y_ij + m_i + l_j, low, high), and the prices
maximise the concave

    D(l, m) = 1/2 ||x - y||^2 + sum_j (l_j (c_j - x_.j) - s_j l_j^2 / 2) + the same for rows.

Given the l_j, each row's price is a water level [holdfast, estimation/topdown/levels.py]: D is maximised
over m for all rows at once. What is left is piecewise quadratic in as many prices as there are columns, with
the second derivative -(diag(free cells + s_j) - sum_i f_i f_i^T / (|f_i| + s_i)), f_i being the free cells
of a row. Semismooth Newton steps end at its maximum [qi2006]. Rows and columns change places where there are
fewer rows.

**The certificate.** D is below the optimum at any prices, so the difference of the objective and D bounds the
distance to the optimum. It is a sum of products with the errors of the sums, and told without cancellation.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from holdfast.compiled import compiled
from holdfast.estimation.topdown.ascent import climbed, length
from holdfast.estimation.topdown.inorder import across, dot, down, solved, total
from holdfast.estimation.topdown.levels import levels, turned
from holdfast.lattice.arrays import FloatArray

FAR = 10.0
"""A step may be as long as this many times the numbers it is made of."""
RIDGE, DAMPING = 1e-13, 1e-3
"""What is added to a system that may be singular, relative to its size: at least, and at most."""


@dataclass(frozen=True, eq=False)
class Sums:
    """The sums of rows or of columns, and how much each may give way: 0 where it is kept."""

    values: FloatArray
    soft: FloatArray

    def left(self, sums: FloatArray, prices: FloatArray) -> FloatArray:
        """Return how far prices are from right, 0 at the optimum."""
        return self.values - sums - self.soft * prices

    def off(self, sums: FloatArray) -> float:
        """Return how far the sums that are to be kept are off at most."""
        return float(np.abs(self.values - sums)[self.soft == 0].max(initial=0.0))

    def value(self, sums: FloatArray, prices: FloatArray) -> float:
        """Return the part of D that is due to these sums."""
        return dot(prices, self.values - sums) - 0.5 * dot(self.soft * prices, prices)

    def gap(self, sums: FloatArray, prices: FloatArray) -> float:
        """Return the part of the objective above D that is due to these sums."""
        left, kept = self.left(sums, prices), self.soft == 0
        # (u^2 - 2 s u p + s^2 p^2) / 2 s for a soft sum, with u = values - sums
        give = total(left[~kept] ** 2 / (2 * self.soft[~kept]))
        return give + total(np.abs(prices[kept] * left[kept]))


@dataclass(frozen=True, eq=False)
class Nearest:
    """A point, the largest error of a sum that is to be kept, and a bound of how far it is from optimal."""

    point: FloatArray
    off: float
    gap: float


def nearest(
    target: FloatArray, low: FloatArray, high: FloatArray, rows: Sums | None, columns: Sums
) -> Nearest:
    """Return the nearest point, with or without sums of rows; where there is none, it is off."""
    if rows is None:
        tables = turned(target), turned(low), turned(high)
        prices, point = levels(*tables, sums=columns.values, soft=columns.soft)
        sums = across(point)
        return Nearest(turned(point), columns.off(sums), columns.gap(sums, prices))
    if target.shape[0] < target.shape[1]:
        found = nearest(turned(target), turned(low), turned(high), rows=columns, columns=rows)
        return replace(found, point=turned(found.point))
    dual = _Dual(target, low, high, rows, columns)
    best = climbed(dual.at(dual.first()), lambda now: dual.along(now, dual.step(now)))
    point = best.point
    by_row, by_column = across(point), down(point)
    gap = rows.gap(by_row, best.shifts) + columns.gap(by_column, best.prices)
    return Nearest(point, max(rows.off(by_row), columns.off(by_column)), gap)


@dataclass(frozen=True, eq=False)
class _State:
    """Prices of columns, the levels of rows that go with them, and what is left of the columns' sums."""

    prices: FloatArray
    shifts: FloatArray
    point: FloatArray
    left: FloatArray
    error: float


@dataclass(frozen=True, eq=False)
class _Dual:
    """D as a function of the prices of columns alone."""

    target: FloatArray
    low: FloatArray
    high: FloatArray
    rows: Sums
    columns: Sums

    @property
    def kept(self) -> bool:
        """Whether sums are kept on both sides."""
        return bool((self.rows.soft == 0).any() and (self.columns.soft == 0).any())

    def at(self, prices: FloatArray) -> _State:
        """Return what goes with some prices."""
        shifts, point = levels(self.target + prices, self.low, self.high, self.rows.values, self.rows.soft)
        left = self.columns.left(down(point), prices)
        size = 1 + np.abs(self.columns.values) + self.columns.soft * np.abs(prices)
        return _State(prices, shifts, point, left, float((np.abs(left) / size).max(initial=0.0)))

    def value(self, state: _State) -> float:
        """Return D."""
        sums = across(state.point), down(state.point)
        value = 0.5 * total((state.point - self.target) ** 2)
        return value + self.rows.value(sums[0], state.shifts) + self.columns.value(sums[1], state.prices)

    def along(self, now: _State, step: FloatArray) -> _State:
        """Return where a step leads."""

        def at(part: float) -> tuple[float, float]:
            reached = self.at(now.prices + part * step)
            return dot(reached.left, step), self.value(reached)

        return self.at(now.prices + length(dot(now.left, step), self.value(now), at) * step)

    def first(self, shifts: FloatArray | None = None) -> FloatArray:
        """Return the best prices where the rows have none, or have those given."""
        centre = self.target if shifts is None else self.target + shifts[:, None]
        tables = turned(centre), turned(self.low), turned(self.high)
        return levels(*tables, sums=self.columns.values, soft=self.columns.soft)[0]

    def step(self, now: _State) -> FloatArray:
        """Return a Newton step; a column without a free cell goes to its level while rows stay."""
        free = (now.point > self.low) & (now.point < self.high)
        weight = np.count_nonzero(free, axis=1) + self.rows.soft
        weight = np.divide(1.0, weight, out=np.zeros_like(weight), where=weight > 0)
        number = np.count_nonzero(free, axis=0)
        stuck = number + self.columns.soft == 0
        # where sums are kept on both sides there are directions without curvature: short steps at first
        loose = max(RIDGE, min(DAMPING, now.error)) if self.kept else RIDGE
        ridge = loose * (1 + number.max()) + stuck
        step = solved(_curvature(free, weight, number + self.columns.soft + ridge), now.left)
        if stuck.any():
            step = np.where(stuck, self.first(now.shifts) - now.prices, step)
        reach = FAR * (1 + np.abs(now.prices).max() + np.abs(self.target).max() + np.abs(now.left).max())
        return np.asarray(step * min(1.0, reach / max(float(np.abs(step).max()), 1.0)))


@compiled
def _curvature(free: Any, weight: Any, diagonal: Any) -> Any:
    """Return diag(diagonal) - sum_i weight_i f_i f_i^T, f_i being the free cells of a row."""
    rows, columns = free.shape
    found, places = np.zeros((columns, columns)), np.empty(columns, dtype=np.int64)
    for i in range(rows):
        some = 0
        for j in range(columns):
            if free[i, j]:
                places[some] = j
                some += 1
        for one in places[:some]:
            for other in places[:some]:
                found[one, other] -= weight[i]
    for j in range(columns):
        found[j, j] += diagonal[j]
    return found
