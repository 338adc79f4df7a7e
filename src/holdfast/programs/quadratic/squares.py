"""Least squares under any sparse system: the counts of one table, or of several levels at once.

    min sum_i d_i (z_i - y_i)^2 + sum_r w_r (W_r z - v_r)^2   with  least <= B z <= most,  low <= z <= high

Cells that rows and bounds force go first. What is left is a quadratic program: rows of W give way, those of B
with equal bounds are kept, and a row with two bounds is B z = u with a count u of its own between them. Where
every count has a weight its dual is solved [holdfast, programs/quadratic/newton.py]; where not, or where that
does not end, an interior point method is used [holdfast, programs/quadratic/interior.py].

Without a weight the optimum need not be unique. Then the one nearest to y is taken, nearly: the target has a
weight so small that it decides nothing else. The certificate is for the program without it. It rests on how
far such a count can be from the optimum: by bounds, by sums that are kept, and by measured sums, as none is
farther off than the square root of the objective.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, eye_array, hstack, vstack

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.programs.quadratic.bounds import reach
from holdfast.programs.quadratic.inorder import dot, times, total
from holdfast.programs.quadratic.interior import interior
from holdfast.programs.quadratic.newton import LOOSE, by_prices
from holdfast.programs.quadratic.program import Quadratic
from holdfast.programs.solver import UNBOUNDED

PULL = 1e-12
"""The weight of a target without one, relative to the least weight that was measured with."""
ROUNDS = 3
"""How often bounds of an optimum are closed by rows."""
SAME = 1e-12
"""Bounds that are no farther apart, relative to their size, are one."""


@dataclass(frozen=True, eq=False)
class BoundedEstimate:
    """Real counts with how good they are.

    Attributes:
        counts: of all cells, within the bounds.
        objective: the weighted sum of squares there.
        gap: a bound of how far the objective is from its optimum, by duality.
        off: the largest error of a sum that is to be kept.

    """

    counts: FloatArray
    objective: float
    gap: float
    off: float


@dataclass(frozen=True, eq=False)
class IntegerSystem:
    """Whole z with least <= rows z <= most and low <= z <= high.

    A bound of UNBOUNDED, below 0 for a least one, is none. Rows with equal bounds are equalities.
    """

    rows: csr_array
    least: IntArray
    most: IntArray
    low: IntArray
    high: IntArray

    def holds(self, counts: IntArray) -> bool:
        """Whether counts keep everything."""
        sums = self.rows @ counts
        return bool(
            (sums >= self.least).all()
            and (sums <= self.most).all()
            and (counts >= self.low).all()
            and (counts <= self.high).all()
        )


def shifted_bounds(bounds: IntArray, by: IntArray) -> IntArray:
    """Return bounds less what is there already; one that is none stays none."""
    none = np.abs(bounds) == UNBOUNDED
    return np.where(none, bounds, np.where(none, 0, bounds) - by)


def float_bounds(bounds: IntArray) -> FloatArray:
    """Return bounds as floats, infinite where there is none."""
    floats = bounds.astype(np.float64)
    return np.where(np.abs(bounds) == UNBOUNDED, np.copysign(np.inf, floats), floats)


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


def least_squares(aims: Aims, system: IntegerSystem) -> BoundedEstimate:
    """Return the best counts, in one line; where there are none, what is returned is off."""
    low, high, least, most = (
        float_bounds(each) for each in (system.low, system.high, system.least, system.most)
    )
    floor, roof = reach(system.rows, least, most, low, high)
    counts, gap = np.clip(aims.targets, low, high), np.inf
    if (floor <= roof + SAME * (1 + np.abs(roof))).all():
        forced = roof - floor <= SAME * (1 + np.abs(floor))
        counts[forced], gap = floor[forced], 0.0
        if not forced.all():
            part = _ReducedProgram.of(aims, system, counts, forced, (floor, roof))
            point, above = minimum(part.program, part.floor, part.roof)
            counts[~forced], gap = point[: counts.size - int(forced.sum())], 2 * part.scale * above
    sums = times(system.rows, counts)
    off = float(np.maximum(least - sums, sums - most).max(initial=0.0))
    return BoundedEstimate(counts, aims.objective(counts), gap, off)


@dataclass(frozen=True, eq=False)
class _ReducedProgram:
    """What is left of a problem without the cells that are forced.

    Attributes:
        program: its program, divided by 2 ``scale``; cells first, then the counts of rows with two bounds.
        scale: the largest weight.
        floor: bounds that follow for all of its cells.
        roof: the same, from above.

    """

    program: Quadratic
    scale: float
    floor: FloatArray
    roof: FloatArray

    @classmethod
    def of(
        cls,
        aims: Aims,
        system: IntegerSystem,
        counts: FloatArray,
        forced: BoolArray,
        within: tuple[FloatArray, FloatArray],
    ) -> "_ReducedProgram":
        """Take the forced cells out, and the rows that have no others."""
        live, held = np.flatnonzero(~forced), np.where(forced, counts, 0.0)
        asked, rows = csr_array(aims.rows[:, live]), csr_array(system.rows[:, live])
        least, most = (float_bounds(each) - times(system.rows, held) for each in (system.least, system.most))
        some, used = np.diff(asked.indptr) > 0, np.diff(rows.indptr) > 0
        used &= np.isfinite(least) | np.isfinite(most)
        kept, wide = used & (least == most), used & (least < most)
        extra, bounds = int(wide.sum()), (least[wide], most[wide])
        scale = max(aims.weights[live].max(), aims.row_weights[some].max(initial=0.0)) or 1.0
        sums = vstack([asked[some], rows[kept], rows[wide]], format="csr").astype(np.float64)
        own = vstack([csr_array((sums.shape[0] - extra, extra)), -eye_array(extra)], format="csr")
        targets = np.clip(aims.targets[live], system.low[live], float_bounds(system.high)[live])
        program = Quadratic(
            targets=np.concatenate(
                [aims.targets[live], np.clip(times(csr_array(rows[wide]), targets), least[wide], most[wide])]
            ),
            weights=np.concatenate([aims.weights[live] / scale, np.zeros(extra)]),
            low=np.concatenate([float_bounds(system.low)[live], least[wide]]),
            high=np.concatenate([float_bounds(system.high)[live], most[wide]]),
            rows=csr_array(hstack([sums, own], format="csr")),
            values=np.concatenate(
                [(aims.values - times(aims.rows, held))[some], least[kept], np.zeros(extra)]
            ),
            soft=np.concatenate([scale / aims.row_weights[some], np.zeros(int(kept.sum()) + extra)]),
        )
        low, high = (np.concatenate([side[live], own]) for side, own in zip(within, bounds, strict=True))
        return cls(program, float(scale), low, high)


def minimum(program: Quadratic, floor: FloatArray, roof: FloatArray) -> tuple[FloatArray, float]:
    """Return a point of a program, and how far its objective is above the optimum at most.

    ``floor`` and ``roof`` are bounds that follow for all cells. Where no point keeps the rows it is off.
    """
    weighted = bool((program.weights > 0).all())
    if weighted:
        found = by_prices(program)
        if found.error <= LOOSE:
            return found.point, program.gap(found.point, found.prices, floor, roof)
    known = np.concatenate([program.weights[program.weights > 0], 1 / program.soft[program.soft > 0]])
    pull = PULL * float(known.min(initial=1.0))
    point, prices = interior(replace(program, weights=np.where(program.weights > 0, program.weights, pull)))
    if not weighted:
        prices = _lowered(program, prices)
        floor, roof = _bounds(program, point, floor, roof)
    return point, program.gap(point, prices, floor, roof)


def _bounds(
    program: Quadratic, point: FloatArray, floor: FloatArray, roof: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return bounds of all counts that an optimum has: it is no worse than a point."""
    it = program
    soft, weighted = it.soft > 0, it.weights > 0
    errors = it.values - times(it.rows, point)
    worst = dot(it.weights, (point - it.targets) ** 2) + total(errors[soft] ** 2 / it.soft[soft])
    give, high = np.sqrt(worst * it.soft), roof.copy()
    near = it.targets[weighted] + np.sqrt(worst / it.weights[weighted])
    high[weighted] = np.minimum(high[weighted], near)
    low, high = reach(it.rows, it.values - give, it.values + give, floor, high, rounds=ROUNDS)
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
