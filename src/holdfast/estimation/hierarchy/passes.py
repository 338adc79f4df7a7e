"""Estimation in passes: some queries first, what they are found to be stays, then others.

A pass has the queries of one turn in its objective. Those of the turns before are equalities, with the whole
numbers that were found. Cells that nothing in a pass tells apart are one variable: neither its queries, nor
what is kept, nor a bound but 0. Whole counts of such classes always leave some of cells: in a class the
children's sums and the parent's cells have one total, and a table with these two margins is filled in from
one corner, where what is closed is so for a whole child. So what a pass found has cells that keep
everything, and no later pass fails. The last one has every cell.

Cells where the parent has 0 are 0 in all its children, and no variable at all: below the uppermost levels few
of many cells are open.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from holdfast.estimation.hierarchy.level import Level, LevelQuery, NumberT
from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.programs.quadratic.squares import BoundedEstimate
from holdfast.programs.solver import UNBOUNDED

MANY = 64
"""Cells from which on closed ones are worth taking out."""


@dataclass(frozen=True, eq=False)
class WholeCounts:
    """Whole counts of some nodes, and the real ones they were rounded from."""

    counts: IntArray
    estimate: BoundedEstimate


class Solve(Protocol):
    """Solves what is left of nodes: all its queries in one objective."""

    def __call__(self, level: Level, parent: IntArray | None) -> WholeCounts | None:
        """Return counts that add up to a parent's, if there is one; None where none are found."""
        ...


@dataclass(frozen=True, eq=False)
class Turn:
    """What one pass over a level has in common for all nodes.

    Attributes:
        queries: places of the queries in its objective.
        fixed: rows over the cells that the passes before it found.
        invariants: places of the invariants that these do not imply.
        classes: the class of each cell.

    """

    queries: tuple[int, ...]
    fixed: csr_array
    invariants: IntArray
    classes: IntArray


@dataclass(frozen=True, eq=False)
class Passes:
    """The passes over the nodes of a level."""

    level: Level

    @property
    def one(self) -> bool:
        """Whether there is one pass, with all cells."""
        return len({query.turn for query in self.level.queries}) < 2

    def several(self, parent: IntArray | None) -> bool:
        """Whether there is more to do than one pass over all cells."""
        if parent is None or parent.size < MANY:
            return not self.one
        return not self.one or 2 * int(np.count_nonzero(parent)) < parent.size

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """What is estimated one after another."""
        level = self.level
        order = sorted({query.turn for query in level.queries}) or [0]
        found = []
        fixed = csr_array((0, level.cells), dtype=np.int64)
        invariants = np.arange(level.invariants.shape[0])
        for number, turn in enumerate(order):
            here = tuple(at for at, query in enumerate(level.queries) if query.turn == turn)
            rows = [level.queries[at].matrix for at in here]
            classes = np.arange(level.cells)
            if number + 1 < len(order):
                classes = _classes([*rows, level.invariants, level.ranges, fixed])
            found.append(Turn(here, fixed, invariants, classes))
            for each in rows:
                implied = _implied(fixed, each)
                fixed = csr_array(vstack([fixed[~implied], each], format="csr").astype(np.int64))
                invariants = invariants[~_implied(csr_array(level.invariants[invariants]), each)]
        return tuple(found)

    def solve(self, nodes: Level, parent: IntArray | None, solve: Solve) -> WholeCounts | None:
        """Return the counts of some nodes of the level, which add up to a parent's if there is one."""
        values = np.zeros((nodes.nodes, 0), dtype=np.int64)
        objective = gap = 0.0
        for turn, after in zip(self.turns, (*self.turns[1:], None), strict=True):
            narrow = _Narrow.of(turn, nodes, parent, values)
            if narrow is None:
                return None
            found = _none(nodes) if narrow.some.size == 0 else solve(narrow.level, narrow.parent)
            if found is None:
                return None
            objective += found.estimate.objective + narrow.apart
            gap += found.estimate.gap
            if after is None:
                counts = narrow.spread(found.counts)
                reals = narrow.spread(found.estimate.counts.reshape(nodes.nodes, -1))
                told = replace(found.estimate, counts=reals, objective=objective, gap=gap)
                return WholeCounts(counts, told)
            values = np.asarray((after.fixed[:, narrow.some] @ found.counts.T).T)
        return None


def _none(nodes: Level) -> WholeCounts:
    """Return the counts of nodes without an open cell."""
    counts = np.zeros((nodes.nodes, 0), dtype=np.int64)
    return WholeCounts(counts, BoundedEstimate(counts.astype(np.float64), 0.0, 0.0, 0.0))


