"""One step: from measurements of children and their parent's counts to their whole counts.

What queries and invariants allow is found once a level; each parent is then solved on its own, the same
wherever and after whatever else it is solved. Families with ranges, or too wide for dense matrices, or for
which the faster roads find nothing, are solved as a subtree of one level. Without queries the children are
nearest to their parent's counts, spread [holdfast, estimation/topdown/spread.py].
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from holdfast.errors import DataError
from holdfast.estimation.topdown.children import Estimate, children
from holdfast.estimation.topdown.conflict import UnmetError, conflict
from holdfast.estimation.topdown.general import Query, general
from holdfast.estimation.topdown.known import Level
from holdfast.estimation.topdown.rounding import rounded, rounded_under
from holdfast.estimation.topdown.spread import spread
from holdfast.estimation.topdown.subtree import Subtree
from holdfast.estimation.topdown.system import real
from holdfast.lattice.arrays import FloatArray, IntArray

CLOSE = 1e-8
"""A gap that is larger, relative to the objective, sends a parent on the general road."""
OFF = 1e-6
"""Sums that are farther off, relative to their size, are not those asked for."""
WIDE = 20_000_000
"""Children times rows times cells: from here on rows are sparse."""


@dataclass(frozen=True, eq=False)
class Solved:
    """The whole counts of the children, and the real ones they were rounded from."""

    counts: IntArray
    estimate: Estimate


@dataclass(frozen=True, eq=False)
class Step:
    """The queries of a level, and the rows over a child's cells that are invariant or have bounds there."""

    queries: tuple[Query, ...]
    invariants: csr_array | None = None
    ranges: csr_array | None = None

    @classmethod
    def of(cls, level: Level) -> "Step":
        """Return the step down to a level."""
        return cls(
            level.queries,
            level.invariants if level.invariants.shape[0] else None,
            level.ranges if level.ranges.shape[0] else None,
        )

    def solve(
        self,
        answers: Sequence[FloatArray],
        parent: IntArray,
        *,
        values: IntArray | None = None,
        low: IntArray | None = None,
        high: IntArray | None = None,
        least: IntArray | None = None,
        most: IntArray | None = None,
    ) -> Solved:
        """Return the children's counts, or raise UnmetError.

        Args:
            answers: what was measured, by query, one line a child.
            parent: the parent's counts.
            values: the invariants' values, one line a child.
            low: least counts, 0 where not given.
            high: largest counts, UNBOUNDED where there is none.
            least: the least that ranges may be, one line a child.
            most: the most that ranges may be, UNBOUNDED where there is none.

        """
        known = next(each for each in (*answers, values, low, high, least, most) if each is not None)
        level = Level.of(
            "children",
            known.shape[0],
            parent.size,
            queries=self.queries,
            answers=answers,
            invariants=self.invariants,
            values=values,
            ranges=self.ranges,
            least=least,
            most=most,
            low=low,
            high=high,
        )
        if not self.queries:
            level = spread(level, np.zeros(level.nodes, dtype=np.int64), parent[None, :])
        solved = Step.of(level).tried(level, parent)
        if solved is not None:
            return solved
        found = conflict(
            parent,
            children=level.nodes,
            invariants=self.invariants,
            values=values,
            low=low,
            high=high,
            ranges=self.ranges,
            least=least,
            most=most,
        )
        if found is not None:
            raise UnmetError(found)
        raise DataError(
            "the counts of these children are out of the solver's reach: ask for fewer invariants or bounds."
        )

    def tried(self, level: Level, parent: IntArray) -> Solved | None:
        """Return the counts of a parent's children, None where none are found that keep everything.

        The level has this step's rows, one node a child, and something was measured of it.
        """
        rows = sum(query.matrix.shape[0] for query in level.queries) + level.invariants.shape[0]
        if self.ranges is None and level.nodes * rows * level.cells <= WIDE:
            estimate = self._estimate(level, parent)
            counts = None
            if estimate.off <= OFF * (1 + float(parent.max(initial=0))):
                counts = self._rounded(level, estimate.counts, parent)
            if counts is not None and level.kept(counts).all():
                return Solved(counts, estimate)
        family = Subtree((level,), (), parent)
        found = family.solve() if family.possible else None
        if found is None:
            return None
        reals = family.by_level(found.estimate.counts)[0]
        return Solved(found.counts[0], replace(found.estimate, counts=reals))

    @cached_property
    def _simple(self) -> bool:
        """Whether there are a detailed query, at most a total, and no invariants but the total."""
        return (
            sum(query.detailed for query in self.queries) == 1
            and sum(query.total for query in self.queries) == len(self.queries) - 1 <= 1
            and self.queries[0].matrix.shape[1] > 1
            and all(query.weight > 0 for query in self.queries)
            and (self.invariants is None or Query(self.invariants, 1.0).total)
        )

    @cached_property
    def _disjoint(self) -> tuple[IntArray, ...] | None:
        """The cells of each invariant, where all are sums without a cell in common."""
        if self.invariants is None:
            return ()
        dense = self.invariants.toarray()
        if not np.isin(dense, (0, 1)).all() or (dense.sum(axis=0) > 1).any():
            return None
        return tuple(np.flatnonzero(row) for row in dense)

    def _estimate(self, level: Level, parent: IntArray) -> Estimate:
        high = None if level.high is None else real(level.high)
        values = None if self.invariants is None else level.values
        if self._simple:
            first = next(place for place, query in enumerate(self.queries) if query.detailed)
            total = next((place for place, query in enumerate(self.queries) if query.total), None)
            found = children(
                level.answers[first].astype(np.float64),
                parent,
                weight=self.queries[first].weight,
                measured=None if total is None else level.answers[total][:, 0].astype(np.float64),
                total_weight=0.0 if total is None else self.queries[total].weight,
                totals=None if values is None else values[:, 0],
                low=level.low,
                high=high,
            )
            if found.gap <= CLOSE * max(1.0, found.objective):
                return found
        return general(
            [
                (query, answers.astype(np.float64))
                for query, answers in zip(self.queries, level.answers, strict=True)
            ],
            parent,
            invariants=self.invariants,
            values=values,
            low=level.low,
            high=high,
        )

    def _rounded(self, level: Level, counts: FloatArray, parent: IntArray) -> IntArray | None:
        if self._disjoint is None or self.invariants is None:
            if self.invariants is None:
                return rounded(counts, parent)
            bounds = level.low, level.high
            return rounded_under(counts, parent, self.invariants, level.values, low=bounds[0], high=bounds[1])
        whole = np.empty(counts.shape, dtype=np.int64)
        others = np.setdiff1d(np.arange(parent.size), np.concatenate(self._disjoint))
        parts = [(cells, level.values[:, row]) for row, cells in enumerate(self._disjoint)]
        for cells, totals in [*parts, (others, None)]:
            found = rounded(counts[:, cells], parent[cells], totals)
            if found is None:
                return None
            whole[:, cells] = found
        return whole
