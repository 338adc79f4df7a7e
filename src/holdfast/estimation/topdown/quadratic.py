"""A convex quadratic program over cells with bounds, and the certificate of a solution.

    min 1/2 sum_i d_i (z_i - y_i)^2 + 1/2 sum_r u_r^2 / s_r   with  M z + u = t,  low <= z <= high

with d >= 0. A row with s = 0 is kept: its u is 0. Others give way.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.estimation.topdown.inorder import times, total
from holdfast.estimation.topdown.symmetric import Equations
from holdfast.lattice.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Quadratic:
    """A program: targets y with weights d, bounds, and rows M with values t that give way by s."""

    targets: FloatArray
    weights: FloatArray
    low: FloatArray
    high: FloatArray
    rows: csr_array
    values: FloatArray
    soft: FloatArray

    @cached_property
    def columns(self) -> csr_array:
        """The rows, by cell."""
        return csr_array(self.rows.T)

    @cached_property
    def equations(self) -> Equations:
        """The equations of steps."""
        return Equations(self.rows)

    @cached_property
    def sizes(self) -> csr_array:
        """The rows without signs."""
        return csr_array(abs(self.rows))

    def part(self, live: NDArray[np.bool_]) -> "Quadratic":
        """Return the program of some cells, the others being at their lower bounds."""
        held = np.where(live, 0.0, self.low)
        cells = self.targets[live], self.weights[live], self.low[live], self.high[live]
        return Quadratic(
            *cells, csr_array(self.rows[:, live]), self.values - times(self.rows, held), self.soft
        )

    def gap(self, point: FloatArray, prices: FloatArray, low: FloatArray, high: FloatArray) -> float:
        """Return how far the objective at a point is above the optimum at most, by any prices of rows.

        ``low`` and ``high`` are bounds that an optimum has in any case. With prices p and c = M^T p the
        optimum is at least the least sum of 1/2 d (z - y)^2 - c z within them, plus p t less half the sum of
        s p^2. What the objective is above that is a sum over cells and rows, told without cancellation.
        """
        slopes = times(self.columns, prices)
        some = self.weights > 0
        best = np.where(slopes > 0, high, low)
        best[some] = np.clip(self.targets[some] + slopes[some] / self.weights[some], low[some], high[some])
        # half of d (z - y)^2 - d (x - y)^2 = d (z - x)(z + x - 2 y), x being the best
        with np.errstate(invalid="ignore"):
            mean = self.weights * ((point + best) / 2 - self.targets)
            cells = np.where(point == best, 0.0, (point - best) * (np.where(some, mean, 0.0) - slopes))
        left = self.values - times(self.rows, point) - self.soft * prices
        kept = self.soft == 0
        give = left[~kept] ** 2 / (2 * self.soft[~kept])
        return total(np.maximum(cells, 0.0)) + total(give) + total(np.abs(prices[kept] * left[kept]))
