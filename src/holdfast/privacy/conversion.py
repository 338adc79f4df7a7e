"""From one standard of privacy to another, each result with the side of the truth it is on.

    pure        epsilon          loss at most epsilon
    approximate epsilon, delta   f >= EpsilonDelta(epsilon, delta)
    zCDP        rho              Renyi divergences of order a at most rho a  [bun2016, Definition 1.1]
    GDP         mu               f >= Gaussian(mu)                           [dong2022, Definition 2.6]

An epsilon, delta or rho that is an ``upper`` bound is a claim that holds; so is a rho or mu to spend that
is a ``lower`` bound on the most that may be spent. All conversions of Gaussian DP are lossless.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import exp, expm1, floor, log, log1p, sqrt

import numpy as np
import scipy

from holdfast.privacy.roots import zero
from holdfast.privacy.tradeoff.closed_forms import EpsilonDelta, Gaussian
from holdfast.privacy.tradeoff.composition import INTERVAL, LossDistributions
from holdfast.privacy.tradeoff.function import Bound, Tradeoff
from holdfast.privacy.tradeoff.profile import POINTS, TAIL, from_profile
from holdfast.system.errors import GuaranteeError

PROFILE = "privacy profile of the Gaussian [balle2018, Theorem 8]"
RHO_DIGITS = 10**9
CLASSIC = "[bun2016, Proposition 1.3]"
TIGHT = "best Renyi order [canonne2020, Corollary 13]"


# Gaussian DP and approximate DP


def gdp_to_delta(*, mu: float, epsilon: float) -> Bound[float]:
    """Return the least delta for which mu-GDP implies (epsilon, delta)-DP.

    delta = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2) [dong2022, Corollary 2.13].
    """
    return Bound(Gaussian(mu).delta_at(epsilon), "exact", PROFILE)


def gdp_to_epsilon(*, mu: float, delta: float) -> Bound[float]:
    """Return the least epsilon for which mu-GDP implies (epsilon, delta)-DP.

    >>> round(gdp_to_epsilon(mu=1, delta=1e-5).value, 4)
    4.3772
    """
    return Bound(Gaussian(mu).epsilon_at(delta), "exact", PROFILE)


def gdp_within(*, epsilon: float, delta: float) -> Bound[float]:
    """Return the largest mu for which mu-GDP implies (epsilon, delta)-DP."""
    _require_delta(delta)
    wanted = log(delta)

    def excess(mu: float) -> float:
        return Gaussian(mu).log_delta_at(epsilon) - wanted

    # Phi(-epsilon/mu + mu/2) <= delta is enough for delta, and (1 + delta) / 2 too much at epsilon = 0
    low = _mu_with(epsilon, float(scipy.special.ndtri_exp(wanted)))
    high = max(2 * low, 1.0)
    while excess(high) < 0:
        high *= 2
    return Bound(zero(excess, low, high, xtol=1e-300, rtol=1e-14), "exact", PROFILE)


def _mu_with(epsilon: float, quantile: float) -> float:
    """Solve -epsilon/mu + mu/2 = quantile, a little low; for epsilon = 0, a mu too small to matter."""
    root = sqrt(quantile * quantile + 2 * epsilon)
    mu = 2 * epsilon / (root - quantile) if quantile < 0 else quantile + root
    return max(0.999 * mu, 1e-300)


# zCDP and approximate DP


def zcdp_to_epsilon(*, rho: float, delta: float) -> Bound[float]:
    """Return an epsilon for which rho-zCDP implies (epsilon, delta)-DP, by the best Renyi order 1 + t.

    At any t > 0,

        log delta >= t ((1 + t) rho - epsilon - log(1 + 1/t)) - log(1 + t)            (*)

    is enough [canonne2020, Corollary 13]: the loss Z has E exp(t Z) <= exp(t (1 + t) rho), and
    delta <= E max(0, 1 - exp(epsilon - Z)), whose integrand is at most exp(t (Z - epsilon)) times the
    largest (1 - x) x^t = (t / (1 + t))^t / (1 + t). At the best t, t^2 rho + log(1 + t) = log(1 / delta).
    """
    _require_delta(delta)
    if rho == 0:
        return Bound(0.0, "exact", TIGHT)
    t = _best_order(rho, delta)
    epsilon = (1 + t) * rho - (log(delta) + log1p(t)) / t - log1p(1 / t)
    return Bound(max(0.0, epsilon), "upper", TIGHT)


def _best_order(rho: float, delta: float) -> float:
    wanted = -log(delta)
    high = min(sqrt(wanted / rho), expm1(min(wanted, 700.0)))  # either term alone is as much
    return zero(lambda t: t * t * rho + log1p(t) - wanted, 0.0, high * 1.001, xtol=1e-300, rtol=1e-14)


def zcdp_to_delta(*, rho: float, epsilon: float) -> Bound[float]:
    """Return a delta for which rho-zCDP implies (epsilon, delta)-DP: (*) at the best t.

    It solves (2 t + 1) rho - log(1 + 1/t) = epsilon, whose left side rises with t.
    """
    if rho == 0:
        return Bound(0.0, "exact", TIGHT)
    low, high = min(0.0, epsilon - 3 * rho) - 1, log(max(1.0, (epsilon + 1) / (2 * rho)))

    def excess(log_t: float) -> float:
        return (2 * exp(log_t) + 1) * rho - float(np.logaddexp(0, -log_t)) - epsilon

    t = exp(max(-700.0, zero(excess, low, high, xtol=1e-14, rtol=1e-14)))
    log_delta = t * ((1 + t) * rho - epsilon - log1p(1 / t)) - log1p(t)
    return Bound(min(1.0, exp(min(0.0, log_delta))), "upper", TIGHT)


def zcdp_within(*, epsilon: float, delta: float) -> Bound[float]:
    """Return a rho, the largest by (*), for which rho-zCDP implies (epsilon, delta)-DP."""
    _require_delta(delta)
    wanted = -log(delta)

    def rho_at(t: float) -> float:  # (*) solved for rho
        return (epsilon + log1p(1 / t) - (wanted - log1p(t)) / t) / (1 + t)

    def excess(log_t: float) -> float:  # at the best t for rho = (wanted - log1p(t)) / t^2; falls with t
        t = exp(log_t)
        return (2 * t + 1) * (wanted - log1p(t)) / (t * t) - log1p(1 / t) - epsilon

    high = log(expm1(min(wanted, 700.0)))  # rho = 0
    low = high - 1.0
    while excess(low) <= 0:
        low -= 1.0
    t = exp(zero(excess, low, high, xtol=1e-13, rtol=1e-14))
    return Bound(max(0.0, rho_at(t)), "lower", TIGHT)


def largest_rho(*, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho that is known to imply an approximate guarantee, rounded down."""
    within = zcdp_within(epsilon=float(epsilon), delta=float(delta)).value
    rho = Fraction(floor(within * (1 - 1e-9) * RHO_DIGITS), RHO_DIGITS)
    if rho <= 0:
        raise GuaranteeError("no zCDP guarantee implies this target: give a larger epsilon or delta.")
    return rho


