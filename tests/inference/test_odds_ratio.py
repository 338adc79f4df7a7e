from fractions import Fraction
from math import inf, log

import numpy as np
import pytest
from scipy import stats

from holdfast.data.two_by_two import TwoByTwo
from holdfast.inference.count_test import (
    ALTERNATIVES,
    Alternative,
    CountLaw,
    confidence_interval,
    critical_values,
    odds_with,
    p_values,
    power,
    power_of,
)
from holdfast.inference.odds_ratio import odds_ratio_test
from holdfast.mechanisms.canonical import CanonicalNoise, Constructed, Normal, Tulap
from holdfast.mechanisms.noisy_count import NoisyCount
from holdfast.privacy.intensity import (
    Approximate,
    Functional,
    GaussianDP,
    Intensity,
    Pure,
    ZeroConcentrated,
)
from holdfast.privacy.tradeoff import EpsilonDelta, group
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.system.errors import DataError, GuaranteeError, SamplingError, SpecError
from holdfast.testing.goodness import LEVEL
from holdfast.universe.sensitivity import sensitivity

TABLE = TwoByTwo(10, 2, 3, 15)
LAW = CountLaw((TABLE.margins,))
TRIALS = 20_000
NOISES: dict[str, CanonicalNoise] = {
    "pure": Tulap(Fraction(1)),
    "approximate": Tulap(Fraction(1, 2), Fraction(1, 20)),
    "gaussian": Normal(Fraction(1)),
    "general": Constructed(group(EpsilonDelta(0.4, 0.001), 3)),
}


def null_counts(entropy: Entropy, table: TwoByTwo = TABLE) -> np.ndarray:
    (row, _), (column, _) = table.margins
    generator = np.random.default_rng(int(entropy.words(1)[0]))
    return generator.hypergeometric(column, sum(table) - column, row, TRIALS)


# the law of x_11


@pytest.mark.parametrize("table", [(10, 2, 3, 15), (0, 7, 4, 1), (200, 310, 150, 90), (1, 0, 0, 1)])
@pytest.mark.parametrize("odds", [0.02, 1.0, 3.7])
def test_the_noncentral_hypergeometric_law(table: tuple[int, ...], odds: float) -> None:
    margins = TwoByTwo.of(table).margins
    values, probabilities = CountLaw((margins,)).at(log(odds))
    law = stats.nchypergeom_fisher(sum(table), margins.columns[0], margins.rows[0], odds)
    np.testing.assert_allclose(probabilities, law.pmf(values), rtol=1e-6, atol=1e-15)
    assert probabilities.sum() == pytest.approx(1)
    assert (margins.lowest, margins.highest) == law.support()


def test_w_is_the_odds_ratio_of_the_first_row_to_the_second() -> None:
    """Two binomial rows, conditioned on the column totals: x_11 is large when the first row has the odds."""
    (r1, r2), (c1, _) = TABLE.margins
    theta1, theta2 = 0.6, 0.25
    h = np.arange(TABLE.margins.lowest, TABLE.margins.highest + 1)
    joint = stats.binom(r1, theta1).pmf(h) * stats.binom(r2, theta2).pmf(c1 - h)
    values, probabilities = LAW.at(log(theta1 / (1 - theta1) * (1 - theta2) / theta2))
    np.testing.assert_array_equal(values, h)
    np.testing.assert_allclose(probabilities, joint / joint.sum(), rtol=1e-9)


def test_large_tables_are_cut_to_what_matters() -> None:
    values, probabilities = CountLaw((TwoByTwo(10**8, 10**8, 10**8, 10**8).margins,)).at(0.0)
    assert values.size < 200_000
    assert values @ probabilities == pytest.approx(10**8, abs=1e-3)
    spread = np.sqrt((values - 10**8) ** 2 @ probabilities)
    assert spread == pytest.approx(stats.hypergeom(4 * 10**8, 2 * 10**8, 2 * 10**8).std(), rel=1e-6)


