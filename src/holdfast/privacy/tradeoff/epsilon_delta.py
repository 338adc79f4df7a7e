"""The tradeoff function of approximate differential privacy."""

from dataclasses import dataclass, replace
from math import inf, isfinite, log

import numpy as np
from scipy.special import expit

from holdfast.privacy.tradeoff.bound import Certainty
from holdfast.privacy.tradeoff.function import Floats, Tradeoff
from holdfast.privacy.tradeoff.piecewise import PiecewiseLinear


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

    def _beta(self, alpha: Floats) -> Floats:
        kept = (1 - alpha) - self.delta
        with np.errstate(over="ignore", invalid="ignore"):
            steep = np.where(alpha > 0, 1 - self.delta - np.exp(self.epsilon) * alpha, 1 - self.delta)
        return np.asarray(np.maximum(np.maximum(0.0, steep), np.exp(-self.epsilon) * kept))

    def _delta(self, epsilon: Floats) -> Floats:
        # the largest 1 - beta - e^epsilon alpha over the three corners
        middle = -expit(self.epsilon) * np.expm1(np.minimum(epsilon, self.epsilon) - self.epsilon)
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
        less, more = (1 - self.delta) * expit(-self.epsilon), (1 - self.delta) * expit(self.epsilon)
        return PiecewiseLinear.of_masses(
            np.array([0.0, less, more, self.delta]), np.array([self.delta, more, less, 0.0]), self.certainty
        )
