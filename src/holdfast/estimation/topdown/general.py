"""Children from any queries: non-negative least squares under the parent's counts and equalities.

    min sum_b sum_q w_q ||W_q x_b - v_qb||^2  with  sum_b x_b = p,  A x_b = a_b,  low <= x <= high

**With a detailed query**, of weight w, all is divided by 2 w. The rows of other queries are sums that give
way by s = w / w_q, those of A have s = 0. With a price for each, x_b = clip(y_b + l + R^T m_b, low, high), R
being all rows, and the prices maximise a concave, piecewise quadratic function. A semismooth Newton step
[qi2006] solves

    (sum_b F_b) l + sum_b F_b R^T m_b = the error of the parent's counts
    R F_b l + (R F_b R^T + s) m_b     = the error of a child's rows, for each child

with F_b = 1 for the cells between their bounds: the children's prices are eliminated, all children at once.

**Without one** the optimum may not be unique. Proximal points [rockafellar1976] lead to one: each takes the
last point for a detailed measurement of little weight.

The certificate is the duality gap, as in [holdfast, estimation/topdown/sums.py]. Where Newton steps do not
end, an interior point method does [holdfast, estimation/topdown/interior.py].
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array, kron, vstack

from holdfast.compiled import compiled
from holdfast.estimation.topdown.ascent import LOOSE, climbed, length
from holdfast.estimation.topdown.children import Estimate
from holdfast.estimation.topdown.forced import close
from holdfast.estimation.topdown.inorder import dot, down, eliminate, product, solved, times, total
from holdfast.estimation.topdown.interior import interior
from holdfast.estimation.topdown.levels import levels, turned
from holdfast.estimation.topdown.quadratic import Quadratic
from holdfast.lattice.arrays import FloatArray, IntArray

PROXIMAL = 200
PULL = 1e-2
"""The weight of the last point, relative to the least weight of a query."""
CLOSE = 1e-8
"""A gap that proximal points need not make smaller."""
FAR = 10.0
"""A step may be as long as this many times the numbers it is made of."""
OFF = 1e-7
"""Sums that are farther off, relative to their size, are not kept."""
RIDGE = 1e-13
"""What is added to a system that may be singular, relative to its size."""


@dataclass(frozen=True, eq=False)
class Query:
    """Rows over the cells of a child, and the weight of what was measured of each: 1 / variance."""

    matrix: csr_array
    weight: float

    @cached_property
    def detailed(self) -> bool:
        """Whether it asks for every cell."""
        rows, cells = self.matrix.shape
        return rows == cells and abs(self.matrix - eye_array(cells)).max() == 0

    @cached_property
    def total(self) -> bool:
        """Whether it asks for the sum of all cells."""
        return self.matrix.shape[0] == 1 and bool((self.matrix.toarray() == 1).all())


def general(
    queries: Sequence[tuple[Query, FloatArray]],
    parent: IntArray,
    *,
    invariants: csr_array | None = None,
    values: IntArray | None = None,
    low: IntArray | None = None,
    high: FloatArray | None = None,
) -> Estimate:
    """Return the best counts of n children; where there are none (see ``conflict``) what is returned is off.

    Args:
        queries: each with what was measured, one line a child.
        parent: the counts that the children add up to.
        invariants: rows over the cells of a child that are kept.
        values: what they are, one line a child.
        low: least counts, 0 where not given.
        high: largest counts, infinite where there is none.

    """
    shape = (queries[0][1].shape[0], parent.size)
    floor = np.zeros(shape) if low is None else np.array(low, dtype=np.float64)
    roof = np.full(shape, np.inf) if high is None else np.array(high, dtype=np.float64)
    sums = parent.astype(np.float64)
    close(floor, roof, sums, None)
    kept = np.zeros((0, parent.size)) if invariants is None else invariants.toarray().astype(np.float64)
    known = np.zeros((shape[0], 0)) if values is None else values.astype(np.float64)
    first = next((place for place, (query, _) in enumerate(queries) if query.detailed), None)
    others = [each for place, each in enumerate(queries) if place != first and each[0].weight > 0]
    weights = np.array([query.weight for query, _ in others for _ in range(query.matrix.shape[0])])
    matrix = np.vstack([*(query.matrix.toarray() for query, _ in others), kept])
    aims = np.hstack([*(answers for _, answers in others), known])

    def solve(target: FloatArray, weight: float) -> tuple[FloatArray, float]:
        soft = np.concatenate([weight / weights, np.zeros(kept.shape[0])])
        dual = Dual(target, floor, roof, sums, Rows(matrix, soft), aims)
        point, gap, error = ascend(dual)
        if error > LOOSE:
            point, gap = by_program(dual) or (point, np.inf)
        return point, 2 * weight * gap

    if first is not None and queries[first][0].weight > 0:
        counts, gap = solve(queries[first][1].astype(np.float64), queries[first][0].weight)
    else:
        counts, gap = _proximal(solve, np.broadcast_to(sums / shape[0], shape), weights, sums)
    objective = sum(
        query.weight * total((product(counts, query.matrix.toarray().T) - answers) ** 2)
        for query, answers in queries
    )
    off = float(np.abs(down(counts) - sums).max(initial=0.0))
    off = max(off, float(np.abs(product(counts, kept.T) - known).max(initial=0.0)))
    return Estimate(counts, objective, gap, off)


def _proximal(
    solve: Callable[[FloatArray, float], tuple[FloatArray, float]],
    point: FloatArray,
    weights: FloatArray,
    parent: FloatArray,
) -> tuple[FloatArray, float]:
    """Return the limit of proximal points, and how far its objective is above the optimum at most.

    With x the best for the objective + w ||. - y||^2, no z has an objective below x's by more than
    2 w (x - y)(z - x), and all z are within the length of the parent's counts, twice.
    """
    weight = PULL * float(weights.min())
    width = sqrt(2 * dot(parent, parent))
    gap = np.inf
    for _ in range(PROXIMAL):
        following, inner = solve(point, weight)
        moved = following - point
        bound = inner + 2 * weight * sqrt(dot(moved, moved)) * width
        point, gap = following, min(gap, bound)
        if bound <= CLOSE or np.isinf(inner):  # the second where nothing keeps the sums
            break
    return point, gap


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows over a child's cells, the same for every child: dense, with how much each may give way."""

    matrix: FloatArray
    soft: FloatArray


