"""What tables a universe holds: at most how many records where, all of them, and whether they look alike."""

import numpy as np
from scipy.sparse import coo_array, csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.programs.solver import UNBOUNDED, Program, Status
from holdfast.system.errors import GuaranteeError, InvariantError
from holdfast.universe.universe import Universe

MOST_CELLS = 40
"""Tables with more cells are not listed many at once."""
PREFIXES = 100
"""How many times as many beginnings of tables are looked at, for each cell, as there may be tables."""
AT_ONCE = 1 << 14
"""Beginnings of tables that are made at once, more or less: cells are filled one after the other."""


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


def conforming_tables(universe: Universe, limit: int, work: int | None = None) -> IntArray:
    """Return all tables x >= 0 with A x = t and B x >= b as rows, in lexicographic order, largest first.

    Raises GuaranteeError when there are more than `limit` of them, or infinitely many, or where more than
    `work` beginnings of tables have to be looked at.
    """
    bound = capacities(universe)[universe.patterns.of_cell]
    matrix = universe.matrix.toarray()
    if universe.limits is not None:
        bound = np.minimum(bound, universe.limits.ranges[1])
        matrix = np.concatenate([matrix, universe.limits.rows.toarray()])
    if (bound == UNBOUNDED).any():
        cell = int(np.flatnonzero(bound == UNBOUNDED)[0])
        raise GuaranteeError(
            f"cell {cell} is bounded by no invariant, so the universe cannot be enumerated: fix "
            "the total number of records."
        )
    below = np.minimum(matrix, 0) * bound
    above = np.maximum(matrix, 0) * bound
    # the least and the most that cells j, j+1, ... can still add to each row
    least = np.pad(np.cumsum(below[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))
    most = np.pad(np.cumsum(above[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))
    low, high = universe.sides

    found = [np.zeros((0, universe.cells), dtype=np.int64)]
    stack = [(np.zeros((1, 0), dtype=np.int64), np.zeros((1, low.size), dtype=np.int64))]
    looked, tables = 1, 0
    while stack:
        begun, held = stack.pop()
        cell = begun.shape[1]
        kept = ((held + least[:, cell] <= high) & (held + most[:, cell] >= low)).all(axis=1)
        begun, held = begun[kept], held[kept]
        if cell == universe.cells:
            found.append(begun)
            tables += len(begun)
            if tables > limit:
                raise GuaranteeError(
                    f"the universe holds more than {limit} tables: raise the limit or use a smaller table."
                )
            continue
        looked += len(begun) * (int(bound[cell]) + 1)
        if work is not None and looked > work:
            raise GuaranteeError(
                f"the tables of the universe were not found in {work} steps: use a smaller table."
            )
        counts = np.arange(bound[cell], -1, -1)
        size = max(1, AT_ONCE // counts.size)
        for first in reversed(range(0, len(begun), size)):
            part = slice(first, first + size)
            longer = np.repeat(begun[part], counts.size, axis=0)
            longer = np.column_stack([longer, np.tile(counts, len(begun[part]))])
            added = np.repeat(held[part], counts.size, axis=0) + longer[:, -1:] * matrix[:, cell]
            stack.append((longer, added))
    return np.concatenate(found)


def few_tables(matrix: csr_array, values: IntArray, most: int) -> IntArray | None:
    """Return all tables x >= 0 with A x = t; None where there are more than ``most``, or many cells."""
    cells = int(matrix.shape[1])
    if cells > MOST_CELLS:
        return None
    try:
        return conforming_tables(Universe.of(matrix, values), most, PREFIXES * most * cells)[::-1].copy()
    except InvariantError:
        return np.zeros((0, cells), dtype=np.int64)
    except GuaranteeError:
        return None


def looks_alike(universe: Universe) -> bool:
    """Whether every table of a universe looks like every other; False where that is not seen.

    Let each cell hold one of two neighbouring counts, l or l + 1, and let the invariants fix the sum of each
    pattern (cells with equal columns) or say nothing of it. Write x = l + v, v of 0 and 1. The universe is a
    product over patterns of the v with a given number of ones, and of all v where nothing is said. Permuting
    the cells of a pattern leads from any v of it to any other with as many ones; exchanging 0 and 1 in a cell
    leads from any v to any other. Both keep |y_c - x_c| of all cells together, up to their order, and so
    every norm that depends on these alone. Hence a sum over all tables y of a function of |y - x| is the same
    for every table x: normalisers are constant, and gamma = 0 [congenial-dp, Theorem 2.1; theory, 4].
    """
    groups, limits = universe.patterns, universe.limits
    tied = int(np.count_nonzero(np.diff(groups.columns.tocsc().indptr)))
    if universe.rank != tied or (limits is not None and not limits.of_cells):
        return False
    high = capacities(universe)[groups.of_cell]
    low = np.zeros_like(high)
    if limits is not None:
        low, high = limits.ranges[0], np.minimum(high, limits.ranges[1])
    return bool(((high != UNBOUNDED) & (high - low <= 1)).all())
