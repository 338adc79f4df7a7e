from math import comb, hypot

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.privacy.tradeoff.kinds import LOPSIDED

from holdfast.privacy.tradeoff import (
    PERFECTLY_PRIVATE,
    EpsilonDelta,
    Gaussian,
    Tradeoff,
    at_least,
    tensor,
    tradeoff_of,
)
from holdfast.privacy.tradeoff.composition import LossDistributions

ALPHA = np.linspace(0, 1, 301)


def test_gaussians_add_in_squares() -> None:
    assert tensor(Gaussian(3.0), Gaussian(4.0)) == Gaussian(5.0)
    assert tensor(Gaussian(1.0, "lower"), Gaussian(0.0)).certainty == "lower"


def test_finite_laws_multiply() -> None:
    p, q = np.array([0.5, 0.3, 0.2, 0.0]), np.array([0.1, 0.3, 0.4, 0.2])
    r, s = np.array([0.9, 0.1]), np.array([0.4, 0.6])
    slow = tradeoff_of(np.kron(p, r), np.kron(q, s))
    fast = tensor(tradeoff_of(p, q), tradeoff_of(r, s))
    assert fast.certainty == "exact"
    assert fast(ALPHA) == pytest.approx(slow(ALPHA), abs=1e-14)


@pytest.mark.parametrize("n", [2, 5, 30])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_pure_mechanisms_compose_binomially(n: int, epsilon: float) -> None:
    """[kairouz2017, Theorem 3.3] by its sum: n - 2 i of n randomised responses cancel."""
    f = tensor(*[EpsilonDelta(epsilon)] * n)
    assert len(f.pieces().p) == n + 1  # one for each number of true answers
    for at in (0.0, epsilon, (n - 1) * epsilon):
        masses = [comb(n, i) * np.exp((n - i) * epsilon) / (1 + np.exp(epsilon)) ** n for i in range(n + 1)]
        slow = sum(m * max(0.0, -np.expm1(at - (n - 2 * i) * epsilon)) for i, m in enumerate(masses))
        assert f.delta_at(at) == pytest.approx(slow, rel=1e-9, abs=1e-15)


def slow_mixed_delta(epsilon: float, delta: float, mu: float, at: float) -> float:
    """The profile of approximate DP with a Gaussian by quadrature over the Gaussian's own loss."""
    f = EpsilonDelta(epsilon, delta)
    with mp.workdps(15):

        def term(x: mp.mpf) -> mp.mpf:
            loss = mu * x - mp.mpf(mu) ** 2 / 2
            return mp.npdf(x, mu, 1) * f.delta_at(float(at - loss))

        kinks = sorted(mp.mpf(at + k * epsilon) / mu + mp.mpf(mu) / 2 for k in (-1, 1))
        return float(mp.quad(term, [mu - 12, *kinks, mu + 4, mu + 12]))


@pytest.mark.parametrize(("epsilon", "delta", "mu"), [(0.5, 0.0, 1.0), (1.0, 1e-3, 0.5), (2.0, 1e-5, 2.0)])
def test_a_gaussian_beside_a_finite_law(epsilon: float, delta: float, mu: float) -> None:
    f = tensor(EpsilonDelta(epsilon, delta), Gaussian(mu))
    assert f.certainty == "lower"
    for at in (0.0, 0.7, 2.0):
        truth = slow_mixed_delta(epsilon, delta, mu, at)
        assert truth - 1e-9 <= f.delta_at(at) <= truth + 1e-5


@pytest.mark.parametrize(
    "fs",
    [
        (Gaussian(0.3), Gaussian(0.4), Gaussian(1.2)),
        (EpsilonDelta(0.31), EpsilonDelta(0.77, 1e-4), EpsilonDelta(0.2)),
        (LOPSIDED, LOPSIDED, EpsilonDelta(0.123)),
        (LOPSIDED, LOPSIDED.inverse()),
    ],
)
def test_loss_distributions_are_below_the_truth(fs: tuple[Tradeoff, ...]) -> None:
    truth, losses = tensor(*fs), LossDistributions.of(fs)
    bound = losses.tradeoff()
    assert (truth.certainty, bound.certainty) == ("exact", "lower")
    assert at_least(truth, bound)
    assert bound(ALPHA) == pytest.approx(truth(ALPHA), abs=1e-4)
    for delta in (1e-6, 1e-3, 0.1):
        pair = max(truth.epsilon_at(delta), truth.inverse().epsilon_at(delta))
        assert pair <= losses.epsilon_at(delta) <= pair + 2e-3 or pair == np.inf


def test_large_products_go_through_losses() -> None:
    fs = [EpsilonDelta(0.31), EpsilonDelta(0.77, 1e-4), LOPSIDED]
    exact, bound = tensor(*fs), tensor(*fs, largest=10)
    assert bound.certainty == "lower"
    assert at_least(exact, bound)
    assert bound(ALPHA) == pytest.approx(exact(ALPHA), abs=1e-4)


def test_nothing_costs_nothing() -> None:
    assert tensor() == PERFECTLY_PRIVATE
    assert tensor(LOPSIDED, PERFECTLY_PRIVATE) == LOPSIDED
    assert tensor(LOPSIDED, EpsilonDelta(0.0))(ALPHA) == pytest.approx(LOPSIDED(ALPHA), abs=1e-15)


def test_bounds_of_both_sides_do_not_compose() -> None:
    with pytest.raises(ValueError, match="bound nothing"):
        tensor(Gaussian(1.0, "lower"), Gaussian(1.0, "upper"))
    with pytest.raises(ValueError, match="bound nothing"):
        tensor(EpsilonDelta(1.0, 0.0, "upper"), Gaussian(1.0))


@settings(deadline=None, max_examples=30)
@given(st.floats(0, 3), st.floats(0, 3), st.floats(0, 0.1), st.floats(0, 0.1))
def test_a_second_release_never_helps(one: float, two: float, delta: float, other: float) -> None:
    f, g = EpsilonDelta(one, delta), EpsilonDelta(two, other)
    both = tensor(f, g)
    assert at_least(f, both)
    assert at_least(g, both)
    assert at_least(both, EpsilonDelta(one + two, delta + other - delta * other))
    assert both(ALPHA) == pytest.approx(tensor(g, f)(ALPHA), abs=1e-14)


def test_a_gaussian_is_not_far_from_many_small_ones() -> None:
    """The central limit: n pure releases approach mu = 2 epsilon sqrt(n) / 2 [dong2022, Theorem 3.5]."""
    n, epsilon = 400, 0.05
    limit = Gaussian(hypot(*[epsilon] * n))
    assert tensor(*[EpsilonDelta(epsilon)] * n)(ALPHA) == pytest.approx(limit(ALPHA), abs=0.02)
