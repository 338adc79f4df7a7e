"""Least squares under any sparse system: non-negative counts of one table, or of several levels at once.

    min 1/2 sum_i d_i (z_i - y_i)^2 + 1/2 sum_r w_r (W_r z - v_r)^2
    with  least <= B z <= most,  low <= z <= high

**With every d_i > 0** and equal bounds of B, each row has a price p: those of W give way by s = 1 / w, those
of B have s = 0. With M for all rows and t for their values, z = clip(y + M^T p / d, low, high), and the
prices maximise the concave, piecewise quadratic

    D(p) = 1/2 sum_i d_i (z_i - y_i)^2 + p (t - M z) - 1/2 sum_r s_r p_r^2.

A semismooth Newton step [qi2006] solves (M F M^T + s) step = t - M z - s p, with F = 1 / d for the cells
between their bounds and 0 for others: as many equations as there are rows.

**A row with two bounds** is B z = u with a count u of its own between them, and d = 0.

**Where d_i = 0** the optimum may not be unique. Proximal points [rockafellar1976] lead to one: each takes the
last point for a measurement of little weight c. With z the best for the objective + c/2 ||. - y||^2, no point
has an objective below z's by more than the sum of c |z_i - y_i| times how far the i-th count can be from z_i.
How far that is follows from bounds, from sums that are kept, and from measured sums: none can be farther off
than the square root of the objective.

The certificate is the duality gap, as in [holdfast, estimation/topdown/sums.py].
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import block_array, csc_array, csr_array, diags_array, eye_array, vstack

from holdfast.estimation.topdown.ascent import LOOSE, climbed, length
from holdfast.estimation.topdown.children import Estimate
from holdfast.estimation.topdown.reach import reach
from holdfast.estimation.topdown.system import System, real
from holdfast.lattice.arrays import FloatArray
from holdfast.programs.quadratic import least
from holdfast.programs.solver import Sides, Status

PROXIMAL = 60
PULL = 1e-3
"""The weight of the last point, relative to the least weight that was measured with."""
FASTER, LEAST = 0.3, 1e-7
CLOSE = 1e-10
"""A gap, relative to the objective, that proximal points need not make smaller."""
FAR = 10.0
"""A step may be as long as this many times the numbers it is made of."""
RIDGE, DAMPING = 1e-13, 1e-3
"""What is added to a system that may be singular, relative to its size: at least, and at most."""
DENSE, FILLED = 6_000, 0.05
"""Systems of so many rows are solved as dense ones, where so much of them is filled."""
SAME = 1e-12
"""Bounds that are no farther apart, relative to their size, are one."""
SMALL = 1_500
"""Programs of at most so many counts are given to HiGHS where Newton steps do not end."""


@dataclass(frozen=True, eq=False)
class Aims:
    """What is to be met nearly: cells with their weights, 0 where a target is a start only, and rows."""

    targets: FloatArray
    weights: FloatArray
    rows: csr_array
    values: FloatArray
    row_weights: FloatArray

    def objective(self, counts: FloatArray) -> float:
        """Return the weighted sum of squares."""
        cells = self.weights @ (counts - self.targets) ** 2
        return float(cells + self.row_weights @ (self.rows @ counts - self.values) ** 2)


def least_squares(aims: Aims, system: System) -> Estimate:
    """Return the best counts; where there are none, what is returned is off."""
    low, high = real(system.low), real(system.high)
    floor, roof = reach(system.rows, real(system.least), real(system.most), low, high)
    counts = np.clip(aims.targets, low, high)
    if (floor > roof + SAME * (1 + np.abs(roof))).any():
        return Estimate(counts, aims.objective(counts), np.inf, _off(system, counts))
    forced = roof - floor <= SAME * (1 + np.abs(floor))
    counts[forced] = floor[forced]
    live, gap = np.flatnonzero(~forced), 0.0
    if live.size:
        held = np.where(forced, counts, 0.0)
        part = Aims(
            aims.targets[live],
            aims.weights[live],
            csr_array(aims.rows[:, live]),
            aims.values - aims.rows @ held,
            aims.row_weights,
        )
        sums = system.rows @ held
        counts[live], gap = _solved(
            part,
            csr_array(system.rows[:, live].astype(np.float64)),
            (real(system.least) - sums, real(system.most) - sums),
            (low[live], high[live]),
            (floor[live], roof[live]),
        )
    return Estimate(counts, aims.objective(counts), gap, _off(system, counts))


def _off(system: System, counts: FloatArray) -> float:
    """Return the largest error of a row."""
    sums = system.rows @ counts
    return float(np.maximum(real(system.least) - sums, sums - real(system.most)).max(initial=0.0))


def _solved(
    aims: Aims,
    rows: csr_array,
    sides: tuple[FloatArray, FloatArray],
    bounds: tuple[FloatArray, FloatArray],
    within: tuple[FloatArray, FloatArray],
) -> tuple[FloatArray, float]:
    """Return counts and the gap; ``within`` is what the rows leave of the bounds."""
    used = np.diff(rows.indptr) > 0
    some = np.diff(aims.rows.indptr) > 0
    asked = csr_array(aims.rows[some].astype(np.float64))
    kept, between = used & (sides[0] == sides[1]), used & (sides[0] < sides[1])
    between &= np.isfinite(sides[0]) | np.isfinite(sides[1])
    equal, ranged = csr_array(rows[kept]), csr_array(rows[between])
    cells, extra = aims.targets.size, ranged.shape[0]
    scale = max(float(aims.weights.max(initial=0.0)), float(aims.row_weights[some].max(initial=0.0)))
    scale = scale or 1.0
    weights = np.concatenate([aims.weights / scale, np.zeros(extra)])
    row_weights = aims.row_weights[some] / scale
    start = np.clip(aims.targets, *bounds)
    least_sum, most_sum = sides[0][between], sides[1][between]
    program = _Program(
        targets=np.concatenate([aims.targets, np.clip(ranged @ start, least_sum, most_sum)]),
        weights=weights,
        low=np.concatenate([bounds[0], least_sum]),
        high=np.concatenate([bounds[1], most_sum]),
        rows=csr_array(
            block_array([[vstack([asked, equal, ranged], format="csr"), _slacks(asked, equal, extra)]])
        )
        if extra
        else csr_array(vstack([asked, equal], format="csr")),
        values=np.concatenate([aims.values[some], sides[0][kept], np.zeros(extra)]),
        soft=np.concatenate([1 / row_weights, np.zeros(int(kept.sum()) + extra)]),
    )
    open_ = weights == 0
    if not open_.any():
        found = program.solved(np.zeros(program.values.size))
        return found.point[:cells], 2 * scale * found.gap
    pull = PULL * min(float(weights[~open_].min(initial=1.0)), float(row_weights.min(initial=1.0)))
    prices, best, gap = (
        np.zeros(program.values.size),
        np.clip(program.targets, program.low, program.high),
        np.inf,
    )
    now = replace(program, targets=np.where(open_, best, program.targets), weights=weights + pull * open_)
    floor, roof = within
    for _ in range(PROXIMAL):
        found = now.solved(prices)
        prices, point = found.prices, found.point
        value = aims.objective(point[:cells]) / scale
        with np.errstate(divide="ignore", invalid="ignore"):
            cell = np.where(open_[:cells], np.inf, aims.targets + np.sqrt(value / weights[:cells]))
        farthest = _farthest(asked, aims.values[some], np.sqrt(value / row_weights), np.minimum(roof, cell))
        far = np.maximum(point[:cells] - floor, farthest - point[:cells])
        if extra:
            below, above = -((-ranged).maximum(0) @ farthest), ranged.maximum(0) @ farthest
            far = np.concatenate([far, np.maximum(point[cells:] - below, above - point[cells:])])
        off = np.abs(point - now.targets) * open_
        bound = 2 * scale * (found.gap + pull * float(off[off > 0] @ far[off > 0]))
        best, gap = point, min(gap, bound)  # objectives fall
        if bound <= CLOSE * max(1.0, value * scale) or off.max() <= SAME * (1 + np.abs(point).max()):
            break
        pull = max(pull * FASTER, LEAST)
        now = replace(now, targets=np.where(open_, point, program.targets), weights=weights + pull * open_)
    return best[:cells], gap


def _slacks(asked: csr_array, equal: csr_array, extra: int) -> csr_array:
    """Return the columns of the counts that rows with two bounds have of their own."""
    none = csr_array((asked.shape[0] + equal.shape[0], extra))
    return csr_array(vstack([none, -eye_array(extra)], format="csr"))


def _farthest(rows: csr_array, values: FloatArray, errors: FloatArray, roof: FloatArray) -> FloatArray:
    """Return the largest counts for which measured sums are off by no more than so much."""
    _, high = reach(rows, np.full(values.size, -np.inf), values + errors, np.zeros(roof.size), roof, rounds=1)
    return np.maximum(high, 0.0)


@dataclass(frozen=True, eq=False)
class _State:
    prices: FloatArray
    point: FloatArray
    left: FloatArray
    error: float


@dataclass(frozen=True, eq=False)
class _Found:
    point: FloatArray
    prices: FloatArray
    gap: float


@dataclass(frozen=True, eq=False)
class _Program:
    """Targets with weights above 0, and rows that are kept or give way."""

    targets: FloatArray
    weights: FloatArray
    low: FloatArray
    high: FloatArray
    rows: csr_array
    values: FloatArray
    soft: FloatArray

    def solved(self, prices: FloatArray) -> _Found:
        """Return the best point, from some prices on."""
        columns = csr_array(self.rows.T)
        sizes = abs(self.rows)
        climb = _Climb(self, columns, sizes)
        best = climbed(climb.at(prices), climb.onward)
        if best.error > LOOSE and self.targets.size <= SMALL:
            found = self._by_program(climb)
            if found is not None:
                return found
        return _Found(best.point, best.prices, climb.gap(best))

    def _by_program(self, climb: "_Climb") -> _Found | None:
        """Return what HiGHS finds, to about nine digits."""
        soft = self.soft > 0
        asked, weight = csr_array(self.rows[soft]), 1 / self.soft[soft]
        squares = csr_array(diags_array(self.weights) + asked.T @ diags_array(weight) @ asked)
        cost = -(self.weights * self.targets + asked.T @ (weight * self.values[soft]))
        kept = csr_array(self.rows[~soft])
        sums = self.values[~soft]
        found, row_prices = least(cost, squares, kept, Sides(sums, sums), Sides(self.low, self.high))
        if found.status is not Status.SOLVED or found.values is None:
            return None
        point = np.clip(found.values, self.low, self.high)
        prices = np.empty(self.values.size)
        misses = self.values[soft] - asked @ point
        prices[soft], prices[~soft] = misses * weight, row_prices
        objective = 0.5 * float(self.weights @ (point - self.targets) ** 2 + weight @ misses**2)
        return _Found(point, prices, max(objective - climb.value(climb.at(prices)), 0.0))


@dataclass(frozen=True, eq=False)
class _Climb:
    """D and its Newton steps."""

    program: _Program
    columns: csr_array
    sizes: csr_array

    def at(self, prices: FloatArray) -> _State:
        """Return what goes with some prices."""
        it = self.program
        point = np.clip(it.targets + (self.columns @ prices) / it.weights, it.low, it.high)
        give = it.soft * prices
        left = it.values - it.rows @ point - give
        size = 1 + np.abs(it.values) + np.abs(give) + self.sizes @ np.abs(point)
        return _State(prices, point, left, float((np.abs(left) / size).max(initial=0.0)))

    def value(self, now: _State) -> float:
        """Return D."""
        it = self.program
        return float(
            0.5 * (it.weights @ (now.point - it.targets) ** 2)
            + now.prices @ now.left
            + 0.5 * (it.soft @ now.prices**2)
        )

    def gap(self, now: _State) -> float:
        """Return how far the objective is above D at most."""
        kept = self.program.soft == 0
        soft = now.left[~kept] ** 2 / (2 * self.program.soft[~kept])
        return float(soft.sum() + np.abs(now.prices[kept] * now.left[kept]).sum())

    def onward(self, now: _State) -> _State:
        """Return where a Newton step leads."""
        step = self.step(now)

        def at(part: float) -> tuple[float, float]:
            reached = self.at(now.prices + part * step)
            return float(reached.left @ step), self.value(reached)

        return self.at(now.prices + length(float(now.left @ step), self.value(now), at) * step)

    def step(self, now: _State) -> FloatArray:
        """Return a Newton step; a kept row without a free cell goes where it may get one."""
        it = self.program
        centre = it.targets + (self.columns @ now.prices) / it.weights
        free = ((centre > it.low) & (centre < it.high)) / it.weights
        system = csr_array(it.rows @ diags_array(free) @ self.columns)
        diagonal = system.diagonal() + it.soft
        stuck = diagonal == 0
        loose = RIDGE
        added = it.soft + np.where(stuck, 1 / FAR, loose * diagonal)
        step = _solution(system, added, now.left)
        reach_ = FAR * (1 + np.abs(centre * it.weights).max() + np.abs(now.prices).max(initial=0.0))
        return np.asarray(step * min(1.0, reach_ / max(float(np.abs(step).max(initial=0.0)), 1.0)))


def _solution(system: csr_array, added: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a symmetric positive definite system with an added diagonal, scaled to a diagonal of ones."""
    scale = 1 / np.sqrt(system.diagonal() + added)
    count = right.size
    if count <= DENSE and (count <= 300 or system.nnz > FILLED * count * count):
        full = system.toarray()
        full[np.diag_indices(count)] += added
        full *= scale[:, None]
        full *= scale
        try:
            return np.asarray(scale * cho_solve(cho_factor(full, overwrite_a=True), scale * right))
        except np.linalg.LinAlgError:
            pass
    from scipy.sparse.linalg import splu  # noqa: PLC0415 - loaded late

    scaling = diags_array(scale)
    scaled = csc_array(scaling @ (system + diags_array(added)) @ scaling)
    return np.asarray(
        scale * splu(scaled, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}).solve(scale * right)
    )
