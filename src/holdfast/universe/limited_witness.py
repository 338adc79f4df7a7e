"""Tables that make a change expensive where public bounds narrow the universe [theory, 2].

Let s = B X - b >= 0 be the room that a table X leaves within its bounds. A step g (whole, A g = 0, sum g
= 0) leads to another conforming table exactly when X and s hold what it takes: X_z >= -g_z and s_j >= -(B
g)_j. So room is asked for as records are, and each step is a list of demands on (X, s).

Somebody in x is y after the step g at the price of ||g||_1 / 2 + [g_x >= 0] + [g_y <= 0] records, if X_y
+ g_y >= 1. The step 0, an exchange of two, needs X_y >= 1 alone, as every step with g_y <= 0 does. Hence,
for c >= 3,

    d(X; x -> y) >= c   exactly when X_y = 0, and X, s have what no step with g_y >= 1 takes that moves
                        at most c - 2 records, or c - 1 if g_x < 0;

for c = 2 the step e_y - e_x alone is to be avoided. All steps of a size are pairs of multisets of cells
with equal sums of columns. Cells with equal columns of A and of B are one kind, and asked about as one.
"""

from math import comb

import numpy as np
from scipy.sparse import block_array, csr_array, eye_array

from holdfast.lattice.arrays import IntArray
from holdfast.programs.solver import UNBOUNDED, IntegerSolution, Program, Status
from holdfast.universe.limits import Limits
from holdfast.universe.space import Supports, steps_of_size
from holdfast.universe.universe import Universe
from holdfast.universe.witness import UNKNOWN, Search, avoiding, fewest_changes

KINDS = 200  # kinds of cells that are searched
SETS = 50_000  # multisets of one size that are compared
ENTRIES = 8_000_000  # entries of the steps of one size
WORK = 12_000_000  # the limit of one search, in about microseconds: counted, never timed


