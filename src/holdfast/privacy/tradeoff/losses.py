"""Composition by privacy loss distributions, for products too large to enumerate.

The loss log(q / p) under Q adds up over independent releases, so its distribution is convolved. Each one
is rounded to a grid so that the profile only rises ("connect the dots") [doroshenko2022, Algorithm 1].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import Any

import numpy as np

from holdfast.privacy.tradeoff.bound import Certainty, join
from holdfast.privacy.tradeoff.function import Floats, Tradeoff
from holdfast.privacy.tradeoff.piecewise import PiecewiseLinear
from holdfast.privacy.tradeoff.profile import POINTS, STEEPEST, from_profile

INTERVAL = 1e-3
TAIL = 1e-18  # mass of the largest losses counted as infinite
WIDEST = 1_000_000  # grid points
ROUNDING = 1e-13  # what a Fourier transform may lose of delta, for each release


@dataclass(frozen=True)
class Losses:
    """The loss distributions of a composition in both directions, from dp_accounting; pessimistic."""

    forward: Any
    backward: Any
    releases: int
    certainty: Certainty

    @classmethod
    def of(cls, fs: Sequence[Tradeoff], interval: float = INTERVAL) -> "Losses":
        """Discretise and convolve; the result promises no more than the tensor of fs does."""
        from dp_accounting.pld import pld_pmf  # noqa: PLC0415

        if not fs:
            raise ValueError("the composition of no release at all is not defined: give one or more.")
        certainty = join("lower", *(f.certainty for f in fs))
        width = sum(largest_loss(f) + largest_loss(f.inverse()) for f in fs)
        interval = max(interval, width / WIDEST)

        def rounded(f: Tradeoff) -> Any:
            low, high = -ceil(largest_loss(f.inverse()) / interval), ceil(largest_loss(f) / interval) + 1
            delta = f.delta_at(interval * np.arange(low, high + 1, dtype=np.float64))
            return pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(
                interval, low, high, np.minimum.accumulate(delta)
            )

        def composed(sides: Sequence[Tradeoff]) -> Any:
            result = rounded(sides[0])
            for f in sides[1:]:
                result = pld_pmf.compose_pmfs(result, rounded(f))
            return result

        forward = composed(fs)
        symmetric = all(f.inverse() is f for f in fs)
        backward = forward if symmetric else composed([f.inverse() for f in fs])
        return cls(forward, backward, len(fs), certainty)

    def epsilon_at(self, delta: float) -> float:
        """Return an epsilon, at least the least one, for which the composition is (epsilon, delta)-DP."""
        usable = delta - ROUNDING * self.releases
        if usable <= 0:
            return inf
        return max(float(side.get_epsilon_for_delta(usable)) for side in (self.forward, self.backward))

    def tradeoff(self) -> PiecewiseLinear:
        """Return the lower bound on the tensor that the pessimistic profile implies."""
        slack = ROUNDING * self.releases
        most = max(
            float(side.get_epsilon_for_delta(side.get_delta_for_epsilon(inf) + slack))
            for side in (self.forward, self.backward)
        )
        epsilon = np.linspace(0.0, min(STEEPEST, most), POINTS)

        def profile(side: Any) -> Floats:
            return np.asarray(side.get_delta_for_epsilon(epsilon)) + slack

        return from_profile(epsilon, profile(self.forward), profile(self.backward), certainty=self.certainty)


def largest_loss(f: Tradeoff) -> float:
    """Return the largest finite loss worth keeping apart."""
    most = f.epsilon_at(TAIL)
    return most if most < inf else float(np.max(f.pieces().losses, initial=0.0))
