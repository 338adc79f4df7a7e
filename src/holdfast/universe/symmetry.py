"""Universes in which every table looks like every other: all sums over tables around one are the same.

Let each cell hold one of two neighbouring counts, l or l + 1, and let the invariants fix the sum of each
pattern (cells with equal columns) or say nothing of it. Write x = l + v, v of 0 and 1. The universe is a
product over patterns of the v with a given number of ones, and of all v where nothing is said. Permuting
the cells of a pattern leads from any v of it to any other with as many ones; exchanging 0 and 1 in a cell
leads from any v to any other. Both keep |y_c - x_c| of all cells together, up to their order, and so every
norm that depends on these alone. Hence a sum over all tables y of a function of |y - x| is the same for
every table x: normalisers are constant, and gamma = 0 [congenial-dp, Theorem 2.1; theory, 4].
"""

import numpy as np

from holdfast.programs.solver import UNBOUNDED
from holdfast.universe.capacity import capacities
from holdfast.universe.universe import Universe


def looks_alike(universe: Universe) -> bool:
    """Whether the universe is one of two counts a cell, as above; False where that is not seen."""
    groups, limits = universe.patterns, universe.limits
    tied = int(np.count_nonzero(np.diff(groups.columns.tocsc().indptr)))
    if universe.rank != tied or (limits is not None and not limits.of_cells):
        return False
    high = capacities(universe)[groups.of_cell]
    low = np.zeros_like(high)
    if limits is not None:
        low, high = limits.ranges[0], np.minimum(high, limits.ranges[1])
    return bool(((high != UNBOUNDED) & (high - low <= 1)).all())
