from math import log

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from holdfast.privacy.tradeoff import Gaussian


def slow_delta(mu: float, epsilon: float) -> float:
    """delta by quadrature of the positive part of the difference of densities, in 40 digits."""
    with mp.workdps(40):
        start = mp.mpf(epsilon) / mu + mp.mpf(mu) / 2
        tail = mp.quad(
            lambda x: mp.npdf(x, mu, 1) - mp.exp(epsilon) * mp.npdf(x),
            [start, start + mp.mpf(1) / 4, start + 1, start + 3, start + 8, start + 30],
        )
        return float(tail)


@pytest.mark.parametrize("mu", [1e-6, 1e-3, 0.0011, 1.0, 12.0])
@pytest.mark.parametrize("ratio", [0.0, 0.3, 1.0, 5.0, 20.0])
def test_the_profile_against_quadrature(mu: float, ratio: float) -> None:
    epsilon = ratio * mu
    assert Gaussian(mu).delta_at(epsilon) == pytest.approx(slow_delta(mu, epsilon), rel=3e-11)


@pytest.mark.parametrize("mu", [0.01, 1.0, 5.0])
@pytest.mark.parametrize("alpha", [1e-300, 1e-20, 1e-3, 0.5, 0.999])
def test_evaluation_against_mpmath(mu: float, alpha: float) -> None:
    with mp.workdps(400):
        level = mp.mpf(alpha)
        quantile = mp.findroot(
            lambda x: mp.log(mp.erfc(x / mp.sqrt(2)) / 2) - mp.log(level), -float(ndtri(alpha))
        )
        beta = mp.ncdf(quantile - mu)
    assert Gaussian(mu)(alpha) == pytest.approx(float(beta), rel=1e-11)
    assert Gaussian(mu).log_beta(log(alpha)) == pytest.approx(float(mp.log(beta)), rel=1e-10, abs=1e-14)


def test_logarithms_beyond_the_floats() -> None:
    f = Gaussian(1.0)
    with mp.workdps(50):
        truth = mp.log(
            mp.erfc(mp.mpf("59.5") / mp.sqrt(2)) / 2 - mp.exp(60) * mp.erfc(mp.mpf("60.5") / mp.sqrt(2)) / 2
        )
    assert f.log_delta_at(60.0) == pytest.approx(float(truth), rel=1e-12)
    assert f.delta_at(60.0) == 0
    assert f.log_beta(-1e6) == pytest.approx(0.0, abs=1e-12)


def test_a_known_value() -> None:
    assert Gaussian(1.0).epsilon_at(1e-5) == pytest.approx(4.3772, abs=1e-3)


@given(st.floats(1e-3, 20), st.floats(1e-25, 0.9))
def test_epsilon_and_delta_are_inverse(mu: float, delta: float) -> None:
    epsilon = Gaussian(mu).epsilon_at(delta)
    if epsilon > 0:
        assert Gaussian(mu).delta_at(epsilon) == pytest.approx(delta, rel=1e-9)
    else:
        assert Gaussian(mu).delta_at(0.0) <= delta


@given(st.floats(1e-3, 10), st.floats(1.001, 3), st.floats(0, 30))
def test_less_privacy_more_delta(mu: float, factor: float, epsilon: float) -> None:
    assert Gaussian(factor * mu).delta_at(epsilon) >= Gaussian(mu).delta_at(epsilon)


def test_a_negative_mu_is_refused() -> None:
    with pytest.raises(ValueError, match="mu"):
        Gaussian(-1.0)
