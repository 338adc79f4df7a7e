"""The exact lattice laws against enumerated ones: jointly, by chi-square at the level of goodness.py."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.lattice.points import lattice_points
from holdfast.lattice.product import AxisMargins
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice.laplace import CrossingsError, LatticeLaplaceLaw, require_few_crossings
from holdfast.system.errors import SamplingError
from holdfast.testing.goodness import LEVEL, lattice_law, p_value, two_way

SYSTEMS = {
    "one total": np.ones((1, 3), dtype=np.int64),
    "2 x 2": two_way(2, 2),
    "2 x 3": two_way(2, 3),
    "3 x 3": two_way(3, 3),
    "crossing": np.array([[1, 1, 1, 0, 0], [0, 0, 1, 1, 1]]),
    "weights": np.array([[1, 2, 1, 0], [0, 1, 0, 3]]),
    "two blocks": np.array([[1, 1, 0, 0], [0, 0, 1, 1]]),
    "a free cell": np.array([[1, 1, 0], [0, 0, 0]])[:1],
    "determinant 2": np.array([[1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 1, 1]]),
}
DRAWS = 60_000


def law(system: NDArray[np.int64], epsilon: Fraction, norm: str) -> LatticeLaplaceLaw:
    return LatticeLaplaceLaw(csr_array(system), epsilon, "l1" if norm == "l1" else "l2")


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("name", SYSTEMS)
def test_draws_follow_the_enumerated_law(name: str, norm: str) -> None:
    epsilon, radius = (Fraction(5, 4), 12) if norm == "l1" else (Fraction(2), 12)
    draws = law(SYSTEMS[name], epsilon, norm).sample(SeededEntropy(7), DRAWS)
    assert not (draws @ SYSTEMS[name].T).any()
    assert p_value(draws, lattice_law(SYSTEMS[name], float(epsilon), norm, radius)) > LEVEL


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("name", ["one total", "2 x 2", "3 x 3", "crossing"])
def test_a_scale_off_by_three_percent_is_rejected(name: str, norm: str) -> None:
    size = 4 * DRAWS if norm == "l1" else DRAWS  # in l2 a scale is told from fewer draws
    draws = law(SYSTEMS[name], Fraction(5, 4), norm).sample(SeededEntropy(7), size)
    for wrong in (0.97, 1.03):
        assert p_value(draws, lattice_law(SYSTEMS[name], 1.25 * wrong, norm, 12)) < LEVEL


def fourier_log_constant(epsilon: float, points: int = 96) -> float:
    """Return log sum exp(-epsilon ||z||_1) over 4 x 4 tables with zero margins, by quadrature.

    The sum is a mean over the torus T^4 of products of 1D transforms; one angle can be fixed, and the
    trapezoidal rule converges geometrically.
    """
    a, x = np.exp(-epsilon), 2 * np.pi * np.arange(points) / points
    psi = (1 - a * a) / (1 - 2 * a * np.cos(x) + a * a)
    shifted = np.array([np.roll(psi, k) for k in range(points)])
    total = sum(float((((shifted * (psi * row)) @ shifted.T / points) ** 4).sum()) for row in shifted)
    return float(np.log(total / points**3))


def test_the_size_of_4_x_4_noise_matches_fourier_quadrature() -> None:
    # E||z||_1 = - d log Z / d epsilon = 35.017 at epsilon 1/4. Level: 4.5 standard errors.
    h = 1e-3
    truth = -(fourier_log_constant(0.25 + h, 160) - fourier_log_constant(0.25 - h, 160)) / (2 * h)
    assert abs(truth - 35.017) < 1e-3
    size = np.abs(law(two_way(4, 4), Fraction(1, 4), "l1").sample(SeededEntropy(1), 20_000)).sum(axis=1)
    assert abs(size.mean() - truth) < 4.5 * size.std() / size.size**0.5


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_the_noise_is_symmetric_and_unbiased(norm: str) -> None:
    draws = law(two_way(3, 3), Fraction(1, 2), norm).sample(SeededEntropy(3), 20_000)
    # Level: 4.5 standard errors in each of nine cells.
    assert (np.abs(draws.mean(axis=0)) < 4.5 * draws.std(axis=0) / 20_000**0.5).all()


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(10**9)])
def test_extreme_scales_stay_on_the_lattice(epsilon: Fraction) -> None:
    draws = law(two_way(3, 3), epsilon, "l1").sample(SeededEntropy(3), 100)
    assert not (draws @ two_way(3, 3).T).any()
    assert draws.any() == (epsilon < 1)


def test_log_prob_is_minus_infinity_off_the_lattice() -> None:
    two = law(two_way(2, 2), Fraction(1, 2), "l1")
    assert two.log_prob(np.array([[1, -1, -1, 1], [0, 0, 0, 0], [1, 0, 0, 0]])).tolist() == [-2, 0, -np.inf]
    assert law(two_way(2, 2), Fraction(1, 2), "l2").log_prob(np.array([[1, -1, -1, 1]])).tolist() == [-1]


def test_a_draw_that_would_not_end_is_refused() -> None:
    with pytest.raises(CrossingsError, match=r"51 crossing counts.*: keep fewer margins") as refused:
        law(two_way(26, 26), Fraction(1, 4), "l1").sample(SeededEntropy(0), 1)
    assert (refused.value.cells, refused.value.rows) == (676, 51)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(10**9)])
def test_extreme_l2_scales_stay_on_the_lattice(epsilon: Fraction) -> None:
    draws = law(two_way(3, 3), epsilon, "l2").sample(SeededEntropy(3), 100)
    assert not (draws @ two_way(3, 3).T).any()
    assert draws.any() == (epsilon < 1)


def test_l2_noise_has_the_right_size_in_many_dimensions() -> None:
    """The radius of wide noise is a Gamma variable: epsilon E||z||_2 is nearly the dimension."""
    draws = law(two_way(10, 10), Fraction(1, 8), "l2").sample(SeededEntropy(2), 400)
    radius = np.sqrt((draws**2).sum(axis=1)) / 8
    assert abs(radius.mean() - 81) < 4.5 * 9 / 20


def test_the_plan_says_what_it_does() -> None:
    two = law(SYSTEMS["two blocks"], Fraction(1), "l1")
    (block,) = two.steps
    assert (block.components, block.method) == ((2, 2, 2), "total-by-compositions")


@pytest.mark.parametrize(
    ("name", "epsilon"), [("one total", 1.0), ("two blocks", 0.75), ("a free cell", 1.25)]
)
def test_the_constant_makes_probabilities(name: str, epsilon: float) -> None:
    known = law(SYSTEMS[name], Fraction(epsilon), "l1")
    points = lattice_points(SYSTEMS[name], 40)
    assert known.log_constant is not None
    assert np.exp(known.log_prob(points) - known.log_constant).sum() == pytest.approx(1, abs=1e-9)


def test_the_constant_of_crossing_invariants_is_not_known() -> None:
    assert law(SYSTEMS["3 x 3"], Fraction(1), "l1").log_constant is None
    assert law(SYSTEMS["one total"], Fraction(1), "l2").log_constant is None


@pytest.mark.parametrize(
    ("system", "epsilon", "norm", "floats"),
    [
        (np.ones((1, 39), dtype=np.int64), Fraction(1), "l1", False),
        (np.ones((1, 40), dtype=np.int64), Fraction(1), "l1", True),
        (np.ones((1, 199), dtype=np.int64), Fraction(1), "l1", True),
        (np.ones((1, 200), dtype=np.int64), Fraction(1), "l1", False),
        (np.zeros((0, 5), dtype=np.int64), Fraction(1), "l1", False),
        (two_way(2, 2), Fraction(1), "l1", False),
        (two_way(12, 12), Fraction(1, 4), "l1", True),
        (np.ones((1, 3), dtype=np.int64), Fraction(1), "l2", True),
    ],
)
def test_the_plan_says_whether_floats_sort_out_clear_cases(
    system: NDArray[np.int64], epsilon: Fraction, norm: str, floats: bool
) -> None:
    assert law(system, epsilon, norm).floats == floats


def test_margins_too_large_for_l1_are_refused_at_once() -> None:
    """By their axes alone, as the plan of their matrix would."""
    one, other = frozenset({0}), frozenset({1, 2})
    with pytest.raises(SamplingError, match="402,896 cells together by 25,196 crossing"):
        require_few_crossings(AxisMargins((25181, 8, 2), (one, other)))
    with pytest.raises(SamplingError, match="400 cells"):
        require_few_crossings(AxisMargins((51, 20, 20), (frozenset({0, 1}), frozenset({0, 2}))))
    require_few_crossings(AxisMargins((51, 10, 10), (frozenset({0, 1}), frozenset({0, 2}), frozenset({0}))))
    require_few_crossings(AxisMargins((1000, 1000), (one,)))
    require_few_crossings(AxisMargins((1000, 1000), ()))
