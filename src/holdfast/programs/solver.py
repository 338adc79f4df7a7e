"""HiGHS, called in one way: silent, in one thread, with one seed.

It works in floats with a tolerance of 1e-7, and sums of numbers beyond about 2^30 are coarser than that. Then
it calls programs infeasible that are not, or branches without end. Hence, with FAR = 2^28:

* of two bounds farther apart than FAR, one that is beyond FAR is taken for none. What is solved is then a
  relaxation: where it has no point the program has none, and an optimum of it that keeps the bound is one;
* where other numbers are beyond FAR, the answer INFEASIBLE is not believed.

**Integer programs** are solved so and checked in integers. One model serves many related questions: each
call changes some bounds and the objective, solves, and the next call starts afresh. A solution counts only
after its rounded values satisfy every row and bound exactly; a solver that stops early answers UNKNOWN,
never INFEASIBLE.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from math import floor

import highspy
import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.system.progress import look

Option = bool | int | float | str

UNBOUNDED = np.iinfo(np.int64).max  # an upper bound that is none
FAR = 1 << 28
ALWAYS: dict[str, Option] = {
    "output_flag": False,
    "threads": 1,  # no worker threads: forking stays safe
    "random_seed": 0,
}


class Status(Enum):
    """What a solve has established."""

    SOLVED = "solved"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False)
class Solution:
    """The status of a solve, and a feasible point where there is one; it is optimal if SOLVED.

    Attributes:
        bound: what no feasible point goes below, where integers were searched.

    """

    status: Status
    values: FloatArray | None = None
    bound: float = -np.inf


@dataclass(frozen=True, eq=False)
class Sides:
    """Lower and upper bounds as the solver gets them, infinite where there is none."""

    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, low: IntArray | FloatArray, high: IntArray | FloatArray) -> "Sides":
        """Take far bounds for none, and UNBOUNDED in either direction."""
        below, above = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
        wide = above - below > FAR
        return cls(
            np.where(wide & (below < -FAR), -np.inf, below), np.where(wide & (above > FAR), np.inf, above)
        )

    @property
    def near(self) -> bool:
        """Whether every finite bound is within FAR."""
        sides = np.abs(np.concatenate([self.low, self.high]))
        return bool((sides[np.isfinite(sides)] <= FAR).all())


class HighsModel:
    """A program that HiGHS holds: minimise cost v with rows.low <= M v <= rows.high and bounds on v."""

    def __init__(
        self,
        matrix: csr_array,
        rows: Sides,
        columns: Sides,
        *,
        cost: FloatArray | None = None,
        whole: bool = False,
        **options: Option,
    ) -> None:
        """Pass the program: ``whole`` asks for integers."""
        self._near = rows.near, columns.near
        count = matrix.shape[1]
        model = highspy.HighsModel()
        lp = model.lp_
        lp.num_col_, lp.num_row_ = count, matrix.shape[0]
        lp.col_cost_ = np.zeros(count) if cost is None else cost
        lp.col_lower_, lp.col_upper_ = columns.low, columns.high
        lp.row_lower_, lp.row_upper_ = rows.low, rows.high
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = matrix.indptr.astype(np.int32)
        lp.a_matrix_.index_ = matrix.indices.astype(np.int32)
        lp.a_matrix_.value_ = matrix.data.astype(np.float64)
        if whole:
            lp.integrality_ = [highspy.HighsVarType.kInteger] * count
        self._highs = highspy.Highs()  # type: ignore[no-untyped-call]
        self.set(**ALWAYS, **options)
        self._highs.passModel(model)

    def set(self, **options: Option) -> None:
        """Set options of the solver."""
        for option, value in options.items():
            if self._highs.setOptionValue(option, value) != highspy.HighsStatus.kOk:
                raise ValueError(f"the solver has no option {option} = {value}")

    def change_columns(self, columns: Sides, cost: FloatArray) -> None:
        """Put other bounds on v and another cost."""
        self._near = self._near[0], columns.near
        every = np.arange(cost.size, dtype=np.int32)
        self._highs.changeColsBounds(cost.size, every, columns.low, columns.high)
        self._highs.changeColsCost(cost.size, every, cost)

    def aim(self, cost: FloatArray) -> None:
        """Put another cost."""
        self._highs.changeColsCost(cost.size, np.arange(cost.size, dtype=np.int32), cost)

    def change_rows(self, rows: Sides) -> None:
        """Put other bounds on M v."""
        self._near = rows.near, self._near[1]
        count = rows.low.size
        every = np.arange(count, dtype=np.int32)
        self._highs.changeRowsBounds(count, every, rows.low, rows.high)  # type: ignore[attr-defined]

    def add_columns(self, entries: csr_array, cost: FloatArray) -> None:
        """Add variables v >= 0; each row of ``entries`` is a new column of M."""
        count = cost.size
        self._highs.addCols(
            count,
            cost,
            np.zeros(count),
            np.full(count, np.inf),
            entries.nnz,
            entries.indptr[:-1].astype(np.int32),
            entries.indices.astype(np.int32),
            entries.data.astype(np.float64),
        )

    def run(self, *, fresh: bool = True) -> Solution:
        """Solve, from a fresh start unless the last basis is to be used on."""
        look()
        if fresh:  # the answer must not depend on which question came before
            self._highs.clearSolver()
        self._highs.run()
        status = self._highs.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return Solution(Status.INFEASIBLE if all(self._near) else Status.UNKNOWN)
        solved = status == highspy.HighsModelStatus.kOptimal
        feasible = highspy.SolutionStatus.kSolutionStatusFeasible
        if not solved and self._highs.getInfo().primal_solution_status != feasible:
            return Solution(Status.UNKNOWN)
        values = np.array(self._highs.getSolution().col_value, dtype=np.float64)
        bound = self._highs.getInfo().mip_dual_bound
        return Solution(Status.SOLVED if solved else Status.UNKNOWN, values, bound)

    def prices(self) -> FloatArray:
        """Return the dual value of each row in the last solution."""
        return np.array(self._highs.getSolution().row_dual, dtype=np.float64)

    def basis(self) -> tuple[IntArray, IntArray]:
        """Return the basic columns and the basic rows of the last solution."""
        basis, basic = self._highs.getBasis(), highspy.HighsBasisStatus.kBasic
        columns = np.flatnonzero([status == basic for status in basis.col_status])
        rows = np.flatnonzero([status == basic for status in basis.row_status])
        return columns, rows


def suggest(cost: FloatArray, matrix: csr_array, rows: Sides, columns: Sides) -> FloatArray | None:
    """Return a vertex v with the least cost v that keeps the bounds on M v and on v, None without one."""
    found = HighsModel(matrix, rows, columns, cost=cost, solver="simplex").run()
    return found.values if found.status is Status.SOLVED else None


NODES = 2_000  # branch-and-bound nodes for each solve: a deterministic limit
INTEGRAL = 1e-6  # a relaxed value this close to an integer is one


def _at_most(value: float) -> int | None:
    """Return the largest integer that a solver's bound leaves, None where there is no bound."""
    return floor(value + INTEGRAL * max(1.0, abs(value))) if abs(value) < FAR else None


