"""What follows beyond cells: facts about small groups, differences of tables, and what would undo them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.components import patterns
from holdfast.programs.solver import UNBOUNDED
from holdfast.publication.bounds import ContradictionError
from holdfast.publication.conflicts import minimal_cause, point, within
from holdfast.publication.intervals import Numbers, SumIntervals, intervals
from holdfast.publication.tables import Grouped, PublishedTables

PAIRS = 20_000_000
"""Pairs of cells and sums that are compared for differences; where there are more, tables are too large."""
MOST_FOUND = 1_000
"""Differences that are listed, the smallest first."""
MOST_ATTRIBUTES = 6
"""Groups by more attributes than these are looked at all together only."""


@dataclass(frozen=True)
class GroupFact:
    """What is true of everyone in a small group: ``who`` is there, so many, and what level they all have."""

    who: dict[str, str]
    follows: dict[str, str]
    least: int
    largest: int

    @property
    def words(self) -> str:
        """The fact in words."""
        count = f"{self.least:,}" if self.least == self.largest else f"{self.least:,} to {self.largest:,}"
        of, what = (", ".join(f"{a} {b}" for a, b in one.items()) for one in (self.who, self.follows))
        return f"all {count} with {of} have {what}" if of else f"all {count} have {what}"


def group_facts(
    publication: PublishedTables, cells: Grouped, known: SumIntervals, facts: Sequence[str], largest: int
) -> list[GroupFact]:
    """Return the facts about groups of no more than so many people.

    Everyone in a group has a level v of an attribute exactly where no other level can hold anybody, as the
    sum of counts that are not negative is 0 only if each is. A larger group is told of only where no smaller
    one with the same fact lies in it.
    """
    possible = np.flatnonzero(known.high != 0)
    found: list[GroupFact] = []
    for fact in facts:
        others = [name for name in cells.attributes if name != fact]
        told: dict[tuple[str, ...], list[int]] = {}
        for size in range(len(others), -1, -1):
            if len(others) > MOST_ATTRIBUTES and size < len(others):
                break
            for by in combinations(others, size):
                found += _facts_by(publication, cells, known, (fact, by), largest, (possible, told))
    return found


def _facts_by(
    publication: PublishedTables,
    cells: Grouped,
    known: SumIntervals,
    asked: tuple[str, tuple[str, ...]],
    largest: int,
    state: tuple[IntArray, dict[tuple[str, ...], list[int]]],
) -> Iterator[GroupFact]:
    """Yield the facts of groups by some attributes, and note a cell of each that is told."""
    fact, by = asked
    possible, told = state
    if possible.size == 0:
        return
    key = np.zeros(possible.size, dtype=np.int64)
    for name in by:
        key = np.unique(key * len(cells.leaves[name]) + cells.codes[name][possible], return_inverse=True)[
            1
        ].ravel()
    level = cells.codes[fact][possible]
    groups = int(key.max()) + 1
    lowest, highest = np.full(groups, UNBOUNDED), np.full(groups, -1)
    np.minimum.at(lowest, key, level)
    np.maximum.at(highest, key, level)
    seen = np.zeros(groups, dtype=np.bool_)
    inner = [cell for finer, some in told.items() if set(by) < set(finer) for cell in some]
    seen[key[np.isin(possible, inner)]] = True
    chosen = np.flatnonzero((lowest == highest) & ~seen)
    if chosen.size == 0:
        return
    wanted = np.full(groups, -1)
    wanted[chosen] = np.arange(chosen.size)
    inside = wanted[key] >= 0
    members, group = possible[inside], wanted[key[inside]]
    alone = np.bincount(group, minlength=chosen.size) == 1
    low, high = np.zeros(chosen.size, dtype=np.int64), np.zeros(chosen.size, dtype=np.int64)
    np.add.at(low, group, known.low[members])
    np.add.at(high, group, np.minimum(known.high[members], 1 << 40))
    open_ = np.flatnonzero(~alone & ((low == 0) | (high > largest)))
    if open_.size:  # a sum may be known better than its cells
        place = np.full(chosen.size, -1)
        place[open_] = np.arange(open_.size)
        mine = place[group] >= 0
        row_of_sum = np.full(cells.count, -1)
        row_of_sum[members[mine]] = place[group[mine]]
        row = row_of_sum[cells.of_cell]
        there = np.flatnonzero(row >= 0)
        entries = np.ones(there.size, dtype=np.int64), (row[there], there)
        sums = csr_array(entries, shape=(open_.size, row.size))
        better = intervals(publication.numbers, sums)
        low[open_], high[open_] = better.low, better.high
    first = np.zeros(chosen.size, dtype=np.int64)
    first[group[::-1]] = members[::-1]
    small = (low >= 1) & (high <= largest)
    told[by] = first[small].tolist()
    for at in np.flatnonzero(small).tolist():
        levels = cells.named(int(first[at]))
        yield GroupFact(
            {name: levels[name] for name in by}, {fact: levels[fact]}, int(low[at]), int(high[at])
        )


@dataclass(frozen=True)
class Difference:
    """Two published numbers, one of which holds the other's people, and what is left: nobody published it."""

    larger: int
    smaller: int
    least: int
    largest: int


