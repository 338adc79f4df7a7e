"""Power of tests of an odds ratio w, H_0: w <= 1 against w > 1 at level 0.05, given the margins.

* Fisher: the exact test without privacy; its level is below 0.05 because counts are whole.
* Fisher, randomised: the most powerful unbiased test without privacy, at exactly 0.05.
* semi-private: the most powerful unbiased one under semi-DP [semi-dp, Theorem 37], x_11 plus Tulap noise.
* naive private: the same test with the noise of group privacy, epsilon / a for each of a = 3 records.
* plug-in: Laplace noise of group privacy on the four counts, which are rounded, cut at 0, and put into
  Fisher's test as if they were the data. Its size is simulated: nothing keeps it at 0.05.

All but the last are summed over the law of x_11 [theory, 9]; simulated releases check the summation.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom

from holdfast.data.two_by_two import Margins, TwoByTwo
from holdfast.inference.count_test import CountLaw, critical_values, p_values, power_of
from holdfast.lab.norm_balls import NormBall
from holdfast.mechanisms.canonical import Tulap
from holdfast.mechanisms.noisy_count import NoisyCount
from holdfast.privacy.intensity import Pure
from studies.semi_dp.designs import both_margins, entropy, generator
from studies.semi_dp.figure_3 import EPSILONS
from studies.semi_dp.numbers import Number

PART = "power"
LEVEL = 0.05
DESIGNS = (100, 500)
ODDS = tuple(np.round(np.exp(np.linspace(0, log(8), 43)), 4).tolist())
"""Odds ratios of the curves."""
CHECKED = (1.0, 2.0)
"""Those at which releases are simulated, and all powers compared with `expected.json`."""


def design(records: int) -> Margins:
    """Return two equal rows and columns of 2 to 3.

    With columns as equal as the rows a table without x_11 has no x_22 either, and two changes would be
    enough: the semi-adjacency is 2 there, and 3 here [theory, 2].
    """
    return Margins((records // 2, records // 2), (2 * records // 5, 3 * records // 5))


def setting(records: int, epsilon: Fraction, odds: float) -> str:
    """Name one point of a curve."""
    return f"n = {records}, epsilon = {float(epsilon):g}, w = {odds:g}"


def run(seed: int, draws: int, advance: Callable[[], None]) -> Iterator[Number]:
    """Compute all curves, and simulate the plug-in test and the semi-private one."""
    for records in DESIGNS:
        margins = design(records)
        for epsilon in EPSILONS:
            for series, powers in summed(margins, epsilon).items():
                for odds, power in zip(ODDS, powers, strict=True):
                    yield Number(PART, series, setting(records, epsilon, odds), "", power)
            for odds in CHECKED:
                for series, rejected in simulated(margins, epsilon, odds, seed, draws):
                    share = float(rejected.mean())
                    yield Number(PART, series, setting(records, epsilon, odds), "", share, draws)
            advance()


def summed(margins: Margins, epsilon: Fraction) -> dict[str, list[float]]:
    """Return the powers of the tests whose law is known, by summation, at all odds ratios."""
    law = CountLaw((margins,))
    first, share = _fisher(law)
    curves: dict[str, list[float]] = {"Fisher": [], "Fisher, randomised": []}
    for odds in ODDS:
        values, probabilities = law.at(log(odds))
        beyond = float(probabilities[values >= first].sum())
        curves["Fisher"].append(beyond)
        curves["Fisher, randomised"].append(beyond + share * float(probabilities[values == first - 1].sum()))
    mechanism = NoisyCount.calibrate([margins], Pure(epsilon))
    naive = Tulap(epsilon / mechanism.guarantee.unit.distance)
    for series, noise in (("semi-private", mechanism.canonical), ("naive private", naive)):
        region = critical_values(law, noise, level=LEVEL)
        curves[series] = [power_of(region, law, noise, odds) for odds in ODDS]
    return curves


def _fisher(law: CountLaw) -> tuple[float, float]:
    """Return the least count with P_1(H >= h) <= level, and how often to reject at the one below it."""
    values, probabilities = law.at(0.0)
    tails = np.cumsum(probabilities[::-1])[::-1]
    first = int(np.argmax(tails <= LEVEL))
    return float(values[first]), float((LEVEL - tails[first]) / probabilities[first - 1])


def simulated(
    margins: Margins, epsilon: Fraction, odds: float, seed: int, draws: int
) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Return which of the simulated tests reject."""
    source = generator(seed, PART, margins, epsilon, odds)
    values, probabilities = CountLaw((margins,)).at(log(odds))
    counts = source.choice(values.astype(np.int64), size=draws, p=probabilities)
    yield "semi-private, simulated", _semi_private(margins, counts, epsilon, source)
    yield "plug-in", _plug_in(margins, counts, epsilon, source)


def _semi_private(
    margins: Margins, counts: NDArray[np.int64], epsilon: Fraction, source: np.random.Generator
) -> NDArray[np.bool_]:
    mechanism = NoisyCount.calibrate([margins], Pure(epsilon))
    released = mechanism.canonical.add_to(counts, entropy(source))
    return np.asarray(p_values(released, CountLaw((margins,)), mechanism.canonical) <= LEVEL)


def _plug_in(
    margins: Margins, counts: NDArray[np.int64], epsilon: Fraction, source: np.random.Generator
) -> NDArray[np.bool_]:
    tables = np.array([_table(margins, int(count)) for count in counts])
    premises = both_margins(tables[0].reshape(2, 2))
    ball = NormBall.calibrate(premises, norm="l1", intensity=Pure(epsilon), space="cells").noise
    noisy = np.maximum(0, np.rint(tables + ball.sample(entropy(source), counts.size))).astype(np.int64)
    x11, x12, x21, _ = noisy.T
    return np.asarray(hypergeom.sf(x11 - 1, noisy.sum(axis=1), x11 + x12, x11 + x21) <= LEVEL)


def _table(margins: Margins, x11: int) -> TwoByTwo:
    (row, other), (column, _) = margins
    return TwoByTwo(x11, row - x11, column - x11, other - column + x11)
