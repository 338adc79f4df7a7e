"""The K-norm law on the lattice, against enumeration."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.lattice.points import lattice_points
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice.k_norm import KNormLaw, RareError
from holdfast.testing.goodness import LEVEL, p_value, two_way
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

    def of_levels(self, scale: float, last: int) -> dict[tuple[int], float]:
        """Return the law of the level, given that it is at most ``last``: farther ones are not all listed."""
        near = self.levels <= last
        sums = np.bincount(self.levels[near], self.shares(scale)[near])
        return {(int(level),): float(sums[level] / sums.sum()) for level in np.unique(self.levels[near])}


@pytest.mark.parametrize("name", SYSTEMS)
def test_draws_follow_the_enumerated_law(name: str) -> None:
    noise, law_of = law(name), Enumerated(name)
    size = 40_000 if noise.norm.additive else DRAWS
    draws = noise.sample(SeededEntropy(5), size)
    assert not (draws @ SYSTEMS[name][0].T).any()
    assert p_value(draws, law_of.of_points()) > LEVEL
    levels = np.rint(-12 * noise.log_prob(draws) / float(EPSILON)).astype(np.int64)[:, None]
    last = 12 * 4 * RADIUS[name] // noise.norm.l1  # ||z||_1 is at most l1 ||z||_K
    levels = levels[levels[:, 0] <= last]
    assert p_value(levels, law_of.of_levels(1.0, last)) > LEVEL
    # with these few draws it takes a larger error to show in two and three dimensions
    error = 0.08 if name in {"two blocks", "weights"} else 0.03
    for wrong in (1 - error, 1 + error):
        assert p_value(levels, law_of.of_levels(wrong, last)) < LEVEL


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
    assert noise.steps == noise.proposals.steps
    assert law("3 x 3").acceptance < 1


@pytest.mark.parametrize(("size", "share"), [(3, 0.80), (4, 0.53)])
def test_small_epsilons_are_accepted_as_real_noise_is(size: int, share: float) -> None:
    noise = KNormLaw(csr_array(two_way(size, size)), Fraction(1, 20), HullNorm(basic_moves(size, size)))
    assert noise.acceptance == pytest.approx(share, abs=0.03)


def test_noise_out_of_reach_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = law("3 x 3")
    monkeypatch.setattr(KNormLaw, "acceptance", 1e-12)
    with pytest.raises(RareError, match=r"9 cells in reasonable time .*: take the noise of another norm"):
        noise.sample(SeededEntropy(0), 1)
