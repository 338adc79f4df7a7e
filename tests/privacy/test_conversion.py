from fractions import Fraction
from math import exp, inf, log, sqrt

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.privacy.conversion import (
    approximate_to_tradeoff,
    compose_profile,
    gdp_to_delta,
    gdp_to_epsilon,
    gdp_to_tradeoff,
    gdp_to_zcdp,
    gdp_within,
    pure_to_gdp,
    pure_to_zcdp,
    zcdp_to_delta,
    zcdp_to_delta_classic,
    zcdp_to_epsilon,
    zcdp_to_epsilon_classic,
    zcdp_to_tradeoff,
    zcdp_within,
    zcdp_within_classic,
)
from holdfast.privacy.tradeoff import EpsilonDelta, Gaussian, Tradeoff, at_least, tensor, tradeoff_of

rhos = st.floats(1e-4, 50)
epsilons = st.floats(0.01, 60)
deltas = st.floats(1e-20, 0.5)


def slow_gdp_delta(mu: float, epsilon: float) -> float:
    with mp.workdps(60):
        m, e = mp.mpf(mu), mp.mpf(epsilon)
        return float(mp.ncdf(-e / m + m / 2) - mp.exp(e) * mp.ncdf(-e / m - m / 2))


def slow_zcdp_delta(rho: float, epsilon: float) -> float:
    """The infimum over orders as printed, e^((a-1)(a rho - eps)) / (a - 1) (1 - 1/a)^a, by golden section."""
    with mp.workdps(40):

        def log_delta(log_t: mp.mpf) -> mp.mpf:
            a = 1 + mp.exp(log_t)
            return (a - 1) * (a * rho - epsilon) - mp.log(a - 1) + a * mp.log(1 - 1 / a)

        low, high, golden = mp.mpf(-60), mp.mpf(20), (mp.sqrt(5) - 1) / 2
        for _ in range(120):
            one, two = high - golden * (high - low), low + golden * (high - low)
            low, high = (low, two) if log_delta(one) < log_delta(two) else (one, high)
        return float(mp.exp(log_delta((low + high) / 2)))


@pytest.mark.parametrize("mu", [0.01, 0.5, 1.0, 4.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.01, 1.0, 8.0])
def test_gaussian_delta_is_the_formula(mu: float, epsilon: float) -> None:
    found = gdp_to_delta(mu=mu, epsilon=epsilon)
    slow = slow_gdp_delta(mu, epsilon)
    assert found.certainty == "exact"
    assert found.value == pytest.approx(slow, rel=1e-10) or slow < 1e-300


def test_known_values() -> None:
    assert gdp_to_epsilon(mu=1, delta=1e-5).value == pytest.approx(4.3772, abs=1e-3)
    assert zcdp_to_epsilon_classic(rho=2.56, delta=1e-10).value == pytest.approx(17.91528, abs=5e-6)
    assert zcdp_to_epsilon_classic(rho=10.24, delta=1e-10).value == pytest.approx(40.95057, abs=5e-6)
    assert zcdp_to_epsilon(rho=2.56, delta=1e-10).value == pytest.approx(17.15831, abs=5e-6)
    assert zcdp_to_epsilon(rho=10.24, delta=1e-10).value == pytest.approx(39.82257, abs=5e-6)


@given(epsilons, deltas)
def test_gaussian_conversions_go_round(epsilon: float, delta: float) -> None:
    mu = gdp_within(epsilon=epsilon, delta=delta).value
    assert gdp_to_delta(mu=mu, epsilon=epsilon).value == pytest.approx(delta, rel=1e-8)
    assert gdp_to_epsilon(mu=mu, delta=delta).value == pytest.approx(epsilon, rel=1e-8)


@given(deltas)
def test_gaussian_within_total_variation(delta: float) -> None:
    mu = gdp_within(epsilon=0.0, delta=delta).value
    assert gdp_to_delta(mu=mu, epsilon=0.0).value == pytest.approx(delta, rel=1e-12)


