"""Counts where nothing was measured: a parent's, spread over its children by what is known of these.

A child's part of a cell is its part of the smallest sum around the cell that is known for all children: of
the people of a block whose total is known, all races have the same part. Where no sum is known all children
have the same part. Without a parent the cells of the smallest sum share it evenly, and are 0 without one.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csc_array, csr_array, eye_array

from holdfast.estimation.topdown.general import Query
from holdfast.estimation.topdown.known import Level
from holdfast.lattice.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Spread:
    """The smallest known sum around each cell, -1 where there is none, and how many cells each sum has."""

    around: IntArray
    sizes: IntArray

    @classmethod
    def of(cls, invariants: csr_array) -> "Spread":
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
    found = Spread.of(level.invariants).below(level.values, parent, counts.astype(np.float64))
    every = csr_array(eye_array(level.cells, dtype=np.int64))
    return replace(level, queries=(Query(every, 1.0),), answers=(found,))
