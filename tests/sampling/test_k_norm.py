"""The K-norm laws: on the lattice against enumeration, on the reals against their gamma radius."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.sparse import csr_array
from tests.goodness import LEVEL, lattice_points, p_value, two_way

from holdfast.errors import SamplingError
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.k_norm import KNormLaw
from holdfast.sampling.k_norm_real import RealKNorm, zero_margin_laplace
from holdfast.universe.hull.moves import basic_moves, sensitivity_moves
from holdfast.universe.hull.norm import HullNorm
from holdfast.universe.universe import Universe

EPSILON = Fraction(5, 2)


def norm_of(system: NDArray[np.int64], adjacency: int) -> HullNorm:
    table = np.full(system.shape[1], 3)
    return HullNorm(sensitivity_moves(Universe.of(csr_array(system), system @ table), adjacency))


SYSTEMS = {
    "basic 3 x 3": (two_way(3, 3), HullNorm(basic_moves(3, 3))),
    "3 x 3": (two_way(3, 3), norm_of(two_way(3, 3), 3)),
    "2 x 3": (two_way(2, 3), norm_of(two_way(2, 3), 3)),
    "two blocks": (np.array([[1, 1, 1, 0, 0], [0, 0, 0, 1, 1]]), None),
    "weights": (np.array([[1, 2, 1, 0], [1, 1, 1, 1]]), None),
}
RADIUS = {"basic 3 x 3": 5, "3 x 3": 5, "2 x 3": 9, "two blocks": 7, "weights": 12}
DRAWS = 6_000


def law(name: str, epsilon: Fraction = EPSILON) -> KNormLaw:
    system, norm = SYSTEMS[name]
    return KNormLaw(csr_array(system), epsilon, norm or norm_of(system, 2))


class Enumerated:
    """The points of a lattice with twelve times their norms, which are whole."""

    def __init__(self, name: str) -> None:
        points = lattice_points(SYSTEMS[name][0], RADIUS[name])
        self.points = points[np.abs(points).sum(axis=1) <= 4 * RADIUS[name]]
        self.norms = -law(name).log_prob(self.points) / float(EPSILON)
        self.levels = np.rint(12 * self.norms).astype(np.int64)
        assert np.allclose(self.levels, 12 * self.norms)

    def shares(self, scale: float) -> NDArray[np.float64]:
        """Return the probability of each point at ``scale`` times epsilon."""
        weights = np.exp(-scale * float(EPSILON) * self.norms)
        return np.asarray(weights / weights.sum())

    def of_points(self) -> dict[tuple[int, ...], float]:
        return dict(zip(map(tuple, self.points.tolist()), self.shares(1.0).tolist(), strict=True))

    def of_levels(self, scale: float) -> dict[tuple[int], float]:
        sums = np.bincount(self.levels, self.shares(scale))
        return {(int(level),): float(sums[level]) for level in np.unique(self.levels)}


@pytest.mark.parametrize("name", SYSTEMS)
def test_draws_follow_the_enumerated_law(name: str) -> None:
    noise, law_of = law(name), Enumerated(name)
    size = 40_000 if noise.norm.additive else DRAWS
    draws = noise.sample(SeededEntropy(5), size)
    assert not (draws @ SYSTEMS[name][0].T).any()
    assert p_value(draws, law_of.of_points()) > LEVEL
    levels = np.rint(-12 * noise.log_prob(draws) / float(EPSILON)).astype(np.int64)[:, None]
    assert p_value(levels, law_of.of_levels(1.0)) > LEVEL
    # with these few draws it takes a larger error to show in two and three dimensions
    error = 0.08 if name in {"two blocks", "weights"} else 0.03
    for wrong in (1 - error, 1 + error):
        assert p_value(levels, law_of.of_levels(wrong)) < LEVEL


def test_the_exact_path_decides_as_the_bounds_do(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = law("3 x 3")
    quick = noise.sample(SeededEntropy(2), 80)
    bounds = HullNorm.bounds

    def loose(self: HullNorm, points: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        low, high = bounds(self, points)
        return low / 2, 2 * high

    slow = law("3 x 3")
    assert slow.acceptance == noise.acceptance
    monkeypatch.setattr(HullNorm, "bounds", loose)
    assert np.array_equal(slow.sample(SeededEntropy(2), 80), quick)


def test_log_prob_is_the_norm_and_minus_infinity_off_the_lattice() -> None:
    points = np.array([[1, -1, 0, -1, 1, 0, 0, 0, 0], [0] * 9, [1] + [0] * 8])
    assert law("basic 3 x 3").log_prob(points) == pytest.approx([-2.5, 0, -np.inf])


def test_two_rows_need_no_thinning() -> None:
    noise = law("2 x 3")
    assert noise.acceptance == 1
    assert noise.methods == noise.proposals.methods
    assert "K-norm" in law("3 x 3").methods[-1]


@pytest.mark.parametrize(("size", "share"), [(3, 0.80), (4, 0.53)])
def test_small_epsilons_are_accepted_as_real_noise_is(size: int, share: float) -> None:
    noise = KNormLaw(csr_array(two_way(size, size)), Fraction(1, 20), HullNorm(basic_moves(size, size)))
    assert noise.acceptance == pytest.approx(share, abs=0.03)


def test_noise_out_of_reach_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = law("3 x 3")
    monkeypatch.setattr(KNormLaw, "acceptance", 1e-12)
    with pytest.raises(SamplingError, match="lattice-laplace"):
        noise.sample(SeededEntropy(0), 1)


@pytest.mark.parametrize("shape", [(2, 2), (3, 4)])
def test_real_laplace_tables_have_a_gamma_norm(shape: tuple[int, int]) -> None:
    # the density depends on ||z||_1 alone, so ||z||_1 ~ Gamma(s) with s = (r - 1)(c - 1)
    rows, columns = shape
    table = np.arange(rows * columns).reshape(shape)
    draws = zero_margin_laplace(table, table.size, np.random.default_rng(0), 4_000)
    assert np.abs(draws.reshape(-1, *shape).sum(axis=1)).max() < 1e-9
    assert np.abs(draws.reshape(-1, *shape).sum(axis=2)).max() < 1e-9
    sizes, s = np.abs(draws).sum(axis=1), (rows - 1) * (columns - 1)
    assert stats.kstest(sizes, stats.gamma(s).cdf).pvalue > LEVEL
    assert stats.kstest(sizes, stats.gamma(s, scale=1.1).cdf).pvalue < LEVEL


def test_both_real_samplers_draw_one_law() -> None:
    noise = RealKNorm(HullNorm(basic_moves(3, 3)), 0.5)
    one, kept = noise.envelope(np.random.default_rng(1), 2_000)
    other, inside = noise.bounding_box(np.random.default_rng(2), 600)
    for draws in (one, other):
        # ||z||_K ~ Gamma(s, epsilon) with s = 4
        norms = noise.norm.approximate(draws)
        assert stats.kstest(norms, stats.gamma(4, scale=2).cdf).pvalue > LEVEL
        assert stats.kstest(norms, stats.gamma(4, scale=2.3).cdf).pvalue < LEVEL
    assert stats.ks_2samp(one[:, 0], other[:, 0]).pvalue > LEVEL
    assert stats.ks_2samp((one**2).sum(axis=1), (other**2).sum(axis=1)).pvalue > LEVEL
    assert kept == pytest.approx(0.80, abs=0.03)
    assert inside == pytest.approx(0.17, abs=0.02)


def test_the_envelope_is_for_tables() -> None:
    noise = RealKNorm(norm_of(SYSTEMS["weights"][0], 2), 1.0)
    with pytest.raises(SamplingError, match="bounding_box"):
        noise.envelope(np.random.default_rng(0), 1)
    draws, _ = noise.bounding_box(np.random.default_rng(0), 50)
    assert np.abs(draws @ SYSTEMS["weights"][0].T).max() < 1e-9
