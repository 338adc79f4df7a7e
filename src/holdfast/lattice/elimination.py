"""Solving A z = 0 for some cells, chosen greedily in a given order, for many orders at once.

Gauss-Jordan elimination with pivots 1 and -1 only: it stays in integers, and the cells it solves for are
integer combinations of the others. Where A is totally unimodular every nonzero entry is such a pivot, the
cells found are the greedy basis of the order, and all entries stay in {-1, 0, 1} [schrijver1986, 19.1].
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.lattice.arrays import IntArray

LARGEST = 1 << 12


class Solved(NamedTuple):
    """For each order: the cells solved for, the free ones in the order, and z_closing = -N z_free."""

    closing: IntArray
    free: IntArray
    coefficients: NDArray[np.int16]


def solve_in_order(system: IntArray, orders: IntArray) -> Solved | None:
    """Eliminate along each row of ``orders``; None where some pivots are not 1 or -1.

    Cells that come first are solved for first.
    """
    rows, cells = system.shape
    count = orders.shape[0]
    if np.abs(system).max(initial=0) > LARGEST:
        return None
    table = np.repeat(system.astype(np.int16)[None], count, axis=0)
    taken = np.zeros((count, rows), dtype=np.bool_)
    closing = np.full((count, rows), -1, dtype=np.int64)
    everyone = np.arange(count)
    for place in range(cells):
        cell = orders[:, place]
        column = table[everyone, :, cell]
        able = (np.abs(column) == 1) & ~taken
        who = np.flatnonzero(able.any(axis=1))
        if not who.size:
            continue
        pivot = able[who].argmax(axis=1)
        row = table[who, pivot] * column[who, pivot][:, None]
        table[who] -= column[who][:, :, None] * row[:, None, :]
        table[who, pivot] = row
        taken[who, pivot] = True
        closing[who, pivot] = cell[who]
        if np.abs(table).max() > LARGEST:
            return None
        if taken.all():
            break
    if not taken.all():
        return None
    solved = np.zeros((count, cells), dtype=np.bool_)
    solved[everyone[:, None], closing] = True
    in_order = np.take_along_axis(solved, orders, axis=1)
    free = orders[~in_order].reshape(count, cells - rows)
    coefficients = np.take_along_axis(table, free[:, None, :], axis=2)
    return Solved(closing, free, coefficients)
