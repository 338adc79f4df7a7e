"""What follows beyond cells: facts about small groups, and differences of tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.components import patterns
from holdfast.programs.solver import UNBOUNDED
from holdfast.publication.intervals import SumIntervals, intervals
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
        if len(cells.leaves[fact]) < 2:
            continue  # everybody has it
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
