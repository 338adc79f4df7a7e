"""What the invariants and public bounds reveal of each cell: the least and the most it can hold.

For a cell c, low_c and high_c are the minimum and the maximum of x_c over the conforming tables
D_t = {x >= 0 integer : A x = t, B x >= b} [theory, 1]. No mechanism can protect a cell with low_c = high_c:
whoever knows t and b knows x_c.

Cells are asked for by patterns (cells with equal columns of A and B). A cell alone with its column holds what
its pattern holds. Of two or more cells that share a column any one can be empty while another holds
all, so each lies between 0 and the most of the pattern. Patterns of different blocks (no common row)
do not constrain each other, so each block is asked by itself:

    one row, one pattern   the count is value / entry;
    nested totals          each pattern has what a total leaves beyond those inside of it;
    one-way margins        the closed form of `frechet`;
    any other              two integer programs for a pattern. Every table that turns up counts: a
                           program is solved only where no table has reached the known bound yet. So
                           are blocks with a bound.

A maximum is infinite exactly when some integer v >= 0 with A v = 0 and B v >= 0 has v_c >= 1.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.lattice.components import components
from holdfast.lattice.product import product_features
from holdfast.programs.solver import UNBOUNDED, Program, Status
from holdfast.universe.exchanges import ENOUGH, Seen
from holdfast.universe.tables import capacities
from holdfast.universe.universe import Universe

WORK = 60_000_000  # the limit of all programs together, in about microseconds: counted, never timed


@dataclass(frozen=True, eq=False)
class Exposure:
    """The interval of each cell over all conforming tables.

    Attributes:
        low: the least count of each cell; where not exact, a lower bound on it.
        high: the largest count, UNBOUNDED where there is none; where not exact, an upper bound.
        exact: for each cell, whether both ends are attained.

    """

    low: IntArray
    high: IntArray
    exact: BoolArray

    @property
    def determined(self) -> IntArray:
        """The cells with one possible count. Bounds that meet prove it, attained or not."""
        return np.flatnonzero(self.low == self.high).astype(np.int64)

    @property
    def width(self) -> IntArray:
        """The length of each interval, UNBOUNDED where it has no end."""
        return np.where(self.high == UNBOUNDED, UNBOUNDED, self.high - self.low)

    def beside(self, known: IntArray) -> "Exposure":
        """Return the intervals of all records where these are of the ones beside some that are known."""
        high = np.where(self.high == UNBOUNDED, UNBOUNDED, self.high + known)
        return Exposure(self.low + known, high, self.exact)


def exposure(universe: Universe, seen: Seen | None = None) -> Exposure:
    """Return the interval of every cell of the universe.

    Where counts that were ``seen`` in conforming tables are far enough apart no program is solved: then
    these are told, within the interval, and it is not exact.
    """
    groups = universe.kinds
    found = _PatternIntervals(universe, seen)
    found.settle_single_rows()
    for block in components(groups.columns):
        if block.rows.size and not found.settled[block.cells].all():
            found.settle_block(block.rows, block.cells)
    alone = groups.size[groups.of_cell] == 1
    return Exposure(
        low=np.where(alone, found.low[groups.of_cell], 0),
        high=found.high[groups.of_cell],
        exact=found.settled[groups.of_cell],
    )


class _PatternIntervals:
    """The intervals of the patterns, settled block by block."""

    def __init__(self, universe: Universe, seen: Seen | None) -> None:
        self._universe, self._seen = universe, seen
        self._groups = groups = universe.kinds
        self._columns = groups.columns
        self.high = np.zeros(groups.count, dtype=np.int64)
        self.high[groups.of_cell] = capacities(universe)[universe.patterns.of_cell]
        self.low = np.zeros_like(self.high)
        # a pattern in no row can hold anything; the others are settled below
        self.settled = np.diff(self._columns.tocsc().indptr) == 0
        if universe.settled is not None and universe.limits is None:
            self.low[:], self.settled[:] = universe.settled, True
        self._work = 0

    def settle_single_rows(self) -> None:
        """Settle the patterns that are alone in a block of one row."""
        per_pattern = np.bincount(self._columns.indices, minlength=self.high.size)
        rows = np.flatnonzero(np.diff(self._columns.indptr[: self._universe.rank + 1]) == 1)
        place = self._columns.indptr[rows]
        pattern, entry = self._columns.indices[place], self._columns.data[place]
        only = per_pattern[pattern] == 1
        pattern = pattern[only]
        self.low[pattern] = self.high[pattern] = self._universe.values[rows[only]] // entry[only]
        self.settled[pattern] = True

    def settle_block(self, rows: IntArray, patterns: IntArray) -> None:
        """Settle the patterns of one block, by its closed form or by programs."""
        matrix = csr_array(self._columns[rows][:, patterns])
        low, high = (side[rows] for side in self._universe.sides)
        closed = frechet(matrix, low) if (rows < self._universe.rank).all() else None
        if closed is not None:
            self.low[patterns], self.high[patterns] = closed
            self.settled[patterns] = True
            return
        # the least of a pattern is of no use when its cells are several: each can be empty
        alone = self._groups.size[patterns] == 1
        seen = None if self._seen is None else self._seen.of(patterns)
        if seen is not None and seen.apart.all():
            self.low[patterns], self.high[patterns] = seen.low, seen.high
            return
        program = Program(matrix, low, high, most=self.high[patterns])
        found = self._by_programs(program, _growth(matrix, low == high), self.high[patterns], alone, seen)
        self.low[patterns], self.high[patterns], self.settled[patterns] = found

    def _by_programs(
        self, program: Program, growth: Program, capacity: IntArray, alone: BoolArray, seen: Seen | None
    ) -> tuple[IntArray, IntArray, BoolArray]:
        """Return the least and the most of each pattern of a block, and whether both are attained."""
        count = capacity.size
        low, high = np.zeros(count, dtype=np.int64), capacity.copy()
        seen_low, seen_high = np.full(count, UNBOUNDED), np.full(count, -1, dtype=np.int64)
        if seen is not None:
            seen_low, seen_high = seen.low.copy(), seen.high.copy()

        def enough(pattern: int) -> bool:
            """Whether nothing more is asked: what was seen is told, which lies within the interval."""
            if seen is None or seen_high[pattern] - seen_low[pattern] < ENOUGH:
                return False
            low[pattern], high[pattern], exact[pattern] = seen_low[pattern], seen_high[pattern], False
            return True

        def ask(pattern: int, sign: int) -> int | None:
            """Return the optimum of the count, None when the solver leaves it open."""
            objective = np.zeros(count, dtype=np.int64)
            objective[pattern] = sign
            self._work += 400 + 3 * count
            if self._work > WORK:
                return None
            outcome = program.solve(maximise=objective)
            if outcome.point is not None:
                np.minimum(seen_low, outcome.point, out=seen_low)
                np.maximum(seen_high, outcome.point, out=seen_high)
                if outcome.status is Status.SOLVED:
                    return int(outcome.point[pattern])
            return None

        exact = np.ones(count, dtype=np.bool_)
        for pattern in range(count):
            if enough(pattern):
                continue
            if capacity[pattern] == UNBOUNDED and growth.solve(least={pattern: 1}).point is not None:
                seen_high[pattern] = UNBOUNDED
            if seen_high[pattern] < high[pattern]:
                most = ask(pattern, 1)
                exact[pattern] &= most is not None
                high[pattern] = high[pattern] if most is None else most
        for pattern in np.flatnonzero(alone).tolist():
            if enough(pattern):
                continue
            if seen_low[pattern] > 0:
                least = ask(pattern, -1)
                exact[pattern] &= least is not None
                low[pattern] = 0 if least is None else least
        return low, high, exact


def _growth(matrix: csr_array, equal: BoolArray) -> Program:
    """Return the program of what can be added without end: v >= 0 with A v = 0 and B v >= 0."""
    zeros = np.zeros(matrix.shape[0], dtype=np.int64)
    high = np.where(equal, 0, UNBOUNDED)
    return Program(matrix, zeros, high, most=np.full(matrix.shape[1], UNBOUNDED))


def frechet(matrix: csr_array, values: IntArray) -> tuple[IntArray, IntArray] | None:
    """Return the least and the most of each column, when the block is a full product of features.

    Let n be the number of records and m_1, ..., m_q the numbers with the levels that a cell has of the
    q features. Then the cell holds at most min m_k, and at least max(0, m_1 + ... + m_q - (q - 1) n)
    (the bounds of Frechet), and both are attained. The most: put min m_k records there; what is left of each
    feature is nonnegative and of equal total, so records of the product fill it. The least: the n - m_k
    records without the k-th level can be disjoint for different k, or cover all n records if they are
    more than n together; the other levels are filled in any way.
    """
    features = product_features(matrix, values)
    if not features:
        return None
    counts = np.array([feature.count[feature.level] for feature in features], dtype=np.int64)
    total = int(features[0].count.sum())
    low = np.maximum(0, counts.sum(axis=0) - (len(features) - 1) * total)
    return low, counts.min(axis=0)
