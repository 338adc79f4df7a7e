"""How many tables are left beside published numbers: exactly for few, between two bounds for many.

Blocks that share no sum multiply. Within a block cells are filled one after the other, and beginnings that
leave the same sums to be filled are counted together. Where these are too many:

*   at least as many as the widest interval of a nested or two-way block has values, as each is attained there
    [schrijver1986, 19.3], and two in any other block with an interval that is open at all;
*   at most the product of all intervals' lengths, without one cell for each exact sum, so chosen that the
    sums give these cells back one by one.
"""

from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.components import components, patterns
from holdfast.lattice.nested import is_totally_unimodular
from holdfast.programs.solver import UNBOUNDED
from holdfast.publication.bounds import SumSystem, propagated, reduced
from holdfast.publication.intervals import Numbers, SumIntervals

STATES = 200_000
"""Beginnings of a block that are counted before bounds are given instead."""
CAP = 10**300
"""Numbers beyond it are told as more than this."""


@dataclass(frozen=True)
class TablesLeft:
    """How many tables have all published numbers; ``largest`` is None for more than 10^300, or no end."""

    least: int
    largest: int | None
    exact: bool

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {"least": self.least, "largest": self.largest, "exact": self.exact}


def tables_left(numbers: Numbers, known: SumIntervals) -> TablesLeft:
    """Return how many tables are left, given the interval of each cell."""
    kinds = patterns(numbers.matrix)
    tight = propagated(SumSystem.of(kinds.columns, numbers.low, numbers.high))
    first = np.unique(kinds.of_cell, return_index=True)[1]
    alone = kinds.size == 1
    least = np.where(alone, np.maximum(tight.least, known.low[first]), tight.least)
    most = np.where(alone, np.minimum(tight.most, known.high[first]), tight.most)
    if (most == UNBOUNDED).any():
        return TablesLeft(1, None, exact=False)
    inner = reduced(SumSystem(tight.matrix, tight.low, tight.high, least, most))
    low, high, exact, work = 1, 1, True, STATES
    settled = np.ones(alone.size, dtype=np.bool_)
    settled[inner.columns] = False
    for kind in np.flatnonzero(settled & ~alone).tolist():
        ways = _ways(int(kinds.size[kind]), int(least[kind]))
        low, high = min(CAP, low * ways), min(CAP + 1, high * ways)
    for block in components(inner.sums.matrix):
        part = inner.sums.part(block.rows, block.cells)
        size = kinds.size[inner.columns[block.cells]]
        counted, work = _counted(part, size, work) if high <= CAP else (None, work)
        if counted is None:
            fewest, largest = _bounds(part, size)
            exact = False
        else:
            fewest = largest = counted
        low, high = min(CAP, low * fewest), min(CAP + 1, high * largest)
    if high > CAP:
        return TablesLeft(low, None, exact=False)
    return TablesLeft(low, high, exact)


def _ways(size: int, count: int) -> int:
    """Return in how many ways so many people are in so many cells that no sum tells apart."""
    return min(CAP + 1, comb(count + size - 1, size - 1)) if size < 10_000 else CAP + 1


def _counted(block: SumSystem, size: IntArray, work: int) -> tuple[int | None, int]:
    """Return the number of tables of a block, None where too many beginnings differ, and the work left."""
    if block.low.size == 0:
        total = 1
        for width, least, cells in zip(
            (block.most - block.least).tolist(), block.least.tolist(), size.tolist(), strict=True
        ):
            if cells > 1 and width > 1_000:
                return None, work
            total *= width + 1 if cells == 1 else sum(_ways(cells, least + one) for one in range(width + 1))
            if total > CAP:
                return CAP + 1, work
        return total, work
    columns = csc_array(block.matrix)
    last = np.zeros(block.low.size, dtype=np.int64)
    first = np.full(block.low.size, block.most.size)
    for column in range(block.most.size):
        rows = columns.indices[columns.indptr[column] : columns.indptr[column + 1]]
        last[rows] = column
        first[rows] = np.minimum(first[rows], column)
    rest_least, rest_most = block.matrix @ block.least, block.matrix @ block.most
    low, high = block.low.tolist(), [UNBOUNDED if h == UNBOUNDED else h for h in block.high.tolist()]
    states: dict[tuple[int, ...], int] = {(): 1}
    active: list[int] = []
    for column in range(block.most.size):
        rows = columns.indices[columns.indptr[column] : columns.indptr[column + 1]].tolist()
        rest_least[rows] -= block.least[column]
        rest_most[rows] -= block.most[column]
        active += [row for row in rows if first[row] == column]
        held = {row: at for at, row in enumerate(active)}
        fresh = len(active) - len(next(iter(states))) if states else 0
        kept = [at for at, row in enumerate(active) if last[row] != column]
        following: dict[tuple[int, ...], int] = {}
        values = range(int(block.least[column]), int(block.most[column]) + 1)
        ways = [_ways(int(size[column]), value) for value in values]
        work -= len(states) * len(values)
        if work < 0:
            return None, 0
        checks = [
            (held[row], low[row] - int(rest_most[row]), high[row] - int(rest_least[row])) for row in rows
        ]
        for state, number in states.items():
            begun = [*state, *([0] * fresh)]
            for value, times in zip(values, ways, strict=True):
                if all(at_least <= begun[at] + value <= at_most for at, at_least, at_most in checks):
                    longer = begun.copy()
                    for at, _, _ in checks:
                        longer[at] += value
                    key = tuple([longer[at] for at in kept])
                    following[key] = following.get(key, 0) + number * times
        states = following
        active = [active[at] for at in kept]
    return sum(states.values()), work


def _bounds(block: SumSystem, size: IntArray) -> tuple[int, int]:
    """Return a number of tables that a block has at least, and one that it has at most."""
    width = block.most - block.least
    widest = int(width.max(initial=0))
    every = block.matrix.nnz <= 20_000 and is_totally_unimodular(block.matrix) is True
    fewest = max(1, widest + 1 if every and int(size.max()) == 1 else min(2, widest + 1))
    free = np.ones(width.size, dtype=np.bool_)
    seen = np.zeros(width.size, dtype=np.bool_)
    for row in np.flatnonzero(block.low == block.high).tolist():
        here = block.matrix.indices[block.matrix.indptr[row] : block.matrix.indptr[row + 1]]
        fresh = here[~seen[here] & (size[here] == 1)]
        seen[here] = True
        if fresh.size:
            free[fresh[np.argmax(width[fresh])]] = False
    largest = 1
    for column in np.flatnonzero(free).tolist():
        ways = int(width[column]) + 1
        if size[column] > 1:
            ways *= _ways(int(size[column]), int(block.most[column]))
        largest = min(CAP + 1, largest * ways)
        if largest > CAP:
            break
    return fewest, largest