@dataclass(frozen=True, eq=False)
class IntegerSolution:
    """The status of a solve, and the integer point where there is one.

    A point may come with the status UNKNOWN: it satisfies everything but may not be optimal. The solver's
    ``bound`` then says what no point exceeds, None where that is not known.
    """

    status: Status
    point: IntArray | None = None
    bound: int | None = None


class Program:
    """Integers v with low <= M v <= high and least <= v <= most."""

    def __init__(
        self,
        matrix: csr_array,
        low: IntArray,
        high: IntArray,
        *,
        most: IntArray,
        least: IntArray | None = None,
        nodes: int = NODES,
    ) -> None:
        self._matrix = csr_array(matrix.astype(np.int64))
        self._low, self._high = low, high
        self._most = most
        self._least = np.zeros_like(most) if least is None else least
        rows, columns = Sides.of(low, high), Sides.of(self._least, most)
        self._model = HighsModel(
            self._matrix, rows, columns, whole=True, mip_rel_gap=0.0, mip_max_nodes=nodes
        )

    @property
    def rows(self) -> int:
        """How many rows M has."""
        return int(self._low.size)

    def solve(
        self,
        *,
        maximise: IntArray | FloatArray | None = None,
        least: Mapping[int, int] | None = None,
        most: Mapping[int, int] | None = None,
    ) -> IntegerSolution:
        """Maximise an objective (or find any point) under tighter bounds for this call."""
        lower, upper = self._least.copy(), self._most.copy()
        for index, bound in (least or {}).items():
            lower[index] = max(lower[index], bound)
        for index, bound in (most or {}).items():
            upper[index] = min(upper[index], bound)
        if (lower > upper).any():
            return IntegerSolution(Status.INFEASIBLE)
        if upper.size == 0:
            return self._checked(Status.SOLVED, lower, lower, upper)
        cost = np.zeros(upper.size) if maximise is None else -maximise.astype(np.float64)
        self._model.change_columns(Sides.of(lower, upper), cost)
        # an integral vertex of the relaxation answers most questions, many times faster
        relaxed = self._run(lower, upper, relax=True)
        if relaxed.status in (Status.SOLVED, Status.INFEASIBLE):
            return relaxed
        return self._run(lower, upper, relax=False)

    def _run(self, lower: IntArray, upper: IntArray, *, relax: bool) -> IntegerSolution:
        self._model.set(solve_relaxation=relax)
        found = self._model.run()
        if found.values is None:
            return IntegerSolution(found.status)
        point = np.rint(found.values).astype(np.int64)
        if relax and np.abs(found.values - point).max() > INTEGRAL:
            return IntegerSolution(Status.UNKNOWN)  # its rounding may be feasible, but not optimal
        return replace(self._checked(found.status, point, lower, upper), bound=_at_most(-found.bound))

    def _checked(self, status: Status, point: IntArray, lower: IntArray, upper: IntArray) -> IntegerSolution:
        """Keep the point only if it satisfies everything in integers."""
        sums = self._matrix @ point
        kept = (
            (sums >= self._low).all()
            and (sums <= self._high).all()
            and (point >= lower).all()
            and (point <= upper).all()
        )
        if upper.size == 0 and not kept:
            return IntegerSolution(Status.INFEASIBLE)
        return IntegerSolution(status, point) if kept else IntegerSolution(Status.UNKNOWN)
