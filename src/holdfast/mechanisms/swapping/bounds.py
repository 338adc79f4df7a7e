"""What permutation swapping loses for each record of distance, and which rates lose no more than a target.

In a stratum of b records each is selected with probability p, selected records are deranged, and o = p/(1-p)
are the odds. Then

    slides:  epsilon = ln(b+1) - ln o                     for p <= 1/2,
             epsilon = max(ln o, ln(b+1) - ln o)          for p > 1/2         [swapping-slides, theorem];
    tight:   epsilon = max(ln o, ln(d_b / d_{b-2}) / 2 - ln o)   for b = 2 and b >= 4,
             epsilon = max(ln o, ln(2) / 3 - ln o, (ln 2 - ln o) / 2)         for b = 3   [theory, 8],

d_k being the number of derangements of k things. The tight one is attained where no two records of a stratum
share a held or a swapped value. Both grow with b, so the largest stratum decides; strata of one record never
change, and lose nothing. Every number is a rational that is rounded towards less privacy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import ceil
from typing import Literal, NamedTuple, get_args

import flint

from holdfast.system.errors import GuaranteeError

EpsilonBound = Literal["slides", "tight"]
BOUNDS: tuple[EpsilonBound, ...] = get_args(EpsilonBound)

DIGITS = 12
"""Decimals of an epsilon."""
SIGNIFICANT = (9, 18)
"""Digits of a rate that was solved for, or of what it lacks to one: more where few leave no rate."""
LEAST_RATE = Fraction(1, 10**9)
"""Below this, and above one less it, a rate is out of reach: hardly a record would be moved, or left."""
MOST_PLACES = 18
UNLIMITED = Fraction(1000)
"""An epsilon that no rate within reach exceeds."""
PRECISION = 200
LISTED = 60
"""Derangements of up to so many things are counted; of more, their number is bounded."""


class Rates(NamedTuple):
    """The two rates of an epsilon: fewer records move at the lower one."""

    lower: Fraction
    upper: Fraction


@dataclass(frozen=True)
class Loss:
    """What swapping loses in a stratum of some size, by one of the two bounds, as a function of ln o.

    ``falling`` are pairs (c, s): the loss is the largest of ln o and all c - s ln o.
    """

    falling: tuple[tuple[flint.arb, Fraction], ...]

    def at(self, log_odds: flint.arb) -> flint.arb:
        """Return the loss at the logarithm of odds."""
        each = [c - _ball(s) * log_odds for c, s in self.falling]
        return _largest([*each, log_odds])


def epsilon(size: int, rate: Fraction, bound: EpsilonBound = "slides") -> Fraction:
    """Return what one record of distance loses in strata of up to some size, rounded up to 12 decimals.

    >>> float(epsilon(264331, Fraction(1, 2)))
    12.4849611678
    >>> float(epsilon(4, Fraction(1, 2), "tight"))  # ln 3
    1.098612288669
    """
    _require_rate(rate)
    if size < 2:
        return Fraction(0)
    with flint.ctx.workprec(PRECISION):
        return _up(_loss(size, bound).at(_ball(rate / (1 - rate)).log()))


def least_epsilon(size: int, bound: EpsilonBound = "slides") -> Fraction:
    """Return the smallest epsilon that any rate gives strata of some size, rounded up.

    It is where ln o equals the falling part: ln(b+1) / 2 for the slides' bound.

    >>> float(least_epsilon(264331))
    6.2424805839
    """
    if size < 2:
        return Fraction(0)
    with flint.ctx.workprec(PRECISION):
        loss = _loss(size, bound)
        return _up(_largest([c / _ball(1 + s) for c, s in loss.falling]))


def turns(size: int, bound: EpsilonBound = "slides") -> tuple[float, ...]:
    """Return the ln o at which the loss changes from one of its lines to another, from low to high.

    Lines c - s ln o and c' - s' ln o cross at (c - c') / (s - s'), and the rising one has c = 0 and s = -1. A
    crossing counts where no other line is above it.

    >>> [round(at, 4) for at in turns(3, "tight")]  # -ln(2)/3 and ln(2)/3
    [-0.231, 0.231]
    """
    if size < 2:
        return ()
    with flint.ctx.workprec(PRECISION):
        loss = _loss(size, bound)
        lines = [*loss.falling, (flint.arb(0), Fraction(-1))]
        pairs = ((one, other) for one, other in combinations(lines, 2) if one[1] != other[1])
        crossings = [(one, (one[0] - other[0]) / _ball(one[1] - other[1])) for one, other in pairs]
        return tuple(
            sorted(float(at.mid()) for (c, s), at in crossings if not loss.at(at) > c - _ball(s) * at)
        )


def rates(size: int, target: Fraction, bound: EpsilonBound = "slides") -> Rates:
    """Return the lowest and the highest rate whose epsilon is no more than a target, rounded inside.

    So are all rates between them.

    Raises GuaranteeError where no rate gives so small an epsilon.

    >>> [round(float(rate), 6) for rate in rates(264331, Fraction(14))]
    [0.180193, 0.999999]
    """
    least = least_epsilon(size, bound)
    if target < least:
        raise GuaranteeError(
            f"no swap rate gives epsilon {_short(target)} in a stratum of {size:,} records: ask for at least"
            f" {_at_least(least)}, or take a finer stratification."
        )
    for digits in SIGNIFICANT:
        found = _inside(size, min(target, UNLIMITED), bound, digits)
        if found is not None:
            return found
    raise GuaranteeError(
        f"no swap rate of {MOST_PLACES} digits gives epsilon {_short(target)} in a stratum of {size:,}"
        " records: ask for a little more."
    )


def _inside(size: int, target: Fraction, bound: EpsilonBound, digits: int) -> Rates | None:
    """Return the two rates, rounded to some digits, or None where that leaves none between them."""
    with flint.ctx.workprec(PRECISION):
        wanted = _ball(target)
        falling = _loss(size, bound).falling if size > 1 else ()
        low = _largest([(c - wanted) / _ball(s) for c, s in falling]).exp() if falling else flint.arb(0)
        lower = _digits_up((low / (1 + low)).upper(), digits)
        missing = _digits_up((1 / (1 + wanted.exp())).upper(), digits)
    lower = min(lower, 1 - missing)  # at the least epsilon the two are one, but for rounding
    inside = Rates(max(lower, LEAST_RATE), min(1 - missing, 1 - LEAST_RATE))
    fits = inside.lower <= inside.upper and epsilon(size, inside.lower, bound) <= target
    return inside if fits else None


def derangement_ratio(size: int) -> flint.arb:
    """Return an enclosure of d_b / d_{b-2} = (b-1) (b - (-1)^b / d_{b-2}), for b >= 2 and b != 3.

    It follows from d_b = b d_{b-1} + (-1)^b. Beyond 60 things d_{b-2} is only bounded from below.
    """
    sign = -1 if size % 2 else 1
    if size <= LISTED:
        return flint.arb(derangement_count(size)) / derangement_count(size - 2)
    small = flint.arb(0, 1) / derangement_count(LISTED - 2)
    return (size - 1) * (size - sign * small)


@cache
def derangement_count(k: int) -> int:
    """Return the number of derangements of k things: d(k) = k d(k - 1) + (-1)^k, d(0) = 1.

    >>> [derangement_count(k) for k in range(7)]
    [1, 0, 1, 2, 9, 44, 265]
    """
    return 1 if k == 0 else k * derangement_count(k - 1) + (-1) ** k


def _loss(size: int, bound: EpsilonBound) -> Loss:
    one = Fraction(1)
    if bound == "slides":
        return Loss(((flint.arb(size + 1).log(), one),))
    if size == 3:
        two = flint.arb(2).log()
        return Loss(((two / 3, one), (two / 2, Fraction(1, 2))))
    return Loss(((derangement_ratio(size).log() / 2, one),))


def _require_rate(rate: Fraction) -> None:
    if 0 < rate < 1 and not LEAST_RATE <= rate <= 1 - LEAST_RATE:
        raise GuaranteeError(
            f"a swap rate of {_short(rate)} is out of reach: give one from 1e-9 to 1 less 1e-9."
        )
    if not 0 < rate < 1:
        raise GuaranteeError(
            f'a swap rate of {_short(rate)} has no finite epsilon: give one above 0 and below 1, as "1/20".'
        )


def _ball(value: Fraction) -> flint.arb:
    return flint.arb(value.numerator) / value.denominator


def _largest(balls: Sequence[flint.arb]) -> flint.arb:
    """Return the ball with the largest upper end, which bounds all of them."""
    return max(balls, key=lambda ball: ball.upper())


def _up(ball: flint.arb, digits: int = DIGITS) -> Fraction:
    """Return the least decimal number of some digits that is at or above all of a ball."""
    scaled = (ball * flint.arb(10) ** digits).upper()
    whole = scaled.ceil().unique_fmpz()
    if whole is None:
        raise GuaranteeError("an epsilon is too large to be told: give a rate nearer to 1/2.")
    return Fraction(max(int(whole), 0), 10**digits)


def _digits_up(value: flint.arb, digits: int) -> Fraction:
    """Return a positive number, rounded up to some digits."""
    places = digits
    while places < MOST_PLACES and _up(value, places) < Fraction(10 ** (digits - 1), 10**places):
        places += 1
    return _up(value, places)


def _at_least(value: Fraction) -> str:
    """Return six decimals that are at or above a number, and less than one in the last above it."""
    whole, part = divmod(ceil(value * 10**6), 10**6)
    return f"{whole}.{part:06d}"


def _short(value: Fraction) -> str:
    return f"{float(value):.10g}"
