"""A system of whole counts: rows with bounds, and cells with bounds."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.programs.solver import UNBOUNDED


@dataclass(frozen=True, eq=False)
class System:
    """Whole z with least <= rows z <= most and low <= z <= high.

    A bound of UNBOUNDED, below 0 for a least one, is none. Rows with equal bounds are equalities.
    """

    rows: csr_array
    least: IntArray
    most: IntArray
    low: IntArray
    high: IntArray

    def holds(self, counts: IntArray) -> bool:
        """Whether counts keep everything."""
        sums = self.rows @ counts
        return bool(
            (sums >= self.least).all()
            and (sums <= self.most).all()
            and (counts >= self.low).all()
            and (counts <= self.high).all()
        )


def moved(bounds: IntArray, by: IntArray) -> IntArray:
    """Return bounds less what is there already; one that is none stays none."""
    none = np.abs(bounds) == UNBOUNDED
    return np.where(none, bounds, np.where(none, 0, bounds) - by)


def real(bounds: IntArray) -> FloatArray:
    """Return bounds as floats, infinite where there is none."""
    floats = bounds.astype(np.float64)
    return np.where(np.abs(bounds) == UNBOUNDED, np.copysign(np.inf, floats), floats)
