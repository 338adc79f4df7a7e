import numpy as np
import pytest
from tests.privacy.tradeoff.kinds import KINDS

from holdfast.privacy.tradeoff import Tradeoff

ALPHA = np.concatenate(
    [[0.0], np.logspace(-12, -2, 60), np.linspace(0.01, 0.99, 400), 1 - np.logspace(-2, -12, 60), [1]]
)
EVERY = pytest.mark.parametrize("f", KINDS.values(), ids=KINDS)


@EVERY
def test_it_falls_from_at_most_one_to_zero_below_the_diagonal(f: Tradeoff) -> None:
    beta = f(ALPHA)
    assert np.all(np.diff(beta) <= 1e-15)
    assert np.all((beta >= 0) & (beta <= 1 - ALPHA + 1e-15))
    assert f(1.0) == 0


@EVERY
def test_it_is_convex(f: Tradeoff) -> None:
    a, b = np.meshgrid(ALPHA[::5], ALPHA[::5])
    assert np.all(f((a + b) / 2) <= (f(a) + f(b)) / 2 + 1e-14)


@EVERY
def test_the_profile_is_the_conjugate(f: Tradeoff) -> None:
    corners = f.pieces().knots.alpha if f.pieces().certainty == f.certainty else ALPHA
    alpha = np.unique(np.concatenate([ALPHA, corners]))
    for epsilon in (-1.0, 0.0, 0.3, 1.0, 2.5):
        slow = np.max(1 - f(alpha) - np.exp(epsilon) * alpha)
        assert slow <= f.delta_at(epsilon) + 1e-12
        assert slow == pytest.approx(f.delta_at(epsilon), abs=2e-4)  # ALPHA is a grid for Gaussians


@EVERY
def test_the_profile_is_inverted(f: Tradeoff) -> None:
    for delta in (1e-8, 1e-3, 0.02, 0.3):
        epsilon = f.epsilon_at(delta)
        if epsilon == np.inf:
            assert f(0.0) < 1 - delta
        elif epsilon == 0:
            assert f.delta_at(0.0) <= delta
        else:
            assert f.delta_at(epsilon) == pytest.approx(delta, rel=1e-6)


@EVERY
def test_the_profile_falls(f: Tradeoff) -> None:
    assert np.all(np.diff(f.delta_at(np.linspace(-3, 6, 200))) <= 1e-15)


@EVERY
def test_the_inverse_undoes(f: Tradeoff) -> None:
    g = f.inverse()
    positive = ALPHA[(ALPHA > 1e-9) & (f(ALPHA) > 1e-9)]
    inside = positive[(f(positive) < f(0.0) - 1e-6)]
    assert g(f(inside)) == pytest.approx(inside, abs=1e-6)
    assert g.inverse()(ALPHA) == pytest.approx(f(ALPHA), abs=1e-15)


@EVERY
def test_pieces_are_below(f: Tradeoff) -> None:
    assert np.all(f.pieces()(ALPHA) <= f(ALPHA) + 1e-13)
    assert f.pieces()(ALPHA) == pytest.approx(f(ALPHA), abs=2e-5)


def test_levels_outside_are_refused() -> None:
    with pytest.raises(ValueError, match="type I error"):
        KINDS["gaussian"](1.1)


def test_values_are_equal_by_what_they_say() -> None:
    f = KINDS["finite"]
    assert f == f.pieces().inverse().inverse()
    assert hash(f) == hash(f.pieces().inverse().inverse())
    assert f != f.labelled("lower")
