"""The least and the largest value of many sums over the whole points of one polytope.

The polytope is {y whole: low <= M y <= high, least <= y <= most}, M of zeros and ones; the sums are rows of a
second such matrix. Asked one by one, each end is an integer program of its own. Here they share their work:

1.  Bounds on every sum are known beforehand, from propagation. A point that reaches one settles that end, and
    every point that turns up counts for all sums.
2.  One linear program aims at many open ends at once, at such as the rows leave room for together. It starts
    from the vertex of the last one, which stays feasible as only the cost changes (the primal simplex
    method). A vertex that is not whole is mended by an integer program over its fractional columns alone.
3.  An end that is left is aimed at alone. The multipliers of its optimum, rounded to fractions of a small
    denominator, prove a bound in integers: for every vector p of them

        c y = p M y + (c - p M) y <= sum_r max(p_r low_r, p_r high_r) + the same of c - p M over the columns

    [schrijver1986, 7.4]. Where no point is known that reaches it, an integer program of all columns decides.
4.  What the solver leaves open stays a bound, and is marked as such.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.programs.solver import INTEGRAL, UNBOUNDED, HighsModel, Program, Sides, Status

DENOMINATOR = 12
"""Multipliers are rounded to its fractions; those of sums are halves and thirds, hardly ever others."""
SCANNED = 3_000
"""Open ends that are looked at for one program."""
FEW, ROUNDS = 6, 2
"""Programs with several aims end when so many in a row settled fewer ends than this."""
TRIES, SLIGHT = 4, 1_000
"""How often another vertex is looked for, by costs of broken columns that are so many times smaller."""
WORK = 3_000_000_000
"""The limit of the programs that are solved for one end each, in entries of M: counted, never timed."""


class NoPointError(ValueError):
    """The polytope has no whole point."""


@dataclass(frozen=True, eq=False)
class Ends:
    """The least and the largest value of each sum, and whether each is attained."""

    low: IntArray
    high: IntArray
    low_exact: BoolArray
    high_exact: BoolArray


class Extremes:
    """The ends of some sums over one polytope; bounds on columns are finite or UNBOUNDED."""

    def __init__(
        self, matrix: csr_array, low: IntArray, high: IntArray, least: IntArray, most: IntArray
    ) -> None:
        self._matrix = csr_array(matrix.astype(np.int64))
        self._low, self._high, self._least, self._most = low, high, least, most
        self._by_row = csr_array(self._matrix.T)
        self._model = HighsModel(
            self._matrix,
            Sides.of(low, high),
            Sides.of(least, most),
            solver="simplex",
            presolve="off",
            simplex_strategy=4,  # primal: the last vertex stays feasible when the cost changes
        )
        self._exact: Program | None = None
        self._broken = np.zeros(0, dtype=np.int64)
        self._work = 0
        self._order = np.random.default_rng(0)  # nothing depends on it but the time this takes

    def first(self) -> IntArray:
        """Return a whole point; raises NoPointError where there is none."""
        found = self._whole(np.zeros(self._most.size))
        if found is None:
            outcome = self._program().solve()
            if outcome.status is Status.INFEASIBLE:
                raise NoPointError
            if outcome.point is None:
                raise ArithmeticError("the solver did not decide whether there is a point")
            found = outcome.point
        return found

    def ends(
        self, asked: csr_array, low: IntArray, high: IntArray, wanted: tuple[BoolArray, BoolArray]
    ) -> Ends:
        """Return both ends of the sums that are wanted, given bounds on them that hold already."""
        self._asked = csr_array(asked.astype(np.int64))
        self._below, self._above = low.copy(), high.copy()
        count = low.size
        self._seen = np.full(count, UNBOUNDED), np.full(count, -1, dtype=np.int64)
        self._wanted = wanted
        self._see(self.first())
        self._aim_at_many()
        self._aim_at_each()
        return Ends(self._below, self._above, self._seen[0] == self._below, self._seen[1] == self._above)

    def _see(self, point: IntArray) -> None:
        sums = self._asked @ point
        np.minimum(self._seen[0], sums, out=self._seen[0])
        np.maximum(self._seen[1], sums, out=self._seen[1])

    def _open(self) -> tuple[IntArray, IntArray]:
        """Return the sums whose largest value, and those whose least value, is not settled."""
        finite = self._above != UNBOUNDED
        up = np.flatnonzero(self._wanted[1] & finite & (self._seen[1] < self._above))
        down = np.flatnonzero(self._wanted[0] & (self._seen[0] > self._below))
        return up, down

    def _aim_at_many(self) -> None:
        touched = csr_array(self._asked @ self._by_row)  # the rows that each sum meets
        column_most = np.minimum(self._most, 1 << 40)
        supply = self._matrix @ column_most
        rooms = np.where(self._high == UNBOUNDED, 1 << 60, self._high)
        failed = 0
        while failed < ROUNDS:
            up, down = self._open()
            ends = np.concatenate([up, down + self._above.size])
            if ends.size < FEW:
                return
            chosen = self._compatible(self._order.permutation(ends)[:SCANNED], touched, rooms, supply)
            signs = np.zeros(self._above.size)
            signs[chosen[chosen < self._above.size]] = 1
            signs[chosen[chosen >= self._above.size] - self._above.size] = -1
            point = self._whole(-(self._asked.T @ signs))
            if point is not None:
                self._see(point)
            up, down = self._open()
            failed = failed + 1 if ends.size - up.size - down.size < FEW else 0

    def _compatible(self, ends: IntArray, touched: csr_array, rooms: IntArray, supply: IntArray) -> IntArray:
        """Return ends that rows leave room for together, by what each would take of its rows."""
        count = self._above.size
        load = np.zeros_like(rooms)
        given = np.zeros_like(supply)
        taken, chosen = set(), []
        for end in ends.tolist():
            one, upward = end % count, end < count
            if one in taken:
                continue
            rows = touched.indices[touched.indptr[one] : touched.indptr[one + 1]]
            if upward:
                if (load[rows] + self._above[one] > rooms[rows]).any():
                    continue
                load[rows] += self._above[one]
            else:
                away = min(int(self._above[one]), 1 << 40) - self._below[one]
                if (supply[rows] - given[rows] - away < self._low[rows]).any():
                    continue
                load[rows] += self._below[one]
                given[rows] += away
            taken.add(one)
            chosen.append(end)
        return np.array(chosen, dtype=np.int64)

    def _aim_at_each(self) -> None:
        for sign, side in ((1, 0), (-1, 1)):
            for one in self._open()[side].tolist():
                if self._settled(one, sign) or self._work > WORK:
                    continue
                self._settle(one, sign)

    def _settled(self, one: int, sign: int) -> bool:
        if sign > 0:
            return bool(self._seen[1][one] >= self._above[one])
        return bool(self._seen[0][one] <= self._below[one])

    def _settle(self, one: int, sign: int) -> None:
        """Find one end: by a relaxation whose optimum a whole point reaches, or by an integer program."""
        objective = sign * self._asked[[one]].toarray().ravel()
        self._work += 40 * self._matrix.nnz
        point = self._whole(-objective.astype(np.float64))
        if point is not None:
            self._see(point)
        self._tighten(one, sign, self._proved(objective))
        for _ in range(TRIES):  # another vertex may be mended where the first was not
            if self._settled(one, sign):
                return
            apart = np.zeros(objective.size)
            apart[self._broken] = (self._order.random(self._broken.size) - 0.5) / SLIGHT
            point = self._whole(apart - objective)
            if point is not None:
                self._see(point)
        if self._settled(one, sign):
            return
        self._work += 2_000 * self._matrix.nnz
        outcome = self._program().solve(maximise=objective)
        if outcome.point is not None:
            self._see(outcome.point)
            if outcome.status is Status.SOLVED:
                self._tighten(one, sign, int(objective @ outcome.point))

    def _tighten(self, one: int, sign: int, most: int | None) -> None:
        """Take in that sign times a sum is at most so much."""
        if most is None:
            return
        if sign > 0:
            self._above[one] = min(self._above[one], most)
        else:
            self._below[one] = max(self._below[one], -most)

    def _proved(self, objective: IntArray) -> int | None:
        """Return a bound on the objective that the multipliers of the last program prove in integers."""
        prices = np.rint(-self._model.prices() * DENOMINATOR).astype(np.int64)
        prices[(prices > 0) & (self._high == UNBOUNDED)] = 0
        rest = DENOMINATOR * objective - self._by_row @ prices
        if ((rest > 0) & (self._most == UNBOUNDED)).any():
            return None
        by_rows = np.where(prices > 0, prices * self._finite(self._high), prices * self._low)
        by_columns = np.where(rest > 0, rest * self._finite(self._most), rest * self._least)
        return int((by_rows.sum() + by_columns.sum()) // DENOMINATOR)

    @staticmethod
    def _finite(ends: IntArray) -> IntArray:
        return np.where(ends == UNBOUNDED, 0, ends)

    def _whole(self, cost: FloatArray) -> IntArray | None:
        """Return a whole point near the vertex of least cost, None where none is found so."""
        self._model.aim(cost)
        found = self._model.run(fresh=False)
        if found.status is Status.INFEASIBLE:
            raise NoPointError
        if found.values is None or found.status is not Status.SOLVED:
            return None
        point = np.rint(found.values).astype(np.int64)
        broken = np.flatnonzero(np.abs(found.values - point) > INTEGRAL)
        self._broken = broken
        if broken.size:
            point[broken] = 0
            part = csr_array(self._matrix[:, broken])
            rows = np.flatnonzero(np.diff(part.indptr))
            held = (self._matrix @ point)[rows]
            high = self._high[rows]
            mended = Program(
                csr_array(part[rows]),
                self._low[rows] - held,
                np.where(high == UNBOUNDED, UNBOUNDED, high - held),
                most=self._most[broken],
                least=self._least[broken],
            ).solve(maximise=-cost[broken])
            if mended.point is None:
                return None
            point[broken] = mended.point
        return point if self._kept(point) else None

    def _kept(self, point: IntArray) -> bool:
        sums = self._matrix @ point
        return bool(
            ((sums >= self._low) & (sums <= self._high)).all()
            and ((point >= self._least) & (point <= self._most)).all()
        )

    def _program(self) -> Program:
        if self._exact is None:
            self._exact = Program(self._matrix, self._low, self._high, most=self._most, least=self._least)
        return self._exact