@dataclass(frozen=True, eq=False)
class _Narrow:
    """Some nodes with one variable for each class of open cells.

    Attributes:
        level: what is known of them.
        parent: the parent's counts of the classes.
        some: a cell of each class.
        cells: of a node.
        apart: what the queries of closed cells have in the objective.

    """

    level: Level
    parent: IntArray | None
    some: IntArray
    cells: int
    apart: float

    @classmethod
    def of(cls, turn: Turn, nodes: Level, parent: IntArray | None, values: IntArray) -> "_Narrow | None":
        """Return them; None where closed cells keep what is asked from being met."""
        live = np.ones(nodes.cells, dtype=np.bool_) if parent is None else parent > 0
        if nodes.low is not None and nodes.low[:, ~live].any():
            return None
        of, some = _with_bounds(turn.classes, live, nodes, parent)
        sums = _sums_of(of, live, some.size)
        rows = csr_array(vstack([turn.fixed, nodes.invariants[turn.invariants]], format="csr"))
        told = np.hstack([values, nodes.values[:, turn.invariants]])
        own = csr_array(rows[:, some])
        used = np.diff(own.indptr) > 0
        if told[:, ~used].any():
            return None
        ranges = csr_array(nodes.ranges[:, some])
        ranged = np.diff(ranges.indptr) > 0
        if (nodes.least[:, ~ranged] > 0).any() or (nodes.most[:, ~ranged] < 0).any():
            return None
        queries, answers, apart = [], [], 0.0
        for at in turn.queries:
            query, answer = nodes.queries[at], nodes.answers[at]
            matrix = csr_array(query.matrix[:, some])
            seen = np.diff(matrix.indptr) > 0
            apart += query.weight * float((answer[:, ~seen].astype(np.float64) ** 2).sum())
            if seen.any():
                queries.append(LevelQuery(csr_array(matrix[seen]), query.weight))
                answers.append(answer[:, seen])
        level = Level.of(
            nodes.name,
            nodes.nodes,
            some.size,
            queries=queries,
            answers=answers,
            invariants=csr_array(own[used]),
            values=told[:, used],
            ranges=csr_array(ranges[ranged]),
            least=nodes.least[:, ranged],
            most=nodes.most[:, ranged],
            low=None if nodes.low is None else nodes.low @ sums,
            high=None if nodes.high is None else _roofs(nodes.high, sums),
        )
        return cls(level, None if parent is None else parent @ sums, some, nodes.cells, apart)

    def spread(self, counts: NDArray[NumberT]) -> NDArray[NumberT]:
        """Return counts of the classes, each of one cell, as those of all cells."""
        found = np.zeros((counts.shape[0], self.cells), dtype=counts.dtype)
        found[:, self.some] = counts
        return found


def _with_bounds(
    classes: IntArray, live: BoolArray, nodes: Level, parent: IntArray | None
) -> tuple[IntArray, IntArray]:
    """Return the class of each open cell, told apart by bounds, and a cell of each; others are in none."""
    places = np.flatnonzero(live)
    keys = [classes[places]]
    if nodes.low is not None or nodes.high is not None:
        floor, roof = nodes.floor[:, places], nodes.roof[:, places].copy()
        if parent is not None:
            roof[roof >= parent[places]] = UNBOUNDED
        plain = (floor == 0).all(axis=0) & np.isin(roof, (0, UNBOUNDED)).all(axis=0)
        patterns = np.unique(np.packbits(roof == 0, axis=0), axis=1, return_inverse=True)[1].ravel()
        keys.append(np.where(plain, patterns, places.size + np.arange(places.size)))
    first, inverse = np.unique(np.stack(keys), axis=1, return_index=True, return_inverse=True)[1:]
    # classes in the order of their first cells, so that nothing rests on how they were told apart
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    of = np.full(classes.size, -1, dtype=np.int64)
    of[places] = rank[inverse.ravel()]
    return of, places[first[order]]


def _sums_of(of: IntArray, live: BoolArray, classes: int) -> csr_array:
    """Return, cells by classes, the sum of each class."""
    places = np.flatnonzero(live)
    ones = np.ones(places.size, dtype=np.int64)
    return csr_array((ones, (places, of[places])), shape=(of.size, classes))


def _roofs(high: IntArray, sums: csr_array) -> IntArray:
    """Return the largest sums of classes; where a cell has no bound its class has none."""
    free = (high == UNBOUNDED).astype(np.int64) @ sums > 0
    return np.where(free, UNBOUNDED, np.where(high == UNBOUNDED, 0, high) @ sums)


def _classes(parts: Sequence[csr_array]) -> IntArray:
    """Return the class of each cell: cells in one have the same column in all rows."""
    columns = csr_array(vstack(parts, format="csr")).tocsc()
    columns.sum_duplicates()
    columns.sort_indices()
    known: dict[tuple[bytes, bytes], int] = {}
    found = np.empty(columns.shape[1], dtype=np.int64)
    for cell, (begin, end) in enumerate(
        zip(columns.indptr[:-1].tolist(), columns.indptr[1:].tolist(), strict=True)
    ):
        key = columns.indices[begin:end].tobytes(), columns.data[begin:end].tobytes()
        found[cell] = known.setdefault(key, len(known))
    return found


def _implied(rows: csr_array, by: csr_array) -> BoolArray:
    """Return which rows are sums of whole rows of a query, no two of which share a cell."""
    of = np.full(by.shape[1], -1, dtype=np.int64)
    of[by.indices] = np.repeat(np.arange(by.shape[0]), np.diff(by.indptr))
    first = by.indices[by.indptr[:-1][np.diff(by.indptr) > 0]]
    if np.bincount(by.indices, minlength=1).max(initial=0) > 1 or (by.data != 1).any():
        return np.zeros(rows.shape[0], dtype=np.bool_)
    found = np.empty(rows.shape[0], dtype=np.bool_)
    heads = np.zeros(by.shape[0], dtype=np.int64)
    heads[np.diff(by.indptr) > 0] = first
    for at in range(rows.shape[0]):
        dense = rows[[at]].toarray().ravel()
        like = np.where(of >= 0, dense[heads[of]], 0)
        found[at] = np.array_equal(dense, like)
    return found
