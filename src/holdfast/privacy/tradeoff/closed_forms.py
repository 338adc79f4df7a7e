"""The tradeoff function of Gaussian differential privacy.

The tradeoff function of approximate differential privacy.
"""

from dataclasses import dataclass, replace
from math import inf, isfinite, log, pi, sqrt

import numpy as np
import scipy

from holdfast.lattice.arrays import FloatArray
from holdfast.privacy.roots import zero
from holdfast.privacy.tradeoff.function import Certainty, Tradeoff
from holdfast.privacy.tradeoff.piecewise import PiecewiseLinear
from holdfast.privacy.tradeoff.profile import from_profile, grid


@dataclass(frozen=True)
class EpsilonDelta(Tradeoff):
    """f(alpha) = max(0, 1 - delta - e^epsilon alpha, e^-epsilon (1 - delta - alpha)).

    A mechanism is (epsilon, delta)-DP exactly when it is f-DP [dong2022, Section 2.1]. Its corners are
    (0, 1 - delta), (a, a) and (1 - delta, 0) with a = (1 - delta) / (1 + e^epsilon).
    """

    epsilon: float
    delta: float = 0.0
    certainty: Certainty = "exact"

    def __post_init__(self) -> None:
        if not (self.epsilon >= 0 and isfinite(self.epsilon)):
            raise ValueError(f"epsilon is a finite number from 0, not {self.epsilon}.")
        if not 0 <= self.delta <= 1:
            raise ValueError(f"delta lies in [0, 1], not {self.delta}.")

    def _beta(self, alpha: FloatArray) -> FloatArray:
        kept = (1 - alpha) - self.delta
        with np.errstate(over="ignore", invalid="ignore"):
            steep = np.where(alpha > 0, 1 - self.delta - np.exp(self.epsilon) * alpha, 1 - self.delta)
        return np.asarray(np.maximum(np.maximum(0.0, steep), np.exp(-self.epsilon) * kept))

    def _delta(self, epsilon: FloatArray) -> FloatArray:
        # the largest 1 - beta - e^epsilon alpha over the three corners
        short = np.expm1(np.minimum(epsilon, self.epsilon) - self.epsilon)
        middle = -scipy.special.expit(self.epsilon) * short
        last = -np.expm1(np.minimum(epsilon, 0.0))
        return self.delta + (1 - self.delta) * np.maximum(middle, last)

    def epsilon_at(self, delta: float) -> float:
        """Invert the profile in closed form."""
        if delta < self.delta:
            return inf
        if delta >= 1:
            return 0.0
        paid = (delta - self.delta) / (1 - self.delta) * (1 + np.exp(-self.epsilon))
        return max(0.0, self.epsilon + log(1 - paid)) if paid < 1 else 0.0

    def inverse(self) -> "EpsilonDelta":
        """Return f itself: it is symmetric."""
        return self

    def labelled(self, certainty: Certainty) -> "EpsilonDelta":
        """Say on which side of the truth this function is."""
        return replace(self, certainty=certainty)

    def pieces(self) -> PiecewiseLinear:
        """Return the pair of laws on four points that f belongs to [dong2022, Section 3]."""
        less, more = (1 - self.delta) * scipy.special.expit([-self.epsilon, self.epsilon])
        return PiecewiseLinear.of_masses(
            np.array([0.0, less, more, self.delta]), np.array([self.delta, more, less, 0.0]), self.certainty
        )


SMALL = 1e-3  # below it, mu is better expanded in


@dataclass(frozen=True)
class Gaussian(Tradeoff):
    """G_mu = T(N(0, 1), N(mu, 1)), G_mu(alpha) = Phi(Phi^-1(1 - alpha) - mu) [dong2022, Definition 2.6]."""

    mu: float
    certainty: Certainty = "exact"

    def __post_init__(self) -> None:
        if not (self.mu >= 0 and isfinite(self.mu)):
            raise ValueError(f"mu is a finite number from 0, not {self.mu}.")

    def _beta(self, alpha: FloatArray) -> FloatArray:
        if self.mu == 0:
            return 1 - alpha
        return np.asarray(scipy.special.ndtr(-scipy.special.ndtri(alpha) - self.mu))

    def log_beta(self, log_alpha: float) -> float:
        """Return log G_mu(alpha) from log alpha, where either would underflow."""
        return float(scipy.special.log_ndtr(-scipy.special.ndtri_exp(log_alpha) - self.mu))

    def log_delta_at(self, epsilon: float) -> float:
        """Return the logarithm of ``delta_at``, for epsilon >= 0, where delta would underflow."""
        scale, mills = self._mills(np.float64(epsilon))
        with np.errstate(divide="ignore"):
            return float(scale + np.log(mills))

    def _mills(self, epsilon: FloatArray | np.float64) -> tuple[FloatArray, FloatArray]:
        """Return s, m with delta(epsilon) = e^s m, for epsilon >= 0.

        delta = Phi(-a) - e^epsilon Phi(-b), a and b = epsilon / mu -+ mu / 2 [balle2018, Theorem 8].
        As e^epsilon phi(b) = phi(a), it is phi(a) (M(a) - M(b)) with the Mills ratio M, which does not
        overflow. For a < 0 < b it is Phi(b) - Phi(a) - (1 - e^-epsilon) e^epsilon Phi(-b).
        """
        if self.mu == 0:
            return np.zeros_like(epsilon), np.zeros_like(epsilon)
        a, b = epsilon / self.mu - self.mu / 2, epsilon / self.mu + self.mu / 2
        far = self._mills_fall(np.maximum(a, 0.0))
        spent = np.exp(np.minimum(epsilon + scipy.special.log_ndtr(-b), 0.0))
        between = scipy.special.erf(b / sqrt(2)) - scipy.special.erf(a / sqrt(2))
        near = between / 2 + np.expm1(-epsilon) * spent
        log_phi = -a * a / 2 - np.log(2 * pi) / 2
        return np.where(a > 0, log_phi, 0.0), np.where(a > 0, far, near)

    def _mills_fall(self, a: FloatArray | np.float64) -> FloatArray:
        """Return M(a) - M(a + mu), by M' = x M - 1 at the middle where the difference would cancel."""
        if self.mu > SMALL:
            fall = scipy.special.erfcx(a / sqrt(2)) - scipy.special.erfcx((a + self.mu) / sqrt(2))
            return np.asarray(sqrt(pi / 2) * fall)
        x = a + self.mu / 2
        ratio = sqrt(pi / 2) * scipy.special.erfcx(x / sqrt(2))
        first = 1 - x * ratio
        third = 2 * first - x * (ratio - x * first)
        return np.asarray(self.mu * (first + self.mu**2 / 24 * third))

    def _delta(self, epsilon: FloatArray) -> FloatArray:
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
        enough = self.mu * (self.mu / 2 - float(scipy.special.ndtri_exp(wanted)))
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
