"""Confidence sets for a ratio of two counts, from the joint law of their errors.

Let r = a'x / b'x for queries a and b, A and B their estimates, and E_s = (A - a'x) - s (B - b'x) for any
number s. At the true ratio A - r B = E_r, and the law of E_r is known for every r. So

    C = {s : |A - s B| <= h(s)},    h(s) any number with P(|E_s| <= h(s)) >= level,

contains r with the level at least [fieller1954]: whether it does is asked of the one number r, which is
fixed. The denominator b'x must not be 0; how small it is does not matter. Where |B| is small beside its own
noise C has no end, since then every large ratio agrees with what was released. Counts are not negative, so
that nothing is lost where C is cut off at 0. The interval is the shortest that has all of C.

**Additive noise.** E_s is (a - s b)'z, and h(s) the k-th smallest of the simulated |(a - s b)'z_i|, for all s
from the same draws: at s = r all N + 1 places are equally likely [holdfast, inference/intervals.py], so that
the coverage is k / (N + 1) or more, exactly. A number s is outside of C where |(a - s b)'z_i| < |A - s B| for
k draws or more. For each draw these s are bounded by two roots: C follows from all roots in order, without
an approximation but the rounding of roots, which goes to the safe side.

**Best linear estimates.** Their errors are sums of so many noises that h(s) is bounded for one s at a time,
and C must be bounded by few of them. Let c(s) have P(|E_s| <= c(s)) >= level + eta and H have
P(|B - b'x| <= H) >= 1 - eta. As E_t = E_s - (t - s)(B - b'x), for all s and t

    P(|E_t| <= c(s) + |t - s| H) >= P(|E_s| <= c(s) and |B - b'x| <= H) >= level,

so that h(t) = inf over s of c(s) + |t - s| H will do. Now let B > H, and s > A/B with |A - s B| > c(s). For
t > s then |A - t B| = |A - s B| + (t - s) B > c(s) + (t - s) H >= h(t): nothing beyond s is in C. The same
holds below A/B, and for B < -H. So one s on either side proves the end [theory, 5].
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, inf, nan, nextafter, sqrt

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.inference.intervals import IntervalQueries, Intervals, source
from holdfast.inference.tree_intervals import NodeIntervals
from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.mechanisms.mechanism import NoiseLaw

ETA = Fraction(1, 100)
"""Eta beside 1 - level: ends are a third of a percent farther out for it at 0.9."""
FARTHER = (0.0, 1e-3, 3e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""By how much farther than guessed an end is looked for; the guess is hardly ever off by more than 0.01."""
ROUNDING = 4e-16
"""Roots are off by less, beside their size: two differences of whole numbers, and their quotient."""


@dataclass(frozen=True)
class RatioInterval:
    """The interval [low, high] for a ratio: 0 and infinite where the release sets no bound."""

    estimate: float
    """NaN where the estimate of the denominator is 0."""
    low: float
    high: float
    determined: bool
    """Whether invariants fix numerator and denominator."""


def ratios(
    counts: IntArray,
    noise: NoiseLaw,
    matrix: csr_array,
    queries: tuple[csr_array, csr_array],
    level: Fraction,
    *,
    draws: int | None = None,
    seed: int = 0,
) -> tuple[list[RatioInterval], int]:
    """Return an interval for the ratio of each row of two matrices of queries, and the number of draws.

    A denominator that invariants fix must not be 0.
    """
    both = csr_array(vstack(queries, format="csr"))
    asked = IntervalQueries.of(counts, noise, matrix, both, level)
    number = queries[0].shape[0]
    above, below = asked.estimate[:number], asked.estimate[number:]
    known, firm = asked.determined[:number], asked.determined[number:]
    open_ = np.flatnonzero(~firm)
    size, entropy = 0, source(seed)
    found: dict[int, RatioInterval] = {}
    if open_.size:
        size = asked.draws(draws, 2 * open_.size, level)
        pairs = csr_array(both[np.concatenate([open_, open_ + number])])
        errors = np.concatenate(list(asked.batches(pairs, size, entropy)), axis=1)
        most = ceil(level * (size + 1)) - 1
        for place, row in enumerate(open_.tolist()):
            low, high = hull(
                int(above[row]), int(below[row]), errors[place], errors[place + open_.size], most
            )
            ratio = float(Fraction(int(above[row]), int(below[row]))) if below[row] else nan
            found[row] = RatioInterval(ratio, low, high, determined=False)
    rest = np.flatnonzero(firm)
    if rest.size:
        each = IntervalQueries.of(counts, noise, matrix, csr_array(queries[0][rest]), level).each(
            level, draws, entropy
        )
        size = max(size, each.draws)
        for place, row in enumerate(rest.tolist()):
            found[row] = _over(each, place, int(below[row]), certain=bool(known[row]))
    return [found[row] for row in range(number)], size


def _over(each: Intervals, place: int, below: int, *, certain: bool) -> RatioInterval:
    """Return the interval of a count over a known number above 0."""
    estimate, low, high = (
        float(Fraction(int(end[place]), below)) for end in (each.estimate, each.low, each.high)
    )
    if certain:
        return RatioInterval(estimate, estimate, estimate, determined=True)
    return RatioInterval(estimate, *_cut(nextafter(low, -inf), nextafter(high, inf)), determined=False)


def _cut(low: float, high: float) -> tuple[float, float]:
    """Return an interval that does not begin below 0, unless all of it is there: then the release says so."""
    return (low, high) if high < 0 else (max(low, 0.0), high)


