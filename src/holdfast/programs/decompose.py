"""Writing a point as a combination of moves with the least weight, by linear programming.

    primal:  min sum |c_u|  with  z = sum c_u u over the moves u
    dual:    max y z        with  |y u| <= 1 for every move

Both have the value ||z||_K [schrijver1986, 7.4]. They are solved in floats; what comes back is a suggestion
that [holdfast, universe/hull/norm.py] checks in integers. Points and moves lie in one span, so coordinates
that determine its points are enough. Many moves are taken in as they are needed: those that the dual solution
y prices at more than 1.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.programs.solver import HighsModel, Sides, Status
from holdfast.system.errors import SamplingError

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
class OptimalBasis:
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
        self._taken = self._start
        self._model = self._first()

    def solve(self, point: FloatArray) -> Decomposition:
        """Decompose a point, given on the coordinates."""
        if self._taken.size > self._start.size + KEPT:
            self._taken, self._model = self._start, self._first()
        self._model.change_rows(Sides.of(point, point))
        fresh = True
        while True:
            found = self._model.run(fresh=fresh)
            if found.values is None or found.status is not Status.SOLVED:
                raise SamplingError(
                    "the solver did not find the norm of a point: use lattice-laplace for these invariants."
                )
            direction = self._model.prices()
            if self._taken.size == self._moves.shape[0] or not self._take_violated(direction):
                break
            fresh = False
        net = found.values[0::2] - found.values[1::2]
        used = np.flatnonzero(net)
        return Decomposition(self._taken[used], net[used], direction)

    def basis(self) -> OptimalBasis:
        """Return the basis behind the last solution."""
        columns, slack = self._model.basis()
        return OptimalBasis(self._taken[columns // 2], 1 - 2 * (columns % 2), slack)

    def _take_violated(self, direction: FloatArray) -> bool:
        """Take in the moves that the direction prices highest above 1; say whether there are any."""
        price = np.abs(self._moves @ direction)
        price[self._taken] = 0
        over = np.flatnonzero(price > 1 + FEASIBLE)
        if over.size > MORE:
            over = over[np.argpartition(-price[over], MORE)[:MORE]]
        if over.size:
            self._model.add_columns(self._signed(over), np.ones(2 * over.size))
            self._taken = np.concatenate([self._taken, over])
        return over.size > 0

    def _first(self) -> HighsModel:
        """Return a model with the first moves."""
        zero, count = np.zeros(self._moves.shape[1]), 2 * self._start.size
        return HighsModel(
            csr_array(self._signed(self._start).T),
            Sides.of(zero, zero),
            Sides.of(np.zeros(count), np.full(count, np.inf)),
            cost=np.ones(count),
            presolve="off",
            solver="simplex",
            primal_feasibility_tolerance=FEASIBLE,
            dual_feasibility_tolerance=FEASIBLE,
        )

    def _signed(self, moves: IntArray) -> csr_array:
        """Return each of the moves and then its negative, one a row."""
        rows = self._moves[np.repeat(moves, 2)]
        signs = np.repeat(np.tile([1, -1], moves.size), np.diff(rows.indptr))
        return csr_array((rows.data * signs, rows.indices, rows.indptr), shape=rows.shape)
