"""Optimal controlled rounding: whole z that keep the sums, each a neighbour of x, with the least sum |z - x|.

Of z = floor(x) + u only the cells u in {0, 1} of true fractions f are open, at the cost of 1 - 2 f each.
Fractions are told in units of 2^-20, so that costs are whole and what differs by rounding alone is a tie;
this moves the sum by at most 2^-21 a cell.

* **The parent's counts alone** separate by cell: the largest fractions go up, among equals the first child's.
* **Children's totals as well** make it a transportation problem. From the optimum without totals, units move
  from a child with too many to one with too few along the cheapest path of cells. Every such point is the
  cheapest with its totals [ahuja1993, 9.7], so the last one is optimal. Bounds are whole, so neighbours keep
  them.
* **Other rows** make it an integer program, whose point is checked in integers. Where no neighbours keep
  them, z may be any whole numbers within bounds. Without a parent, sums that have no cell in common are kept
  by their largest fractions.

Which of several equally near points a solver finds is its own affair, and may be another one elsewhere. So
each step of an integer program costs a part of a unit more, which looks random and is settled by its place.
With n steps of 0 or 1 the cheapest point is then the only one, but for a chance of n / 2^20 [mulmuley1987,
Lemma 1].
"""

from dataclasses import dataclass
from hashlib import shake_256
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.programs.quadratic.squares import IntegerSystem, shifted_bounds
from holdfast.programs.solver import UNBOUNDED, Program
from holdfast.system.compiled import compiled

FINE = 1 << 20
"""Units in one, in which fractions are told; and parts of a unit, in which ties are broken."""


@dataclass(frozen=True, eq=False)
class Parts:
    """Whole parts and the units beyond them."""

    floor: IntArray
    units: IntArray

    @classmethod
    def of(cls, counts: FloatArray) -> "Parts":
        """Return the parts of counts, taken to the nearest unit."""
        floor, units = np.divmod(np.rint(counts * FINE).astype(np.int64), FINE)
        return cls(floor, units)

    @property
    def cost(self) -> IntArray:
        """What going up costs, in units."""
        return np.asarray(FINE - 2 * self.units)


def rounded(counts: FloatArray, parent: IntArray, totals: IntArray | None = None) -> IntArray | None:
    """Return the nearest whole counts with the parent's sums, and the children's totals where given.

    None where no neighbours of the counts have these sums: the counts do not have them either.
    """
    parts = Parts.of(counts)
    need = parent - parts.floor.sum(axis=0)
    some = parts.units > 0
    if (need < 0).any() or (need > some.sum(axis=0)).any():
        return None
    largest_first = np.argsort(-parts.units, axis=0, kind="stable")
    up = np.zeros(counts.shape, dtype=np.bool_)
    np.put_along_axis(up, largest_first, np.arange(counts.shape[0])[:, None] < need, axis=0)
    if totals is not None:
        excess = parts.floor.sum(axis=1) + up.sum(axis=1) - totals
        if excess.sum() != 0 or not _balance(up, some, parts.cost, excess):
            return None
    return np.asarray(parts.floor + up, dtype=np.int64)


def rounded_under(
    counts: FloatArray,
    parent: IntArray,
    matrix: csr_array,
    values: IntArray,
    *,
    low: IntArray | None = None,
    high: IntArray | None = None,
) -> IntArray | None:
    """Return the nearest whole counts with the parent's sums and ``matrix`` z = ``values`` for each child.

    ``values`` has one row a child; ``high`` is UNBOUNDED where there is no bound. None where there are none.
    """
    rows, sums = family_rows(matrix, values.shape[0]), np.concatenate([values.ravel(), parent])
    least = np.zeros(counts.size, dtype=np.int64) if low is None else low.ravel()
    most = np.full(counts.size, UNBOUNDED) if high is None else high.ravel()
    found = nearest_whole(counts.ravel(), IntegerSystem(rows, sums, sums, least, most))
    return None if found is None else found.reshape(counts.shape)


def family_rows(own: csr_array, count: int) -> csr_array:
    """Return rows over the cells of each child, and the sums of all children."""
    rows, cells = own.shape
    every = np.arange(count)[:, None]
    starts = np.concatenate(
        [[0], (own.indptr[1:] + own.nnz * every).ravel(), count * (own.nnz + np.arange(1, cells + 1))]
    )
    places = np.concatenate(
        [(own.indices + cells * every).ravel(), (np.arange(cells)[:, None] + cells * every.T).ravel()]
    )
    entries = np.concatenate([np.tile(own.data, count), np.ones(count * cells, dtype=own.dtype)])
    return csr_array((entries, places, starts), shape=(count * rows + cells, count * cells))


