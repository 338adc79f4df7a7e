"""A smallest set of constraints that contradict, among all that is asked of some counts.

What counts that keep a set must break has a constraint of every contradiction with that set left over, so a
cheapest set that meets all such leavings is a smallest contradiction once it is one [ignatiev2015]. Counts
that keep a set and break little else are those of the least sum of what they are off by, rounded: one linear
program a round. Rounds are bounded by the size of the programs; where they end before anything is shown,
divide and conquer [junker2004] asks a solver of integer programs for about k log(N / k) answers, and finds k
constraints among N none of which can be left out.

Of sets of one size one with few bounds is taken: these may follow from several numbers.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, eye_array, hstack, vstack

from holdfast.estimation.hierarchy.propagation import combined
from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.lattice.rows import echelons
from holdfast.programs.hitting import implicit, minimal_cause
from holdfast.programs.solver import UNBOUNDED, Program, Sides, Status, suggest

ROUNDS = 200
WORK = 2_000_000
"""Entries of the programs of all rounds together."""
SMALLEST = 2_000
"""Constraints among which a smallest set is looked for."""


@dataclass(frozen=True, eq=False)
class ConstrainedCounts:
    """Counts, never negative, with sums that are 0 whatever is asked; and all that is asked of them.

    Attributes:
        links: rows whose sums are 0.
        rows: rows over the counts, one a constraint.
        least: the least that each may sum to, -UNBOUNDED where it has no such side.
        most: the most, UNBOUNDED where there is no such side.
        bounds: which of them are bounds.

    """

    links: csr_array
    rows: csr_array
    least: IntArray
    most: IntArray
    bounds: BoolArray

    def contradict(self, some: IntArray) -> bool:
        """Whether no counts keep some of the constraints."""
        low, high = self._limits.copy()
        single = np.intersect1d(some, self._single)
        cells = self.rows.indices[self.rows.indptr[single]]
        np.maximum.at(low, cells, self.least[single])
        np.minimum.at(high, cells, self.most[single])
        if (low > high).any():
            return True
        kept = np.setdiff1d(some, single)
        none = np.zeros(self.links.shape[0], dtype=np.int64)
        program = Program(
            csr_array(vstack([self.links, self.rows[kept]], format="csr")),
            np.concatenate([none, self.least[kept]]),
            np.concatenate([none, self.most[kept]]),
            least=low,
            most=high,
        )
        status = program.solve().status
        return status is Status.INFEASIBLE or (status is Status.UNKNOWN and self._unequal(some))

    def broken(self, some: IntArray) -> IntArray | None:
        """Return what is broken by counts that keep some of the constraints, None where none keep these.

        The counts are a vertex of the relaxation, rounded; where that keeps too little, all others may be.
        """
        matrix, rows, cost = self._elastic
        cells, count = self.rows.shape[1], self.rows.shape[0]
        most = np.full(cost.size, np.inf)
        most[cells + some] = most[cells + count + some] = 0
        found = suggest(cost, matrix, rows, Sides(np.zeros(cost.size), most))
        if found is not None:
            counts = np.rint(found[:cells]).astype(np.int64)
            sums = self.rows @ counts
            off = np.flatnonzero((sums < self.least) | (sums > self.most))
            if off.size and not (self.links @ counts).any() and not np.isin(some, off).any():
                return off
        return None if self.contradict(some) else np.setdiff1d(np.arange(count), some)

    def smallest(self) -> IntArray | None:
        """Return constraints that contradict, the fewest where that is shown; None where all can be kept."""
        count = self.rows.shape[0]
        if not self.contradict(np.arange(count)):
            return None
        if count <= SMALLEST:
            rounds = min(ROUNDS, WORK // max(self.links.nnz + self.rows.nnz, 1))
            found = implicit(count + 1 + self.bounds, self.broken, rounds=rounds).elements
            if found is not None:
                return found
        return minimal_cause(count, self.contradict)

    def _unequal(self, some: IntArray) -> bool:
        """Whether equalities alone contradict, in exact numbers, where these are too large for the solver."""
        equal = some[self.least[some] == self.most[some]]
        values = np.concatenate([np.zeros(self.links.shape[0], dtype=np.int64), self.least[equal]])[None]
        for block in echelons(csr_array(vstack([self.links, self.rows[equal]], format="csr"))):
            for row, terms in block.combination.items():
                times, sums = combined(values, terms)
                if times * int(values[0, row]) != int(sums[0]):
                    return True
        return False

    @cached_property
    def _single(self) -> IntArray:
        """The constraints of one count each."""
        ends = self.rows.indptr
        alone = np.flatnonzero(np.diff(ends) == 1)
        single: IntArray = alone[self.rows.data[ends[alone]] == 1]
        return single

    @cached_property
    def _limits(self) -> IntArray:
        """The least and the most of each count where nothing is asked."""
        return np.stack([np.full(self.rows.shape[1], bound) for bound in (0, UNBOUNDED)])

    @cached_property
    def _elastic(self) -> tuple[csr_array, Sides, FloatArray]:
        """The rows, their sides and the cost where each constraint may be off, by two numbers of its own."""
        count = self.rows.shape[0]
        one = eye_array(count, dtype=np.int64)
        none = csr_array((self.links.shape[0], 2 * count), dtype=np.int64)
        zero = np.zeros(self.links.shape[0], dtype=np.int64)
        matrix = vstack([hstack([self.links, none]), hstack([self.rows, one, -one])], format="csr")
        rows = Sides.of(np.concatenate([zero, self.least]), np.concatenate([zero, self.most]))
        return csr_array(matrix), rows, np.repeat([0.0, 1.0], [self.rows.shape[1], 2 * count])
