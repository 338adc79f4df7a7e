"""What the levels below ask of a node: constraints climb from the leaves to the root.

The counts of a node are the sums of its children's, so the children's equalities, ranges and bounds hold for
it with summed values. Bounds of a child are closed first by its rows: one that has a total of 5 has no count
above 5 [holdfast, programs/quadratic/bounds.py]. This is what must hold above for children to exist below;
with rows that cross it is not always enough.

Of all rows of a level only those stay that say something new: equalities that others imply are checked and
dropped, and so are ranges and bounds that follow from the rest at every node.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import lcm

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from holdfast.estimation.hierarchy.level import Level
from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.lattice.rows import LARGEST, echelons
from holdfast.programs.quadratic.bounds import reach
from holdfast.programs.quadratic.squares import float_bounds
from holdfast.programs.solver import UNBOUNDED

AT_ONCE = 1 << 20
"""Cells of nodes whose bounds are worked on together."""


@dataclass(frozen=True, eq=False)
class ConstrainedLevel:
    """All that is asked of a level, and where its rows come from: a level and a row of it, one line a row."""

    level: Level
    invariants: IntArray
    ranges: IntArray


@dataclass(frozen=True, eq=False)
class Propagation:
    """What is asked of each level, root first; or of those below the level of a node that contradicts."""

    levels: tuple[ConstrainedLevel, ...]
    wrong: tuple[int, int] | None = None


def propagated(parents: Sequence[IntArray], levels: Sequence[Level]) -> Propagation:
    """Return the levels, root first, with what the levels below them ask."""
    found: list[ConstrainedLevel] = []
    for place in reversed(range(len(levels))):
        below = (found[0], parents[place]) if found else None
        asked = with_below(levels[place], place, below)
        reduced, wrong = _reduced(asked)
        if wrong.any():
            return Propagation(tuple(found), (place, int(np.argmax(wrong))))
        found.insert(0, reduced)
    return Propagation(tuple(found))


def with_below(own: Level, place: int, below: tuple[ConstrainedLevel, IntArray] | None) -> ConstrainedLevel:
    """Return what is asked of a level: its own, then what the next one asks of each node's parent."""
    mine = ConstrainedLevel(own, _numbered(place, own.invariants), _numbered(place, own.ranges))
    if below is None or below[0].level.free:
        return mine
    children, parent = below
    theirs = summed(children.level, parent)
    level = replace(
        own,
        invariants=csr_array(vstack([own.invariants, theirs.invariants], format="csr")),
        values=np.hstack([own.values, theirs.values]),
        ranges=csr_array(vstack([own.ranges, theirs.ranges], format="csr")),
        least=np.hstack([own.least, theirs.least]),
        most=np.hstack([own.most, theirs.most]),
        low=np.maximum(own.floor, theirs.floor),
        high=np.minimum(own.roof, theirs.roof),
    )
    return ConstrainedLevel(
        level, np.vstack([mine.invariants, children.invariants]), np.vstack([mine.ranges, children.ranges])
    )


def _numbered(place: int, rows: csr_array) -> IntArray:
    """Return a level and each of its rows."""
    return np.stack([np.full(rows.shape[0], place), np.arange(rows.shape[0])], axis=1)


def summed(level: Level, parent: IntArray) -> Level:
    """Return what the nodes of a level ask of their parents."""
    starts = np.flatnonzero(np.diff(parent, prepend=-1))
    floor, roof = np.empty((starts.size, level.cells)), np.empty((starts.size, level.cells))
    for begin, end in _ranges_of(np.append(starts, parent.size), level.cells):
        first, last = starts[begin], np.append(starts, parent.size)[end]
        low, high = _closed(level.part(int(first), int(last)))
        floor[begin:end] = np.add.reduceat(low, starts[begin:end] - first, axis=0)
        roof[begin:end] = np.add.reduceat(high, starts[begin:end] - first, axis=0)
    return Level.of(
        level.name,
        starts.size,
        level.cells,
        invariants=level.invariants,
        values=np.add.reduceat(level.values, starts, axis=0),
        ranges=level.ranges,
        least=_bounds(np.add.reduceat(float_bounds(level.least), starts, axis=0)),
        most=_bounds(np.add.reduceat(float_bounds(level.most), starts, axis=0)),
        low=_bounds(floor),
        high=_bounds(roof),
    )


