"""All points of a lattice within a box: the slow truth of tests, and the law of a small table."""

import numpy as np

from holdfast.lattice.arrays import IntArray


def lattice_points(matrix: IntArray, radius: int) -> IntArray:
    """Return all z with A z = 0 and |z_i| <= radius, by trying every value cell by cell.

    The last cell of an equation has the value that the others leave.
    """
    found = few_points(matrix, radius, None)
    assert found is not None  # noqa: S101 - there is no limit
    return found


def few_points(matrix: IntArray, radius: int, most: int | None) -> IntArray | None:
    """Return the same; None where more than so many beginnings of points would be looked at."""
    rows, cells = matrix.shape
    reach = np.zeros((cells + 1, rows), dtype=np.int64)
    for i in reversed(range(cells)):
        reach[i] = reach[i + 1] + radius * np.abs(matrix[:, i])
    points = np.zeros((1, 0), dtype=np.int64)
    values = np.arange(-radius, radius + 1)
    for i in range(cells):
        last = np.flatnonzero((matrix[:, i] != 0) & ~(matrix[:, i + 1 :] != 0).any(axis=1))
        if last.size:
            left = -(points @ matrix[last[0], :i])
            points = np.column_stack([points, left // matrix[last[0], i]])
            points = points[np.abs(points[:, i]) <= radius]
        else:
            if most is not None and points.shape[0] * values.size > most:
                return None
            points = np.column_stack(
                [np.repeat(points, values.size, axis=0), np.tile(values, points.shape[0])]
            )
        partial = points @ matrix[:, : i + 1].T
        points = points[(np.abs(partial) <= reach[i + 1]).all(axis=1)]
    return points
