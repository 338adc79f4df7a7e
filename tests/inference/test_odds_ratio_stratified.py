from fractions import Fraction
from math import log

import numpy as np
import pytest
from scipy import stats

from holdfast.data.two_by_two import TwoByTwo
from holdfast.inference.count_test import CountLaw, p_values, power
from holdfast.inference.odds_ratio import odds_ratio_test, stratified_odds_ratio_test, summed
from holdfast.mechanisms.canonical import CanonicalNoise, Constructed, Normal, Tulap
from holdfast.mechanisms.noisy_count import NoisyCount
from holdfast.privacy.composition import parallel
from holdfast.privacy.intensity import Approximate, GaussianDP, Intensity, Pure, ZeroConcentrated
from holdfast.privacy.tradeoff import EpsilonDelta
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import GuaranteeError
from holdfast.testing.goodness import LEVEL
from holdfast.universe.sensitivity import sensitivity

STRATA = [TwoByTwo(10, 2, 3, 15), TwoByTwo(5, 5, 5, 5), TwoByTwo(8, 3, 4, 9)]
MARGINS = [table.margins for table in STRATA]
LAW = CountLaw(tuple(MARGINS))
NOISES: dict[str, CanonicalNoise] = {
    "pure": Tulap(Fraction(1)),
    "approximate": Tulap(Fraction(1), Fraction(1, 1000)),
    "gaussian": Normal(Fraction(1)),
}


def test_counts_of_strata_add_up() -> None:
    values, probabilities = LAW.at(log(2))
    masses: dict[int, float] = {0: 1.0}
    for margins in MARGINS:
        law = stats.nchypergeom_fisher(sum(margins.rows), margins.columns[0], margins.rows[0], 2)
        step: dict[int, float] = {}
        for total, mass in masses.items():
            for h in range(margins.lowest, margins.highest + 1):
                step[total + h] = step.get(total + h, 0.0) + mass * law.pmf(h)
        masses = step
    np.testing.assert_allclose(probabilities, [masses[int(v)] for v in values], atol=1e-12)
    assert (LAW.lowest, LAW.highest) == (min(masses), max(masses))


@pytest.mark.parametrize("name", NOISES)
def test_the_size(name: str) -> None:
    noise = NOISES[name]
    total, error = summed(noise, len(STRATA))
    assert error < 1e-4
    assert power(LAW, total, 1) == pytest.approx(0.05, abs=1e-9)
    entropy, generator = SeededEntropy(6), np.random.default_rng(6)
    statistics = np.zeros(20_000)
    for margins in MARGINS:
        counts = generator.hypergeometric(*margins.columns, margins.rows[0], statistics.size)
        statistics += noise.add_to(counts, entropy)
    found = p_values(statistics, LAW, total)
    assert np.mean(found <= 0.05) == pytest.approx(0.05, abs=0.006)
    assert stats.kstest(found, "uniform").pvalue > LEVEL
    assert stats.kstest(p_values(statistics, LAW, noise), "uniform").pvalue < LEVEL / 10  # noise of one


@pytest.mark.parametrize(
    "intensity",
    [
        Pure(Fraction(1)),
        Approximate(Fraction(1), Fraction(1, 10**6)),
        GaussianDP(Fraction(1)),
        ZeroConcentrated(Fraction(1, 2)),
    ],
)
def test_strata_cost_as_much_as_one(intensity: Intensity) -> None:
    guarantee = NoisyCount.calibrate(MARGINS, intensity).guarantee
    assert guarantee.intensity == intensity
    assert guarantee.unit.distance == 3
    assert guarantee.scope.invariants == ("row totals", "column totals")  # of each stratum
    assert guarantee.scope.universe.rank == 3 * len(STRATA)
    space = sensitivity(guarantee.scope.universe, 3)
    assert (space.l1, space.linf) == (4, 1)  # one stratum moves, by one


@pytest.mark.parametrize("intensity", [Pure(Fraction(1)), ZeroConcentrated(Fraction(1, 2))])
def test_as_parallel_composition_says(intensity: Intensity) -> None:
    joint = NoisyCount.calibrate(MARGINS, intensity).guarantee
    apart = parallel([NoisyCount.calibrate([margins], intensity).guarantee for margins in MARGINS])
    assert (apart.intensity.parameters(), apart.unit) == (joint.intensity.parameters(), joint.unit)
    assert apart.scope.within(joint.scope)
    assert joint.scope.within(apart.scope)


def test_a_common_odds_ratio() -> None:
    test = stratified_odds_ratio_test(STRATA, Pure(Fraction(4)), entropy=SeededEntropy(3))
    assert test.rejected
    assert test.confidence.lower > 1
    assert len(test.margins) == 3
    assert test.error < 1e-9


def test_one_stratum_is_one_table() -> None:
    one = stratified_odds_ratio_test([STRATA[0]], Pure(Fraction(1)), entropy=SeededEntropy(3))
    other = odds_ratio_test(STRATA[0], Pure(Fraction(1)), entropy=SeededEntropy(3))
    assert (one.p_value, one.statistic) == (other.p_value, other.statistic)


def test_a_stratum_with_one_possible_table_adds_nothing_to_the_counts() -> None:
    fixed = TwoByTwo(5, 5, 0, 0)
    test = stratified_odds_ratio_test([STRATA[0], fixed], Pure(Fraction(1)), entropy=SeededEntropy(3))
    assert 0 < test.p_value < 1
    with pytest.raises(GuaranteeError, match="nothing to test"):
        stratified_odds_ratio_test([fixed, fixed], Pure(Fraction(1)))


def test_general_functions_are_refused() -> None:
    with pytest.raises(GuaranteeError, match="not worked out"):
        summed(Constructed(EpsilonDelta(0.0, 0.2)), 2)
