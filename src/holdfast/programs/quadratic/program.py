"""A convex quadratic program over cells with bounds, and the certificate of a solution.

    min 1/2 sum_i d_i (z_i - y_i)^2 + 1/2 sum_r u_r^2 / s_r   with  M z + u = t,  low <= z <= high

with d >= 0. A row with s = 0 is kept: its u is 0. Others give way.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.programs.quadratic.equations import Equations
from holdfast.programs.quadratic.inorder import times
from holdfast.system.compiled import compiled


class Arrays(NamedTuple):
    """A program for compiled loops: its rows by their entries, then its other attributes."""

    starts: IntArray
    cells: IntArray
    entries: FloatArray
    targets: FloatArray
    weights: FloatArray
    low: FloatArray
    high: FloatArray
    values: FloatArray
    soft: FloatArray


@dataclass(frozen=True, eq=False)
class Quadratic:
    """A program: targets y with weights d, bounds, and rows M with values t that give way by s.

    ``ordered`` says that rows are listed in an order that fills little where they are eliminated one by one.
    """

    targets: FloatArray
    weights: FloatArray
    low: FloatArray
    high: FloatArray
    rows: csr_array
    values: FloatArray
    soft: FloatArray
    ordered: bool = False

    @cached_property
    def columns(self) -> csr_array:
        """The rows, by cell."""
        return csr_array(self.rows.T)

    @cached_property
    def sizes(self) -> csr_array:
        """The rows without signs."""
        return csr_array(abs(self.rows))

    @cached_property
    def equations(self) -> Equations:
        """The equations of steps."""
        return Equations(self.rows, self.columns, self.ordered)

    @cached_property
    def arrays(self) -> Arrays:
        """The program as compiled loops need it: each of them is compiled for one kind of arrays."""
        rows = self.rows
        given = rows.data, self.targets, self.weights, self.low, self.high, self.values, self.soft
        floats = (np.ascontiguousarray(each, dtype=np.float64) for each in given)
        return Arrays(rows.indptr.astype(np.int64), rows.indices.astype(np.int64), *floats)

    def part(self, live: BoolArray) -> "Quadratic":
        """Return the program of some cells, the others being at their lower bounds."""
        held = np.where(live, 0.0, self.low)
        return replace(
            self,
            targets=self.targets[live],
            weights=self.weights[live],
            low=self.low[live],
            high=self.high[live],
            rows=csr_array(self.rows[:, live]),
            values=self.values - times(self.rows, held),
        )

    def gap(self, point: FloatArray, prices: FloatArray, low: FloatArray, high: FloatArray) -> float:
        """Return how far the objective at a point is above the optimum at most, by any prices of rows.

        ``low`` and ``high`` are bounds that an optimum has in any case. With prices p and c = M^T p the
        optimum is at least the least sum of 1/2 d (z - y)^2 - c z within them, plus p t less half the sum of
        s p^2. What the objective is above that is a sum over cells and rows, told without cancellation.
        """
        return float(_gap(self.arrays, *(np.ascontiguousarray(each) for each in (point, prices, low, high))))


@compiled
def _gap(it: Any, point: Any, prices: Any, low: Any, high: Any) -> float:
    slopes, found = np.zeros(point.size), 0.0
    for row in range(prices.size):
        left = it.values[row] - it.soft[row] * prices[row]
        for place in range(it.starts[row], it.starts[row + 1]):
            slopes[it.cells[place]] += it.entries[place] * prices[row]
            left -= it.entries[place] * point[it.cells[place]]
        found += left * left / (2 * it.soft[row]) if it.soft[row] > 0 else abs(prices[row] * left)
    for cell in range(point.size):
        best, mean = (high[cell] if slopes[cell] > 0 else low[cell]), 0.0
        if it.weights[cell] > 0:
            best = it.targets[cell] + slopes[cell] / it.weights[cell]
            best = min(max(best, low[cell]), high[cell])
            # half of d (z - y)^2 - d (x - y)^2 = d (z - x)(z + x - 2 y), x being the best
            mean = it.weights[cell] * ((point[cell] + best) / 2 - it.targets[cell])
        if point[cell] != best:
            found += max((point[cell] - best) * (mean - slopes[cell]), 0.0)
    return found
