"""What is known of the nodes of one level: the same queries, equalities and ranges for each of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.errors import DataError
from holdfast.estimation.topdown.general import Query
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.programs.solver import UNBOUNDED


@dataclass(frozen=True, eq=False, repr=False)
class Level:
    """Measurements and constraints of all nodes of a level, over the same cells.

    Attributes:
        name: what it is called while it is worked on.
        nodes: how many there are.
        cells: of the table of each node.
        queries: what was measured; none for a level without measurements.
        answers: by query, one line a node.
        invariants: rows over a node's cells that are equalities.
        values: what they are, one line a node.
        ranges: rows over a node's cells with bounds.
        least: the least they may be, one line a node, 0 or below -UNBOUNDED where there is no bound.
        most: the most they may be, UNBOUNDED where there is no bound.
        low: the least counts, one line a node; None where all are 0.
        high: the largest counts, UNBOUNDED where there is no bound; None where there is none at all.

    """

    name: str
    nodes: int
    cells: int
    queries: tuple[Query, ...]
    answers: tuple[IntArray | FloatArray, ...]
    invariants: csr_array
    values: IntArray
    ranges: csr_array
    least: IntArray
    most: IntArray
    low: IntArray | None
    high: IntArray | None

    @classmethod
    def of(
        cls,
        name: str,
        nodes: int,
        cells: int,
        *,
        queries: Sequence[Query] = (),
        answers: Sequence[IntArray | FloatArray] = (),
        invariants: csr_array | None = None,
        values: IntArray | None = None,
        ranges: csr_array | None = None,
        least: IntArray | None = None,
        most: IntArray | None = None,
        low: IntArray | None = None,
        high: IntArray | None = None,
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
        if not all(np.isfinite(answers).all() for answers in self.answers):
            raise DataError(
                f"an answer of the level {self.name!r} is missing or not a number: leave out its query."
            )

    def part(self, begin: int, end: int) -> "Level":
        """Return what is known of the nodes from one to before another."""
        here = slice(begin, end)
        return replace(
            self,
            nodes=end - begin,
            answers=tuple(answers[here] for answers in self.answers),
            values=self.values[here],
            least=self.least[here],
            most=self.most[here],
            low=None if self.low is None else self.low[here],
            high=None if self.high is None else self.high[here],
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

    def kept(self, counts: IntArray) -> NDArray[np.bool_]:
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

    def objective(self, counts: FloatArray) -> float:
        """Return the weighted sum of squares of what was measured."""
        asked = zip(self.queries, self.answers, strict=True)
        errors = (query.weight * ((query.matrix @ counts.T).T - answers) ** 2 for query, answers in asked)
        return float(sum(error.sum() for error in errors))

    @staticmethod
    def sums(rows: csr_array, counts: IntArray) -> IntArray:
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
