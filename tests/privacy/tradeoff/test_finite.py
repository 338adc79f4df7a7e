from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog

from holdfast.lattice.arrays import FloatArray
from holdfast.privacy.tradeoff import EpsilonDelta, PiecewiseLinear, tradeoff_of, tradeoff_of_lattice

weights = arrays(np.float64, 5, elements=st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0, 3.0])).filter(
    lambda w: w.sum() > 0
)


def slow_beta(p: FloatArray, q: FloatArray, alpha: float) -> float:
    """The best randomised test, by linear programming."""
    best = linprog(-q, A_ub=p[None, :], b_ub=[alpha], bounds=(0, 1))
    assert best.x is not None
    return 1 - float(q @ best.x)


def slow_delta(p: FloatArray, q: FloatArray, epsilon: float) -> float:
    """The worst of all events."""
    events = [list(s) for k in range(len(p) + 1) for s in combinations(range(len(p)), k)]
    return max(float(q[s].sum() - np.exp(epsilon) * p[s].sum()) for s in events)


@settings(deadline=None, max_examples=50)
@given(weights, weights, st.floats(0, 1), st.floats(-2, 3))
def test_against_all_tests_and_events(v: FloatArray, w: FloatArray, alpha: float, epsilon: float) -> None:
    p, q = v / v.sum(), w / w.sum()
    f = tradeoff_of(p, q)
    assert f(alpha) == pytest.approx(slow_beta(p, q, alpha), abs=1e-9)
    assert f.delta_at(epsilon) == pytest.approx(slow_delta(p, q, epsilon), abs=1e-12)
    assert f.inverse()(alpha) == pytest.approx(slow_beta(q, p, alpha), abs=1e-9)
    assert f.certainty == "exact"


def test_randomised_response_is_pure() -> None:
    f = tradeoff_of(np.array([0.75, 0.25]), np.array([0.25, 0.75]))
    g = EpsilonDelta(np.log(3))
    alpha = np.linspace(0, 1, 101)
    assert f(alpha) == pytest.approx(g(alpha), abs=1e-15)
    assert f.epsilon_at(0.0) == pytest.approx(np.log(3), rel=1e-15)
    assert f.epsilon_at(0.2) == pytest.approx(g.epsilon_at(0.2), rel=1e-14)


@given(st.floats(0, 600), st.floats(0, 0.99), st.floats(-650, 650), st.floats(0, 1))
def test_approximate_dp_has_four_points(epsilon: float, delta: float, at: float, alpha: float) -> None:
    f = EpsilonDelta(epsilon, delta)
    assert f.pieces().delta_at(at) == pytest.approx(f.delta_at(at), abs=1e-13)
    assert f.pieces()(alpha) == pytest.approx(f(alpha), abs=1e-13)


def test_tiny_deltas_keep_their_digits() -> None:
    f = EpsilonDelta(1.0, 1e-30)
    assert f.delta_at(1.0) == f.pieces().delta_at(2.0) == 1e-30


@pytest.mark.parametrize("reach", [3, 8, 20])
@pytest.mark.parametrize("shift", [1, 2])
def test_a_window_gives_a_lower_bound(reach: int, shift: int) -> None:
    """Double geometric noise, whose tradeoff function is known on a wide window to all digits."""
    wide = np.arange(-200, 201)
    truth = tradeoff_of(
        *(np.exp(x) / np.exp(x).sum() for x in (-0.5 * np.abs(wide), -0.5 * np.abs(wide - shift)))
    )
    outside = np.exp(-0.5 * (reach - shift))  # more than is left out on either side
    window = np.arange(-reach, reach + 1)
    lower = tradeoff_of_lattice(-0.5 * np.abs(window), 7 - 0.5 * np.abs(window - shift), outside)
    alpha = np.linspace(0, 1, 401)
    assert lower.certainty == "lower"
    assert np.all(lower(alpha) <= truth(alpha))
    assert np.all(lower(alpha) >= truth(alpha) - 3 * outside)


def test_a_whole_law_loses_only_rounding() -> None:
    p, q = np.array([0.5, 0.25, 0.25]), np.array([0.125, 0.125, 0.75])
    alpha = np.linspace(0, 1, 101)
    lower, truth = tradeoff_of_lattice(np.log(p), np.log(q), 0.0)(alpha), tradeoff_of(p, q)(alpha)
    assert np.all(lower <= truth)
    assert np.all(lower >= truth - 1e-13)


def test_corners_and_masses_are_two_views() -> None:
    f = tradeoff_of(np.array([0.5, 0.3, 0.2, 0.0]), np.array([0.1, 0.3, 0.4, 0.2]))
    knots = f.knots
    assert knots.alpha + knots.confidence == pytest.approx(1)
    assert knots.beta + knots.power == pytest.approx(1)
    alpha = np.linspace(0, 1, 51)
    assert PiecewiseLinear.through(knots.alpha, knots.beta)(alpha) == pytest.approx(f(alpha), abs=1e-14)


def test_what_is_no_tradeoff_function_is_refused() -> None:
    with pytest.raises(ValueError, match="convex"):
        PiecewiseLinear.through(np.array([0, 0.5, 1]), np.array([0.5, 0.4, 0]))
    with pytest.raises(ValueError, match="corners"):
        PiecewiseLinear.through(np.array([0.1, 1]), np.array([0.5, 0]))
    with pytest.raises(ValueError, match="sum to 1"):
        tradeoff_of(np.array([0.5, 0.4]), np.array([0.5, 0.5]))
    with pytest.raises(ValueError, match="as many"):
        tradeoff_of(np.array([1.0]), np.array([0.5, 0.5]))
    with pytest.raises(ValueError, match="left_out"):
        tradeoff_of_lattice(np.zeros(2), np.zeros(2), 1.0)
