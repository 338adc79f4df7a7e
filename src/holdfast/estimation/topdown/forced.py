"""Cells that sums and bounds force: those of a sum that all lower bounds reach, or all upper ones."""

import numpy as np
from numpy.typing import NDArray

from holdfast.lattice.arrays import FloatArray

Flags = NDArray[np.bool_]


def close(
    floor: FloatArray, roof: FloatArray, sums: FloatArray, known: FloatArray | None
) -> tuple[Flags, Flags]:
    """Close the bounds of cells that are forced, in place; return the rows and columns with others left."""
    rows, columns = np.ones(floor.shape[0], dtype=np.bool_), np.ones(floor.shape[1], dtype=np.bool_)
    while True:
        before = rows.sum() + columns.sum()
        least, most = floor.sum(axis=0) >= sums, roof.sum(axis=0) <= sums
        roof[:, least], floor[:, most & ~least] = floor[:, least], roof[:, most & ~least]
        columns &= ~(least | most)
        if known is not None:
            least, most = floor.sum(axis=1) >= known, roof.sum(axis=1) <= known
            roof[least], floor[most & ~least] = floor[least], roof[most & ~least]
            rows &= ~(least | most)
        if known is None or rows.sum() + columns.sum() == before:
            return rows, columns
