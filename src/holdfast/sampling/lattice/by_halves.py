"""Cells with given sums, half of them at a time: for totals over any number of cells.

The law is q(z) prop. to w(z_1) ... w(z_r) on r integers with sum t, one law for every cell. Draw h = r // 2
of the cells freely, and let s be what is left of t for the other k = r - h. As q(z) is proportional to

    w(z_1) ... w(z_h)  x  q(other cells | s) G_k(s),

keeping the free cells with probability G_k(s) / G_k(0) is exact (cell_sums.py), and the other k cells with
sum s are drawn in the same way; the last one is s itself. Each coin decides over half of the cells that are
left, never over all of them, so nothing has to be lucky for a million cells at once.

With p_m the law of the sum of m free cells, the last r of n cells with sum 0 have the sum t with probability
p_r(t) p_(n-r)(t) / p_n(0), and a try is then kept with probability p_r(t) / p_k(0). So p_k(0) / p_n(0) tries
are expected, the sum of p_(n-r)(t) p_k(0) / p_n(0) over t: about sqrt(n / k), of h free cells each. Over all
steps that is 1 + sqrt(2) free cells for each cell that is drawn.
"""

from collections.abc import Iterator

import numpy as np

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.lattice.cell_sums import CellSums
from holdfast.sampling.lattice.klein import check_width
from holdfast.system.paged import paged

EFFORT = 2.5
"""Free cells drawn for each cell, with the coins, in integers at `CELLS_PER_SECOND`.

That is on the safe side for wide totals: 4,096 cells took 3,700 integers and not 10,200, in CPU time.
"""
AT_ONCE, TOGETHER = 1 << 20, 1 << 13
"""Cells of totals that are drawn at once, and free cells that are worth a step where few totals wait."""


class ByHalves:
    """Exact draws of cells of one law under totals of 0, each over its own number of cells."""

    floats = True

    def __init__(self, sizes: IntArray, law: CellSums) -> None:
        check_width(law.deviation * float(np.sqrt(sizes.max(initial=1))))
        self._sizes, self.law = sizes, law

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row: the cells of one total after those of another."""
        return np.concatenate(list(self.parts(entropy, size))).reshape(size, -1)

    def parts(self, entropy: Entropy, size: int) -> Iterator[IntArray]:
        """Yield the cells of ``size`` draws, one total's after another's, some totals at a time."""
        sizes = np.tile(self._sizes, size)
        yield from _parts(np.zeros_like(sizes), sizes, self.law, entropy)


def given_sums(sums: IntArray, sizes: IntArray, law: CellSums, entropy: Entropy) -> IntArray:
    """Return cells with given sums, ``sizes`` of them for each, one sum's cells after the other's."""
    none = np.zeros(0, dtype=np.int64)
    return np.concatenate([none, *_parts(sums, sizes, law, entropy)])


def _parts(sums: IntArray, sizes: IntArray, law: CellSums, entropy: Entropy) -> Iterator[IntArray]:
    """Yield the cells of some sums at a time."""
    ends = np.cumsum(sizes)
    first = 0
    while first < sizes.size:
        begin = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, begin + AT_ONCE, side="right")))
        yield _halved(sums[first:last], sizes[first:last], law, entropy)
        first = last


def _halved(sums: IntArray, sizes: IntArray, law: CellSums, entropy: Entropy) -> IntArray:
    """Draw the first half of the cells of each sum, then half of those left, and so on."""
    cells = paged(int(sizes.sum()), np.int64)
    place, left, rest, moved = np.cumsum(sizes) - sizes, sizes, sums, np.zeros_like(sums)
    while left.size:
        by = law.common(rest, left)
        rest, moved = rest - by * left, moved + by
        half = left // 2
        single = half == 0
        cells[place[single]] = (rest + moved)[single]
        more = ~single
        place, left, rest, moved, half = place[more], left[more], rest[more], moved[more], half[more]
        free, rest = _free_halves(half, left - half, rest, law, entropy)
        if half.size == 1:  # of a large total no place is listed
            free += moved
            cells[int(place[0]) : int(place[0] + half[0])] = free
        else:
            cells[_spans(place, half)] = free + np.repeat(moved, half)
        place, left = place + half, left - half
    return cells


def _free_halves(
    half: IntArray, others: IntArray, sums: IntArray, law: CellSums, entropy: Entropy
) -> tuple[IntArray, IntArray]:
    """Return free cells that are kept, ``half`` of them for each sum, and what they leave for the others."""
    begins = np.cumsum(half) - half
    kept, rest = paged(int(half.sum()), np.int64), np.empty_like(sums)
    waiting = np.arange(half.size)
    while waiting.size:
        times = max(1, TOGETHER // int(half[waiting].sum()))
        tried = np.repeat(waiting, times)
        starts = np.cumsum(half[tried]) - half[tried]
        drawn = _free(law, entropy, int(half[tried].sum()))
        remain = sums[tried] - np.add.reduceat(drawn, starts)
        heads = law.toss(others[tried], remain, entropy).reshape(-1, times)
        won = heads.any(axis=1)
        if half.size == times == 1 and heads.all():
            return drawn, remain
        first = (np.arange(waiting.size) * times + heads.argmax(axis=1))[won]
        done = waiting[won]
        kept[_spans(begins[done], half[done])] = drawn[_spans(starts[first], half[done])]
        rest[done] = remain[first]
        waiting = waiting[~won]
    return kept, rest


def _free(law: CellSums, entropy: Entropy, cells: int) -> IntArray:
    """Return free cells: of many, some are drawn at a time."""
    if cells <= AT_ONCE:
        return law.cell.sample(entropy, cells)
    drawn = paged(cells, np.int64)
    for begin in range(0, cells, AT_ONCE):
        drawn[begin : begin + AT_ONCE] = law.cell.sample(entropy, min(AT_ONCE, cells - begin))
    return drawn


def _spans(begins: IntArray, lengths: IntArray) -> IntArray:
    """Return begin, begin + 1, ... of each length, one after the other."""
    ends = np.cumsum(lengths)
    spans: IntArray = np.arange(int(lengths.sum())) + np.repeat(begins - (ends - lengths), lengths)
    return spans
