"""Inversion of a cumulative distribution function on 0, 1, 2, ..., exactly.

For u uniform on [0, 1) the draw is #{k : F(k) <= u}. The table holds floor(F(k) 2^b); a word that equals
an entry, or that falls behind the table's end, is refined with more bits. Both are rare: a table of K
entries meets them with probability at most K / 2^b, so almost every draw costs one look-up.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from holdfast.sampling.entropy import Entropy, Words
from holdfast.sampling.exact.enclosure import Enclosure, Real

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Cdf = Callable[[int, int], Enclosure]
"""Encloses F(k) 2^bits, asked for k and bits."""
GUIDE_BITS = 12
MAX_TABLE = 1 << 18


class Inversion:
    """A law on 0, 1, 2, ... given by enclosures of its cumulative distribution function.

    ``cdf(k, bits)`` encloses F(k) 2^bits, and for k beyond a finite support it is (2^bits, 2^bits).
    ``bits`` is how much of a word is used for the table: 64, or 63 where the last bit is a sign. Tests
    use few bits to make refinement frequent. ``start`` leaves out a lower tail with F(start - 1) below
    2^-bits: a zero word is then refined, too.
    """

    def __init__(self, cdf: Cdf, *, bits: int = 64, start: int = 0) -> None:
        self._cdf, self._bits, self._start = cdf, bits, start
        self._table = _thresholds(cdf, bits, start)
        guide_bits = min(GUIDE_BITS, bits)
        self._shift = np.uint64(bits - guide_bits)
        starts = np.arange(1 << guide_bits, dtype=np.uint64) << self._shift
        ends = starts + np.uint64((1 << (bits - guide_bits)) - 1)
        first = np.searchsorted(self._table, starts, side="left")
        self._guide = first.astype(np.int64)
        # A bucket without a threshold in it needs no search.
        self._mixed = np.searchsorted(self._table, ends, side="right") != first
        self._mixed[0] |= start > 0

    def draw(self, entropy: Entropy, size: int) -> Integers:
        """Return ``size`` independent draws."""
        return self.decide(entropy.words(size) >> np.uint64(64 - self._bits), entropy)

    def decide(self, words: Words, entropy: Entropy) -> Integers:
        """Turn words of ``bits`` bits into draws; ``entropy`` gives the bits of a refinement."""
        bucket = words >> self._shift
        draws: Integers = self._guide[bucket] + self._start
        search = np.flatnonzero(self._mixed[bucket])
        if search.size:
            hard = words[search]
            found = np.searchsorted(self._table, hard, side="left").astype(np.int64)
            draws[search] = found + self._start
            undecided = (self._table[found] == hard) | ((hard == 0) & (self._start > 0))
            for i in np.flatnonzero(undecided):
                draws[search[i]] = self._refine(int(hard[i]), entropy)
        return draws

    def _refine(self, word: int, entropy: Entropy) -> int:
        """Find k with F(k - 1) <= u < F(k) for the u that begins with ``word``."""
        u, bits = word, self._bits
        while True:
            u, bits = (u << 64) | int(entropy.words(1)[0]), bits + 64
            k = self._first_above(u + 1, bits)
            if k == 0 or self._cdf(k - 1, bits)[1] <= u:
                return k

    def _first_above(self, level: int, bits: int) -> int:
        """Return the least k whose lower enclosure reaches ``level``."""
        high = 1
        while self._cdf(high, bits)[0] < level:
            high *= 2
        low = -1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._cdf(middle, bits)[0] >= level else (middle, high)
        return high


def _thresholds(cdf: Cdf, bits: int, start: int) -> Words:
    """Return floor(F(k) 2^bits) for k = start, start + 1, ... while it is below 2^bits.

    The table ends with the first entry equal to 2^bits - 1 (a word equal to it is refined, which covers
    the tail), or at the end of a finite support.
    """
    last = (1 << bits) - 1
    table: list[int] = []
    while not table or table[-1] < last:
        if len(table) > MAX_TABLE:
            raise ArithmeticError("a law is too wide for one table: split it into digits")
        table.append(_threshold(partial(cdf, start + len(table)), bits, last))
    return np.array(table, dtype=np.uint64)


def _threshold(number: Real, bits: int, last: int) -> int:
    """Return floor(number 2^bits), or ``last`` where it is that or more: it is refined in any case."""
    extra = 0
    while True:
        low, high = number(bits + extra)
        if low >> extra == min(high >> extra, last) or low >> extra >= last:
            return min(low >> extra, last)
        extra = 2 * extra + 64
