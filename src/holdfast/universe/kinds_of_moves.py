"""The moves of a few records that keep crossing margins, one or more for each kind of them.

A move takes a multiset p of cells to another one, q, with the same margins. What is lost depends on which
entries of an axis are equal, and not on which they are. The records before and after have the same entries
of an axis that some margin reads: at most as many as records, and else twice as many, so that few entries
stand for all. Of the p that permutations of entries take to each other, the one whose sorted cells come first
has new entries of each axis in their order: were it not so, exchanging two of them would lead to an earlier
one. Only these p are taken, with all q. Moves of fewer records are among those in which p and q share some.
"""

from collections.abc import Sequence
from math import comb, prod

import numpy as np

from holdfast.lattice.arrays import IntArray
from holdfast.universe.space import multisets

MOST_SETS = 800_000
"""Multisets of cells that are listed."""
MOST_PAIRS = 400_000


def kinds_of_moves(
    shape: Sequence[int], kept: Sequence[frozenset[int]], records: int
) -> tuple[tuple[int, ...], IntArray] | None:
    """Return a smaller shape and differences of tables on it, one a row; None where they are too many."""
    read = frozenset[int]().union(*kept)
    sizes = tuple(min(size, records * (1 if at in read else 2)) for at, size in enumerate(shape))
    cells = prod(sizes)
    if comb(cells + records - 1, records) > MOST_SETS:
        return None
    entries = np.indices(sizes).reshape(len(sizes), -1)
    sets = multisets(cells, records)
    first = sets[np.all([_in_order(each[sets]) for each in entries], axis=0)]
    sums = _margins(entries, sizes, kept)
    keys = np.random.default_rng(0).integers(-(1 << 40), 1 << 40, sums.shape[1])  # of equal sums, equal
    of_set, wanted = (sums @ keys)[sets].sum(axis=1), (sums @ keys)[first].sum(axis=1)
    order = np.argsort(of_set, kind="stable")
    begins, ends = (np.searchsorted(of_set[order], wanted, side=side) for side in ("left", "right"))
    if int((ends - begins).sum()) > MOST_PAIRS:
        return None
    before = np.repeat(first, ends - begins, axis=0)
    places = np.concatenate([np.zeros(0, dtype=np.int64), *map(np.arange, begins, ends)])
    after = sets[order[places]]
    same = (sums[before].sum(axis=1) == sums[after].sum(axis=1)).all(axis=1)
    found = np.zeros((len(before), cells), dtype=np.int64)
    rows = np.arange(len(before))[:, None]
    np.add.at(found, (rows, after), 1)
    np.add.at(found, (rows, before), -1)
    return sizes, np.unique(found[same & found.any(axis=1)], axis=0)


def _in_order(entries: IntArray) -> IntArray:
    """Return which rows have each new entry right after the largest before it, from 0 on."""
    largest = np.maximum.accumulate(entries, axis=1)
    steps = np.diff(largest, axis=1, prepend=-1)
    return np.asarray((steps <= 1).all(axis=1))


def _margins(entries: IntArray, sizes: Sequence[int], kept: Sequence[frozenset[int]]) -> IntArray:
    """Return the columns of some margins, one row a cell."""
    found = [np.ones((entries.shape[1], 1), dtype=np.int64)]
    for axes in kept:
        some = sorted(axes)
        place = np.zeros(entries.shape[1], dtype=np.int64)
        for at in some:
            place = place * sizes[at] + entries[at]
        found.append(np.eye(prod(sizes[at] for at in some), dtype=np.int64)[place])
    return np.concatenate(found, axis=1)