# size and p-values


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("null", [1.0, 2.5])
def test_the_size_by_summation(name: str, alternative: Alternative, null: float) -> None:
    noise = NOISES[name]
    for level in (0.01, 0.05, 0.3):
        assert power(LAW, noise, null, level=level, alternative=alternative, null=null) == pytest.approx(
            level, rel=1e-9
        )
        ends = list(critical_values(LAW, noise, level=level, alternative=alternative, null=null))
        found = p_values(np.array(ends), LAW, noise, alternative=alternative, null=null)[np.isfinite(ends)]
        np.testing.assert_allclose(found, level, rtol=1e-8)


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_the_size_by_simulation(name: str, alternative: Alternative) -> None:
    noise, entropy = NOISES[name], SeededEntropy(2)
    statistics = noise.add_to(null_counts(entropy), entropy)
    found = p_values(statistics, LAW, noise, alternative=alternative)
    assert np.mean(found <= 0.05) == pytest.approx(0.05, abs=0.006)
    assert stats.kstest(found, "uniform").pvalue > LEVEL
    wrong = p_values(statistics, LAW, Tulap(Fraction(5)), alternative=alternative)  # noise taken for less
    assert stats.kstest(wrong, "uniform").pvalue < LEVEL / 1000


def test_the_p_value_is_that_of_the_theorem() -> None:
    (row, _), (column, _) = TABLE.margins
    h = np.arange(13, dtype=np.float64)
    masses = np.asarray(stats.hypergeom(sum(TABLE), column, row).pmf(h))
    for u in (-2.3, 4.0, 9.7):
        expected = float(np.sum(masses * NOISES["pure"].cdf(h - u)))
        assert p_values(np.array([u]), LAW, NOISES["pure"])[0] == pytest.approx(expected, rel=1e-12)


def test_fisher_in_the_limit() -> None:
    for alternative in ("greater", "less"):
        for table in (TABLE, TwoByTwo(4, 6, 5, 7)):
            law, noise = CountLaw((table.margins,)), Tulap(Fraction(50))
            statistics = noise.add_to(np.full(4000, table.x11), SeededEntropy(3))
            found = p_values(statistics, law, noise, alternative=alternative).mean()
            cells = np.array(table).reshape(2, 2)
            (row, _), (column, _) = table.margins
            half = stats.hypergeom(sum(table), column, row).pmf(table.x11) / 2
            middle = stats.fisher_exact(cells, alternative=alternative).pvalue - half
            assert found == pytest.approx(middle, abs=0.02)


# power


def test_power_by_simulation() -> None:
    noise, entropy = NOISES["pure"], SeededEntropy(8)
    values, probabilities = LAW.at(log(5))
    draws = entropy.words(TRIALS) * 2.0**-64
    counts = values[np.searchsorted(np.cumsum(probabilities), draws)].astype(np.int64)
    rejected = np.mean(p_values(noise.add_to(counts, entropy), LAW, noise) <= 0.05)
    assert rejected == pytest.approx(power(LAW, noise, 5), abs=0.015)
    assert rejected != pytest.approx(power(LAW, noise, 4), abs=0.015)


@pytest.mark.parametrize("alternative", ["greater", "two-sided"])
def test_power_grows_with_the_budget(alternative: Alternative) -> None:
    budgets = [Fraction(1, 10), Fraction(1, 3), Fraction(1), Fraction(3), Fraction(50)]
    for law in (Tulap, Normal):
        found = [power(LAW, law(budget), 4, alternative=alternative) for budget in budgets]
        assert (np.diff(found) > 0).all()


class Laplace:
    """The usual noise of a count, which no test of the same budget needs."""

    def __init__(self, epsilon: float) -> None:
        self.epsilon = epsilon

    def cdf(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(stats.laplace.cdf(x * self.epsilon))


@pytest.mark.parametrize("odds", [1.5, 3.0, 8.0])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(3)])
def test_more_powerful_than_what_is_usually_done(epsilon: Fraction, odds: float) -> None:
    best = power(LAW, Tulap(epsilon), odds)
    assert best > power(LAW, Laplace(float(epsilon)), odds)
    assert best > power(LAW, Tulap(epsilon / 3), odds)  # group privacy for three records
    assert best < power(LAW, Tulap(Fraction(50)), odds)


def test_a_doubled_test_is_a_little_biased() -> None:
    law, noise = CountLaw((TwoByTwo(6, 1, 20, 33).margins,)), NOISES["pure"]
    doubled = critical_values(law, noise, level=0.05, alternative="two-sided")
    near = [0.95, 0.99, 1.01, 1.05]
    assert power_of(doubled, law, noise, 1) == pytest.approx(0.05)
    assert min(power_of(doubled, law, noise, w) for w in near) < 0.05