def hull(A: int, B: int, a: IntArray, b: IntArray, most: int) -> tuple[float, float]:
    """Return the least and the largest s >= 0 with |a_i - s b_i| < |A - s B| for at most ``most`` draws i.

    That holds where (A - a_i - s (B - b_i)) (A + a_i - s (B + b_i)) > 0: with two roots outside of them or
    between them, with one on one side of it.
    """
    first, second = _roots(A - a, B - b), _roots(A + a, B + b)
    low, high = np.minimum(first, second), np.maximum(first, second)
    leading = np.sign(B - b) * np.sign(B + b)
    slope = np.where(b == B, -np.sign(A - a) * np.sign(B + b), -np.sign(A + a) * np.sign(B - b))
    none = (b == B) & (b == -B)
    outside, between = leading > 0, leading < 0
    right, left = (leading == 0) & ~none & (slope > 0), (leading == 0) & ~none & (slope < 0)
    one = np.where(np.isnan(first), second, first)
    everywhere = int((none & (np.sign(A - a) * np.sign(A + a) > 0)).sum())
    # open intervals of s, each counted once: made smaller by what roots may be off
    begins = _moved(np.concatenate([high[outside], low[between], one[right]]), up=True)
    ends = _moved(np.concatenate([low[outside], high[between], one[left]]), up=False)
    inner = slice(int(outside.sum()), int(outside.sum() + between.sum()))
    ends[inner] = np.maximum(ends[inner], begins[inner])
    whole = everywhere + int(outside.sum() + left.sum())  # those that begin at minus infinity
    places = np.unique(np.concatenate([begins, ends]))
    places = np.concatenate([[0.0], places[places > 0]])
    begun, ended = np.sort(begins), np.sort(ends)
    at = whole + np.searchsorted(begun, places, side="left") - np.searchsorted(ended, places, side="right")
    after = (
        whole + np.searchsorted(begun, places, side="right") - np.searchsorted(ended, places, side="right")
    )
    inside = np.flatnonzero(at <= most)
    if not inside.size:
        return 0.0, 0.0  # nothing agrees: the interval may be empty then, and a point covers no less
    return float(places[inside[0]]), inf if after[-1] <= most else float(places[inside[-1]])


def _roots(above: IntArray, below: IntArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(below == 0, nan, above.astype(np.float64) / below.astype(np.float64)))


def _moved(places: FloatArray, *, up: bool) -> FloatArray:
    slack = np.abs(places) * ROUNDING
    return np.nextafter(places + slack, inf) if up else np.nextafter(places - slack, -inf)


NodeQueries = Callable[[FloatArray, FloatArray, Fraction], NodeIntervals]
"""From coefficients of numerator and denominator, and a probability, to the intervals of their sums."""


def bounded_ratio(asked: NodeQueries, level: Fraction) -> RatioInterval:
    """Return an interval for the ratio of two best linear estimates.

    The variance of a denominator that invariants fix is 0; it must not be 0 itself.
    """
    eta = ETA * (1 - level)
    pair = asked(np.array([1.0, 0.0, 1.0]), np.array([0.0, 1.0, -1.0]), level)
    (A, B, _), (over, under, both) = pair.estimate, pair.variance
    if under == 0:
        return _of_known(pair, round(B))
    if not np.isfinite([over, under]).all():
        return RatioInterval(nan, 0.0, inf, determined=False)
    sign = 1.0 if B > 0 else -1.0
    H = float(asked(np.zeros(1), np.ones(1), 1 - eta).half_width[0])
    if sign * B <= H:
        return RatioInterval(A / B if B else nan, 0.0, inf, determined=False)
    ratio, shared = A / B, (over + under - both) / 2
    at = asked(np.ones(1), -np.full(1, ratio), level + eta)
    spread = sqrt(max(float(at.variance[0]), 0.0))
    if spread == 0:  # numerator and denominator have one error, and the ratio has none
        return RatioInterval(ratio, ratio, ratio, determined=True)
    factor = float(at.half_width[0]) / spread
    ends: list[Sequence[float]] = [
        _guessed(A, B, over, under, shared, factor * (1 + more)) for more in FARTHER
    ]
    lows, highs = (np.array([end[side] for end in ends]) for side in (0, 1))
    some = np.concatenate([lows, highs])
    usable: BoolArray = np.isfinite(some)
    tried = np.where(usable, some, ratio)
    found = asked(np.ones(tried.size), -tried, level + eta)
    proved = usable & (np.abs(found.estimate) > found.half_width)
    proved &= np.where(np.arange(tried.size) < lows.size, tried < ratio, tried > ratio)
    below, above = np.split(proved, 2)
    low = float(lows[int(np.argmax(below))]) if below.any() else -inf
    high = float(highs[int(np.argmax(above))]) if above.any() else inf
    return RatioInterval(ratio, *_cut(low, high), determined=False)


def _of_known(pair: NodeIntervals, below: int) -> RatioInterval:
    """Return the interval of an estimate over a whole number that invariants fix."""
    estimate, half = float(pair.estimate[0]), float(pair.half_width[0])
    if pair.variance[0] == 0:
        exact = float(Fraction(round(estimate), below))
        return RatioInterval(exact, exact, exact, determined=True)
    low, high = nextafter((estimate - half) / below, -inf), nextafter((estimate + half) / below, inf)
    return RatioInterval(estimate / below, *_cut(low, high), determined=False)


def _guessed(
    A: float, B: float, over: float, under: float, shared: float, factor: float
) -> tuple[float, float]:
    """Return the roots s of (A - s B)^2 = factor^2 var(E_s); not finite where they bound nothing."""
    leading = B**2 - factor**2 * under
    if leading <= 0:
        return -inf, inf
    middle, last = A * B - factor**2 * shared, A**2 - factor**2 * over
    root = sqrt(max(middle**2 - leading * last, 0.0))
    return (middle - root) / leading, (middle + root) / leading
