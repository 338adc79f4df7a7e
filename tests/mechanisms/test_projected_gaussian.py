"""`projected-gaussian`: its law is the projected normal one, and its divergences are what it states."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.sparse import csr_array
from scipy.special import logsumexp

from holdfast.mechanisms.mechanism import Traits
from holdfast.mechanisms.projected_gaussian import NullSpace, ProjectedGaussian, normals, uniforms
from holdfast.privacy.evidence import Assumed
from holdfast.privacy.guarantee import Adjacency, Scope, Target
from holdfast.privacy.intensity import GaussianDP, ZeroConcentrated
from holdfast.privacy.premises import Premises
from holdfast.sampling.entropy import SeededEntropy
from holdfast.testing.goodness import LEVEL, two_way
from holdfast.testing.losses import record_distances
from holdfast.universe.tables import conforming_tables
from holdfast.universe.universe import Universe


def premises(rows: NDArray[np.int64], table: list[int], adjacency: Adjacency = "semi") -> Premises:
    on = Universe.of(csr_array(rows), rows @ np.array(table))
    return Premises.of(on, Scope.of(on, invariants=("all",), constraints=()), adjacency)


UNIVERSES = {
    "2 x 2, (3,2)/(4,1)": premises(two_way(2, 2), [3, 0, 1, 1]),
    "3 x 3, all margins 1": premises(two_way(3, 3), [1, 0, 0, 0, 1, 0, 0, 0, 1]),
    "2 x 3": premises(two_way(2, 3), [2, 1, 0, 0, 1, 2]),
    "one total": premises(np.array([[1, 1, 1]]), [2, 1, 1]),
    "crossing counts": premises(np.array([[1, 1, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]]), [1, 1, 1, 1]),
}
DEMO = premises(two_way(4, 4), [15, 1, 3, 1, 20, 10, 10, 15, 3, 10, 10, 2, 12, 14, 7, 2])


def renyi(mechanism: ProjectedGaussian, alpha: float) -> float:
    """Return the largest Renyi divergence between tables that the guarantee speaks of.

    The ratio of two densities changes along u = x - x' only: one integral decides.
    """
    tables = conforming_tables(mechanism.premises.universe, 2000)
    apart = record_distances(tables)
    found = []
    for i, j in np.argwhere((apart > 0) & (apart <= mechanism.premises.unit.distance)):
        step = (tables[j] - tables[i]) / np.linalg.norm(tables[j] - tables[i])
        outputs = tables[i] + np.linspace(-40, 40, 4001)[:, None] * step
        logs = [mechanism.law(table).log_prob(outputs) for table in (tables[i], tables[j])]
        one, other = (log - logsumexp(log) for log in logs)
        found.append(float(logsumexp(alpha * one + (1 - alpha) * other)) / (alpha - 1))
    return max(found)


@pytest.mark.parametrize("name", UNIVERSES)
def test_the_divergence_is_what_the_guarantee_states(name: str) -> None:
    mechanism = ProjectedGaussian.calibrate(UNIVERSES[name], intensity=GaussianDP(Fraction(1)))
    assert mechanism.guarantee.intensity == GaussianDP(Fraction(1))
    for alpha in (1.5, 3.0):
        assert renyi(mechanism, alpha) == pytest.approx(alpha / 2, rel=1e-6)
    quieter = replace(mechanism, sigma_squared=mechanism.sigma_squared * Fraction(10, 11))
    assert renyi(quieter, 1.5) > 1.05 * 0.75


def distances(draws: NDArray[np.float64], mechanism: ProjectedGaussian) -> float:
    """Return the p-value of ||z||^2 / sigma^2 under the chi-square law of the span's dimension."""
    squares = (draws**2).sum(axis=1) / float(mechanism.sigma_squared)
    return float(stats.kstest(squares, stats.chi2(mechanism.noise.span.dimension).cdf).pvalue)


def test_draws_are_normal_in_the_span() -> None:
    mechanism = ProjectedGaussian.calibrate(DEMO, intensity=GaussianDP(Fraction(1)))
    assert mechanism.sigma_squared == 6
    assert mechanism.noise.span.dimension == 9
    draws = mechanism.noise.sample(SeededEntropy(1), 4000)
    assert draws.dtype == np.float64
    assert distances(draws, mechanism) > LEVEL
    assert distances(draws * 1.05, mechanism) < LEVEL**2
    # the covariance is sigma^2 P
    A = DEMO.universe.matrix.toarray()
    P = np.eye(16) - A.T @ np.linalg.solve(A @ A.T, A)
    assert np.abs(np.cov(draws.T) - 6 * P).max() < 6 * 0.12
    assert stats.kstest(draws[:, 0] / np.sqrt(6 * P[0, 0]), stats.norm.cdf).pvalue > LEVEL


