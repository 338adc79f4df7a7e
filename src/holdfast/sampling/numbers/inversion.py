"""Laws on the integers, drawn by inversion of their cumulative distribution functions, exactly.

`Inversion` draws from any law whose cdf is enclosed; `LogConcave` encloses the cdf of a log-concave law, and
`half_norm` is one: how the l1 norm of integers with a given sum is distributed.
"""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import partial
from itertools import accumulate, count
from math import exp, sqrt
from typing import NamedTuple

import flint
import numpy as np

from holdfast.lattice.arrays import IntArray, WordArray
from holdfast.sampling.decisions import (
    GUARD_BITS,
    Enclosure,
    LazyUniform,
    Real,
    exp_of_minus,
    least,
    real,
)
from holdfast.sampling.entropy import Entropy, ShortWords, short_words

Cdf = Callable[[int, int], Enclosure]
"""Encloses F(k) 2^bits, asked for k and bits."""
WORD_BITS = 32
GUIDE_BITS = range(8, 17)
BLOCK = 1 << 16
"""Draws made at once: their words and results stay in the cache."""
MAX_TABLE = 1 << 18
MIXED = -1
TailSide = Callable[[int], Iterable[Enclosure]]
"""Asked for bits, encloses the weights one by one, going away from the centre; stops where a support does."""
Ratio = Callable[[int], tuple[int, int]]
"""Asked for k, returns a numerator and a denominator."""
LEAST_BITS = 128
"""Serves a table of 32 bits and its first refinement alike."""
SPARE_BITS = 32
"""Roundings add up along the way; these bits keep what they add up to below one unit."""
NEGLIGIBLE = 1 << (GUARD_BITS - 8)
"""A tail, in units of 2^-bits, that may be left out: it is accounted for, and below the bits in use.

A weight w enclosed to one unit shows its ratio to the next when w > 2/(1 - ratio), so weights must be
enclosed that well, and 2^24 (1 - ratio) > 2/(1 - ratio): true of every law that fits a table.
"""