class LimitedWitnesses(Search):
    """Questions about the changes x -> y within bounds, within a deterministic work limit."""

    def __init__(self, universe: Universe, limits: Limits, work: int | None = None) -> None:
        super().__init__(universe, csr_array(universe.kinds.columns[: universe.rank]), WORK, work)
        self._bounds, self._least = csr_array(universe.kinds.columns[universe.rank :]), limits.least
        self._tables = self._program()
        self._steps: dict[int, IntArray | None] = {}

    @property
    def reach(self) -> int:
        """The largest level at which `expensive` has an answer: further steps are too many to look up."""
        return self._countable(SETS) + 1

    def any_table(self, least: dict[int, int]) -> IntegerSolution:
        """Return a table with at least these counts."""
        self._spend(0)
        return self._trim(self._tables.solve(least=least))

    def covering_tables(self) -> tuple[list[IntArray], bool]:
        """Return tables that together hold a record of every possible kind; False where one was left open."""
        tables: list[IntArray] = []
        missing = np.ones(self.count, dtype=bool)
        settled = True
        for z in range(self.count):
            if missing[z]:
                found = self.any_table({z: 1})
                if found.point is not None:
                    tables.append(found.point)
                    missing &= found.point == 0
                settled = settled and (found.point is not None or found.status is Status.INFEASIBLE)
        return tables, settled

    def expensive(self, x: int, y: int, level: int) -> IntegerSolution:
        """Return a table with a record x that cannot turn to y by fewer than `level` changes."""
        steps = [self._making(y, size) for size in range(1, level)]
        known = [some for some in steps if some is not None]
        if len(known) < len(steps):
            return UNKNOWN
        known[-1] = known[-1][known[-1][:, x] < 0]
        return self._avoiding(np.concatenate(known), {x: 1}, y, empty=level > 2)

    def unmade(self, y: int, size: int) -> IntegerSolution:
        """Return a table without a record y in which no `size` records or fewer can become one."""
        steps = [self._making(y, number) for number in range(1, size + 1)]
        known = [some for some in steps if some is not None]
        if len(known) < len(steps):
            return UNKNOWN
        return self._avoiding(np.concatenate(known), {}, y, empty=True)

    def still(self) -> IntegerSolution:
        """Return a table in which nobody can move alone."""
        taken = self._alone()
        return (
            UNKNOWN if taken is None else self._without(taken, np.zeros_like(self._most), self._most.copy())
        )

    def stirs(self) -> bool | None:
        """Whether somebody can move alone in some table; None where that is left open."""
        taken = self._alone()
        if taken is None:
            return None
        settled = True
        for row in np.unique(taken, axis=0):
            if not self._spend(0):
                return None
            found = self._tables.solve(least={z: int(row[z]) for z in np.flatnonzero(row).tolist()})
            if found.point is not None:
                return True
            settled = settled and found.status is Status.INFEASIBLE
        return False if settled else None

    def _alone(self) -> IntArray | None:
        """Return what those take who move alone, to a cell of their kind or of another."""
        one = self._of_size(1)
        if one is None:
            return None
        within = np.eye(self.count, self.count + self._least.size, dtype=np.int64)
        return np.concatenate([self._taken(one), self._taken(-one), within[self.universe.kinds.size > 1]])

    def cheapest(self, x: int, y: int) -> int | None:
        """Return what `fewest_changes` does within the bounds, over all tables with a record x."""
        self._spend(0)
        most = np.full(3 * self.count, UNBOUNDED)
        return fewest_changes(
            self.columns, self.universe.values, most, x, y, bounds=self._bounds, least=self._least
        )

    def _avoiding(self, steps: IntArray, least: dict[int, int], y: int, *, empty: bool) -> IntegerSolution:
        """Return a table with these counts, and a record y in another of its size, that allows no step."""
        held, most = np.zeros_like(self._most), self._most.copy()
        for z, count in least.items():
            held[z] = count
        if empty:
            most[y] = 0
        if self.universe.total is None:
            held[self.count + self._least.size + y] = 1
        return self._without(self._taken(steps), held, most)

    def _taken(self, steps: IntArray) -> IntArray:
        """Return what steps take of records and of room."""
        taken: IntArray = np.maximum(np.hstack([-steps, -(steps @ self._bounds.T)]), 0)
        return taken

    def _without(self, taken: IntArray, held: IntArray, most: IntArray) -> IntegerSolution:
        """Return a table within these counts that holds no row of what is taken."""
        caps, sets = _demands(np.unique(taken, axis=0))
        most[: caps.size] = np.minimum(most[: caps.size], caps)
        return self._trim(avoiding(self._tables, sets, held, most, self._spend))

    def _making(self, y: int, size: int) -> IntArray | None:
        """Return the steps of a size that lead to y, or None when there are too many to look up."""
        if size not in self._steps:
            self._steps[size] = self._of_size(size)
        steps = self._steps[size]
        return None if steps is None else np.concatenate([steps[steps[:, y] > 0], -steps[steps[:, y] < 0]])

    def _of_size(self, size: int) -> IntArray | None:
        """Return one of g and -g for all steps that move so many records."""
        number = comb(self.count + size - 1, size)
        if number > SETS or self.exhausted:
            return None
        self._work += 10 * number
        found = steps_of_size(self._moves.toarray().T, size, ENTRIES // self.count)
        self._work += 0 if found is None else found.size // 10
        return found

    def _spend(self, sets: int) -> bool:
        """Count one solve that has to avoid so many steps; False once the limit is reached."""
        if self.exhausted:
            return False
        self._work += 800 + 10 * self.count + sets // 5
        return True

    def _program(self) -> Program:
        """Return A X = t, B X - s = b, s >= 0; where n is open, also a table Y of the same size."""
        values, least = self.universe.values, self._least
        room = eye_array(least.size, dtype=np.int64)
        rows = csr_array(block_array([[self.columns, None], [self._bounds, -room]], format="csr"))
        low = high = np.concatenate([values, least])
        if self.universe.total is None:
            ones = csr_array(np.ones((1, self.count), dtype=np.int64))
            size = csr_array(np.pad(ones.toarray(), ((0, 0), (0, least.size))))
            kept = self.universe.kinds.columns
            rows = csr_array(block_array([[rows, None], [None, kept], [size, -ones]], format="csr"))
            least_of_y, most_of_y = self.universe.sides
            low, high = np.append(low, [*least_of_y, 0]), np.append(high, [*most_of_y, 0])
        self._most = np.full(rows.shape[1], UNBOUNDED)
        return Program(rows, low, high, most=self._most)


def _demands(taken: IntArray) -> tuple[IntArray, Supports]:
    """Return what single demands cap, and the rows of several demands that can still be met."""
    asked = taken > 0
    number = asked.sum(axis=1)
    caps = np.full(taken.shape[1], UNBOUNDED)
    if (number == 0).any():
        caps[:] = -1  # a step that takes nothing is always open: no table is left
    single, place = np.nonzero(asked & (number == 1)[:, None])
    np.minimum.at(caps, place, taken[single, place] - 1)
    several: IntArray = taken[(number > 1) & (taken <= caps).all(axis=1)]
    width = int((several > 0).sum(axis=1).max(initial=1))
    order = np.argsort(several == 0, axis=1, kind="stable")[:, :width]
    return caps, Supports(order, np.take_along_axis(several, order, axis=1))
