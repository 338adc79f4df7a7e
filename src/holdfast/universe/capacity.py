"""How many records each pattern of cells can hold at most."""

import numpy as np
from scipy.sparse import coo_array

from holdfast.lattice.arrays import IntArray
from holdfast.programs.integer import Program
from holdfast.programs.solver import UNBOUNDED, Status
from holdfast.universe.universe import Universe


def capacities(universe: Universe) -> IntArray:
    """Return an upper bound on the count of each pattern, UNBOUNDED where there is none.

    Nested totals fix it. A row without negative entries bounds each of its patterns by value / entry.
    Where no such row helps, one integer program decides; a pattern in no row at all is unbounded.
    """
    if universe.settled is not None:
        return universe.settled.copy()
    columns = universe.patterns.columns
    entries = coo_array(columns)
    mixed = np.zeros(universe.rank, dtype=bool)
    mixed[entries.row[entries.data < 0]] = True
    plain = ~mixed[entries.row]
    row, pattern, entry = entries.row[plain], entries.col[plain], entries.data[plain]
    bound = np.full(universe.patterns.count, UNBOUNDED)
    np.minimum.at(bound, pattern, universe.values[row] // entry)

    tied = np.zeros(universe.patterns.count, dtype=bool)
    tied[entries.col] = True
    open_ended = np.flatnonzero(tied & (bound == UNBOUNDED))
    if open_ended.size:
        program = Program(columns, universe.values, universe.values, most=bound)
        for index in open_ended:
            objective = np.zeros(bound.size, dtype=np.int64)
            objective[index] = 1
            outcome = program.solve(maximise=objective)
            if outcome.status is Status.SOLVED and outcome.point is not None:
                bound[index] = outcome.point[index]
    return bound
