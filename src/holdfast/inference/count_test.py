"""Tests of an odds ratio w from a count with noise: p-values, power and confidence intervals.

Let U = H + N, N independent symmetric noise with a continuous F. H is x_11 of a 2 x 2 table with both margins
given [holdfast, data/two_by_two.py], or the sum over strata. With w the odds ratio, x_11 x_22 / (x_12 x_21)
in probabilities,

    P_w(x_11 = h) is proportional to C(t_1., h) C(t_2., t_.1 - h) w^h,
    max(0, t_1. + t_.1 - n) <= h <= min(t_1., t_.1),

Fisher's noncentral hypergeometric law [semi-dp, Section 5.3; theory, 9], which rises with w.

    greater    p = P_w0(H + N >= U) = sum over h of P_w0(h) F(h - U)
    less       p = P_w0(H + N <= U) = sum over h of P_w0(h) F(U - h)
    two-sided  p = 2 min(greater, less)

U has a continuous law, so p is exactly uniform at w = w0 and the tests have exactly their level. For one
table, w0 = 1 and canonical noise, the test that rejects where ``greater`` is at most the level is the most
powerful unbiased one among all that keep the tradeoff function [semi-dp, Theorem 37]; ``less`` is the same
with the columns exchanged. Doubling makes the two-sided test reject when one of the one-sided tests at half
the level does; it agrees with the central confidence interval, and is a little biased where margins are
lopsided.

U is a function of the release and p of U and the margins: post-processing [semi-dp, Proposition 23].
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, log, sqrt
from typing import Literal, NamedTuple

import numpy as np

from holdfast.data.two_by_two import Margins
from holdfast.lattice.arrays import FloatArray
from holdfast.mechanisms.canonical.noise import Noise
from holdfast.privacy.roots import zero
from holdfast.system.errors import SpecError

NEGLIGIBLE = 46.0
"""exp(-46) < 1e-19: values this much less likely than the mode are left out."""


@dataclass(frozen=True)
class CountLaw:
    """The law of x_11, summed over tables that share one odds ratio (one table, or strata)."""

    margins: tuple[Margins, ...]

    @property
    def lowest(self) -> int:
        """The least sum."""
        return sum(margins.lowest for margins in self.margins)

    @property
    def highest(self) -> int:
        """The largest sum."""
        return sum(margins.highest for margins in self.margins)

    def at(self, log_odds: float) -> tuple[FloatArray, FloatArray]:
        """Return the values and their probabilities for an odds ratio; those below 1e-19 are left out."""
        first, total = 0, np.ones(1)
        for margins in self.margins:
            start, probabilities = _noncentral(margins, log_odds)
            first, total = first + start, np.convolve(total, probabilities)
        return first + np.arange(total.size, dtype=np.float64), total


def _noncentral(margins: Margins, log_odds: float) -> tuple[int, FloatArray]:
    """Return the first value and the probabilities, summed outwards from the mode by their ratios.

    P(h + 1) / P(h) = w (t_1. - h)(t_.1 - h) / ((h + 1)(t_2. - t_.1 + h + 1)) falls with h.
    """
    mode = _mode(margins, log_odds)
    r, c, d = margins.rows[0], margins.columns[0], margins.rows[1] - margins.columns[0]
    curvature = 1 / (r - mode + 1) + 1 / (c - mode + 1) + 1 / (mode + 1) + 1 / (d + mode + 1)
    reach = int(12 / sqrt(curvature)) + 60
    first, last = max(margins.lowest, mode - reach), min(margins.highest, mode + reach)
    h = np.arange(first, last, dtype=np.float64)
    steps = np.log(r - h) + np.log(c - h) - np.log(h + 1) - np.log(d + h + 1) + log_odds
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    logs -= logs.max()
    kept = np.flatnonzero(logs > -NEGLIGIBLE)
    weights = np.exp(logs[kept[0] : kept[-1] + 1])
    return first + int(kept[0]), weights / weights.sum()


def _mode(margins: Margins, log_odds: float) -> int:
    """Return the least h whose successor is not more likely."""
    r, c, d = margins.rows[0], margins.columns[0], margins.rows[1] - margins.columns[0]
    low, high = margins.lowest, margins.highest
    while low < high:
        h = (low + high) // 2
        rises = log(r - h) + log(c - h) + log_odds > log(h + 1) + log(d + h + 1)
        low, high = (h + 1, high) if rises else (low, h)
    return low


Alternative = Literal["greater", "less", "two-sided"]
ALTERNATIVES: tuple[Alternative, ...] = ("greater", "less", "two-sided")
AT_ONCE = 1 << 20
FARTHEST = 1024.0
"""Log odds ratios beyond it count as infinite."""


class OddsRatioInterval(NamedTuple):
    """All odds ratios from ``lower`` to ``upper``, which may be infinite."""

    lower: float
    upper: float


def p_values(
    statistics: FloatArray,
    law: CountLaw,
    noise: Noise,
    *,
    alternative: Alternative = "greater",
    null: float = 1,
) -> FloatArray:
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
) -> OddsRatioInterval:
    """Return the statistics between which the test does not reject."""
    share = level / 2 if alternative == "two-sided" else level
    return OddsRatioInterval(
        -inf if alternative == "greater" else _threshold(law, noise, log(null), below=share),
        inf if alternative == "less" else _threshold(law, noise, log(null), above=share),
    )


def power_of(region: OddsRatioInterval, law: CountLaw, noise: Noise, odds: float) -> float:
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
) -> OddsRatioInterval:
    """Return the odds ratios that the test at ``level`` does not reject.

    P_w(H + N >= U) rises with w, so each end is one root. The interval covers w with a probability of
    exactly 1 - level. A statistic beyond all counts can exclude every finite w: both ends are then 0 or
    infinite.
    """
    share = level / 2 if alternative == "two-sided" else level
    return OddsRatioInterval(
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


def _tails(
    statistics: FloatArray, law: CountLaw, noise: Noise, log_odds: float
) -> tuple[FloatArray, FloatArray]:
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
