"""The status of each cell, from what everyone knows of a release."""

import numpy as np
from scipy.sparse import csr_array

from holdfast.data.cell_status import STATUSES
from holdfast.data.schema import Schema
from holdfast.lattice.arrays import IntArray
from holdfast.lattice.rows import in_row_space
from holdfast.universe.exposure import exposure
from holdfast.universe.universe import Universe


def statuses(schema: Schema, universe: Universe) -> IntArray:
    """Return the status of each cell of a table, as its place in `STATUSES`: noisy where nothing fixes it.

    The universe is over the possible cells of the schema.
    """
    found = np.full(schema.size, STATUSES.index("noisy"), dtype=np.int64)
    found[~schema.possible] = STATUSES.index("structural zero")
    fixed = exposure(universe).determined
    one = np.ones(fixed.size, dtype=np.int64)
    rows = csr_array((one, (np.arange(fixed.size), fixed)), shape=(fixed.size, universe.cells))
    exact = in_row_space(universe.matrix, rows)
    possible = np.flatnonzero(schema.possible)
    found[possible[fixed]] = np.where(exact, STATUSES.index("exact"), STATUSES.index("forced"))
    return found