# confidence intervals


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_the_interval_is_what_the_test_keeps(alternative: Alternative) -> None:
    noise = NOISES["pure"]
    for u in (3.2, 6.0, 9.6):
        lower, upper = confidence_interval(u, LAW, noise, level=0.3, alternative=alternative)
        assert 0 <= lower < upper <= inf
        for end, beyond in ((lower, 0.99), (upper, 1.01)):
            if 0 < end < inf:
                assert _p(u, end, alternative) == pytest.approx(0.3, rel=1e-6)
                assert _p(u, end * beyond, alternative) < 0.3 < _p(u, end / beyond, alternative)
    assert _p(6.0, odds_with(6.0, LAW, noise, above=0.5), "greater") == pytest.approx(0.5)


def _p(u: float, null: float, alternative: Alternative) -> float:
    return float(p_values(np.array([u]), LAW, NOISES["pure"], alternative=alternative, null=null)[0])


def test_statistics_beyond_all_counts() -> None:
    assert confidence_interval(40.0, LAW, NOISES["pure"], level=0.05) == (inf, inf)
    assert confidence_interval(-30.0, LAW, NOISES["pure"], level=0.05) == (0, 0)
    assert confidence_interval(5.0, LAW, Tulap(Fraction(1, 100)), level=0.05) == (0, inf)


def test_coverage() -> None:
    noise, entropy = NOISES["pure"], SeededEntropy(4)
    counts = null_counts(entropy)[:300]
    statistics = noise.add_to(counts, entropy)
    covered = [
        interval.lower <= 1 <= interval.upper
        for interval in (confidence_interval(u, LAW, noise, level=0.2) for u in statistics)
    ]
    assert np.mean(covered) == pytest.approx(0.8, abs=0.07)
    tests = p_values(statistics, LAW, noise, alternative="two-sided") > 0.2
    assert (np.array(covered) == tests).all()


# the guarantee


@pytest.mark.parametrize(
    ("table", "distance"), [((10, 2, 3, 15), 3), ((2, 2, 2, 2), 2), ((1, 1, 1, 1), 2), ((1, 1, 1, 0), 3)]
)
def test_the_margins_decide_the_distance(table: tuple[int, ...], distance: int) -> None:
    mechanism = NoisyCount.calibrate([TwoByTwo.of(table).margins], Pure(Fraction(1)))
    assert mechanism.guarantee.unit.distance == distance
    assert mechanism.guarantee.intensity == Pure(Fraction(1))
    assert mechanism.canonical == Tulap(Fraction(1))


@pytest.mark.parametrize("records", [3, 4, 5, 7])
def test_the_count_moves_by_half_the_records(records: int) -> None:
    mechanism = NoisyCount.calibrate([TABLE.margins], Pure(Fraction(1)), records=records)
    space = sensitivity(mechanism.premises.universe, records)
    assert mechanism.steps == space.linf
    assert space.l1 == 4 * space.linf
    assert space.l2_squared == 4 * space.linf**2
    assert mechanism.canonical == Tulap(Fraction(1, space.linf))
    profile = mechanism.guarantee.profile
    assert profile is not None
    assert profile.at(records, space) == mechanism.guarantee.intensity


@pytest.mark.parametrize("intensity", [GaussianDP(Fraction(1)), ZeroConcentrated(Fraction(1, 2))])
def test_profiles_of_normal_noise(intensity: Intensity) -> None:
    for records in (4, 6):
        mechanism = NoisyCount.calibrate([TABLE.margins], intensity, records=records)
        assert mechanism.canonical == Normal(Fraction(2, records))
        profile = mechanism.guarantee.profile
        assert profile is not None
        reached = profile.at(records, sensitivity(mechanism.premises.universe, records))
        assert reached.parameters() == intensity.parameters()


def test_rho_is_spent_on_normal_noise_and_never_exceeded() -> None:
    mechanism = NoisyCount.calibrate([TABLE.margins], ZeroConcentrated(Fraction(1, 3)))
    assert isinstance(mechanism.canonical, Normal)
    reached = mechanism.guarantee.intensity
    assert isinstance(reached, ZeroConcentrated)
    assert reached.rho == mechanism.canonical.mu**2 / 2
    assert Fraction(333333, 10**6) < reached.rho <= Fraction(1, 3)


