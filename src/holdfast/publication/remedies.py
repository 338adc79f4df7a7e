"""What would undo a finding: one table, or one number, that is not published, or only rounded."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.programs.hitting import minimal_cause
from holdfast.programs.solver import UNBOUNDED
from holdfast.publication.bounds import ContradictionError
from holdfast.publication.conflicts import point, within
from holdfast.publication.intervals import Numbers, SumIntervals, intervals
from holdfast.publication.tables import Grouped, PublishedTables

BASES = (3, 5, 10)
"""The bases that agencies round to, which are tried."""
WORK = 40_000_000
"""Entries of systems that are solved for remedies: what is found by then is told. Counted, never timed."""
SOLVED, EXPLAINING = 40, 400
"""How often a system counts that is solved for intervals, and one of which a cause is looked for."""
EXPLAINED = 20
"""Cells for which single numbers are tried."""


@dataclass(frozen=True)
class Remedy:
    """What would undo a finding: a table, or one number of it, that is not published.

    Attributes:
        least: what is then known of the cell; ``largest`` is None where nothing bounds it.
        base: the least of a few bases to which it would be enough to round it, None where none is.

    """

    cell: int
    table: int
    number: int | None
    least: int
    largest: int | None
    base: int | None = None


def remedies(publication: PublishedTables, cells: Grouped, found: IntArray, narrow: int) -> list[Remedy]:
    """Return what single table or number, if it were not published, would leave an interval of that width."""
    if found.size == 0:
        return []
    asked = csr_array(cells.matrix[found])
    told: list[Remedy] = []
    work = Effort(WORK)
    for table in range(len(publication.files)):
        if table and work.left < 0:
            return told
        told += _by_table(publication, asked, found, narrow, (table, work))
    return told + _by_number(publication, asked, found, narrow, work)


@dataclass
class Effort:
    """What is left of a limit of work."""

    left: int

    def take(self, entries: int, times: int) -> bool:
        """Take the work of one system, if there is some left."""
        self.left -= entries * times
        return self.left >= 0


def rounded(numbers: Numbers, rows: IntArray, base: int) -> Numbers:
    """Return the numbers; some of them, where they are exact, rounded to the nearest multiple."""
    low, high = numbers.low.copy(), numbers.high.copy()
    exact = rows[low[rows] == high[rows]]
    near = base * ((low[exact] + base // 2) // base)
    low[exact], high[exact] = np.maximum(0, near - base // 2), near + base // 2
    return Numbers(numbers.matrix, low, high)


def _by_table(
    publication: PublishedTables, asked: csr_array, found: IntArray, narrow: int, of: tuple[int, Effort]
) -> list[Remedy]:
    """Return the findings that a table alone would undo, and how far it would have to be rounded for it."""
    numbers = publication.numbers
    table, work = of
    work.take(numbers.matrix.nnz, SOLVED)
    mine = publication.table == table
    left = _known(numbers.some(np.flatnonzero(~mine)), asked)
    undone = np.flatnonzero(left.width >= narrow)
    base: dict[int, int] = {}
    for one in BASES:
        open_ = np.array([at for at in undone.tolist() if at not in base], dtype=np.int64)
        if open_.size == 0 or not work.take(numbers.matrix.nnz, SOLVED):
            break
        wide = _known(rounded(numbers, np.flatnonzero(mine), one), csr_array(asked[open_])).width
        base |= dict.fromkeys(open_[wide >= narrow].tolist(), one)
    return [Remedy(int(found[at]), table, None, *_ends(left, at), base.get(at)) for at in undone.tolist()]


def _known(numbers: Numbers, asked: csr_array) -> SumIntervals:
    """Return the intervals of some sums, also where nothing is published any more."""
    if numbers.low.size:
        return intervals(numbers, asked)
    none = np.zeros(asked.shape[0], dtype=np.int64)
    return SumIntervals(none, none + UNBOUNDED, none == 0)


def _ends(known: SumIntervals, at: int) -> tuple[int, int | None]:
    high = int(known.high[at])
    return int(known.low[at]), None if high == UNBOUNDED else high


def _by_number(
    publication: PublishedTables, asked: csr_array, found: IntArray, narrow: int, work: Effort
) -> list[Remedy]:
    """Return for the first findings which single number would undo each."""
    numbers = publication.numbers
    entries = numbers.matrix.nnz
    told: list[Remedy] = []
    for at, cell in enumerate(found[:EXPLAINED].tolist()):
        if not work.take(entries, SOLVED):
            return told
        one = csr_array(asked[[at]])
        now = intervals(numbers, one)
        candidates = []
        for low, high in ((0, int(now.low[0]) - 1), (int(now.high[0]) + 1, UNBOUNDED)):
            if high >= 0 and work.take(entries, EXPLAINING):
                candidates += explanation(numbers, one, low, high)
        for number in dict.fromkeys(candidates):
            if not work.take(entries, SOLVED // 10):
                return told
            left = _known(numbers.without(number), one)
            if left.width[0] < narrow:
                continue
            work.take(entries, len(BASES) * SOLVED // 10)
            row = np.array([number])
            wide = (base for base in BASES if intervals(rounded(numbers, row, base), one).width[0] >= narrow)
            told.append(
                Remedy(cell, int(publication.table[number]), number, *_ends(left, 0), next(wide, None))
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