def zcdp_to_epsilon_classic(*, rho: float, delta: float) -> Bound[float]:
    """Return rho + 2 sqrt(rho log(1 / delta)) [bun2016, Proposition 1.3], [semi-dp, Lemma 40].

    >>> round(zcdp_to_epsilon_classic(rho=2.56, delta=1e-10).value, 5)
    17.91528
    """
    _require_delta(delta)
    return Bound(rho + 2 * sqrt(-rho * log(delta)), "upper", CLASSIC)


def zcdp_to_delta_classic(*, rho: float, epsilon: float) -> Bound[float]:
    """Return exp(-(epsilon - rho)^2 / (4 rho)) where epsilon > rho, else 1: the same solved for delta."""
    if rho == 0:
        return Bound(0.0, "exact", CLASSIC)
    return Bound(exp(-((max(epsilon, rho) - rho) ** 2) / (4 * rho)), "upper", CLASSIC)


def zcdp_within_classic(*, epsilon: float, delta: float) -> Bound[float]:
    """Return (sqrt(log(1 / delta) + epsilon) - sqrt(log(1 / delta)))^2: the same solved for rho."""
    _require_delta(delta)
    wanted = -log(delta)
    root = epsilon / (sqrt(wanted + epsilon) + sqrt(wanted))  # the difference of roots, without cancelling
    return Bound(root * root, "lower", CLASSIC)