def test_evidence_says_what_rests_on_a_solver() -> None:
    def kinds(table: tuple[int, ...], intensity: Intensity) -> set[str]:
        margins = TwoByTwo.of(table).margins
        return {item.kind for item in NoisyCount.calibrate([margins], intensity).guarantee.evidence}

    assert kinds(TABLE, Pure(Fraction(1))) == {"proved"}
    assert kinds((2, 2, 2, 2), Pure(Fraction(1))) == {"proved", "assumed"}
    assert kinds(TABLE, GaussianDP(Fraction(1))) == {"proved", "assumed"}


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_the_released_cells_keep_epsilon(epsilon: Fraction) -> None:
    """Between tables a step apart no cell is more than exp(epsilon) times as likely, and some are."""
    edges = np.arange(-64 * 20, 64 * 20 + 1) / 64
    here, there = np.diff(Tulap(epsilon).cdf(edges)), np.diff(Tulap(epsilon).cdf(edges - 1))
    near = slice(64 * 15, 64 * 20)  # where differences of the distribution function are exact
    ratio = np.log(here[near] / there[near])
    assert np.abs(ratio).max() == pytest.approx(float(epsilon), rel=1e-6)


# the whole


def test_a_test_from_the_system() -> None:
    test = odds_ratio_test([60, 5, 6, 70], Pure(Fraction(2)))
    assert test.secure
    assert test.certified
    assert test.rejected == (test.p_value <= 0.05)
    assert test.rejected
    assert test.confidence.lower > 1
    assert test.guarantee.scope.invariants == ("row totals", "column totals")


def test_a_seed_repeats_a_test() -> None:
    one, other = (odds_ratio_test(TABLE, Pure(Fraction(1)), entropy=SeededEntropy(7)) for _ in range(2))
    assert (one.statistic, one.p_value) == (other.statistic, other.p_value)
    assert not one.secure


@pytest.mark.parametrize(
    "intensity",
    [Approximate(Fraction(1), Fraction(1, 10**6)), GaussianDP(Fraction(1)), ZeroConcentrated(Fraction(1, 2))],
)
def test_every_standard(intensity: Intensity) -> None:
    test = odds_ratio_test(TABLE, intensity, alternative="two-sided", entropy=SeededEntropy(1))
    assert test.guarantee.intensity == intensity
    assert test.confidence.lower < test.estimate < test.confidence.upper


def test_general_functions_serve_studies_only() -> None:
    intensity = Functional(group(EpsilonDelta(0.4, 0.001), 3))
    with pytest.raises(SamplingError, match="not safe to release"):
        odds_ratio_test(TABLE, intensity)
    test = odds_ratio_test(TABLE, intensity, entropy=SeededEntropy(1))
    assert not test.certified
    assert any(item.kind == "assumed" for item in test.guarantee.evidence)


@pytest.mark.parametrize(
    ("table", "intensity", "options", "error", "message"),
    [
        ((1, 2, 3), Pure(Fraction(1)), {}, DataError, "four counts"),
        ((1, -2, 3, 4), Pure(Fraction(1)), {}, DataError, "x12 is -2"),
        ((1, 2, 3, 2**30), Pure(Fraction(1)), {}, DataError, "below 2\\^30"),
        ((5, 5, 0, 0), Pure(Fraction(1)), {}, GuaranteeError, "nothing to test"),
        ((0, 0, 0, 0), Pure(Fraction(1)), {}, GuaranteeError, "nothing to test"),
        ((1, 2, 3, 4), Pure(Fraction(0)), {}, GuaranteeError, "positive epsilon"),
        ((1, 2, 3, 4), Pure(Fraction(1)), {"records": 1}, GuaranteeError, "takes 3 records"),
        (
            (1, 2, 3, 4),
            Approximate(Fraction(1), Fraction(1, 9)),
            {"records": 5},
            GuaranteeError,
            "without delta",
        ),
        ((1, 2, 3, 4), Pure(Fraction(1)), {"level": 0.0}, SpecError, "level"),
        ((1, 2, 3, 4), Pure(Fraction(1)), {"null": -1.0}, SpecError, "odds ratio to test"),
        ((1, 2, 3, 4), Pure(Fraction(1)), {"alternative": "more"}, SpecError, "choose from"),
    ],
)
def test_bad_questions(table, intensity, options, error, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error, match=message):
        odds_ratio_test(table, intensity, **options)