@dataclass(frozen=True, eq=False)
class _State:
    """Prices of the parent's cells and of each child's rows, the counts at these, and the errors of sums."""

    cells: FloatArray
    own: FloatArray
    point: FloatArray
    left: FloatArray
    left_own: FloatArray
    error: float


@dataclass(frozen=True, eq=False)
class Dual:
    """The concave function of all prices."""

    target: FloatArray
    low: FloatArray
    high: FloatArray
    parent: FloatArray
    rows: Rows
    values: FloatArray
    """What each child's rows are to be, one line a child."""

    def at(self, cells: FloatArray, own: FloatArray) -> _State:
        """Return what goes with some prices."""
        point = np.clip(self.target + cells + product(own, self.rows.matrix), self.low, self.high)
        left = self.parent - down(point)
        give = self.rows.soft * own
        left_own = self.values - product(point, self.rows.matrix.T) - give
        error = float((np.abs(left) / (1 + np.abs(self.parent))).max(initial=0.0))
        sizes = 1 + np.abs(self.values) + np.abs(give)
        return _State(
            cells, own, point, left, left_own, max(error, float((np.abs(left_own) / sizes).max(initial=0.0)))
        )

    def value(self, now: _State) -> float:
        """Return the function, which is below the optimum."""
        give = self.rows.soft * now.own
        near = 0.5 * total((now.point - self.target) ** 2)
        return near + dot(now.cells, now.left) + dot(now.own, now.left_own + 0.5 * give)

    def gap(self, now: _State) -> float:
        """Return how far the objective is above the function at most."""
        kept = self.rows.soft == 0
        soft = now.left_own[:, ~kept] ** 2 / (2 * self.rows.soft[~kept])
        own = np.abs(now.own[:, kept] * now.left_own[:, kept])
        return total(soft) + total(np.abs(now.cells * now.left)) + total(own)

    def first(self) -> _State:
        """Return the best prices of the parent's cells where rows have none."""
        tables = turned(self.target), turned(self.low), turned(self.high)
        cells, _ = levels(*tables, sums=self.parent, soft=np.zeros(self.parent.size))
        return self.at(cells, np.zeros(self.values.shape))

    def along(self, now: _State, step: tuple[FloatArray, FloatArray]) -> _State:
        """Return where a step leads."""
        cells, own = step

        def slope(state: _State) -> float:
            return dot(state.left, cells) + dot(state.left_own, own)

        def at(part: float) -> tuple[float, float]:
            reached = self.at(now.cells + part * cells, now.own + part * own)
            return slope(reached), self.value(reached)

        part = length(slope(now), self.value(now), at)
        return self.at(now.cells + part * cells, now.own + part * own)

    def step(self, now: _State) -> tuple[FloatArray, FloatArray]:
        """Return a Newton step."""
        R = self.rows.matrix
        centre = self.target + now.cells + product(now.own, R)
        free = (centre > self.low) & (centre < self.high)
        diagonal = product(free, R.T**2)
        stuck_own = diagonal + self.rows.soft == 0
        added = self.rows.soft + stuck_own + RIDGE * max(float(diagonal.max(initial=0.0)), 1.0)
        shape = (*now.own.shape, free.shape[1] + 1)
        curve, right, inner = np.zeros(2 * (free.shape[1],)), now.left.copy(), np.zeros(shape)
        _eliminated(R, free, added, now.left_own, curve, right, inner)
        number, stuck = np.count_nonzero(free, axis=0), ~free.any(axis=0)
        curve[np.diag_indices(stuck.size)] += number * (1 + RIDGE) + RIDGE + stuck
        cells = solved(curve, right)
        # what has no free cell goes to where it gets one
        cells = np.where(
            stuck, now.left + _nearest_end(self.low - centre, self.high - centre, now.left), cells
        )
        along = product(inner[:, :, :-1].reshape(-1, cells.size), cells[:, None])
        own = inner[:, :, -1] - along.reshape(now.own.shape)
        own = np.where(stuck_own, FAR * now.left_own, own)
        size = 1 + np.abs(centre).max() + np.abs(now.cells).max() + np.abs(now.own).max(initial=0.0)
        longest = max(float(np.abs(cells).max()), float(np.abs(own).max(initial=0.0)), 1.0)
        scale = min(1.0, FAR * size / longest)
        return cells * scale, own * scale