# to zCDP and to Gaussian DP


def pure_to_zcdp(epsilon: Fraction) -> Bound[Fraction]:
    """Return epsilon^2 / 2: epsilon-DP implies zCDP with it."""
    return Bound(epsilon * epsilon / 2, "upper", "[bun2016, Proposition 1.4]")


def gdp_to_zcdp(mu: Fraction) -> Bound[Fraction]:
    """Return mu^2 / 2, the least rho for which mu-GDP implies rho-zCDP.

    Whatever is mu-GDP is a post-processing of N(0, 1) against N(mu, 1) [dong2022, Theorem 2.10], whose
    Renyi divergence of order a is a mu^2 / 2 [bun2016, Proposition 1.6].
    """
    return Bound(mu * mu / 2, "exact", "[bun2016, Proposition 1.6] after [dong2022, Theorem 2.10]")


def pure_to_gdp(*, epsilon: float) -> Bound[float]:
    """Return 2 Phi^-1(e^epsilon / (1 + e^epsilon)), the least mu for which epsilon-DP implies mu-GDP.

    f_epsilon is linear between (0, 1), (a, a) and (1, 0), a = 1 / (1 + e^epsilon), and G_mu is convex
    with the same ends: f_epsilon >= G_mu exactly when a >= G_mu(a) = Phi(Phi^-1(1 - a) - mu)
    [liu2022]. No mu is implied by (epsilon, delta) with delta > 0, as G_mu(0) = 1.
    """
    mu = -2 * float(scipy.special.ndtri_exp(scipy.special.log_expit(-epsilon)))
    return Bound(max(0.0, mu), "exact", "corner of the tradeoff function")


# to tradeoff functions


def approximate_to_tradeoff(*, epsilon: float, delta: float = 0.0) -> EpsilonDelta:
    """Return all that is known of the tradeoff function of an (epsilon, delta)-DP mechanism."""
    return EpsilonDelta(epsilon, delta, "lower")


def gdp_to_tradeoff(*, mu: float) -> Gaussian:
    """Return all that is known of the tradeoff function of a mu-GDP mechanism."""
    return Gaussian(mu, "lower")


def zcdp_to_tradeoff(*, rho: float) -> Tradeoff:
    """Return the lower bound that the (epsilon, delta) of ``zcdp_to_delta`` together imply."""
    if rho == 0:
        return Gaussian(0.0, "lower")
    most = zcdp_to_epsilon(rho=rho, delta=TAIL).value
    epsilon = np.linspace(0.0, min(700.0, most), POINTS)
    delta = np.array([zcdp_to_delta(rho=rho, epsilon=e).value for e in epsilon])
    return from_profile(epsilon, delta, delta)


# composition


def compose_profile(
    releases: Sequence[Tradeoff], *, delta: float, interval: float = INTERVAL
) -> Bound[float]:
    """Return an epsilon for which the releases together are (epsilon, delta)-DP, from above.

    The releases are given as tradeoff functions: EpsilonDelta, Gaussian, or finite pairs. Their privacy
    losses are rounded up to multiples of ``interval`` and convolved [doroshenko2022, Algorithm 1].
    ``tensor(*releases).epsilon_at(delta)`` is exact where the product laws can be enumerated.
    """
    value = LossDistributions.of(releases, interval).epsilon_at(delta)
    return Bound(value, "upper", f"privacy loss distributions on a grid of {interval:g}, rounded up")


def _require_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise ValueError(f"delta lies in (0, 1), not {delta}.")
