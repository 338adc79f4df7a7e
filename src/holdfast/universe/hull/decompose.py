"""Writing a point as a combination of moves with the least weight, by linear programming.

    primal:  min sum |c_u|  with  z = sum c_u u over the moves u
    dual:    max y z        with  |y u| <= 1 for every move

Both have the value ||z||_K [schrijver1986, 7.4]. HiGHS solves them in floats; what it says is a suggestion
that `norm` checks in integers. Points and moves lie in one span, so coordinates that determine its points
are enough. Many moves are taken in as they are needed: those that the dual solution y prices at more than 1.
"""

from dataclasses import dataclass

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.errors import SamplingError
from holdfast.lattice.arrays import IntArray

FloatArray = NDArray[np.float64]

ALL = 3_000  # take in all moves up to this many
MORE = 50  # moves taken in at once, the most violated ones
KEPT = 2_000  # taken in before the program starts afresh
FEASIBLE = 1e-9  # a price this far above 1 counts as 1


@dataclass(frozen=True, eq=False)
class Decomposition:
    """A suggested optimum: moves with their coefficients, and the direction y on the coordinates."""

    moves: IntArray
    coefficients: FloatArray
    direction: FloatArray


@dataclass(frozen=True, eq=False)
class Basis:
    """An optimal basis: moves with their signs, and the coordinates whose equation is redundant in it."""

    moves: IntArray
    signs: IntArray
    slack: IntArray


class Decompose:
    """The program for one set of moves, given on coordinates that determine the points of their span."""

    def __init__(self, moves: csr_array, first: IntArray) -> None:
        """Take the moves on the coordinates; the ones in ``first`` span everything."""
        self._moves = moves
        everything = moves.shape[0] <= ALL
        self._start = np.arange(moves.shape[0]) if everything else first
        self._taken = np.zeros(0, dtype=np.int64)
        self._size = int(moves.shape[1])
        self._every = np.arange(self._size, dtype=np.int32)
        self._highs = self._fresh()

    def solve(self, point: FloatArray) -> Decomposition:
        """Decompose a point, given on the coordinates."""
        highs = self._highs
        if self._taken.size > self._start.size + KEPT:
            highs = self._highs = self._fresh()
        highs.clearSolver()
        highs.changeRowsBounds(self._size, self._every, point, point)  # type: ignore[attr-defined]
        while True:
            highs.run()
            if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                raise SamplingError(
                    "the solver did not find the norm of a point: use lattice-laplace for these invariants."
                )
            solution = highs.getSolution()
            direction = np.array(solution.row_dual)
            if self._taken.size == self._moves.shape[0] or not self._take_violated(direction):
                break
        values = np.array(solution.col_value)
        net = values[0::2] - values[1::2]
        used = np.flatnonzero(net)
        return Decomposition(self._taken[used], net[used], direction)

    def basis(self) -> Basis:
        """Return the basis behind the last solution."""
        basis = self._highs.getBasis()
        basic = highspy.HighsBasisStatus.kBasic
        columns = np.flatnonzero([status == basic for status in basis.col_status])
        slack = np.flatnonzero([status == basic for status in basis.row_status])
        return Basis(self._taken[columns // 2], 1 - 2 * (columns % 2), slack)

    def _take_violated(self, direction: FloatArray) -> bool:
        """Take in the moves that the direction prices highest above 1; say whether there are any."""
        price = np.abs(self._moves @ direction)
        price[self._taken] = 0
        over = np.flatnonzero(price > 1 + FEASIBLE)
        if over.size > MORE:
            over = over[np.argpartition(-price[over], MORE)[:MORE]]
        if over.size:
            self._take(self._highs, over)
        return over.size > 0

    def _fresh(self) -> highspy.Highs:
        """Return a silent, single-threaded model with the first moves."""
        highs = highspy.Highs()  # type: ignore[no-untyped-call]
        for option, value in (
            ("output_flag", False),
            ("threads", 1),
            ("random_seed", 0),
            ("presolve", "off"),
            ("solver", "simplex"),
            ("primal_feasibility_tolerance", FEASIBLE),
            ("dual_feasibility_tolerance", FEASIBLE),
        ):
            highs.setOptionValue(option, value)
        zeros = np.zeros(self._size)
        empty = np.zeros(0, dtype=np.int32)
        highs.addRows(self._size, zeros, zeros, 0, empty, empty, np.zeros(0))
        self._taken = np.zeros(0, dtype=np.int64)
        self._take(highs, self._start)
        return highs

    def _take(self, highs: highspy.Highs, moves: IntArray) -> None:
        """Add a column for each of the moves and one for its negative."""
        rows = self._moves[np.repeat(moves, 2)]
        signs = np.repeat(np.tile([1.0, -1.0], moves.size), np.diff(rows.indptr))
        count = rows.shape[0]
        highs.addCols(
            count,
            np.ones(count),
            np.zeros(count),
            np.full(count, highspy.kHighsInf),
            rows.nnz,
            rows.indptr[:-1].astype(np.int32),
            rows.indices.astype(np.int32),
            rows.data * signs,
        )
        self._taken = np.concatenate([self._taken, moves])
