"""Inversion of a cumulative distribution function on the integers, exactly.

For u uniform on [0, 1) the draw is the least k with u < F(k). A word w of b bits is the beginning of u: u
lies in [w, w + 1) / 2^b. The table holds integers T(k) with T(k) <= F(k) 2^b <= T(k) + 2, so that

    w < T(k)  proves  u < F(k),    w >= T(k) + 2  proves  u >= F(k),

and a word equal to T(k) or T(k) + 1 for some k is refined: u gets 64 more bits and F a narrower
enclosure, until they part. No floor of a real number is ever needed, so F may take dyadic values. A
table of K entries refines at most 2 K in 2^b words: 32 bits are enough to make that rare.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from holdfast.sampling.entropy import Entropy, ShortWords, Words, short_words
from holdfast.sampling.exact.enclosure import Enclosure, Real

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Cdf = Callable[[int, int], Enclosure]
"""Encloses F(k) 2^bits, asked for k and bits."""
WORD_BITS = 32
GUIDE_BITS = range(8, 17)
BLOCK = 1 << 16
"""Draws made at once: their words and results stay in the cache."""
MAX_TABLE = 1 << 18
FARTHEST = 1 << 62
MIXED = -1


class Inversion:
    """A law on the integers given by enclosures of its cumulative distribution function.

    ``cdf(k, bits)`` encloses F(k) 2^bits, and for k beyond a finite support it is (2^bits, 2^bits). The
    support begins at ``lowest``; None says that it has no beginning. ``start`` leaves out a lower tail
    with F(start - 1) 2^bits <= 1, whose zero word is refined; it is found where the support has no
    beginning. ``bits`` is how much of a word is used: tests use few bits to make refinement frequent.
    """

    def __init__(self, cdf: Cdf, *, bits: int = WORD_BITS, start: int = 0, lowest: int | None = 0) -> None:
        self._cdf, self._bits = cdf, bits
        self._lowest = -FARTHEST if lowest is None else lowest
        self._start = start = _start(cdf, bits, start) if lowest is None else start
        self._table = _thresholds(cdf, bits, start)
        # About 64 buckets an entry: few words then need a search, and the guide stays in the cache.
        guide_bits = min(bits, max(GUIDE_BITS[0], min(self._table.size.bit_length() + 6, GUIDE_BITS[-1])))
        self._shift = bits - guide_bits
        starts = np.arange(1 << guide_bits, dtype=np.uint64) << np.uint64(self._shift)
        ends = starts + np.uint64((1 << self._shift) - 1)
        # A bucket of words that no T(k) or T(k) + 1 falls into has one draw and needs no search.
        befores = np.maximum(starts, np.uint64(1)) - np.uint64(1)
        first = np.searchsorted(self._table, befores, side="left")
        mixed = np.searchsorted(self._table, ends, side="right") != first
        mixed[0] |= self._start > self._lowest
        self._guide = np.where(mixed, MIXED, first).astype(np.int32)

    def draw(self, entropy: Entropy, size: int) -> Integers:
        """Return ``size`` independent draws."""
        draws = np.empty(size, dtype=np.int64)
        for begin in range(0, size, BLOCK):
            block = draws[begin : begin + BLOCK]
            block[:] = self.decide(self._words(entropy, block.size), entropy)
        return draws

    def _words(self, entropy: Entropy, size: int) -> Words | ShortWords:
        if self._bits > WORD_BITS:
            return entropy.words(size) >> np.uint64(64 - self._bits)
        words = short_words(entropy, size)
        return words >> np.uint32(WORD_BITS - self._bits) if self._bits < WORD_BITS else words

    def decide(self, words: Words | ShortWords, entropy: Entropy) -> Integers:
        """Turn words of ``bits`` bits into draws; ``entropy`` gives the bits of a refinement."""
        found = self._guide.take((words >> words.dtype.type(self._shift)).astype(np.intp))
        search = np.flatnonzero(found == MIXED)
        draws: Integers = np.add(found, self._start, dtype=np.int64)
        if search.size:
            self._search(words[search].astype(np.uint64), search, draws, entropy)
        return draws

    def _search(self, words: Words, places: Integers, draws: Integers, entropy: Entropy) -> None:
        found = np.searchsorted(self._table, words, side="left")
        draws[places] = found + self._start
        before = self._table[np.maximum(found, 1) - 1]
        unsure = (self._table[found] == words) | ((found > 0) & (before + np.uint64(1) == words))
        unsure |= (words == 0) & (self._start > self._lowest)
        for i in np.flatnonzero(unsure):
            draws[places[i]] = self._refine(int(words[i]), entropy)

    def _refine(self, word: int, entropy: Entropy) -> int:
        """Find k with F(k - 1) <= u < F(k) for the u that begins with ``word``."""
        u, bits = word, self._bits
        while True:
            u, bits = (u << 64) | int(entropy.words(1)[0]), bits + 64
            k = self._first_above(u + 1, bits, word)
            if k is not None and (k == self._lowest or self._cdf(k - 1, bits)[1] <= u):
                return k

    def _first_above(self, level: int, bits: int, word: int) -> int | None:
        """Return the least k whose lower enclosure reaches ``level``, or None where these bits show none.

        The table brackets k already, but for what its ends leave out.
        """

        def reaches(k: int) -> bool:
            return self._cdf(k, bits)[0] >= level

        below = np.searchsorted(self._table, np.uint64(max(word, 1) - 1), side="left")  # T(k) <= w - 2
        above = np.searchsorted(self._table, np.uint64(word), side="right")  # T(k) > w
        low, high = self._start + int(below) - 1, self._start + int(above)
        step = 1
        while below == 0 and low >= self._lowest and reaches(low):
            low, high, step = max(low - step, self._lowest - 1), low, 2 * step
        while above == self._table.size and not reaches(high):
            low, high, step = high, high + step, 2 * step
            if step > FARTHEST:
                return None
        return _bisect(reaches, low, high)


def _bisect(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the least k in (low, high] where a monotone property holds; it does at ``high``."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _start(cdf: Cdf, bits: int, within: int) -> int:
    """Return the least k with an upper enclosure beyond 1, at most ``within``: F(k - 1) 2^bits <= 1."""

    def counts(k: int) -> bool:
        return cdf(k, bits)[1] > 1

    low, step = within - 1, 1
    while counts(low):
        low, step = low - step, 2 * step
    return _bisect(counts, low, within)


def _thresholds(cdf: Cdf, bits: int, start: int) -> Words:
    """Return T(k) for k = start, start + 1, ... while it is below 2^bits.

    The table ends with the first entry equal to 2^bits - 1 (a word equal to it is refined, which covers
    the tail), or at the end of a finite support.
    """
    last = (1 << bits) - 1
    table: list[int] = []
    while not table or table[-1] < last:
        if len(table) > MAX_TABLE:
            raise ArithmeticError("a law is too wide for one table: split it into digits")
        table.append(min(max(_lower(partial(cdf, start + len(table)), bits), 0), last))
    # Enclosures of nearly equal numbers may come in any order; a running maximum is as true.
    return np.maximum.accumulate(np.array(table, dtype=np.uint64))


def _lower(number: Real, bits: int) -> int:
    """Return an integer T with T <= number 2^bits <= T + 2."""
    extra = 0
    while True:
        low, high = number(bits + extra)
        low, high = low >> extra, -(-high >> extra)
        if high - low <= 2:
            return low
        extra = 2 * extra + 64