@settings(deadline=None, max_examples=30)
@given(st.floats(1e-3, 20), st.floats(0, 40))
def test_zcdp_delta_is_the_infimum(rho: float, epsilon: float) -> None:
    found, slow = zcdp_to_delta(rho=rho, epsilon=epsilon), slow_zcdp_delta(rho, epsilon)
    assert found.certainty == "upper"
    assert found.value == pytest.approx(slow, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("loss", [-1.0, 0.5, 2.0, 5.0])
@pytest.mark.parametrize("t", [0.1, 1.0, 7.0])
def test_the_inequality_behind_the_tight_conversion(loss: float, t: float) -> None:
    """max(0, 1 - e^(eps - z)) <= e^(t (z - eps)) (t / (1 + t))^t / (1 + t), with equality somewhere."""
    epsilon = 0.5
    factor = (t / (1 + t)) ** t / (1 + t)
    assert max(0.0, 1 - exp(epsilon - loss)) <= exp(t * (loss - epsilon)) * factor + 1e-15
    z = epsilon + log(1 + 1 / t)
    assert 1 - exp(epsilon - z) == pytest.approx(exp(t * (z - epsilon)) * factor)


@given(rhos, deltas)
def test_zcdp_conversions_go_round(rho: float, delta: float) -> None:
    epsilon = zcdp_to_epsilon(rho=rho, delta=delta).value
    if epsilon > 1e-6:
        assert zcdp_to_delta(rho=rho, epsilon=epsilon).value == pytest.approx(delta, rel=1e-8)
        assert zcdp_within(epsilon=epsilon, delta=delta).value == pytest.approx(rho, rel=1e-8)
    classic = zcdp_to_epsilon_classic(rho=rho, delta=delta).value
    assert zcdp_to_delta_classic(rho=rho, epsilon=classic).value == pytest.approx(delta, rel=1e-8)
    assert zcdp_within_classic(epsilon=classic, delta=delta).value == pytest.approx(rho, rel=1e-8)


@given(rhos, deltas)
def test_truth_then_tight_then_classic(rho: float, delta: float) -> None:
    """The Gaussian with rho = mu^2 / 2 is one such mechanism."""
    truth = gdp_to_epsilon(mu=sqrt(2 * rho), delta=delta).value
    tight = zcdp_to_epsilon(rho=rho, delta=delta)
    classic = zcdp_to_epsilon_classic(rho=rho, delta=delta)
    assert tight.certainty == classic.certainty == "upper"
    assert truth <= tight.value <= classic.value


@given(epsilons, deltas)
def test_what_may_be_spent(epsilon: float, delta: float) -> None:
    classic, tight = (
        zcdp_within_classic(epsilon=epsilon, delta=delta),
        zcdp_within(epsilon=epsilon, delta=delta),
    )
    most = gdp_within(epsilon=epsilon, delta=delta).value ** 2 / 2
    assert classic.certainty == tight.certainty == "lower"
    assert classic.value <= tight.value * (1 + 1e-12) <= most * (1 + 1e-9)


@given(rhos, deltas, st.floats(1.01, 3))
def test_more_rho_more_epsilon(rho: float, delta: float, factor: float) -> None:
    assert zcdp_to_epsilon(rho=rho, delta=delta).value <= zcdp_to_epsilon(rho=factor * rho, delta=delta).value
    assert (
        zcdp_to_epsilon(rho=rho, delta=min(0.9, factor * delta)).value
        <= zcdp_to_epsilon(rho=rho, delta=delta).value
    )


def test_nothing_spent() -> None:
    assert zcdp_to_epsilon(rho=0, delta=1e-9).value == zcdp_to_delta(rho=0, epsilon=0).value == 0
    assert zcdp_to_delta_classic(rho=0, epsilon=0).value == 0
    assert zcdp_to_tradeoff(rho=0)(0.3) == pytest.approx(0.7)
    assert pure_to_gdp(epsilon=0).value == 0


def slow_renyi(p: list[float], q: list[float], order: float) -> float:
    return log(sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))) / (order - 1)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_pure_to_zcdp_covers_randomised_response(epsilon: float) -> None:
    rho = pure_to_zcdp(Fraction(epsilon))
    p = exp(epsilon) / (1 + exp(epsilon))
    assert rho.certainty == "upper"
    for order in (1.0001, 1.5, 2.0, 5.0, 30.0):
        assert slow_renyi([p, 1 - p], [1 - p, p], order) <= order * float(rho.value)


