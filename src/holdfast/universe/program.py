"""Integer programs over tables, solved by HiGHS and checked in integers.

One model serves many related questions: each call changes some bounds and the objective, solves,
and the next call starts afresh. A solution counts only after its rounded values satisfy every row and bound
exactly; a solver that stops early answers UNKNOWN, never INFEASIBLE.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray

FloatArray = NDArray[np.float64]

UNBOUNDED = np.iinfo(np.int64).max  # an upper bound that is none
NODES = 2_000  # branch-and-bound nodes for each solve: a deterministic limit
INTEGRAL = 1e-6  # a relaxed value this close to an integer is one


class Status(Enum):
    """What a solve has established."""

    SOLVED = "solved"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False)
class Outcome:
    """The status of a solve, and the integer point where there is one.

    A point may come with the status UNKNOWN: it satisfies everything but may not be optimal.
    """

    status: Status
    point: IntArray | None = None


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
    ) -> None:
        self._matrix = csr_array(matrix.astype(np.int64))
        self._low, self._high = low, high
        self._most = most
        self._least = np.zeros_like(most) if least is None else least
        self._highs = _model(self._matrix, low, high, self._least, most)

    def solve(
        self,
        *,
        maximise: IntArray | None = None,
        least: Mapping[int, int] | None = None,
        most: Mapping[int, int] | None = None,
    ) -> Outcome:
        """Maximise an integer objective (or find any point) under tighter bounds for this call."""
        lower, upper = self._least.copy(), self._most.copy()
        for index, bound in (least or {}).items():
            lower[index] = max(lower[index], bound)
        for index, bound in (most or {}).items():
            upper[index] = min(upper[index], bound)
        if (lower > upper).any():
            return Outcome(Status.INFEASIBLE)
        if upper.size == 0:
            return self._checked(Status.SOLVED, lower, lower, upper)
        count = upper.size
        every = np.arange(count, dtype=np.int32)
        cost = np.zeros(count) if maximise is None else -maximise.astype(np.float64)
        self._highs.changeColsBounds(count, every, lower.astype(np.float64), _infinite(upper))
        self._highs.changeColsCost(count, every, cost)
        # an integral vertex of the relaxation answers most questions, many times faster
        relaxed = self._run(lower, upper, relax=True)
        if relaxed.status in (Status.SOLVED, Status.INFEASIBLE):
            return relaxed
        return self._run(lower, upper, relax=False)

    def _run(self, lower: IntArray, upper: IntArray, *, relax: bool) -> Outcome:
        self._highs.setOptionValue("solve_relaxation", relax)
        # a fresh start: the answer must not depend on which question came before
        self._highs.clearSolver()
        self._highs.run()
        status = self._highs.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return Outcome(Status.INFEASIBLE)
        solved = status == highspy.HighsModelStatus.kOptimal
        primal = self._highs.getInfo().primal_solution_status
        if not solved and primal != highspy.SolutionStatus.kSolutionStatusFeasible:
            return Outcome(Status.UNKNOWN)
        values = np.array(self._highs.getSolution().col_value)
        point = np.rint(values).astype(np.int64)
        if relax and np.abs(values - point).max() > INTEGRAL:
            return Outcome(Status.UNKNOWN)  # its rounding may be feasible, but not optimal
        return self._checked(Status.SOLVED if solved else Status.UNKNOWN, point, lower, upper)

    def _checked(self, status: Status, point: IntArray, lower: IntArray, upper: IntArray) -> Outcome:
        """Keep the point only if it satisfies everything in integers."""
        sums = self._matrix @ point
        kept = (
            (sums >= self._low).all()
            and (sums <= self._high).all()
            and (point >= lower).all()
            and (point <= upper).all()
        )
        if upper.size == 0 and not kept:
            return Outcome(Status.INFEASIBLE)
        return Outcome(status, point) if kept else Outcome(Status.UNKNOWN)


def _model(
    matrix: csr_array, low: IntArray, high: IntArray, least: IntArray, most: IntArray
) -> highspy.Highs:
    """Return a silent, single-threaded HiGHS model of the program."""
    rows, columns = matrix.shape
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = columns, rows
    lp.col_cost_ = np.zeros(columns)
    lp.col_lower_, lp.col_upper_ = least.astype(np.float64), _infinite(most)
    lp.row_lower_, lp.row_upper_ = -_infinite(-low), _infinite(high)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = matrix.indptr.astype(np.int32)
    lp.a_matrix_.index_ = matrix.indices.astype(np.int32)
    lp.a_matrix_.value_ = matrix.data.astype(np.float64)
    lp.integrality_ = [highspy.HighsVarType.kInteger] * columns
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    for option, value in (
        ("output_flag", False),
        ("threads", 1),  # no worker threads: forking stays safe
        ("random_seed", 0),
        ("mip_rel_gap", 0.0),
        ("mip_max_nodes", NODES),
    ):
        highs.setOptionValue(option, value)
    highs.passModel(lp)
    return highs


def _infinite(bound: IntArray) -> FloatArray:
    """Return upper bounds as floats, infinite where there is none."""
    return np.where(bound >= UNBOUNDED, highspy.kHighsInf, bound.astype(np.float64))
