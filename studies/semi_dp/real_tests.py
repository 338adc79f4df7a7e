"""Tests of the odds ratio on real 2 x 2 tables: what a private p-value would say, by summation.

Given a table, U = x_11 + N is random, and with it the p-value. It is monotone in U on either side, so its
distribution is summed from that of N: the chance to reject, the median and the middle 90 percent. All tests
are two-sided by doubling, Fisher's too, which is the limit without noise.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import exp, log

import numpy as np

from holdfast.data.two_by_two import TwoByTwo
from holdfast.inference.count_test import CountLaw, critical_values
from holdfast.inference.odds_ratio import summed
from holdfast.mechanisms.canonical import Tulap
from holdfast.mechanisms.canonical.noise import Noise
from holdfast.mechanisms.noisy_count import NoisyCount
from holdfast.privacy.intensity import Pure
from holdfast.privacy.roots import zero
from studies.semi_dp.numbers import Number

PART = "real tests"
LEVEL = 0.05
EPSILONS = (Fraction(1, 10), Fraction(1))
MIDDLE = (0.05, 0.5, 0.95)
LEAST, MOST = 1e-12, 1 - 1e-9
"""P-values below are told as this."""


@dataclass(frozen=True)
class Outcome:
    """Quantiles of the p-value of one test on one table, and the chance to reject."""

    series: str
    low: float
    median: float
    high: float
    rejects: float


def run(tables: Mapping[str, tuple[TwoByTwo, ...]], advance: Callable[[], None]) -> Iterator[Number]:
    """Return all outcomes as numbers."""
    for name, strata in tables.items():
        for outcome in outcomes(strata):
            for what in ("low", "median", "high", "rejects"):
                yield Number(PART, f"{outcome.series}: {what}", name, "", getattr(outcome, what))
        advance()


def outcomes(strata: tuple[TwoByTwo, ...]) -> Iterator[Outcome]:
    """Return Fisher's test, the semi-private and the naive one for each epsilon."""
    margins = [table.margins for table in strata]
    law = CountLaw(tuple(margins))
    x11 = float(sum(table.x11 for table in strata))
    plain = fisher(law, x11)
    yield Outcome("Fisher", plain, plain, plain, float(plain <= LEVEL))
    for epsilon in EPSILONS:
        mechanism = NoisyCount.calibrate(margins, Pure(epsilon))
        for series, one in (
            ("semi-private", mechanism.canonical),
            ("naive", Tulap(epsilon / mechanism.guarantee.unit.distance)),
        ):
            noise, _ = summed(one, len(strata))
            yield _outcome(f"{series}, epsilon = {float(epsilon):g}", law, noise, x11)


def fisher(law: CountLaw, x11: float) -> float:
    """Return twice the smaller tail, at most 1."""
    values, probabilities = law.at(0.0)
    return min(1.0, 2 * float(min(probabilities[values >= x11].sum(), probabilities[values <= x11].sum())))


def _level_with(rejects: Callable[[float], float], share: float) -> float:
    """Return the level at which the test rejects with a given chance: a quantile of the p-value."""
    if rejects(LEAST) >= share:
        return LEAST
    root = zero(
        lambda log_level: rejects(exp(log_level)) - share, log(LEAST), log(MOST), xtol=1e-9, rtol=1e-9
    )
    return exp(root)


def _outcome(series: str, law: CountLaw, noise: Noise, x11: float) -> Outcome:
    """Work out the law of the p-value: P(p <= c) is the chance that U is outside the region of level c."""

    def rejects(level: float) -> float:
        lower, upper = critical_values(law, noise, level=level, alternative="two-sided")
        return float(noise.cdf(np.array([lower - x11, x11 - upper])).sum())

    low, median, high = (_level_with(rejects, share) for share in MIDDLE)
    return Outcome(series, low, median, high, rejects(LEVEL))
