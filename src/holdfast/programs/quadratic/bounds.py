"""How far counts can go: what rows with bounds leave of the bounds of their cells.

In a row with least <= sum_j a_j x_j <= most, a cell with a_j > 0 is at most (most - the least that the others
add) / a_j and at least (least - the most that the others add) / a_j. What one row says of a cell another one
uses: some rounds of it.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array

from holdfast.lattice.arrays import FloatArray, IntArray

ROUNDS = 20
AT_ONCE = 1_000_000
"""Entries of rows, times nodes, that are worked on together."""


def reach(
    rows: csr_array,
    least: FloatArray,
    most: FloatArray,
    low: FloatArray,
    high: FloatArray,
    *,
    whole: bool = False,
    rounds: int = ROUNDS,
) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of cells that follow, infinite where there is none.

    Where low > high no counts keep the rows. All bounds have one line a node, or are those of one node;
    ``whole`` is for whole counts.
    """
    if low.ndim == 1:
        one = reach(rows, least[None], most[None], low[None], high[None], whole=whole, rounds=rounds)
        return one[0][0], one[1][0]
    floor, roof = low.astype(np.float64), high.astype(np.float64)
    entries = _Entries.of(rows)
    if entries.row.size:
        nodes = max(1, AT_ONCE // entries.row.size)
        for begin in range(0, floor.shape[0], nodes):
            part = slice(begin, begin + nodes)
            for _ in range(rounds):
                if not entries.close(least[part], most[part], floor[part], roof[part], whole=whole):
                    break
    return floor, roof


@dataclass(frozen=True, eq=False)
class _Entries:
    """The entries of rows, row by row, and what is needed to gather them by cell."""

    row: IntArray
    cell: IntArray
    value: FloatArray
    row_starts: IntArray
    rows: IntArray
    by_cell: IntArray
    cell_starts: IntArray
    cells: IntArray

    @classmethod
    def of(cls, rows: csr_array) -> "_Entries":
        listed = coo_array(rows)
        listed.sum_duplicates()
        some = listed.data != 0
        row, cell, value = (
            listed.row[some].astype(np.int64),
            listed.col[some].astype(np.int64),
            listed.data[some],
        )
        order = np.lexsort((cell, row))
        row, cell, value = row[order], cell[order], value[order].astype(np.float64)
        by_cell = np.argsort(cell, kind="stable")
        rows_found, row_starts = np.unique(row, return_index=True)
        cells_found, cell_starts = np.unique(cell[by_cell], return_index=True)
        return cls(row, cell, value, row_starts, rows_found, by_cell, cell_starts, cells_found)

    def close(
        self, least: FloatArray, most: FloatArray, floor: FloatArray, roof: FloatArray, *, whole: bool
    ) -> bool:
        """Close bounds by what all rows say, in place; return whether that changed any."""
        up = self.value > 0
        low, high = floor[:, self.cell], roof[:, self.cell]
        others_least = self._others(self.value * np.where(up, low, high), -np.inf)
        others_most = self._others(self.value * np.where(up, high, low), np.inf)
        over = (most[:, self.row] - others_least) / self.value
        under = (least[:, self.row] - others_most) / self.value
        largest, smallest = np.where(up, over, under), np.where(up, under, over)
        if whole:
            largest, smallest = np.floor(largest), np.ceil(smallest)
        largest = np.minimum.reduceat(largest[:, self.by_cell], self.cell_starts, axis=1)
        smallest = np.maximum.reduceat(smallest[:, self.by_cell], self.cell_starts, axis=1)
        before = floor[:, self.cells], roof[:, self.cells]
        after = np.maximum(before[0], smallest), np.minimum(before[1], largest)
        floor[:, self.cells], roof[:, self.cells] = after
        return not (np.array_equal(before[0], after[0]) and np.array_equal(before[1], after[1]))

    def _others(self, adds: FloatArray, endless: float) -> FloatArray:
        """Return, for each entry, the sum of what the other entries of its row add, which may be endless."""
        place = np.searchsorted(self.rows, self.row)
        wide = np.isinf(adds)
        finite = np.where(wide, 0.0, adds)
        sums = np.add.reduceat(finite, self.row_starts, axis=1)[:, place] - finite
        count = np.add.reduceat(wide.astype(np.int64), self.row_starts, axis=1)[:, place] - wide
        return np.where(count > 0, endless, sums)
