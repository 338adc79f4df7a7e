from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.privacy.tradeoff.kinds import KINDS, LOPSIDED

from holdfast.privacy.tradeoff import EpsilonDelta, Gaussian, Tradeoff, at_least, envelope, symmetrise

ALPHA = np.concatenate([np.logspace(-10, -2, 50), np.linspace(0, 1, 1001), 1 - np.logspace(-10, -2, 50)])


def test_the_order_against_a_grid() -> None:
    curves = {name: f(ALPHA) for name, f in KINDS.items()}
    for one, other in product(KINDS, KINDS):
        f, g = KINDS[one], KINDS[other]
        gap = float(np.min(curves[one] - curves[other]))
        if at_least(f, g):
            assert gap >= -1e-11, (one, other)
        elif gap >= 0:  # a violation between the points of the grid is a narrow one
            assert not at_least(f, g, tolerance=0.0), (one, other)
            assert at_least(f, g, tolerance=0.02), (one, other)


@given(st.floats(0, 5), st.floats(0, 0.5), st.floats(0, 5), st.floats(0, 0.5))
def test_approximate_pairs(one: float, delta: float, two: float, other: float) -> None:
    f, g = EpsilonDelta(one, delta), EpsilonDelta(two, other)
    assert at_least(f, g) == (f.delta_at(two) <= other * (1 + 1e-12))
    if one <= two and delta <= other:
        assert at_least(f, g)


@given(st.floats(0.01, 5), st.floats(0.01, 5))
def test_a_gaussian_above_and_below(mu: float, epsilon: float) -> None:
    g = Gaussian(mu)
    delta = g.delta_at(epsilon)
    assert at_least(g, EpsilonDelta(epsilon, delta))
    assert delta < 1e-300 or not at_least(g, EpsilonDelta(epsilon, 0.99 * delta), tolerance=0.0)
    assert not at_least(EpsilonDelta(epsilon, 1e-6), g)  # no Gaussian starts below 1


def test_the_envelope_of_pieces_is_exact() -> None:
    fs = [EpsilonDelta(2.0), EpsilonDelta(0.5, 0.1), LOPSIDED]
    low = envelope(fs)
    grid = np.linspace(0, 1, 2001)
    least = np.min([f(grid) for f in fs], axis=0)
    hull = np.max(  # the slow hull: the best line below the minimum at each slope
        [np.min(least + s * grid) - s * grid for s in np.exp(np.linspace(-6, 6, 3000))], axis=0
    )
    assert low.certainty == "exact"
    assert np.all(low(grid) <= least + 1e-14)
    assert low(grid) == pytest.approx(np.maximum(hull, 0), abs=2e-3)
    for f in fs:
        assert at_least(f, low)
    assert at_least(low, envelope([*fs, EpsilonDelta(2.1, 0.01)]))


def test_the_envelope_is_the_largest() -> None:
    low = envelope([EpsilonDelta(1.0), EpsilonDelta(0.2, 0.05)])
    for epsilon in (0.0, 0.1, 0.2, 0.5, 1.0, 1.5):  # its profile is the larger of the two profiles
        both = max(EpsilonDelta(1.0).delta_at(epsilon), EpsilonDelta(0.2, 0.05).delta_at(epsilon))
        assert low.delta_at(epsilon) == pytest.approx(both, abs=1e-14)


def test_the_envelope_with_a_gaussian_is_a_lower_bound() -> None:
    fs: list[Tradeoff] = [Gaussian(1.0), EpsilonDelta(0.5, 0.1)]
    low = envelope(fs)
    assert low.certainty == "lower"
    for f in fs:
        assert at_least(f, low)
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        both = max(f.delta_at(epsilon) for f in fs)
        assert both <= low.delta_at(epsilon) + 1e-14
        assert low.delta_at(epsilon) == pytest.approx(both, abs=1e-5)


def test_a_function_below_all_is_the_envelope() -> None:
    assert envelope([Gaussian(1.0), Gaussian(2.0), EpsilonDelta(0.1)]) == Gaussian(2.0)
    assert envelope([Gaussian(2.0), Gaussian(1.0, "lower")]) == Gaussian(2.0, "lower")
    assert envelope([LOPSIDED, LOPSIDED]) == LOPSIDED
    with pytest.raises(ValueError, match="one or more"):
        envelope([])


def test_symmetric_functions_stay() -> None:
    assert symmetrise(Gaussian(1.0)) == Gaussian(1.0)
    assert symmetrise(EpsilonDelta(1.0, 0.1)) == EpsilonDelta(1.0, 0.1)


def test_symmetrising_takes_the_worse_of_both_orders() -> None:
    f = symmetrise(LOPSIDED)
    assert f(ALPHA) == pytest.approx(f.inverse()(ALPHA), abs=1e-14)
    assert at_least(LOPSIDED, f)
    assert at_least(LOPSIDED.inverse(), f)
    for epsilon in (0.0, 0.3, 1.0, 3.0):
        both = max(LOPSIDED.delta_at(epsilon), LOPSIDED.inverse().delta_at(epsilon))
        assert f.delta_at(epsilon) == pytest.approx(both, abs=1e-14)