def _nearest_end(below: FloatArray, above: FloatArray, left: FloatArray) -> FloatArray:
    """Return how far each column is from setting a cell free in the direction of ``left``."""
    up = np.where(below >= 0, below, np.inf).min(axis=0)
    down = np.where(above <= 0, above, -np.inf).max(axis=0)
    found = np.where(left > 0, up, down)
    return np.where(np.isfinite(found) & (left != 0), found, 0.0)


def ascend(dual: Dual) -> tuple[FloatArray, float, float]:
    """Return the counts at the best prices found, the gap of the objective there, and the error of sums."""
    best = climbed(dual.first(), lambda now: dual.along(now, dual.step(now)))
    return best.point, dual.gap(best), best.error


def by_program(dual: Dual) -> tuple[FloatArray, float] | None:
    """Return the counts that an interior point method finds, and their gap; None where they are off."""
    count, cells = dual.target.shape
    own = kron(eye_array(count), dual.rows.matrix)
    program = Quadratic(
        dual.target.ravel(),
        np.ones(dual.target.size),
        dual.low.ravel(),
        dual.high.ravel(),
        csr_array(vstack([kron(np.ones((1, count)), eye_array(cells)), own], format="csr")),
        np.concatenate([dual.parent, dual.values.ravel()]),
        np.concatenate([np.zeros(cells), np.tile(dual.rows.soft, count)]),
    )
    point, prices = interior(program)
    kept = program.soft == 0
    off = np.abs(program.values - times(program.rows, point))[kept] / (1 + np.abs(program.values[kept]))
    if off.max() > OFF:
        return None
    return point.reshape(count, cells), program.gap(point, prices, program.low, program.high)


@compiled
def _eliminated(R: Any, free: Any, added: Any, left_own: Any, curve: Any, right: Any, inner: Any) -> None:
    """Eliminate the prices of each child's rows.

    With G_b = R F_b R^T + added, ``inner`` becomes G_b^-1 (R F_b, the error of the child's rows), and what
    follows from it, R F_b times these, is taken from ``curve`` and ``right``.
    """
    children, cells = free.shape
    rows = R.shape[0]
    places = np.empty(cells, dtype=np.int64)
    for b in range(children):
        some = 0
        for j in range(cells):
            if free[b, j]:
                places[some] = j
                some += 1
        matrix, sides = np.zeros((rows, rows)), np.zeros((rows, some + 1))
        for r in range(rows):
            for at in range(some):
                value = R[r, places[at]]
                sides[r, at] = value
                if value != 0:
                    for other in range(rows):
                        matrix[r, other] += value * R[other, places[at]]
            matrix[r, r] += added[b, r]
            sides[r, some] = left_own[b, r]
        eliminate(matrix, sides)
        for r in range(rows):
            for at in range(some):
                inner[b, r, places[at]] = sides[r, at]
            inner[b, r, cells] = sides[r, some]
            for at in range(some):
                value = R[r, places[at]]
                if value != 0:
                    for other in range(some):
                        curve[places[at], places[other]] -= value * sides[r, other]
                    right[places[at]] -= value * sides[r, some]
