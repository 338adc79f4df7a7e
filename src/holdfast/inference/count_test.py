"""Tests of an odds ratio w from a count with noise: p-values, power and confidence intervals.

Let U = H + N: H is a count whose law P_w rises with w, N is independent symmetric noise with a continuous F.

    greater    p = P_w0(H + N >= U) = sum over h of P_w0(h) F(h - U)
    less       p = P_w0(H + N <= U) = sum over h of P_w0(h) F(U - h)
    two-sided  p = 2 min(greater, less)

U has a continuous law, so p is exactly uniform at w = w0 and the tests have exactly their level. For one
table, w0 = 1 and canonical noise, the test that rejects where ``greater`` is at most the level is the most
powerful unbiased one among all that keep the tradeoff function [semi-dp, Theorem 37]; ``less`` is the same
with the columns exchanged. Doubling makes the two-sided test reject when one of the one-sided tests at half
the level does; it agrees with the central confidence interval. Where margins are lopsided it is a little
biased: `unbiased_critical_values` gives the unbiased choice.

U is a function of the release and p of U and the margins: post-processing [semi-dp, Proposition 23].
"""

from collections.abc import Callable
from math import exp, inf, log
from typing import Literal, NamedTuple

import numpy as np

from holdfast.errors import SpecError
from holdfast.inference.count_law import CountLaw
from holdfast.mechanisms.canonical.noise import Floats, Noise
from holdfast.privacy.zero import zero

Alternative = Literal["greater", "less", "two-sided"]
ALTERNATIVES: tuple[Alternative, ...] = ("greater", "less", "two-sided")
AT_ONCE = 1 << 20
FARTHEST = 1024.0
"""Log odds ratios beyond it count as infinite."""


class Interval(NamedTuple):
    """All odds ratios from ``lower`` to ``upper``, which may be infinite."""

    lower: float
    upper: float


def p_values(
    statistics: Floats, law: CountLaw, noise: Noise, *, alternative: Alternative = "greater", null: float = 1
) -> Floats:
    """Return the p-value of each statistic U at the odds ratio ``null``."""
    above, below = _tails(np.asarray(statistics, dtype=np.float64), law, noise, log(null))
    match alternative:
        case "greater":
            return above
        case "less":
            return below
        case "two-sided":
            return np.asarray(np.minimum(1.0, 2 * np.minimum(above, below)))


def critical_values(
    law: CountLaw, noise: Noise, *, level: float, alternative: Alternative = "greater", null: float = 1
) -> Interval:
    """Return the statistics between which the test does not reject."""
    share = level / 2 if alternative == "two-sided" else level
    return Interval(
        -inf if alternative == "greater" else _threshold(law, noise, log(null), below=share),
        inf if alternative == "less" else _threshold(law, noise, log(null), above=share),
    )


def unbiased_critical_values(law: CountLaw, noise: Noise, *, level: float, null: float = 1) -> Interval:
    """Return the two critical values for which the power is least, and equal to the level, at the null.

    The derivative of P_w(U >= u) in log w is A(u) = E (H - E H) F(H - u), so rejecting outside of (l, u)
    has a power of derivative 0 where A(l) = A(u). As E(H | U = u) rises with u, A rises and falls once.
    """
    values, probabilities = law.at(log(null))
    centred = (values - values @ probabilities) * probabilities

    def region(share: float) -> Interval:
        return Interval(
            _threshold(law, noise, log(null), below=level - share),
            _threshold(law, noise, log(null), above=share),
        )

    def slope(share: float) -> float:
        lower, upper = region(share)
        return float(centred @ (noise.cdf(values - upper) - noise.cdf(values - lower)))

    return region(zero(slope, 1e-9 * level, (1 - 1e-9) * level, xtol=1e-15, rtol=1e-12))


def power_of(region: Interval, law: CountLaw, noise: Noise, odds: float) -> float:
    """Return the probability of a statistic outside of a region at an odds ratio, by summation."""
    values, probabilities = law.at(log(odds))
    rejected = np.zeros(values.size)
    if region.upper < inf:
        rejected += noise.cdf(values - region.upper)
    if region.lower > -inf:
        rejected += noise.cdf(region.lower - values)
    return float(probabilities @ rejected)


