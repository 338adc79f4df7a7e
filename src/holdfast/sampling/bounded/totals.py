"""Counts that are tied by totals alone: which sums are fixed, and what bounds and orders the counts.

Where the equations A y = t fix the sum of every kind of cell (of equal columns of A), each such kind is a
group with a total, and A y = t says no more than these totals: a margin, disjoint selections, nested ones.
Inequalities B y >= b are taken apart. A row with one cell is a bound of it, one of the form y_p - y_c >= b
puts a child c below its parent p, and the others stay rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.lattice.components import patterns
from holdfast.system.errors import SamplingError

FREE = -1
"""The group of a cell in no equation."""
ROUNDS = 100


class Order(NamedTuple):
    """y_parent - y_child >= by."""

    parent: int
    child: int
    by: int


@dataclass(frozen=True, eq=False)
class Totals:
    """What counts have to satisfy.

    Attributes:
        group: the group of each cell, or FREE.
        sums: the total of each group.
        low, high: bounds of each cell; None is none.
        orders: cells that stay below others.
        rows, least: the other inequalities, rows y >= least.

    """

    group: IntArray
    sums: IntArray
    low: tuple[int | None, ...]
    high: tuple[int | None, ...]
    orders: tuple[Order, ...]
    rows: IntArray
    least: IntArray

    @classmethod
    def of(
        cls,
        matrix: csr_array,
        values: IntArray,
        *,
        low: Sequence[int | None],
        high: Sequence[int | None] | None = None,
        rows: IntArray | None = None,
        least: IntArray | None = None,
    ) -> "Totals | None":
        """Take a system apart; None where its equations say more than totals of groups.

        Raises SamplingError where bounds leave nothing.
        """
        found = _groups(matrix, values)
        if found is None:
            return None
        cells = matrix.shape[1]
        group, sums = found
        given = cls(
            group,
            sums,
            tuple(low),
            tuple([None] * cells if high is None else high),
            (),
            np.zeros((0, cells), dtype=np.int64),
            np.zeros(0, dtype=np.int64),
        )
        if rows is not None and least is not None:
            given = given._with_rows(rows, least)
        return given._tightened()

    @property
    def cells(self) -> int:
        """The number of cells."""
        return int(self.group.size)

    @property
    def bounded(self) -> bool:
        """Whether every count has both bounds."""
        return None not in self.low and None not in self.high

    def members(self, group: int) -> IntArray:
        """Return the cells of a group."""
        return np.flatnonzero(self.group == group)

    def inside(self, points: IntArray) -> BoolArray:
        """Tell which rows satisfy everything."""
        inside = np.ones(points.shape[0], dtype=np.bool_)
        for number, total in enumerate(self.sums.tolist()):
            inside &= points[:, self.group == number].sum(axis=1) == total
        for cell, (low, high) in enumerate(zip(self.low, self.high, strict=True)):
            if low is not None:
                inside &= points[:, cell] >= low
            if high is not None:
                inside &= points[:, cell] <= high
        for parent, child, by in self.orders:
            inside &= points[:, parent] - points[:, child] >= by
        if self.rows.size:
            inside &= (points @ self.rows.T >= self.least).all(axis=1)
        return inside

    def part(self, cells: IntArray) -> "Totals":
        """Return what concerns some cells that no others are tied to."""
        place = {int(cell): number for number, cell in enumerate(cells)}
        groups = [number for number in range(self.sums.size) if np.isin(self.group[cells], number).any()]
        renamed = {number: place for place, number in enumerate(groups)}
        rows = [number for number, row in enumerate(self.rows) if row[cells].any()]
        return replace(
            self,
            group=np.array([renamed.get(int(group), FREE) for group in self.group[cells]], dtype=np.int64),
            sums=self.sums[groups],
            low=tuple(self.low[cell] for cell in cells),
            high=tuple(self.high[cell] for cell in cells),
            orders=tuple(
                Order(place[order.parent], place[order.child], order.by)
                for order in self.orders
                if order.parent in place
            ),
            rows=self.rows[rows][:, cells],
            least=self.least[rows],
        )

    def near(self, centre: IntArray, radius: int) -> "Totals | None":
        """Return the same with every count so near to its centre; None where that leaves nothing."""
        low = [_largest(low, x - radius) for low, x in zip(self.low, centre.tolist(), strict=True)]
        high = [_smallest(high, x + radius) for high, x in zip(self.high, centre.tolist(), strict=True)]
        try:
            return replace(self, low=tuple(low), high=tuple(high))._tightened()
        except SamplingError:
            return None

    def without(self, cells: Sequence[int]) -> "Totals":
        """Return the same with some cells kept at 0; raises SamplingError where that leaves nothing."""
        low, high = list(self.low), list(self.high)
        for cell in cells:
            low[cell], high[cell] = _largest(low[cell], 0), _smallest(high[cell], 0)
        return replace(self, low=tuple(low), high=tuple(high))._tightened()

    def _with_rows(self, rows: IntArray, least: IntArray) -> "Totals":
        low, high = list(self.low), list(self.high)
        orders: list[Order] = []
        kept: list[int] = []
        for number, (row, value) in enumerate(zip(rows, least.tolist(), strict=True)):
            cells = np.flatnonzero(row)
            weights = row[cells].tolist()
            if cells.size == 1 and weights[0] > 0:
                low[cells[0]] = _largest(low[cells[0]], -(-value // weights[0]))
            elif cells.size == 1:
                high[cells[0]] = _smallest(high[cells[0]], value // weights[0])
            elif cells.size == 2 and sum(weights) == 0:
                parent, child = cells.tolist() if weights[0] > 0 else cells[::-1].tolist()
                orders.append(Order(parent, child, -(-value // abs(weights[0]))))
            elif cells.size or value > 0:
                kept.append(number)
        return replace(
            self,
            low=tuple(low),
            high=tuple(high),
            orders=tuple(orders),
            rows=rows[kept],
            least=least[kept],
        )

    def _tightened(self) -> "Totals":
        """Return the same with the bounds that follow from totals and orders; raises if nothing is left."""
        low, high = list(self.low), list(self.high)
        for _ in range(ROUNDS):
            before = (low.copy(), high.copy())
            for parent, child, by in self.orders:
                if (below := low[child]) is not None:
                    low[parent] = _largest(low[parent], below + by)
                if (above := high[parent]) is not None:
                    high[child] = _smallest(high[child], above - by)
            for number, total in enumerate(self.sums.tolist()):
                _share(self.members(number).tolist(), total, low, high)
            if before == (low, high):
                break
        if any(
            one is not None and other is not None and one > other
            for one, other in zip(low, high, strict=True)
        ):
            raise SamplingError("no release is within these bounds: correct or drop one of them.")
        return replace(self, low=tuple(low), high=tuple(high))


def _share(members: list[int], total: int, low: list[int | None], high: list[int | None]) -> None:
    """Bound the counts of a group by what the others leave them."""
    lows = [low[cell] for cell in members]
    if None not in lows:
        least = sum(value for value in lows if value is not None)
        for cell in members:
            own = low[cell]
            high[cell] = _smallest(high[cell], total - least + (0 if own is None else own))
    highs = [high[cell] for cell in members]
    if None not in highs:
        most = sum(value for value in highs if value is not None)
        for cell in members:
            own = high[cell]
            low[cell] = _largest(low[cell], total - most + (0 if own is None else own))


def _groups(matrix: csr_array, values: IntArray) -> tuple[IntArray, IntArray] | None:
    """Return the group of each cell and the totals, if the equations fix the sum of every kind of cell."""
    kinds = patterns(matrix)
    tied = np.diff(kinds.columns.tocsc().indptr) > 0
    if int(tied.sum()) != matrix.shape[0]:
        return None
    system = kinds.columns[:, tied].toarray()
    if not system.size:
        return np.full(matrix.shape[1], FREE, dtype=np.int64), np.zeros(0, dtype=np.int64)
    if (system == np.eye(system.shape[0])).all():
        sums = values.astype(np.int64)
    else:
        sums = np.rint(np.linalg.solve(system.astype(np.float64), values.astype(np.float64))).astype(np.int64)
    if (system @ sums != values).any():
        return None
    number = np.where(tied, np.cumsum(tied) - 1, FREE)
    return number[kinds.of_cell], sums


def _largest(one: int | None, other: int) -> int:
    return other if one is None else max(one, other)


def _smallest(one: int | None, other: int) -> int:
    return other if one is None else min(one, other)