def differences(publication: PublishedTables, most: int) -> list[Difference]:
    """Return the differences of two published numbers that count few people, and that no table lists."""
    numbers = publication.numbers
    kinds = patterns(numbers.matrix)
    size = kinds.columns @ kinds.size
    per = np.bincount(kinds.columns.indices, minlength=kinds.count)
    if int((per**2).sum()) > PAIRS:
        return []
    common = csr_array(kinds.columns @ csr_array(kinds.columns.multiply(kinds.size[None, :])).T).tocoo()
    one, other = common.row, common.col
    inner = (common.data == size[other]) & (size[one] > size[other]) & (size[other] > 0)
    one, other = one[inner], other[inner]
    low, high = numbers.low, numbers.high
    closed = (high[one] != UNBOUNDED) & (high[other] != UNBOUNDED)
    one, other = one[closed], other[closed]
    least = np.maximum(0, low[one] - high[other])
    largest = high[one] - low[other]
    few = (largest <= most) & (largest > 0) & (least > 0)
    one, other, least, largest = one[few], other[few], least[few], largest[few]
    marks = np.random.default_rng(0).integers(0, 2**62, kinds.count)
    prints = kinds.columns @ marks
    published = np.isin(prints[one] - prints[other], prints)
    one, other, least, largest = (each[~published] for each in (one, other, least, largest))
    order = np.lexsort((other, one, largest))[:MOST_FOUND]
    return [
        Difference(int(one[at]), int(other[at]), int(least[at]), int(largest[at])) for at in order.tolist()
    ]


@dataclass(frozen=True)
class Remedy:
    """What would undo a finding: a table, or one number of it, that is not published."""

    cell: int
    table: int
    number: int | None
    least: int
    largest: int | None


WORK = 300_000_000
"""Entries of systems that are solved for remedies; findings beyond that have those of tables alone."""
EXPLAINED = 20
"""Cells for which single numbers are tried."""


def remedies(publication: PublishedTables, cells: Grouped, found: IntArray, narrow: int) -> list[Remedy]:
    """Return what single table or number, if it were not published, would leave an interval of that width."""
    numbers = publication.numbers
    if found.size == 0:
        return []
    asked = csr_array(cells.matrix[found])
    told: list[Remedy] = []
    for table in range(len(publication.files)):
        kept = np.flatnonzero(publication.table != table)
        if kept.size == 0:
            told += [Remedy(int(cell), table, None, 0, None) for cell in found]
            continue
        left = intervals(numbers.some(kept), asked)
        for at in np.flatnonzero(left.width >= narrow).tolist():
            high = int(left.high[at])
            told.append(
                Remedy(int(found[at]), table, None, int(left.low[at]), None if high == UNBOUNDED else high)
            )
    work = WORK
    for at, cell in enumerate(found[:EXPLAINED].tolist()):
        one = csr_array(asked[[at]])
        now = intervals(numbers, one)
        candidates = []
        for low, high in ((0, int(now.low[0]) - 1), (int(now.high[0]) + 1, UNBOUNDED)):
            if high < 0 or work < 0:
                continue
            work -= 40 * numbers.matrix.nnz
            candidates += explanation(numbers, one, low, high)
        for number in dict.fromkeys(candidates):
            work -= 4 * numbers.matrix.nnz
            if work < 0:
                return told
            left = intervals(numbers.without(number), one)
            if left.width[0] >= narrow:
                end = int(left.high[0])
                told.append(
                    Remedy(
                        cell,
                        int(publication.table[number]),
                        number,
                        int(left.low[0]),
                        None if end == UNBOUNDED else end,
                    )
                )
    return told


def explanation(numbers: Numbers, cell: csr_array, low: int, high: int) -> list[int]:
    """Return published numbers that keep a sum from being between two, none of which can be left out."""

    def enough(rows: IntArray) -> bool:
        try:
            return point(within(numbers.some(rows), cell, low, high)) is None
        except ContradictionError:
            return True

    every = minimal_cause(numbers.low.size, enough)
    return [int(one) for one in every]
