"""W_infinity on the line: the largest gap between the quantiles of two laws.

Of all couplings the one that joins equal quantiles has the smallest largest distance [theory, 7], so

    W_infinity(p, q) = max over t in (0, 1] of | F_p^-(t) - F_q^-(t) |.

Both quantile functions are constant between the levels of both distribution functions, so finitely many t
are enough. [partially-private-data, Equation 35] takes the levels of one of the two alone. That is enough
where the other law is the larger one at every level, and else can miss the largest gap [theory, 7].
"""

from collections.abc import Sequence
from fractions import Fraction

from holdfast.privacy.wasserstein.law import DiscreteLaw, common_weights

Weighted = Sequence[tuple[int, int]]


def largest_quantile_gap(one: DiscreteLaw[Fraction], other: DiscreteLaw[Fraction]) -> Fraction:
    """Return W_infinity of two laws on the line, exactly.

    >>> fair = DiscreteLaw.of((Fraction(0), Fraction(1)), (Fraction(1, 2), Fraction(1, 2)))
    >>> rare = DiscreteLaw.of((Fraction(0), Fraction(3)), (Fraction(3, 4), Fraction(1, 4)))
    >>> largest_quantile_gap(fair, rare)
    Fraction(2, 1)
    """
    (first, second), _ = common_weights(one.probabilities, other.probabilities)
    (left, right), scale = common_weights(one.values, other.values)
    gap = largest_gap_of_weights(
        sorted(zip(left, first, strict=True)), sorted(zip(right, second, strict=True))
    )
    return Fraction(gap, scale)


def largest_gap_of_weights(one: Weighted, other: Weighted) -> int:
    """Return the same of whole values in increasing order, with positive whole weights of one total."""
    largest, places = 0, iter(other)
    place, room = next(places)
    for value, weight in one:
        owed = weight
        while True:  # mass goes where that of the same quantile is
            largest = max(largest, abs(value - place))
            if owed <= room:
                room -= owed
                break
            owed -= room
            place, room = next(places)
        if not room:
            place, room = next(places, (place, 0))
    return largest
