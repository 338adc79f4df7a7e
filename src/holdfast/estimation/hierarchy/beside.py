"""Several tables on one tree as one: the cells of a node are those of all its tables, side by side.

What was measured and is known of a table reads its own cells; rows across tables read several. Then the
estimates of all tables, under what joins them, are those of one table.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.estimation.hierarchy.level import Level, LevelQuery, SumsByArea
from holdfast.lattice.arrays import IntArray
from holdfast.programs.solver import UNBOUNDED


@dataclass(frozen=True, eq=False)
class RowsAcross:
    """Rows over the cells of all tables, with bounds: one line a node."""

    rows: csr_array
    least: IntArray
    most: IntArray

    @classmethod
    def of(cls, rows: csr_array, nodes: int, *, least: bool, most: bool) -> "RowsAcross":
        """Return rows that are at least 0, at most 0 or both, at so many nodes."""
        wide = (nodes, int(rows.shape[0]))
        low = np.full(wide, 0 if least else -UNBOUNDED, dtype=np.int64)
        high = np.full(wide, 0 if most else UNBOUNDED, dtype=np.int64)
        return cls(rows, low, high)


def placed(rows: csr_array, before: int, cells: int) -> csr_array:
    """Return rows over the cells of one table as rows over those of all, so many being before its own."""
    indices = rows.indices.astype(np.int64) + before
    return csr_array((rows.data, indices, rows.indptr), shape=(rows.shape[0], cells))


def beside(levels: Sequence[Level], across: Sequence[RowsAcross] = ()) -> Level:
    """Return what is known of the nodes of a level, over the cells of all its tables and across them."""
    cells, nodes = sum(level.cells for level in levels), levels[0].nodes
    starts = np.cumsum([0, *(level.cells for level in levels)])[:-1].tolist()
    pairs = list(zip(levels, starts, strict=True))
    fixed = [each for each in across if np.array_equal(each.least, each.most)]
    spans = [each for each in across if not np.array_equal(each.least, each.most)]
    empty = csr_array((0, cells), dtype=np.int64)

    def stacked(parts: Sequence[csr_array]) -> csr_array:
        return csr_array(vstack([empty, *parts], format="csr"))

    low = None if all(one.low is None for one in levels) else np.hstack([one.floor for one in levels])
    high = None if all(one.high is None for one in levels) else np.hstack([one.roof for one in levels])
    return Level.of(
        levels[0].name,
        nodes,
        cells,
        queries=[
            LevelQuery(placed(query.matrix, before, cells), query.weight, query.turn)
            for level, before in pairs
            for query in level.queries
        ],
        answers=[answers for level in levels for answers in level.answers],
        invariants=stacked(
            [*(placed(one.invariants, at, cells) for one, at in pairs), *(e.rows for e in fixed)]
        ),
        values=np.hstack([*(one.values for one in levels), *(each.least for each in fixed)]),
        ranges=stacked([*(placed(one.ranges, at, cells) for one, at in pairs), *(e.rows for e in spans)]),
        least=np.hstack([*(one.least for one in levels), *(each.least for each in spans)]),
        most=np.hstack([*(one.most for one in levels), *(each.most for each in spans)]),
        low=low,
        high=high,
        by_area=tuple(
            SumsByArea(each.columns + at, placed(each.classes, at, cells), each.of)
            for one, at in pairs
            for each in one.by_area
        ),
    )


def emptied(level: Level, cells: IntArray, nodes: IntArray) -> Level:
    """Return a level where some cells are 0 at some nodes: pairs of a node and a cell."""
    high = level.roof.copy()
    high[nodes, cells] = 0
    return replace(level, high=high)