def _ranges_of(ends: IntArray, cells: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of families, given where each begins and the last one ends: few cells of nodes at once."""
    begin = 0
    while begin < ends.size - 1:
        reached = np.searchsorted(ends, ends[begin] + max(AT_ONCE // max(cells, 1), 1), side="right")
        end = max(begin + 1, min(int(reached) - 1, ends.size - 1))
        yield begin, end
        begin = end


def _parts(level: Level) -> Iterator[tuple[slice, Level]]:
    """Yield the nodes of a level, few cells of them at once."""
    for begin, end in _ranges_of(np.arange(level.nodes + 1), level.cells):
        yield slice(begin, end), level.part(begin, end)


def _reduced(asked: ConstrainedLevel) -> tuple[ConstrainedLevel, BoolArray]:
    """Return the rows and bounds that say something new, and the nodes where they contradict."""
    if asked.level.free:
        return asked, np.zeros(asked.level.nodes, dtype=np.bool_)
    kept, wrong = _independent(asked.level)
    level = replace(
        asked.level,
        invariants=csr_array(asked.level.invariants[kept]),
        values=asked.level.values[:, kept],
    )
    for some, part in _parts(level):
        floor, roof = _closed(part)
        wrong[some] |= (floor > roof).any(axis=1)
    level, new, off = _ranges(level)
    wrong |= off
    return ConstrainedLevel(without_implied_bounds(level), asked.invariants[kept], asked.ranges[new]), wrong


def _independent(level: Level) -> tuple[list[int], BoolArray]:
    """Return equalities that imply the others, and the nodes where the others are not what follows."""
    sizes = np.diff(level.invariants.indptr)
    order = np.argsort(sizes, kind="stable")  # small sums are easier to keep than large ones
    matrix, values = csr_array(level.invariants[order]), level.values[:, order]
    wrong = (level.values[:, sizes == 0] != 0).any(axis=1)
    kept: list[int] = []
    for block in echelons(matrix) if matrix.shape[0] else ():
        kept.extend(block.kept)
        for row, terms in block.combination.items():
            times, sums = combined(values, terms)
            wrong |= (times * values[:, row].astype(sums.dtype)) != sums
    return sorted(order[kept].tolist()), wrong


def combined(values: IntArray, terms: dict[int, Fraction]) -> tuple[int, NDArray[np.generic]]:
    """Return a number, and so many times the combination of columns, exactly."""
    times = lcm(*(weight.denominator for weight in terms.values()))
    weights = [int(weight * times) for weight in terms.values()]
    most = int(np.abs(values).max(initial=0)) * (times + sum(map(abs, weights)))
    numbers = values[:, list(terms)].astype(np.int64 if most < LARGEST else object)
    return times, np.asarray(numbers @ np.array(weights, dtype=numbers.dtype))


def _ranges(level: Level) -> tuple[Level, BoolArray, BoolArray]:
    """Return a level with ranges that say something new, which these are, and where they contradict."""
    wrong = np.zeros(level.nodes, dtype=np.bool_)
    count = level.ranges.shape[0]
    if count == 0:
        return level, np.zeros(0, dtype=np.bool_), wrong
    least, most, first = level.least.copy(), level.most.copy(), _first(level.ranges)
    for row in np.flatnonzero(first != np.arange(count)).tolist():
        least[:, first[row]] = np.maximum(least[:, first[row]], least[:, row])
        most[:, first[row]] = np.minimum(most[:, first[row]], most[:, row])
    new = first == np.arange(count)
    # what equalities tell
    known = level.invariants.shape[0]
    for block in echelons(csr_array(vstack([level.invariants, level.ranges], format="csr"))):
        for row, terms in block.combination.items():
            if row >= known and max(terms) < known and new[row - known]:
                times, sums = combined(level.values, terms)
                sums = sums.astype(np.float64) / times
                wrong |= (sums < float_bounds(least[:, row - known])) | (
                    sums > float_bounds(most[:, row - known])
                )
                new[row - known] = False
    # what bounds tell, without the ranges themselves
    plus, minus = _positive(level.ranges), _positive(-level.ranges)
    below, above = np.empty(least.shape), np.empty(least.shape)
    for some, part in _parts(replace(level, ranges=level.ranges[:0], least=least[:, :0], most=most[:, :0])):
        floor, roof = _closed(part)
        below[some] = (plus @ floor.T - minus @ roof.T).T
        above[some] = (plus @ roof.T - minus @ floor.T).T
    wrong |= ((below > float_bounds(most)) | (above < float_bounds(least)))[:, new].any(axis=1)
    new &= ~((below >= float_bounds(least)) & (above <= float_bounds(most))).all(axis=0)
    level = replace(level, ranges=csr_array(level.ranges[new]), least=least[:, new], most=most[:, new])
    return level, new, wrong


def _positive(rows: csr_array) -> csr_array:
    """Return the entries above 0, and no others: nothing times infinity is not a number."""
    found = csr_array(rows.maximum(0))
    found.eliminate_zeros()
    return found


def _first(rows: csr_array) -> IntArray:
    """Return, for each row, the first one that is the same."""
    rows = csr_array(rows)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    places: dict[tuple[bytes, bytes], int] = {}
    found = np.empty(rows.shape[0], dtype=np.int64)
    for row, (begin, end) in enumerate(pairwise(rows.indptr.tolist())):
        key = rows.indices[begin:end].tobytes(), rows.data[begin:end].tobytes()
        found[row] = places.setdefault(key, row)
    return found


def without_implied_bounds(level: Level) -> Level:
    """Return a level without the bounds of cells that its equalities imply."""
    if level.low is None and level.high is None:
        return level
    low, high = level.low, level.high
    for some, part in _parts(level):
        none = np.zeros((part.nodes, part.cells)), np.full((part.nodes, part.cells), np.inf)
        values = part.values.astype(np.float64)
        least, most = reach(part.invariants, values, values, *none, whole=True)
        if part.low is not None and (follows := (part.low > 0) & (part.low <= least)).any():
            low = _own(low, level.low)
            low[some][follows] = 0
        if part.high is not None and (follows := (part.high != UNBOUNDED) & (part.high >= most)).any():
            high = _own(high, level.high)
            high[some][follows] = UNBOUNDED
    return replace(
        level,
        low=low if low is not None and low.any() else None,
        high=high if high is not None and (high != UNBOUNDED).any() else None,
    )


def _own(table: IntArray | None, given: IntArray | None) -> IntArray:
    """Return a table that may be changed: a copy of the one that was given, made once."""
    assert table is not None  # noqa: S101 - there is a bound that follows
    return table.copy() if table is given else table


def _closed(level: Level) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of all cells that follow from all that is asked of a node."""
    rows = csr_array(vstack([level.invariants, level.ranges], format="csr"))
    least, most = np.hstack([level.values, level.least]), np.hstack([level.values, level.most])
    return reach(
        rows,
        float_bounds(least),
        float_bounds(most),
        float_bounds(level.floor),
        float_bounds(level.roof),
        whole=True,
    )


def _bounds(sums: FloatArray) -> IntArray:
    """Return bounds as whole numbers, those that are none as UNBOUNDED."""
    none = np.isinf(sums)
    found = np.where(none, 0.0, sums).astype(np.int64)
    return np.where(none, np.where(sums > 0, UNBOUNDED, -UNBOUNDED), found)