def test_rational_parameters_stay_rational() -> None:
    assert pure_to_zcdp(Fraction(1, 3)).value == Fraction(1, 18)
    assert gdp_to_zcdp(Fraction(1, 3)).value == Fraction(1, 18)


@pytest.mark.parametrize("mu", [0.3, 2.0])
def test_gaussian_to_zcdp_is_its_renyi_divergence(mu: float) -> None:
    for order in (1.5, 3.0):
        moment = mp.quad(lambda x, a=order: mp.npdf(x, mu) ** a * mp.npdf(x) ** (1 - a), [-20, 0, 5, 40])
        slow = float(mp.log(moment)) / (order - 1)
        assert slow == pytest.approx(order * float(gdp_to_zcdp(Fraction(mu)).value), rel=1e-9)


@given(st.floats(0.01, 30))
def test_pure_to_gdp_is_tight(epsilon: float) -> None:
    mu = pure_to_gdp(epsilon=epsilon)
    assert mu.certainty == "exact"
    assert at_least(EpsilonDelta(epsilon), Gaussian(mu.value))
    corner = 1 / (1 + exp(epsilon))
    assert Gaussian(mu.value)(corner) == pytest.approx(corner, rel=1e-9)
    assert Gaussian(0.999 * mu.value)(corner) > corner


@pytest.mark.parametrize("rho", [0.01, 0.5, 4.0])
def test_zcdp_as_a_tradeoff_function(rho: float) -> None:
    f = zcdp_to_tradeoff(rho=rho)
    assert f.certainty == "lower"
    assert at_least(Gaussian(sqrt(2 * rho)), f)  # one of the mechanisms it speaks of
    for delta in (1e-9, 1e-3):
        assert f.epsilon_at(delta) == pytest.approx(zcdp_to_epsilon(rho=rho, delta=delta).value, rel=1e-3)
        assert f.epsilon_at(delta) >= zcdp_to_epsilon(rho=rho, delta=delta).value - 1e-12


def test_claims_are_lower_bounds() -> None:
    assert approximate_to_tradeoff(epsilon=1.0, delta=0.1) == EpsilonDelta(1.0, 0.1, "lower")
    assert gdp_to_tradeoff(mu=1.0) == Gaussian(1.0, "lower")


FINITE = tradeoff_of(np.array([0.6, 0.3, 0.1]), np.array([0.2, 0.3, 0.5]))


@pytest.mark.parametrize(
    "releases",
    [
        [Gaussian(0.5)] * 4,
        [EpsilonDelta(0.1)] * 30,
        [EpsilonDelta(0.5, 1e-7), EpsilonDelta(0.25, 1e-8), FINITE],
        [FINITE, FINITE.inverse(), FINITE],
    ],
    ids=["gaussian", "pure", "approximate", "finite"],
)
@pytest.mark.parametrize("delta", [1e-6, 1e-3])
def test_composition_is_pessimistic_and_close(releases: list[Tradeoff], delta: float) -> None:
    found, exact = compose_profile(releases, delta=delta), tensor(*releases)
    truth = max(exact.epsilon_at(delta), exact.inverse().epsilon_at(delta))
    assert found.certainty == "upper"
    assert truth <= found.value <= truth + 2e-3


def test_composition_with_a_gaussian_agrees_with_the_tensor() -> None:
    releases = [Gaussian(1.0), EpsilonDelta(1.0, 1e-6)]
    found, other = compose_profile(releases, delta=1e-5).value, tensor(*releases).epsilon_at(1e-5)
    assert found == pytest.approx(other, abs=1e-4)
    assert found <= sum(f.epsilon_at(5e-6) for f in releases)  # simple composition


def test_a_delta_below_rounding_is_not_claimed() -> None:
    assert compose_profile([Gaussian(1.0)], delta=1e-14).value == inf


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0])
def test_deltas_outside_are_refused(delta: float) -> None:
    with pytest.raises(ValueError, match="delta lies in"):
        zcdp_to_epsilon(rho=1.0, delta=delta)
    with pytest.raises(ValueError, match="delta lies in"):
        gdp_within(epsilon=1.0, delta=delta)