class Inversion:
    """A law on the integers given by enclosures of its cumulative distribution function.

    For u uniform on [0, 1) the draw is the least k with u < F(k). A word w of b bits is the beginning of u: u
    lies in [w, w + 1) / 2^b. The table holds integers T(k) with T(k) <= F(k) 2^b <= T(k) + 2, so that

        w < T(k)  proves  u < F(k),    w >= T(k) + 2  proves  u >= F(k),

    and a word equal to T(k) or T(k) + 1 for some k is refined: u gets 64 more bits and F a narrower
    enclosure, until they part. No floor of a real number is ever needed, so F may take dyadic values. A
    table of K entries refines at most 2 K in 2^b words: 32 bits are enough to make that rare.

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

    def _words(self, entropy: Entropy, size: int) -> WordArray | ShortWords:
        if self._bits > WORD_BITS:
            return entropy.words(size) >> np.uint64(64 - self._bits)
        words = short_words(entropy, size)
        return words >> np.uint32(WORD_BITS - self._bits) if self._bits < WORD_BITS else words

    def decide(self, words: WordArray | ShortWords, entropy: Entropy) -> IntArray:
        """Turn words of ``bits`` bits into draws; ``entropy`` gives the bits of a refinement."""
        found = self._guide.take((words >> words.dtype.type(self._shift)).astype(np.intp))
        search = np.flatnonzero(found == MIXED)
        draws: IntArray = np.add(found, self._start, dtype=np.int64)
        if search.size:
            self._search(words[search].astype(np.uint64), search, draws, entropy)
        return draws

    def _search(self, words: WordArray, places: IntArray, draws: IntArray, entropy: Entropy) -> None:
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


def _thresholds(cdf: Cdf, bits: int, start: int) -> WordArray:
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


class LogConcave:
    """The law with weight 1 at ``centre`` and the given weights above and below it, cumulated outwards.

    A weight is enclosed by two integers, low <= w(k) 2^bits <= high, relative to that of the centre, which is
    near the largest. Where w(k + 1)/w(k) falls with k, the weights beyond k are below a geometric series:
    they sum to at most w(k + 1)/(1 - w(k + 1)/w(k)). So finitely many integers enclose the cdf, to any
    precision.
    """

    def __init__(self, centre: int, *, above: TailSide, below: TailSide) -> None:
        self.centre, self._above, self._below = centre, above, below
        self._cumulated: dict[int, Cumulated] = {}

    @classmethod
    def by_ratio(cls, centre: int, ratio: Ratio, factor: Fraction = Fraction(0)) -> "LogConcave":
        """Return the law with w(k + 1) / w(k) = exp(-factor) times ``ratio(k)``, a quotient of integers.

        From the centre outwards each weight follows from the one before by a division of integers, rounded
        down for the lower and up for the upper enclosure: no weight is ever formed, and the work grows with
        the law's spread alone. The support ends where the numerator or the denominator is 0.
        """

        def towards(step: int) -> TailSide:
            def side(bits: int) -> Iterator[Enclosure]:
                shift = bits + SPARE_BITS
                few, many = real(lambda: exp_of_minus(factor))(shift)
                low = high = 1 << shift
                for k in count(min(centre, centre + step), step):
                    numerator, denominator = ratio(k)
                    by = (numerator * few, numerator * many), (denominator << shift, denominator << shift)
                    (least, most), (least_under, most_under) = by if step > 0 else by[::-1]
                    if not most:
                        return
                    low, high = low * least // most_under, -(-high * most // least_under)
                    yield low >> SPARE_BITS, -(-high >> SPARE_BITS)

            return side

        return cls(centre, above=towards(1), below=towards(-1))

    def cdf(self, k: int, bits: int) -> Enclosure:
        """Enclose P(K <= k) 2^bits."""
        return self._table(bits).cdf(k, bits)

    def total(self, bits: int) -> Enclosure:
        """Enclose the sum of all weights, relative to that of the centre, times 2^bits."""
        return self._table(bits).total(bits)

    def _table(self, bits: int) -> "Cumulated":
        precision = max(LEAST_BITS, bits + GUARD_BITS)
        if precision not in self._cumulated:
            self._cumulated[precision] = self._cumulate(precision)
        return self._cumulated[precision]

    def _cumulate(self, bits: int) -> "Cumulated":
        one = (1 << bits, 1 << bits)
        down, below = _side(one, self._below(bits))
        up, above = _side(one, self._above(bits))
        return Cumulated.of([*reversed(down), one, *up], bits, self.centre - len(down), below, above)


class Cumulated(NamedTuple):
    """Sums of the weights kept, before each place, and bounds on the tails left out on both sides."""

    bits: int
    first: int
    lows: list[int]
    highs: list[int]
    below: int
    above: int

    @classmethod
    def of(
        cls, weights: Iterable[Enclosure], bits: int, first: int = 0, below: int = 0, above: int = 0
    ) -> "Cumulated":
        """Add up the enclosed weights of first, first + 1, ..."""
        lows, highs = (list(accumulate(ends, initial=0)) for ends in zip(*weights, strict=True))
        return cls(bits, first, lows, highs, below, above)

    def cdf(self, k: int, bits: int) -> Enclosure:
        """Enclose A/(A + B) for the mass A up to k and the mass B beyond: it rises with A, falls with B."""
        i = min(max(k + 1 - self.first, 0), len(self.lows) - 1)
        least, most = self.lows[i], self.highs[i] + self.below
        least_beyond, most_beyond = self.lows[-1] - self.lows[i], self.highs[-1] - self.highs[i] + self.above
        low = (least << bits) // (least + most_beyond)
        high = -(-(most << bits) // (most + least_beyond))
        return low, high

    def total(self, bits: int) -> Enclosure:
        """Enclose the sum of all weights."""
        shift = self.bits - bits
        return self.lows[-1] >> shift, -(-(self.highs[-1] + self.below + self.above) >> shift)


def _side(one: Enclosure, weights: Iterable[Enclosure]) -> tuple[list[Enclosure], int]:
    """Keep weights until the rest is negligible; return them and a bound on the rest."""
    kept: list[Enclosure] = []
    before = one[0]
    for low, high in weights:
        room = before - high  # the ratio of two weights is at most high / before
        if room > 0 and high * before <= NEGLIGIBLE * room:
            return kept, -(-high * before // room)
        if len(kept) > MAX_TABLE:
            raise ArithmeticError("a law is too wide for one table: split it into cells")
        kept.append((low, high))
        before = low
    return kept, 0


def half_norm(cells: int, epsilon: Fraction, offset: int = 0) -> LogConcave:
    """Return the law of m, half of what the l1 norm of n cells with sum s = ``offset`` is beyond s.

    Let x - y be n integers with sum s >= 0, x and y geometric vectors (a = exp(-epsilon)), y summing to m and
    x to m + s. Then

        P(m)  prop. to  w(m) = C(n + m - 1, m) C(n + m + s - 1, m + s) a^(2 m + s),

    and sum_m w(m) is G_s = sum_z a^||z||_1 over all z with sum s, but for the factor (1 - a^2)^-n that does
    not depend on s. The ratio

        w(m + 1) / w(m) = (n + m)/(m + 1) (n + m + s)/(m + s + 1) a^2

    falls with m: the law is log-concave.
    """

    def ratio(m: int) -> tuple[int, int]:
        return (cells + m) * (cells + m + offset), (m + 1) * (m + offset + 1)

    return LogConcave.by_ratio(_mode(cells, exp(-float(epsilon)), offset), ratio, 2 * epsilon)


def weight(law: LogConcave, cells: int, epsilon: Fraction, offset: int, bits: int) -> flint.arb:
    """Return a ball around G_s (1 - a^2)^n, good to about ``bits`` bits; ``law`` is that of m."""
    low, high = law.total(bits)
    with flint.ctx.workprec(bits + GUARD_BITS):
        n, m, s = cells, law.centre, offset
        power = exp_of_minus(epsilon * (2 * m + s))
        at_centre = flint.arb.bin_uiui(n + m - 1, m) * flint.arb.bin_uiui(n + m + s - 1, m + s) * power
        return at_centre * flint.arb(low).union(flint.arb(high)) / flint.arb(2) ** bits


def _mode(cells: int, a: float, offset: int) -> int:
    """Solve (n + m)(n + m + s) a^2 = (m + 1)(m + s + 1) for m, roughly: any start is valid."""
    leading = 1 - a * a
    linear = 2 + offset - a * a * (2 * cells + offset)
    constant = (offset + 1) - a * a * cells * (cells + offset)
    inside = linear * linear - 4 * leading * constant
    return max(0, int((-linear + sqrt(max(inside, 0.0))) / (2 * leading)))
