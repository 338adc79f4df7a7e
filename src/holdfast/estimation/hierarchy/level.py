"""What is known of the nodes of one level: the same queries, equalities and ranges for each of them.

Where nothing was measured a parent's counts are spread over its children. A child's part of a cell is its
part of the smallest sum around the cell that is known for all children: of the people of a block whose total
is known, all races have the same part. Where no sum is known all children have the same part. Without a
parent the cells of the smallest sum share it evenly, and are 0 without one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, eye_array

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray, wide
from holdfast.programs.solver import UNBOUNDED
from holdfast.system.errors import DataError

NumberT = TypeVar("NumberT", np.int64, np.float64)


@dataclass(frozen=True, eq=False)
class LevelQuery:
    """Rows over the cells of a child, and the weight of what was measured of each: 1 / variance.

    ``turn`` tells which queries are estimated before others [holdfast, estimation/hierarchy/passes.py].
    """

    matrix: csr_array
    weight: float
    turn: int = 0

    @cached_property
    def picked(self) -> IntArray | None:
        """The cell that each row asks for, where every row asks for one and no other does; else None."""
        rows = csr_array(self.matrix)
        alone = np.array_equal(rows.indptr, np.arange(rows.shape[0] + 1)) and bool((rows.data == 1).all())
        cells = rows.indices.astype(np.int64)
        return cells if alone and np.unique(cells).size == cells.size else None

    @property
    def detailed(self) -> bool:
        """Whether it asks for single cells, as the targets of these: of every cell, or of some."""
        return self.picked is not None


@dataclass(frozen=True, eq=False)
class SumsByArea:
    """Cells that are sums of others, told apart by areas of which no two have a leaf in common.

    Attributes:
        columns: areas by classes: the cell of each.
        classes: rows over the cells, the sums that are told apart.
        of: the area of each node, -1 where it has leaves of several.

    """

    columns: IntArray
    classes: csr_array
    of: IntArray

    @property
    def whole(self) -> bool:
        """Whether all nodes lie in one and the same area."""
        return bool(self.of.size and self.of[0] >= 0 and (self.of == self.of[0]).all())

    def spread(self, counts: NDArray[NumberT]) -> None:
        """Set the sums of nodes that lie in one area, by their other cells."""
        counts[:, self.columns[self.of[0]]] = Level.sums(self.classes, counts)


@dataclass(frozen=True, eq=False, repr=False)
class Level:
    """Measurements and constraints of all nodes of a level, over the same cells.

    Attributes:
        name: what it is called while it is worked on.
        nodes: how many there are.
        cells: of the table of each node.
        queries: what was measured; none for a level without measurements.
        answers: by query, one line a node; whole numbers in as few bits as they may be kept in.
        invariants: rows over a node's cells that are equalities.
        values: what they are, one line a node.
        ranges: rows over a node's cells with bounds.
        least: the least they may be, one line a node, 0 or below -UNBOUNDED where there is no bound.
        most: the most they may be, UNBOUNDED where there is no bound.
        low: the least counts, one line a node; None where all are 0.
        high: the largest counts, UNBOUNDED where there is no bound; None where there is none at all.
        by_area: cells that are sums of others by area.

    """

    name: str
    nodes: int
    cells: int
    queries: tuple[LevelQuery, ...]
    answers: tuple[IntArray | FloatArray, ...]
    invariants: csr_array
    values: IntArray
    ranges: csr_array
    least: IntArray
    most: IntArray
    low: IntArray | None
    high: IntArray | None
    by_area: tuple[SumsByArea, ...] = ()

    @classmethod
    def of(
        cls,
        name: str,
        nodes: int,
        cells: int,
        *,
        queries: Sequence[LevelQuery] = (),
        answers: Sequence[IntArray | FloatArray] = (),
        invariants: csr_array | None = None,
        values: IntArray | None = None,
        ranges: csr_array | None = None,
        least: IntArray | None = None,
        most: IntArray | None = None,
        low: IntArray | None = None,
        high: IntArray | None = None,
        by_area: tuple[SumsByArea, ...] = (),
    ) -> "Level":
        """Return what is known of so many nodes over so many cells; what is not given is not known."""
        rows, spans = _rows(invariants, cells, name), _rows(ranges, cells, name)
        wide = (nodes, spans.shape[0])
        level = cls(
            name=name,
            nodes=nodes,
            cells=cells,
            queries=tuple(queries),
            answers=tuple(answers),
            invariants=rows,
            values=np.zeros((nodes, 0), dtype=np.int64) if values is None else _whole(values),
            ranges=spans,
            least=np.full(wide, -UNBOUNDED) if least is None else _whole(least),
            most=np.full(wide, UNBOUNDED) if most is None else _whole(most),
            low=None if low is None else np.maximum(_whole(low), 0),
            high=None if high is None else _whole(high),
            by_area=by_area,
        )
        level._check()
        return level

    def _check(self) -> None:
        """Raise where shapes do not fit."""
        asked = [self.invariants.shape[1], self.ranges.shape[1], *(q.matrix.shape[1] for q in self.queries)]
        if any(cells != self.cells for cells in asked):
            raise DataError(
                f"the level {self.name!r} has {self.cells} cells a node, and rows over {sorted(set(asked))}"
                " cells: give all of them over the same cells."
            )
        shapes = [
            *(
                (answers.shape, query.matrix.shape[0])
                for query, answers in zip(self.queries, self.answers, strict=False)
            ),
            (self.values.shape, self.invariants.shape[0]),
            (self.least.shape, self.ranges.shape[0]),
            (self.most.shape, self.ranges.shape[0]),
            *((bound.shape, self.cells) for bound in (self.low, self.high) if bound is not None),
        ]
        if len(self.queries) != len(self.answers) or any(
            shape != (self.nodes, wide) for shape, wide in shapes
        ):
            raise DataError(
                f"the level {self.name!r} has {self.nodes:,} nodes and arrays of the shapes"
                f" {[shape for shape, _ in shapes]}: give one line a node, with a value for each row."
            )
        if not all(np.isfinite(query.weight) and query.weight >= 0 for query in self.queries):
            raise DataError(
                f"a query of the level {self.name!r} has a weight that is below 0 or not a number: give"
                " 1 / variance."
            )
        if not all(answers.dtype.kind == "i" or np.isfinite(answers).all() for answers in self.answers):
            raise DataError(
                f"an answer of the level {self.name!r} is missing or not a number: leave out its query."
            )

    def part(self, begin: int, end: int) -> "Level":
        """Return what is known of the nodes from one to before another."""
        here = slice(begin, end)
        return replace(
            self,
            nodes=end - begin,
            answers=tuple(wide(answers[here]) for answers in self.answers),
            values=self.values[here],
            least=self.least[here],
            most=self.most[here],
            low=None if self.low is None else self.low[here],
            high=None if self.high is None else self.high[here],
            by_area=tuple(replace(each, of=each.of[here]) for each in self.by_area),
        )

    @property
    def own(self) -> IntArray:
        """The cells that are no sums of others by area."""
        sums = [each.columns.ravel() for each in self.by_area]
        return np.setdiff1d(np.arange(self.cells), np.concatenate([np.zeros(0, dtype=np.int64), *sums]))

    def without_areas(self) -> "Level":
        """Return the level of the cells that are no sums by area, and of what is of them alone."""
        own = self.own
        queries = [query.matrix[:, own].nnz == query.matrix.nnz for query in self.queries]
        kept, ranged = (
            np.diff(rows[:, own].indptr) == np.diff(rows.indptr) for rows in (self.invariants, self.ranges)
        )
        return replace(
            self,
            cells=own.size,
            queries=tuple(
                replace(query, matrix=csr_array(query.matrix[:, own]))
                for query, mine in zip(self.queries, queries, strict=True)
                if mine
            ),
            answers=tuple(part for part, mine in zip(self.answers, queries, strict=True) if mine),
            invariants=csr_array(self.invariants[:, own][kept]),
            values=self.values[:, kept],
            ranges=csr_array(self.ranges[:, own][ranged]),
            least=self.least[:, ranged],
            most=self.most[:, ranged],
            low=None if self.low is None else self.low[:, own],
            high=None if self.high is None else self.high[:, own],
            by_area=(),
        )

    @property
    def floor(self) -> IntArray:
        """The least counts, as a table."""
        return np.zeros((self.nodes, self.cells), dtype=np.int64) if self.low is None else self.low

    @property
    def roof(self) -> IntArray:
        """The largest counts, as a table."""
        return np.full((self.nodes, self.cells), UNBOUNDED) if self.high is None else self.high

    @property
    def free(self) -> bool:
        """Whether nothing is asked of the counts."""
        rows = self.invariants.shape[0] + self.ranges.shape[0]
        return rows == 0 and self.low is None and self.high is None

    def kept(self, counts: IntArray) -> BoolArray:
        """Return, node by node, whether counts are what equalities, ranges and bounds ask for."""
        found = np.asarray((counts >= 0).all(axis=1))
        found &= (self.sums(self.invariants, counts) == self.values).all(axis=1)
        sums = self.sums(self.ranges, counts)
        found &= ((sums >= self.least) & (sums <= self.most)).all(axis=1)
        if self.low is not None:
            found &= (counts >= self.low).all(axis=1)
        if self.high is not None:
            found &= (counts <= self.high).all(axis=1)
        return found

    def within(self, counts: FloatArray, off: float) -> bool:
        """Whether real counts are within the ranges, but for so much."""
        sums = self.sums(self.ranges, counts)
        return bool(((sums >= self.least - off) & (sums <= self.most + off)).all())

    def objective(self, counts: FloatArray) -> float:
        """Return the weighted sum of squares of what was measured."""
        asked = zip(self.queries, self.answers, strict=True)
        errors = (query.weight * ((query.matrix @ counts.T).T - answers) ** 2 for query, answers in asked)
        return float(sum(error.sum() for error in errors))

    @staticmethod
    def sums(rows: csr_array, counts: NDArray[NumberT]) -> NDArray[NumberT]:
        """Return what rows are at counts, one line a node."""
        return np.asarray((rows @ counts.T).T)


def _rows(matrix: csr_array | None, cells: int, name: str) -> csr_array:
    """Return rows of whole numbers."""
    if matrix is None:
        return csr_array((0, cells), dtype=np.int64)
    whole = csr_array(matrix.astype(np.int64))
    if not np.array_equal(whole.data, matrix.data):
        raise DataError(
            f"an invariant or a range of the level {name!r} has entries that are not whole: multiply its row."
        )
    return whole


def _whole(values: IntArray) -> IntArray:
    return np.asarray(values, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class KnownSums:
    """The smallest known sum around each cell, -1 where there is none, and how many cells each sum has."""

    around: IntArray
    sizes: IntArray

    @classmethod
    def of(cls, invariants: csr_array) -> "KnownSums":
        """Find the sums among the rows."""
        sizes = np.diff(invariants.indptr).astype(np.int64)
        plain = np.ones(sizes.size, dtype=np.bool_)
        plain[np.repeat(np.arange(sizes.size), sizes)[invariants.data != 1]] = False
        sums = np.flatnonzero(plain)
        sums = sums[np.argsort(sizes[sums], kind="stable")]
        by_cell = csc_array(invariants[sums])
        by_cell.sort_indices()
        around = np.full(invariants.shape[1], -1, dtype=np.int64)
        some = np.diff(by_cell.indptr) > 0
        around[some] = sums[by_cell.indices[by_cell.indptr[:-1][some]]]
        return cls(around, sizes)

    def alone(self, values: IntArray) -> FloatArray:
        """Return the counts of nodes without a parent, one line a node."""
        shares = values[:, self.around] / self.sizes[self.around] if self.sizes.size else 0.0
        return np.where(self.around >= 0, shares, np.zeros((len(values), self.around.size)))

    def below(self, values: IntArray, parent: IntArray, counts: FloatArray) -> FloatArray:
        """Return the counts of nodes, given the place of the parent of each and the parents' counts."""
        starts = np.flatnonzero(np.diff(parent, prepend=-1))
        even = (1 / np.diff(starts, append=parent.size))[parent][:, None]
        parts = np.broadcast_to(even, (parent.size, self.around.size))
        if self.sizes.size:
            own = values[:, self.around].astype(np.float64)
            all_ = np.add.reduceat(own, starts, axis=0)[parent]
            parts = np.where((self.around >= 0) & (all_ > 0), own / np.maximum(all_, 1.0), even)
        return np.asarray(parts * counts[parent])


def spread(level: Level, parent: IntArray, counts: IntArray) -> Level:
    """Return a level without queries as one whose cells were measured to be the parents' counts, spread."""
    found = KnownSums.of(level.invariants).below(level.values, parent, counts.astype(np.float64))
    every = csr_array(eye_array(level.cells, dtype=np.int64))
    return replace(level, queries=(LevelQuery(every, 1.0),), answers=(found,))