def power(
    law: CountLaw,
    noise: Noise,
    odds: float,
    *,
    level: float = 0.05,
    alternative: Alternative = "greater",
    null: float = 1,
) -> float:
    """Return the probability that the test rejects when the odds ratio is ``odds``."""
    region = critical_values(law, noise, level=level, alternative=alternative, null=null)
    return power_of(region, law, noise, odds)


def confidence_interval(
    statistic: float, law: CountLaw, noise: Noise, *, level: float, alternative: Alternative = "two-sided"
) -> Interval:
    """Return the odds ratios that the test at ``level`` does not reject.

    P_w(H + N >= U) rises with w, so each end is one root. The interval covers w with a probability of
    exactly 1 - level. A statistic beyond all counts can exclude every finite w: both ends are then 0 or
    infinite.
    """
    share = level / 2 if alternative == "two-sided" else level
    return Interval(
        0.0 if alternative == "less" else odds_with(statistic, law, noise, above=share),
        inf if alternative == "greater" else odds_with(statistic, law, noise, above=1 - share),
    )


def odds_with(statistic: float, law: CountLaw, noise: Noise, *, above: float) -> float:
    """Return the w with P_w(H + N >= statistic) = above; for 1/2 it is a median-unbiased estimate.

    It is 0 where even the least count exceeds that, and infinite where even the largest one falls short.
    """
    point = np.array([statistic])

    def excess(log_odds: float) -> float:
        return float(_tails(point, law, noise, log_odds)[0][0]) - above

    if float(noise.cdf(np.array([law.lowest - statistic]))[0]) >= above:
        return 0.0
    if float(noise.cdf(np.array([law.highest - statistic]))[0]) <= above:
        return inf
    low, high = -1.0, 1.0
    while excess(low) > 0 and low > -FARTHEST:
        low *= 2
    while excess(high) < 0 and high < FARTHEST:
        high *= 2
    if excess(low) >= 0 or excess(high) <= 0:  # the root is beyond what floats tell apart
        return 0.0 if excess(low) >= 0 else inf
    found = zero(excess, low, high, xtol=1e-12, rtol=1e-12)
    return exp(found) if found < 709 else inf


def require_question(alternative: str, null: float, level: float) -> Alternative:
    """Return the alternative; raises SpecError where the question makes no sense."""
    if not 0 < level < 1:
        raise SpecError(f"the level is {level:g}: give a probability between 0 and 1, such as 0.05.")
    if not 0 < null < inf:
        raise SpecError(f"the odds ratio to test is {null:g}: give a positive number, such as 1.")
    for known in ALTERNATIVES:
        if known == alternative:
            return known
    raise SpecError(f"the alternative is {alternative!r}: choose from 'greater', 'less', 'two-sided'.")


def _tails(statistics: Floats, law: CountLaw, noise: Noise, log_odds: float) -> tuple[Floats, Floats]:
    """Return P(H + N >= U) and P(H + N <= U), each summed on its own to be exact near zero."""
    values, probabilities = law.at(log_odds)
    above, below = np.empty(statistics.shape), np.empty(statistics.shape)
    rows = max(1, AT_ONCE // values.size)
    for begin in range(0, statistics.size, rows):
        block = slice(begin, begin + rows)
        apart = values - statistics[block, None]
        above[block] = noise.cdf(apart) @ probabilities
        below[block] = noise.cdf(-apart) @ probabilities
    return np.minimum(above, 1.0), np.minimum(below, 1.0)


def _threshold(
    law: CountLaw, noise: Noise, log_odds: float, *, above: float | None = None, below: float | None = None
) -> float:
    """Return the u with P(U >= u) = above, or with P(U <= u) = below."""
    values, probabilities = law.at(log_odds)

    def excess(u: float) -> float:
        if above is not None:
            return above - float(noise.cdf(values - u) @ probabilities)
        return float(noise.cdf(u - values) @ probabilities) - (below or 0.0)

    centre = float(values @ probabilities)
    return _rising_root(excess, centre)


def _rising_root(rising: Callable[[float], float], start: float) -> float:
    low, high, step = start - 1, start + 1, 1.0
    while rising(low) > 0:
        low, step = low - step, 2 * step
    while rising(high) < 0:
        high, step = high + step, 2 * step
    return zero(rising, low, high, xtol=1e-12, rtol=1e-14)
