"""A public table to study post-processing on: it keeps the invariants and knows nothing else.

Starting from equal counts, iterative proportional fitting scales the cells of each row of A to the row's
value, in turn; nested rows have their fit at once. For rows of 0 and 1 it tends to the table of largest
entropy with A v = t; for margins of disjoint attributes that is their independence fit. Then the nearest
whole table that conforms is taken. Cells that no invariant holds start, and stay, at the mean of their
released counts, or at 0 if that is negative.
"""

import numpy as np
from scipy.sparse import csr_array

from holdfast.estimation.conforming import Conforming
from holdfast.estimation.integers import integers_l1
from holdfast.estimation.l2 import nonnegative_l2
from holdfast.lattice.arrays import IntArray
from holdfast.universe.universe import Universe

SWEEPS = 50


def public_tables(
    universe: Universe, floors: tuple[IntArray, IntArray] | None = None
) -> tuple[IntArray, IntArray, IntArray]:
    """Return tables of a universe made from public values alone: the fitted one and two extreme ones.

    The extreme ones are nearest to tables with all records in every other cell. Cells that no invariant
    holds are empty. With B and b as ``floors`` all of them keep B v >= b.
    """
    B, b = (None, None) if floors is None else (csr_array(floors[0]), floors[1])
    conforming = Conforming.of(universe.matrix, universe.values, rows=B, at_least=b)
    fitted = stand_in(np.zeros(universe.cells, dtype=np.int64), universe.matrix, universe.values, conforming)
    every_other = np.arange(universe.cells) % 2 * max(int(fitted.sum()), 1)
    one = integers_l1(every_other, conforming)
    return fitted, one, integers_l1(every_other[::-1].copy(), conforming)


def stand_in(released: IntArray, matrix: csr_array, values: IntArray, conforming: Conforming) -> IntArray:
    """Return a conforming table made from the invariants, and released counts where there are none."""
    tied = np.zeros(matrix.shape[1], dtype=np.bool_)
    tied[matrix.indices] = True
    table = np.where(tied, 1.0, max(0.0, float(released[~tied].mean())) if not tied.all() else 0.0)
    table[conforming.most == 0] = 0.0
    if matrix.nnz and ((matrix.data != 1).any() or (values < 0).any()):
        # other weights: the least squares fit to equal counts instead
        return integers_l1(nonnegative_l2(table, conforming).values, conforming)
    groups, sums = conforming.groups()
    found = groups.add(table[groups.cells])
    table[groups.cells] *= np.where(found > 0, sums / np.where(found > 0, found, 1.0), 0.0)[groups.of]
    crossing = [rows.rows[rows.rows < matrix.shape[0]] for rows, _ in conforming.structure.blocks]
    layers = _layers(csr_array(matrix), np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *crossing])))
    for _ in range(SWEEPS if layers else 0):
        for rows, part in layers:
            found = np.add.reduceat(table[part.indices], part.indptr[:-1])
            factor = np.where(found > 0, values[rows] / np.where(found > 0, found, 1.0), 0.0)
            table[part.indices] *= np.repeat(factor, np.diff(part.indptr))
        if np.abs(matrix @ table - values).max(initial=0.0) < 0.01:
            break
    return integers_l1(table, conforming)


def _layers(matrix: csr_array, rows: IntArray) -> list[tuple[IntArray, csr_array]]:
    """Return rows in their order, those together that follow each other and share no cell."""
    layers: list[list[int]] = []
    last = np.full(matrix.shape[1], -1, dtype=np.int64)
    for row in rows.tolist():
        cells = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
        if not layers or (last[cells] == len(layers) - 1).any():
            layers.append([])
        layers[-1].append(row)
        last[cells] = len(layers) - 1
    return [(np.array(layer), csr_array(matrix[layer])) for layer in layers]
