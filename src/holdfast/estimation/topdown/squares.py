"""Least squares under any sparse system: the counts of one table, or of several levels at once.

    min sum_i d_i (z_i - y_i)^2 + sum_r w_r (W_r z - v_r)^2   with  least <= B z <= most,  low <= z <= high

Cells that rows and bounds force go first. What is left is a quadratic program: rows of W give way, those of B
with equal bounds are kept, and a row with two bounds is B z = u with a count u of its own between them. Where
every count has a weight its dual is solved [holdfast, estimation/topdown/prices.py]; where not, or where that
does not end, an interior point method is used [holdfast, estimation/topdown/interior.py].

Without a weight the optimum need not be unique. Then the one nearest to y is taken, nearly: the target has a
weight so small that it decides nothing else. The certificate is for the program without it. It rests on how
far such a count can be from the optimum: by bounds, by sums that are kept, and by measured sums, as none is
farther off than the square root of the objective.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, hstack, vstack

from holdfast.estimation.topdown.ascent import LOOSE
from holdfast.estimation.topdown.children import Estimate
from holdfast.estimation.topdown.inorder import dot, times, total
from holdfast.estimation.topdown.interior import interior
from holdfast.estimation.topdown.prices import by_prices
from holdfast.estimation.topdown.quadratic import Quadratic
from holdfast.estimation.topdown.reach import reach
from holdfast.estimation.topdown.system import System, real
from holdfast.lattice.arrays import FloatArray

Flags = NDArray[np.bool_]

PULL = 1e-12
"""The weight of a target without one, relative to the least weight that was measured with."""
ROUNDS = 3
"""How often bounds of an optimum are closed by rows."""
SAME = 1e-12
"""Bounds that are no farther apart, relative to their size, are one."""


@dataclass(frozen=True, eq=False)
class Aims:
    """What is to be met nearly: cells with their weights, 0 where a target is a hint only, and rows."""

    targets: FloatArray
    weights: FloatArray
    rows: csr_array
    values: FloatArray
    row_weights: FloatArray

    def objective(self, counts: FloatArray) -> float:
        """Return the weighted sum of squares."""
        cells = dot(self.weights, (counts - self.targets) ** 2)
        return cells + dot(self.row_weights, (times(self.rows, counts) - self.values) ** 2)


def least_squares(aims: Aims, system: System) -> Estimate:
    """Return the best counts, in one line; where there are none, what is returned is off."""
    low, high, least, most = (real(each) for each in (system.low, system.high, system.least, system.most))
    floor, roof = reach(system.rows, least, most, low, high)
    counts, gap = np.clip(aims.targets, low, high), np.inf
    if (floor <= roof + SAME * (1 + np.abs(roof))).all():
        forced = roof - floor <= SAME * (1 + np.abs(floor))
        counts[forced], gap = floor[forced], 0.0
        if not forced.all():
            part = _Part.of(aims, system, counts, forced, (floor, roof))
            counts[~forced], gap = part.solved()
    sums = times(system.rows, counts)
    off = float(np.maximum(least - sums, sums - most).max(initial=0.0))
    return Estimate(counts, aims.objective(counts), gap, off)


@dataclass(frozen=True, eq=False)
class _Part:
    """What is left of a problem without the cells that are forced.

    Attributes:
        program: its program, divided by 2 ``scale``; cells first, then the counts of rows with two bounds.
        cells: how many cells there are.
        scale: the largest weight.
        floor: bounds that follow for all cells.
        roof: the same, from above.

    """

    program: Quadratic
    cells: int
    scale: float
    floor: FloatArray
    roof: FloatArray

    @classmethod
    def of(
        cls,
        aims: Aims,
        system: System,
        counts: FloatArray,
        forced: Flags,
        within: tuple[FloatArray, FloatArray],
    ) -> "_Part":
        """Take the forced cells out, and the rows that have no others."""
        live, held = np.flatnonzero(~forced), np.where(forced, counts, 0.0)
        asked, rows = csr_array(aims.rows[:, live]), csr_array(system.rows[:, live])
        least, most = (real(each) - times(system.rows, held) for each in (system.least, system.most))
        some, used = np.diff(asked.indptr) > 0, np.diff(rows.indptr) > 0
        used &= np.isfinite(least) | np.isfinite(most)
        kept, wide = used & (least == most), used & (least < most)
        extra = int(wide.sum())
        scale = max(aims.weights[live].max(), aims.row_weights[some].max(initial=0.0)) or 1.0
        sums = vstack([asked[some], rows[kept], rows[wide]], format="csr").astype(np.float64)
        own = vstack([csr_array((sums.shape[0] - extra, extra)), -eye_array(extra)], format="csr")
        targets = np.clip(aims.targets[live], system.low[live], real(system.high)[live])
        program = Quadratic(
            targets=np.concatenate(
                [aims.targets[live], np.clip(times(csr_array(rows[wide]), targets), least[wide], most[wide])]
            ),
            weights=np.concatenate([aims.weights[live] / scale, np.zeros(extra)]),
            low=np.concatenate([real(system.low)[live], least[wide]]),
            high=np.concatenate([real(system.high)[live], most[wide]]),
            rows=csr_array(hstack([sums, own], format="csr")),
            values=np.concatenate(
                [(aims.values - times(aims.rows, held))[some], least[kept], np.zeros(extra)]
            ),
            soft=np.concatenate([scale / aims.row_weights[some], np.zeros(int(kept.sum()) + extra)]),
        )
        return cls(program, live.size, float(scale), within[0][live], within[1][live])

    def solved(self) -> tuple[FloatArray, float]:
        """Return the counts of the cells, and how far the objective is above its optimum at most."""
        it = self.program
        point, prices = it.targets, None
        if (it.weights > 0).all():
            found = by_prices(it)
            if found.error <= LOOSE:
                point, prices = found.point, found.prices
        if prices is None:
            known = np.concatenate([it.weights[it.weights > 0], 1 / it.soft[it.soft > 0]])
            pull = PULL * float(known.min(initial=1.0))
            point, prices = interior(replace(it, weights=np.where(it.weights > 0, it.weights, pull)))
            prices = _lowered(it, prices)
        gap = it.gap(point, prices, *self._bounds(point))
        return point[: self.cells], 2 * self.scale * gap

    def _bounds(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return bounds of all counts that an optimum has: it is no worse than a point."""
        it = self.program
        soft, weighted = it.soft > 0, it.weights > 0
        errors = it.values - times(it.rows, point)
        worst = dot(it.weights, (point - it.targets) ** 2) + total(errors[soft] ** 2 / it.soft[soft])
        give = np.sqrt(worst * it.soft)
        low = np.concatenate([self.floor, it.low[self.cells :]])
        high = np.concatenate([self.roof, it.high[self.cells :]])
        near = it.targets[weighted] + np.sqrt(worst / it.weights[weighted])
        high[weighted] = np.minimum(high[weighted], near)
        low, high = reach(it.rows, it.values - give, it.values + give, low, high, rounds=ROUNDS)
        return np.minimum(low, point), np.maximum(high, point)


def _lowered(program: Quadratic, prices: FloatArray) -> FloatArray:
    """Return prices at which no cell without weight or upper bound gains by growing, if a sum is around it.

    What it gains is due to rounding and to its target's little weight, but has no end.
    """
    columns = program.columns
    endless = (program.weights == 0) & np.isinf(program.high)
    gains = np.where(endless, np.maximum(times(columns, prices), 0.0), 0.0)
    cell = np.repeat(np.arange(gains.size), np.diff(columns.indptr))
    signed = np.zeros(prices.size, dtype=np.bool_)
    signed[columns.indices[columns.data < 0]] = True
    useful = ~signed[columns.indices] & (columns.data > 0) & (gains[cell] > 0)
    cell, row, value = cell[useful], columns.indices[useful], columns.data[useful]
    first = np.unique(cell, return_index=True)[1]
    less = np.zeros(prices.size)
    np.maximum.at(less, row[first], gains[cell[first]] / value[first])
    return np.asarray(prices - less)
