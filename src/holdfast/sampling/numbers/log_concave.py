"""Log-concave laws on the integers, cumulated outwards from a centre in whole numbers.

A weight is enclosed by two integers, low <= w(k) 2^bits <= high, relative to a weight near the largest.
Where w(k + 1)/w(k) falls with k, the weights beyond k are below a geometric series: they sum to at most
w(k + 1)/(1 - w(k + 1)/w(k)). So finitely many integers enclose the cdf, to any precision.
"""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import accumulate, count
from typing import NamedTuple

from holdfast.sampling.decisions.enclosure import GUARD_BITS, Enclosure, exp_of_minus, real
from holdfast.sampling.numbers.inversion import MAX_TABLE

Side = Callable[[int], Iterable[Enclosure]]
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


class LogConcave:
    """The law with weight 1 at ``centre`` and the given weights above and below it."""

    def __init__(self, centre: int, *, above: Side, below: Side) -> None:
        self.centre, self._above, self._below = centre, above, below
        self._cumulated: dict[int, _Cumulated] = {}

    @classmethod
    def by_ratio(cls, centre: int, ratio: Ratio, factor: Fraction = Fraction(0)) -> "LogConcave":
        """Return the law with w(k + 1) / w(k) = exp(-factor) times ``ratio(k)``, a quotient of integers.

        From the centre outwards each weight follows from the one before by a division of integers, rounded
        down for the lower and up for the upper enclosure: no weight is ever formed, and the work grows with
        the law's spread alone. The support ends where the numerator or the denominator is 0.
        """

        def up(bits: int) -> Iterator[Enclosure]:
            shift, (few, many) = bits + SPARE_BITS, _factor(factor, bits + SPARE_BITS)
            low = high = 1 << shift
            for k in count(centre):
                above, under = ratio(k)
                if not above:
                    return
                low, high = low * above * few // (under << shift), -(-high * above * many // (under << shift))
                yield low >> SPARE_BITS, -(-high >> SPARE_BITS)

        def down(bits: int) -> Iterator[Enclosure]:
            shift, (few, many) = bits + SPARE_BITS, _factor(factor, bits + SPARE_BITS)
            low = high = 1 << shift
            for k in count(centre - 1, -1):
                above, under = ratio(k)
                if not under:
                    return
                low, high = (
                    (low * under << shift) // (above * many),
                    -(-(high * under << shift) // (above * few)),
                )
                yield low >> SPARE_BITS, -(-high >> SPARE_BITS)

        return cls(centre, above=up, below=down)

    def cdf(self, k: int, bits: int) -> Enclosure:
        """Enclose P(K <= k) 2^bits."""
        return self._table(bits).cdf(k, bits)

    def total(self, bits: int) -> Enclosure:
        """Enclose the sum of all weights, relative to that of the centre, times 2^bits."""
        return self._table(bits).total(bits)

    def _table(self, bits: int) -> "_Cumulated":
        precision = max(LEAST_BITS, bits + GUARD_BITS)
        if precision not in self._cumulated:
            self._cumulated[precision] = self._cumulate(precision)
        return self._cumulated[precision]

    def _cumulate(self, bits: int) -> "_Cumulated":
        one = (1 << bits, 1 << bits)
        down, below = _side(one, self._below(bits))
        up, above = _side(one, self._above(bits))
        weights = [*reversed(down), one, *up]
        return _Cumulated(
            bits=bits,
            first=self.centre - len(down),
            lows=list(accumulate((low for low, _ in weights), initial=0)),
            highs=list(accumulate((high for _, high in weights), initial=0)),
            below=below,
            above=above,
        )


class _Cumulated(NamedTuple):
    """Sums of the weights kept, before each place, and bounds on the tails left out on both sides."""

    bits: int
    first: int
    lows: list[int]
    highs: list[int]
    below: int
    above: int

    def cdf(self, k: int, bits: int) -> Enclosure:
        """Enclose A/(A + B) for the mass A up to k and the mass B beyond: it rises with A, falls with B."""
        i = min(max(k + 1 - self.first, 0), len(self.lows) - 1)
        least, most = self.lows[i], self.highs[i] + self.below
        least_beyond, most_beyond = self.lows[-1] - self.lows[i], self.highs[-1] - self.highs[i] + self.above
        low = (least << bits) // (least + most_beyond)
        high = -(-(most << bits) // (most + least_beyond))
        return low, high

    def total(self, bits: int) -> Enclosure:
        shift = self.bits - bits
        return self.lows[-1] >> shift, -(-(self.highs[-1] + self.below + self.above) >> shift)


def _factor(exponent: Fraction, bits: int) -> Enclosure:
    return real(lambda: exp_of_minus(exponent))(bits)


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
