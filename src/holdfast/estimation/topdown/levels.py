"""Water levels: for every row, the shift m with sum_j clip(c_j + m, low_j, high_j) + s m = t.

The left side rises with m, in straight pieces that end where a cell leaves its lower bound or reaches its
upper one. These places are sorted and passed one by one. s = 0 is a sum that is kept, s > 0 one that may
give way.
"""

from typing import Any

import numpy as np

from holdfast.compiled import compiled
from holdfast.lattice.arrays import FloatArray


def levels(
    centre: FloatArray, low: FloatArray, high: FloatArray, sums: FloatArray, soft: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the level of each row, and its cells at that level; a sum out of reach leaves them at bounds."""
    shifts, point = np.empty(centre.shape[0]), np.empty(centre.shape)
    _fill(centre, low, high, sums, soft, shifts, point)
    return shifts, point


def turned(table: FloatArray) -> FloatArray:
    """Return a table with its columns for rows."""
    return np.ascontiguousarray(table.T)


@compiled
def _fill(  # noqa: PLR0912 - one loop
    centre: Any, low: Any, high: Any, sums: Any, soft: Any, shifts: Any, point: Any
) -> None:
    count, cells = centre.shape
    ends = np.empty(2 * cells)
    for row in range(count):
        # the sum at the level m is held + slope * m; below all ends every cell is at its lower bound
        held, slope, target = 0.0, soft[row], sums[row]
        for j in range(cells):
            held += low[row, j]
            ends[j] = low[row, j] - centre[row, j]
            ends[cells + j] = high[row, j] - centre[row, j]
        level = np.inf
        for end in np.argsort(ends, kind="mergesort"):
            if held + slope * ends[end] >= target:
                level = (target - held) / slope if slope > 0 else ends[end]
                break
            if end < cells:
                held += centre[row, end] - low[row, end]
                slope += 1
            else:
                held += high[row, end - cells] - centre[row, end - cells]
                slope -= 1
        if level == np.inf:
            level = (target - held) / slope if slope > 0 else ends.max()
        # once more, from the cells that are free there: adding and taking away leaves some rounding
        held, slope = 0.0, soft[row]
        for j in range(cells):
            value = centre[row, j] + level
            if value <= low[row, j]:
                held += low[row, j]
            elif value >= high[row, j]:
                held += high[row, j]
            else:
                held += centre[row, j]
                slope += 1
        if slope > 0:
            level = (target - held) / slope
        shifts[row] = level
        for j in range(cells):
            point[row, j] = min(max(centre[row, j] + level, low[row, j]), high[row, j])
