"""The tradeoff function of Gaussian differential privacy."""

from dataclasses import dataclass, replace
from math import inf, isfinite, pi, sqrt

import numpy as np
from scipy.special import erf, erfcx, log_ndtr, ndtr, ndtri, ndtri_exp

from holdfast.privacy.tradeoff.bound import Certainty
from holdfast.privacy.tradeoff.function import Floats, Tradeoff
from holdfast.privacy.tradeoff.piecewise import PiecewiseLinear
from holdfast.privacy.tradeoff.profile import from_profile, grid
from holdfast.privacy.zero import zero

SMALL = 1e-3  # below it, mu is better expanded in


@dataclass(frozen=True)
class Gaussian(Tradeoff):
    """G_mu = T(N(0, 1), N(mu, 1)), G_mu(alpha) = Phi(Phi^-1(1 - alpha) - mu) [dong2022, Definition 2.6]."""

    mu: float
    certainty: Certainty = "exact"

    def __post_init__(self) -> None:
        if not (self.mu >= 0 and isfinite(self.mu)):
            raise ValueError(f"mu is a finite number from 0, not {self.mu}.")

    def _beta(self, alpha: Floats) -> Floats:
        if self.mu == 0:
            return 1 - alpha
        return np.asarray(ndtr(-ndtri(alpha) - self.mu))

    def log_beta(self, log_alpha: float) -> float:
        """Return log G_mu(alpha) from log alpha, where either would underflow."""
        return float(log_ndtr(-ndtri_exp(log_alpha) - self.mu))

    def log_delta_at(self, epsilon: float) -> float:
        """Return the logarithm of ``delta_at``, for epsilon >= 0, where delta would underflow."""
        scale, mills = self._mills(np.float64(epsilon))
        with np.errstate(divide="ignore"):
            return float(scale + np.log(mills))

    def _mills(self, epsilon: Floats | np.float64) -> tuple[Floats, Floats]:
        """Return s, m with delta(epsilon) = e^s m, for epsilon >= 0.

        delta = Phi(-a) - e^epsilon Phi(-b), a and b = epsilon / mu -+ mu / 2 [balle2018, Theorem 8].
        As e^epsilon phi(b) = phi(a), it is phi(a) (M(a) - M(b)) with the Mills ratio M, which does not
        overflow. For a < 0 < b it is Phi(b) - Phi(a) - (1 - e^-epsilon) e^epsilon Phi(-b).
        """
        if self.mu == 0:
            return np.zeros_like(epsilon), np.zeros_like(epsilon)
        a, b = epsilon / self.mu - self.mu / 2, epsilon / self.mu + self.mu / 2
        far = self._mills_fall(np.maximum(a, 0.0))
        spent = np.exp(np.minimum(epsilon + log_ndtr(-b), 0.0))
        near = (erf(b / sqrt(2)) - erf(a / sqrt(2))) / 2 + np.expm1(-epsilon) * spent
        log_phi = -a * a / 2 - np.log(2 * pi) / 2
        return np.where(a > 0, log_phi, 0.0), np.where(a > 0, far, near)

    def _mills_fall(self, a: Floats | np.float64) -> Floats:
        """Return M(a) - M(a + mu), by M' = x M - 1 at the middle where the difference would cancel."""
        if self.mu > SMALL:
            return np.asarray(sqrt(pi / 2) * (erfcx(a / sqrt(2)) - erfcx((a + self.mu) / sqrt(2))))
        x = a + self.mu / 2
        ratio = sqrt(pi / 2) * erfcx(x / sqrt(2))
        first = 1 - x * ratio
        third = 2 * first - x * (ratio - x * first)
        return np.asarray(self.mu * (first + self.mu**2 / 24 * third))

    def _delta(self, epsilon: Floats) -> Floats:
        scale, mills = self._mills(np.abs(epsilon))
        delta = np.exp(scale) * np.maximum(mills, 0.0)
        # by symmetry, delta(-e) = 1 - exp(-e) + exp(-e) delta(e)
        return np.where(epsilon >= 0, delta, -np.expm1(-np.abs(epsilon)) + np.exp(-np.abs(epsilon)) * delta)

    def epsilon_at(self, delta: float) -> float:
        """Invert the profile by root finding on log delta."""
        if delta <= 0:
            return 0.0 if self.mu == 0 else inf
        if delta >= self.delta_at(0.0):
            return 0.0
        wanted = np.log(delta)
        # delta(epsilon) <= Phi(-epsilon / mu + mu / 2), so this one is enough
        enough = self.mu * (self.mu / 2 - float(ndtri_exp(wanted)))
        return zero(lambda e: self.log_delta_at(e) - wanted, 0.0, enough + 1e-9, xtol=1e-15, rtol=1e-15)

    def inverse(self) -> "Gaussian":
        """Return G_mu itself: it is symmetric."""
        return self

    def labelled(self, certainty: Certainty) -> "Gaussian":
        """Say on which side of the truth this function is."""
        return replace(self, certainty=certainty)

    def pieces(self) -> PiecewiseLinear:
        """Return the maximum of a grid of tangents: a lower bound."""
        epsilon = grid(self)
        delta = self.delta_at(epsilon)
        return from_profile(epsilon, delta, delta, certainty=self.certainty)


PERFECTLY_PRIVATE = Gaussian(0.0)
"""f(alpha) = 1 - alpha: both laws are one."""