def test_the_example_of_the_paper() -> None:
    # [semi-dp, Example 8]: Delta is 2 and P has the entries 1/4 and -1/4
    mechanism = ProjectedGaussian.calibrate(
        UNIVERSES["2 x 2, (3,2)/(4,1)"], intensity=GaussianDP(Fraction(1))
    )
    assert mechanism.sigma_squared == 4
    sign = np.array([1, -1, -1, 1])
    assert mechanism.noise.span.project(np.eye(4)) == pytest.approx(np.outer(sign, sign) / 4)


def test_invariants_hold_up_to_rounding() -> None:
    mechanism = ProjectedGaussian.calibrate(DEMO, intensity=ZeroConcentrated(Fraction(1, 1000)))
    counts = np.array([15, 1, 3, 1, 20, 10, 10, 15, 3, 10, 10, 2, 12, 14, 7, 2])
    tables = mechanism.law(counts).sample(SeededEntropy(2), 200)
    assert np.abs(DEMO.universe.matrix @ tables.T - DEMO.universe.values[:, None]).max() < 1e-9
    assert np.isfinite(mechanism.law(counts).log_prob(tables)).all()
    assert np.isneginf(mechanism.law(counts).log_prob(tables + np.eye(16)[0])).all()


def test_a_cell_that_must_be_empty_gets_no_noise() -> None:
    empty = premises(two_way(3, 3), [1, 1, 0, 0, 1, 1, 0, 0, 0])
    noise = ProjectedGaussian.calibrate(empty, intensity=GaussianDP(Fraction(1))).noise
    assert noise.span.dimension == 2
    assert np.abs(noise.sample(SeededEntropy(0), 50)[:, 6:]).max() < 1e-12


def test_an_open_number_of_records_is_moved_as_well() -> None:
    # differences sum to 0, but noise with that sum would publish the number of records
    noise = ProjectedGaussian.calibrate(
        premises(np.array([[1, 1, 0, 0]]), [2, 1, 1, 3]), intensity=GaussianDP(Fraction(1))
    ).noise
    assert noise.span.dimension == 3


def test_zcdp_targets_are_met_also_where_mu_is_irrational() -> None:
    for rho in (Fraction(1, 2), Fraction(1, 3), Fraction(7, 10)):
        for adjacency in ("semi", "unit"):
            guarantee = ProjectedGaussian.calibrate(
                replace(DEMO, adjacency=adjacency), intensity=ZeroConcentrated(rho)
            ).guarantee
            assert guarantee.meets(Target(adjacency, ZeroConcentrated(rho)))
            assert not guarantee.meets(Target(adjacency, ZeroConcentrated(rho * Fraction(99, 100))))


def test_it_says_that_floats_are_assumed() -> None:
    mechanism = ProjectedGaussian.calibrate(DEMO, intensity=GaussianDP(Fraction(1)))
    assert mechanism.traits == Traits("floating", whole=False)
    assert any(
        isinstance(item, Assumed) and "never for a release" in item.reason
        for item in mechanism.guarantee.evidence
    )
    assert mechanism.parameters == {"sigma_squared": 6}
    (drawn,) = mechanism.methods
    assert drawn.words == "16 normal numbers, projected onto 9 dimensions"
    assert mechanism.noise.work == 16


def test_large_systems_are_projected_sparsely() -> None:
    groups = np.repeat(np.arange(300), 40)
    matrix = csr_array((np.ones(12_000, dtype=np.int64), (groups, np.arange(12_000))))
    draws = NullSpace(matrix).project(normals(SeededEntropy(3), 3, 12_000))
    assert np.abs(np.asarray(matrix @ draws.T)).max() < 1e-12


def test_uniform_numbers_are_never_0_or_1() -> None:
    class Ends:
        secure = False

        def words(self, size: int) -> NDArray[np.uint64]:
            return np.resize(np.array([0, 2**64 - 1], dtype=np.uint64), size)

    assert np.isfinite(normals(Ends(), 2)).all()
    assert 0 < uniforms(Ends(), 2).min() < uniforms(Ends(), 2).max() < 1
