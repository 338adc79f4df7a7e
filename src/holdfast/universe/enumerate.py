"""Every table of a small universe, one by one: the slow truth for tests and audits."""

import numpy as np

from holdfast.errors import GuaranteeError
from holdfast.lattice.arrays import IntArray
from holdfast.programs.solver import UNBOUNDED
from holdfast.universe.capacity import capacities
from holdfast.universe.universe import Universe


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

    found: list[list[int]] = []
    stack: list[tuple[list[int], IntArray]] = [([], np.zeros_like(low))]
    looked = 0
    while stack:
        prefix, held = stack.pop()
        looked += 1
        if work is not None and looked > work:
            raise GuaranteeError(
                f"the tables of the universe were not found in {work} steps: use a smaller table."
            )
        cell = len(prefix)
        if ((held + least[:, cell] > high) | (held + most[:, cell] < low)).any():
            continue
        if cell == universe.cells:
            found.append(prefix)
            if len(found) > limit:
                raise GuaranteeError(
                    f"the universe holds more than {limit} tables: raise the limit or use a smaller table."
                )
            continue
        stack.extend(([*prefix, count], held + matrix[:, cell] * count) for count in range(bound[cell] + 1))
    return np.array(found, dtype=np.int64).reshape(len(found), universe.cells)
