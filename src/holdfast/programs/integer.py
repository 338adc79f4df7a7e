"""Integer programs over tables, solved by HiGHS and checked in integers.

One model serves many related questions: each call changes some bounds and the objective, solves,
and the next call starts afresh. A solution counts only after its rounded values satisfy every row and bound
exactly; a solver that stops early answers UNKNOWN, never INFEASIBLE.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.programs.solver import HighsModel, Sides, Status

NODES = 2_000  # branch-and-bound nodes for each solve: a deterministic limit
INTEGRAL = 1e-6  # a relaxed value this close to an integer is one


@dataclass(frozen=True, eq=False)
class IntegerSolution:
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
        rows, columns = Sides.of(low, high), Sides.of(self._least, most)
        self._model = HighsModel(
            self._matrix, rows, columns, whole=True, mip_rel_gap=0.0, mip_max_nodes=NODES
        )

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
        return self._checked(found.status, point, lower, upper)

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
