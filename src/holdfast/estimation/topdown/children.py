"""Children from a detailed and a total query: non-negative least squares under the parent's counts.

    min sum_b [ w_cells ||x_b - y_b||^2 + w_total (1'x_b - t_b)^2 ]  with  sum_b x_b = p,  low <= x <= high,

where the children's totals may be kept instead. Divided by 2 w_cells, these are row and column sums
[holdfast, estimation/topdown/sums.py]: the parent's counts and totals that are known are kept, a measured
total gives way by w_cells / w_total.

Cells that are forced go first: those of a count or a total that is the sum of its lower bounds, or of its
upper ones. The errors of measured totals are told from their mean, since the parent fixes their sum: this
changes the objective by a constant, and no price has to carry it.
"""

from dataclasses import dataclass

import numpy as np

from holdfast.estimation.topdown.forced import close
from holdfast.estimation.topdown.inorder import across, down, total
from holdfast.estimation.topdown.sums import Sums, nearest
from holdfast.lattice.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Estimate:
    """Real counts, children by cells, with how good they are.

    Attributes:
        counts: one row a child, one column a cell, within the bounds.
        objective: the weighted sum of squares there.
        gap: a bound of how far the objective is from its optimum, by duality.
        off: the largest error of a sum that is to be kept.

    """

    counts: FloatArray
    objective: float
    gap: float
    off: float


def children(
    cells: FloatArray,
    parent: IntArray,
    *,
    weight: float = 1.0,
    measured: FloatArray | None = None,
    total_weight: float = 0.0,
    totals: IntArray | None = None,
    low: IntArray | None = None,
    high: FloatArray | None = None,
) -> Estimate:
    """Return the best counts of n children; there must be some (else see ``conflict``).

    Args:
        cells: what was measured of each child's cells, n rows.
        parent: the counts that each column adds up to.
        weight: of the cells, above 0.
        measured: what was measured of the children's totals.
        total_weight: their weight.
        totals: the totals where they are known; then the measured ones say nothing.
        low: least counts, 0 where not given.
        high: largest counts, infinite where there is none.

    """
    target = np.ascontiguousarray(cells, dtype=np.float64)
    floor = np.zeros(target.shape) if low is None else np.array(low, dtype=np.float64)
    roof = np.full(target.shape, np.inf) if high is None else np.array(high, dtype=np.float64)
    sums = parent.astype(np.float64)
    known = None if totals is None else totals.astype(np.float64)
    live_rows, live = close(floor, roof, sums, known)
    counts, gap = floor.copy(), 0.0
    if live_rows.any() and live.any():
        part = np.ix_(live_rows, live)
        held = across(np.where(live, 0.0, floor))[live_rows]
        left = (sums - down(np.where(live_rows[:, None], 0.0, floor)))[live]
        columns = Sums(left, np.zeros(left.size))
        rows = None
        if known is not None:
            rows = Sums(known[live_rows] - held, np.zeros(held.size))
        elif measured is not None and total_weight > 0:
            aim = measured - held
            rows = Sums(
                aim + (total(left) - total(aim)) / aim.size, np.full(held.size, weight / total_weight)
            )
        found = nearest(target[part], floor[part], roof[part], rows, columns)
        counts[part], gap = found.point, 2 * weight * found.gap
    objective = weight * total((counts - target) ** 2)
    if measured is not None:
        objective += total_weight * total((across(counts) - measured) ** 2)
    off = float(np.abs(down(counts) - sums).max(initial=0.0))
    if known is not None:
        off = max(off, float(np.abs(across(counts) - known).max(initial=0.0)))
    return Estimate(counts, objective, gap, off)