def nearest_whole(counts: FloatArray, system: IntegerSystem) -> IntArray | None:
    """Return the nearest whole counts of a system, None where none are found.

    Where branch and bound ends before nothing can be nearer, its best point is taken.
    """
    parts = Parts.of(counts)
    floor, units, cost = parts.floor, parts.units, parts.cost
    inside = (floor >= system.low) & (floor + (units > 0) <= system.high)
    if inside.all():
        up = _largest_first(parts, system)
        if up is None:
            up = np.zeros(floor.size, dtype=np.int64)
            some = np.flatnonzero(units)
            found = _cheapest(system, floor, csr_array(system.rows[:, some]), cost[some], np.ones_like(some))
            if found is not None:
                up[some] = found
        if system.holds(floor + up):
            return floor + up
    # any whole numbers: one step of a fraction, then whole steps up or down at the cost of one each
    floor = np.clip(floor, system.low, system.high)
    between = ((units > 0) & inside).astype(np.int64)
    beyond = shifted_bounds(system.high, floor + between)
    ones = np.full(floor.size, FINE)
    found = _cheapest(
        system,
        floor,
        csr_array(hstack([system.rows, system.rows, -system.rows], format="csr")),
        np.concatenate([np.where(between > 0, cost, FINE), ones, ones]),
        np.concatenate([between, beyond, floor - system.low]),
    )
    if found is None:
        return None
    step, above, below = found.reshape(3, -1)
    return np.asarray(floor + step + above - below)


def _largest_first(parts: Parts, system: IntegerSystem) -> IntArray | None:
    """Return which cells go up where rows are sums without a cell in common; None where they are not.

    The largest fractions of each sum go up, among equals the first; of cells in no sum, those above a half.
    """
    rows = system.rows
    of = np.full(parts.floor.size, -1, dtype=np.int64)
    of[rows.indices] = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    disjoint = np.bincount(rows.indices, minlength=of.size).max(initial=0) <= 1
    if not disjoint or (rows.data != 1).any() or not np.array_equal(system.least, system.most):
        return None
    order = np.lexsort((-parts.units, of))
    group = of[order]
    rank = np.arange(of.size) - np.searchsorted(group, group)
    need = np.append(system.least - rows @ parts.floor, 0)[group]
    up = np.zeros(of.size, dtype=np.int64)
    up[order] = np.where(group < 0, parts.cost[order] < 0, rank < need)
    return np.where(parts.units > 0, up, 0)


def _cheapest(
    system: IntegerSystem, floor: IntArray, rows: csr_array, cost: IntArray, most: IntArray
) -> IntArray | None:
    """Return whole v from 0 to ``most`` at the least cost that keep the system from some counts on."""
    sums = system.rows @ floor
    program = Program(rows, shifted_bounds(system.least, sums), shifted_bounds(system.most, sums), most=most)
    return program.solve(maximise=-(cost + extras(cost.size))).point


def extras(count: int) -> FloatArray:
    """Return the extra cost of each step, a whole number of parts of a unit."""
    drawn = np.frombuffer(shake_256(b"ties").digest(4 * count), dtype="<u4")
    return np.asarray((drawn % FINE) / FINE)


@compiled
def _balance(up: Any, some: Any, cost: Any, excess: Any) -> bool:  # noqa: PLR0912 - one loop
    """Move units between rows along cheapest paths until none has an excess; whether that was possible."""
    rows, columns = up.shape
    never = np.int64(1) << 60
    by_row, by_column = np.empty(rows, dtype=np.int64), np.empty(columns, dtype=np.int64)
    row_from, column_from = np.empty(rows, dtype=np.int64), np.empty(columns, dtype=np.int64)
    while excess.max() > 0:
        for i in range(rows):
            by_row[i] = 0 if excess[i] > 0 else never
        by_column[:] = never
        row_from[:] = -1
        changed = True
        while changed:
            changed = False
            for i in range(rows):  # a unit leaves row i
                for j in range(columns):
                    if up[i, j] and by_row[i] < never and by_row[i] - cost[i, j] < by_column[j]:
                        by_column[j] = by_row[i] - cost[i, j]
                        column_from[j] = i
                        changed = True
            for i in range(rows):  # a unit arrives in row i
                for j in range(columns):
                    arrives = some[i, j] and not up[i, j] and by_column[j] < never
                    if arrives and by_column[j] + cost[i, j] < by_row[i]:
                        by_row[i] = by_column[j] + cost[i, j]
                        row_from[i] = j
                        changed = True
        end = -1
        for i in range(rows):
            if excess[i] < 0 and by_row[i] < never and (end < 0 or by_row[i] < by_row[end]):
                end = i
        if end < 0:
            return False
        excess[end] += 1
        while row_from[end] >= 0:
            j = row_from[end]
            up[end, j] = True
            end = column_from[j]
            up[end, j] = False
        excess[end] -= 1
    return True
