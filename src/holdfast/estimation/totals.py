"""Groups of cells with one sum each: the nearest tables in closed form, all groups at once.

Rows of ones that are nested, each two of them disjoint or one within the other, say as much as disjoint sums:
from the value of a row take the values of the rows directly within it, and what is left is the sum of the
cells that lie in no smaller row. So one margin, separate blocks and nested totals all come down to groups.

**In l2**, the nearest point of a group with sum t and bounds l <= v <= u is v = clip(y - c, l, u), for the c
at which the sum is t [condat2016]. As c grows, the sum falls along straight pieces that meet where some
y_i - c reaches a bound: these places are sorted, and the piece that passes t gives c.

**In l1 and whole numbers**, start at the lower bounds and add units, the cheapest first: a separable convex
function under one sum is minimised by greed [federgruen1986]. Units are cheap below floor(y), dear above
ceil(y), and between them in the order of the parts that y is off. Among equals the cells with smaller weights
come first, so that the weighted sum is the least, too [holdfast, estimation/integers.py].
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.programs.solver import UNBOUNDED


@dataclass(frozen=True, eq=False)
class Groups:
    """Disjoint groups of cells, listed one after the other.

    Attributes:
        cells: the cells, group by group.
        of: the group of each of them.
        starts: where each group begins among them.
        rows: the row that each group is the rest of.
        parent: for each row of the system the row directly around it, -1 where there is none.
        empty: the rows that the rows within them fill up: there is no cell to give the rest to.

    """

    cells: IntArray
    of: IntArray
    starts: IntArray
    rows: IntArray
    parent: IntArray
    empty: IntArray

    def sums(self, values: IntArray) -> IntArray | None:
        """Return the sum of each group from the values of all rows; None where they contradict."""
        rest = values.copy()
        inner = np.flatnonzero(self.parent >= 0)
        np.subtract.at(rest, self.parent[inner], values[inner])
        return None if rest[self.empty].any() else rest[self.rows]

    def add(self, values: NDArray[np.number]) -> NDArray[np.number]:
        """Return the sum over each group of values of the listed cells."""
        if self.starts.size == 0:
            return np.zeros(0, dtype=values.dtype)
        return np.asarray(np.add.reduceat(values, self.starts))


def nested(rows: csr_array, plain: BoolArray) -> tuple[Groups, BoolArray]:
    """Return the groups of nested rows, and which rows are left out, as they or what they meet are not.

    ``plain`` are the rows of ones that are kept with equality; a row that meets another one is left out.
    """
    size = np.diff(rows.indptr)
    by_cell = csc_array(rows)
    by_cell.sort_indices()
    row = by_cell.indices.astype(np.int64)
    cell = np.repeat(np.arange(rows.shape[1]), np.diff(by_cell.indptr))
    if np.diff(by_cell.indptr).max(initial=0) > 1:
        smaller_first = np.lexsort((row, size[row], cell))
        row, cell = row[smaller_first], cell[smaller_first]
    first, last = (np.ones(row.size, dtype=np.bool_) for _ in range(2))
    first[1:] = last[:-1] = cell[1:] != cell[:-1]
    around = np.where(last, -1, np.roll(row, -1))
    parent = np.full(rows.shape[0], -1, dtype=np.int64)
    parent[row] = around
    # nested, if the next larger row is the same one for every cell of a row
    wrong = ~plain
    wrong[row[parent[row] != around]] = True
    out = _tied(row, cell, rows.shape, wrong) if wrong.any() else wrong
    kept = first & ~out[row]
    inner, cells = row[kept], cell[kept]
    order = np.argsort(inner, kind="stable")
    inner, cells = inner[order], cells[order]
    begins = np.ones(inner.size, dtype=np.bool_)
    begins[1:] = inner[1:] != inner[:-1]
    starts = np.flatnonzero(begins)
    parent[out] = -1
    filled = ~out & (size > 0)
    filled[inner[starts]] = False
    groups = Groups(
        cells, np.cumsum(begins) - 1, starts, inner[starts], parent, np.flatnonzero(filled).astype(np.int64)
    )
    return groups, out


def _tied(row: IntArray, cell: IntArray, shape: tuple[int, int], wrong: BoolArray) -> BoolArray:
    """Return the rows that are wrong or linked to such rows by cells."""
    from scipy.sparse import coo_array  # noqa: PLC0415
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - loaded late

    nodes = sum(shape)
    graph = coo_array((np.ones(row.size, dtype=np.int8), (row, cell + shape[0])), shape=(nodes, nodes))
    _, label = connected_components(graph, directed=False)
    label = label[: shape[0]]
    return np.isin(label, label[wrong])


def nearest_real(
    groups: Groups, sums: IntArray, target: FloatArray, least: IntArray, most: IntArray
) -> FloatArray | None:
    """Return the nearest point in l2 for targets and bounds of the listed cells; None where there is none."""
    bounded = most < UNBOUNDED
    low, high = least.astype(np.float64), np.where(bounded, most, 0).astype(np.float64)
    open_above = groups.add((~bounded).astype(np.int64))
    full = (open_above == 0) & (groups.add(np.where(bounded, most, 0)) < sums)
    if full.any() or (groups.add(least) > sums).any():
        return None
    # on each piece the sum is level - free * c
    place = np.concatenate([target - low, (target - high)[bounded]])
    step = np.concatenate([low - target, (target - high)[bounded]])
    turn = np.concatenate([np.full(low.size, -1), np.ones(int(bounded.sum()), dtype=np.int64)])
    of = np.concatenate([groups.of, groups.of[bounded]])
    order = np.lexsort((place, of))
    place, step, turn, of = place[order], step[order], turn[order], of[order]
    starts = np.searchsorted(of, np.arange(sums.size))
    level = _running(step, of, starts) + groups.add(np.where(bounded, high, target))[of]
    free = _running(turn, of, starts) + open_above[of]
    passed = (level - free * place >= sums[of]).astype(np.int64)
    at = starts + (np.add.reduceat(passed, starts) if starts.size else starts) - 1
    inside = at >= starts
    last = np.where(inside, at, starts)
    level = np.where(inside, level[last], groups.add(np.where(bounded, high, target)))
    free = np.where(inside, free[last], open_above)
    shift = np.where(free > 0, (level - sums) / np.maximum(free, 1), place[last])
    point = _clipped(target - shift[groups.of], low, high, bounded)
    # once more, from the cells that are free: sums over many groups leave some rounding
    moving = (point > low) & ~(bounded & (point >= high))
    count = groups.add(moving.astype(np.int64))
    held = groups.add(np.where(moving, target, point))
    shift = np.where(count > 0, (held - sums) / np.maximum(count, 1), shift)
    return _clipped(target - shift[groups.of], low, high, bounded)


def nearest_whole(
    groups: Groups,
    sums: IntArray,
    base: IntArray,
    slope: IntArray,
    fine: int,
    weights: IntArray,
    least: IntArray,
    most: IntArray,
) -> IntArray | None:
    """Return the nearest whole point in l1 of the listed cells; None where there is none.

    The distance has the slope -``fine`` below ``base``, ``slope`` for one unit from there, and ``fine``
    beyond; a cell that is whole has no such unit, and its slope is ``fine``.
    """
    cheap = base - least + (slope <= -fine)
    between = (np.abs(slope) < fine).astype(np.int64)
    need = sums - groups.add(least)
    if (need < 0).any():
        return None
    enough, more = groups.add(cheap), groups.add(cheap + between)
    tier = np.where(need <= enough, 0, np.where(need <= more, 1, 2))
    left = (need - np.choose(tier, [np.zeros_like(need), enough, more]))[groups.of]
    tier = tier[groups.of]
    # whole tiers below, nothing above; the tier in between is given out in order
    room = np.where(most == UNBOUNDED, UNBOUNDED, most - least - cheap - between)
    part = np.choose(tier, [cheap, between, room])
    point = least + np.choose(tier, [np.zeros_like(cheap), cheap, cheap + between])
    some = np.flatnonzero((part > 0) & (left > 0))
    rank = np.where(tier[some] == 1, slope[some] + fine, 0)
    keys = (groups.of[some] << 32) | (rank << 20) | weights[some]
    some = some[np.argsort(keys, kind="stable")]
    of, part, left = groups.of[some], part[some], left[some]
    starts = np.searchsorted(of, np.arange(sums.size))
    ends = part >= left
    part = np.where(ends & (_running(ends.astype(np.int64), of, starts) > 1), 0, np.minimum(part, left))
    point[some] += np.clip(left - (_running(part, of, starts) - part), 0, part)
    return point if np.array_equal(groups.add(point), sums) else None


def _running(values: NDArray[np.number], of: IntArray, starts: IntArray) -> NDArray[np.number]:
    """Return sums from the beginning of each group on."""
    sums = np.cumsum(values)
    before = np.concatenate([np.zeros(1, dtype=sums.dtype), sums])[starts]
    return np.asarray(sums - before[of])


def _clipped(values: FloatArray, low: FloatArray, high: FloatArray, bounded: BoolArray) -> FloatArray:
    return np.maximum(np.where(bounded, np.minimum(values, high), values), low)
