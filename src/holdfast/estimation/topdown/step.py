"""One step: from measurements of children and their parent's counts to their whole counts.

What queries and invariants allow is found once a level; each parent is then solved on its own, the same
wherever and after whatever else it is solved.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from holdfast.errors import DataError
from holdfast.estimation.topdown.children import Estimate, children
from holdfast.estimation.topdown.conflict import UnmetError, conflict
from holdfast.estimation.topdown.general import Query, general
from holdfast.estimation.topdown.rounding import rounded, rounded_under
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.programs.solver import UNBOUNDED

CLOSE = 1e-8
"""A gap that is larger, relative to the objective, sends a parent on the general road."""
OFF = 1e-6
"""Sums that are farther off, relative to their size, are not those asked for."""


@dataclass(frozen=True, eq=False)
class Solved:
    """The whole counts of the children, and the real ones they were rounded from."""

    counts: IntArray
    estimate: Estimate


@dataclass(frozen=True, eq=False)
class Step:
    """The queries of a level, and the rows over a child's cells that are invariant there."""

    queries: tuple[Query, ...]
    invariants: csr_array | None = None

    def solve(
        self,
        answers: Sequence[FloatArray],
        parent: IntArray,
        *,
        values: IntArray | None = None,
        low: IntArray | None = None,
        high: IntArray | None = None,
    ) -> Solved:
        """Return the children's counts, or raise UnmetError.

        Args:
            answers: what was measured, by query, one line a child.
            parent: the parent's counts.
            values: the invariants' values, one line a child.
            low: least counts, 0 where not given.
            high: largest counts, UNBOUNDED where there is none.

        """
        count = answers[0].shape[0]
        roof = None if high is None else np.where(high == UNBOUNDED, np.inf, high.astype(np.float64))
        estimate = self._estimate(answers, parent, values, low, roof)
        counts = None
        if estimate.off <= OFF * (1 + float(parent.max(initial=0))):
            counts = self._rounded(estimate.counts, parent, values, low, high)
        if counts is not None:
            return Solved(counts, estimate)
        found = conflict(
            parent, children=count, invariants=self.invariants, values=values, low=low, high=high
        )
        if found is not None:
            raise UnmetError(found)
        raise DataError(
            "the counts of these children are out of the solver's reach: ask for fewer invariants or bounds."
        )

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

    def _estimate(
        self,
        answers: Sequence[FloatArray],
        parent: IntArray,
        values: IntArray | None,
        low: IntArray | None,
        high: FloatArray | None,
    ) -> Estimate:
        if self._simple:
            first = next(place for place, query in enumerate(self.queries) if query.detailed)
            total = next((place for place, query in enumerate(self.queries) if query.total), None)
            found = children(
                answers[first],
                parent,
                weight=self.queries[first].weight,
                measured=None if total is None else answers[total][:, 0],
                total_weight=0.0 if total is None else self.queries[total].weight,
                totals=None if values is None else values[:, 0],
                low=low,
                high=high,
            )
            if found.gap <= CLOSE * max(1.0, found.objective):
                return found
        return general(
            tuple(zip(self.queries, answers, strict=True)),
            parent,
            invariants=self.invariants,
            values=values,
            low=low,
            high=high,
        )

    def _rounded(
        self,
        counts: FloatArray,
        parent: IntArray,
        values: IntArray | None,
        low: IntArray | None,
        high: IntArray | None,
    ) -> IntArray | None:
        if self._disjoint is None or self.invariants is None or values is None:
            if self.invariants is None or values is None:
                return rounded(counts, parent)
            return rounded_under(counts, parent, self.invariants, values, low=low, high=high)
        whole = np.empty(counts.shape, dtype=np.int64)
        others = np.setdiff1d(np.arange(parent.size), np.concatenate(self._disjoint))
        parts = [(cells, values[:, row]) for row, cells in enumerate(self._disjoint)]
        for cells, totals in [*parts, (others, None)]:
            found = rounded(counts[:, cells], parent[cells], totals)
            if found is None:
                return None
            whole[:, cells] = found
        return whole
