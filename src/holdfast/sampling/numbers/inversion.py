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

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.decisions.enclosure import Enclosure, LazyUniform, Real, least
from holdfast.sampling.entropy import Entropy, ShortWords, Words, short_words

Cdf = Callable[[int, int], Enclosure]
"""Encloses F(k) 2^bits, asked for k and bits."""
WORD_BITS = 32
GUIDE_BITS = range(8, 17)
BLOCK = 1 << 16
"""Draws made at once: their words and results stay in the cache."""
MAX_TABLE = 1 << 18
MIXED = -1


class Inversion:
    """A law on the integers given by enclosures of its cumulative distribution function.

    ``cdf(k, bits)`` encloses F(k) 2^bits, and for k beyond a finite support it is (2^bits, 2^bits). The
    support begins at 0, or anywhere where a value ``around`` which the law lies is given: then the table
    leaves out a lower tail with F 2^bits <= 1, and the zero word is refined. ``bits`` is how much of a word
    is used: tests use few bits to make refinement frequent.
    """

    def __init__(self, cdf: Cdf, *, bits: int = WORD_BITS, around: int | None = None) -> None:
        self._cdf, self._bits, self._open = cdf, bits, around is not None
        self._start = 0 if around is None else least(lambda k: cdf(k, bits)[1] > 1, around)
        self._table = _thresholds(cdf, bits, self._start)
        # About 64 buckets an entry: few words then need a search, and the guide stays in the cache.
        guide_bits = min(bits, max(GUIDE_BITS[0], min(self._table.size.bit_length() + 6, GUIDE_BITS[-1])))
        self._shift = bits - guide_bits
        starts = np.arange(1 << guide_bits, dtype=np.uint64) << np.uint64(self._shift)
        ends = starts + np.uint64((1 << self._shift) - 1)
        # A bucket of words that no T(k) or T(k) + 1 falls into has one draw and needs no search.
        befores = np.maximum(starts, np.uint64(1)) - np.uint64(1)
        first = np.searchsorted(self._table, befores, side="left")
        mixed = np.searchsorted(self._table, ends, side="right") != first
        mixed[0] |= self._open
        self._guide = np.where(mixed, MIXED, first).astype(np.int32)

    def sample(self, entropy: Entropy, size: int) -> IntArray:
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

    def decide(self, words: Words | ShortWords, entropy: Entropy) -> IntArray:
        """Turn words of ``bits`` bits into draws; ``entropy`` gives the bits of a refinement."""
        found = self._guide.take((words >> words.dtype.type(self._shift)).astype(np.intp))
        search = np.flatnonzero(found == MIXED)
        draws: IntArray = np.add(found, self._start, dtype=np.int64)
        if search.size:
            self._search(words[search].astype(np.uint64), search, draws, entropy)
        return draws

    def _search(self, words: Words, places: IntArray, draws: IntArray, entropy: Entropy) -> None:
        found = np.searchsorted(self._table, words, side="left")
        draws[places] = found + self._start
        before = self._table[np.maximum(found, 1) - 1]
        unsure = (self._table[found] == words) | ((found > 0) & (before + np.uint64(1) == words))
        unsure |= (words == 0) & self._open
        for i in np.flatnonzero(unsure):
            uniform = LazyUniform(int(words[i]), self._bits, entropy)
            draws[places[i]] = invert(self._cdf, uniform, int(draws[places[i]]))


def invert(cdf: Cdf, uniform: LazyUniform, guess: int) -> int:
    """Return the k with F(k - 1) <= u < F(k), sought from a guess, by as many bits of u as it takes."""
    return least(lambda k: uniform.is_below(partial(cdf, k)), guess)


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
