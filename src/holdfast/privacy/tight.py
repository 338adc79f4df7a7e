"""The most that is known of a guarantee: its whole tradeoff function, mu, and epsilon at any delta.

Where the worst pair of tables is known with its law, as on a lattice of one dimension, this is exact. Else it
is a bound on the safe side: integer Gaussian noise by its mu [theory, 13], pure privacy by its tradeoff
function [dong2022, Section 2.1], several measurements by the product of what each is worth.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from holdfast.lattice.arrays import FloatArray
from holdfast.privacy.conversion import zcdp_to_epsilon
from holdfast.privacy.intensity import (
    Approximate,
    GaussianDP,
    GaussianNoise,
    Intensity,
    Pure,
    ZeroConcentrated,
)
from holdfast.privacy.order import convert, tradeoff
from holdfast.privacy.tradeoff import PiecewiseLinear, Tradeoff

MOST_POINTS = 1 << 18
"""Numbers at which the law of a multiple of one vector is listed."""
NEGLIGIBLE = 690.0
"""Probabilities below exp(-690) are not listed: floats have hardly any less."""

STANDARD = NormalDist()
DELTA = 1e-10
"""At which epsilon is told."""


@dataclass(frozen=True)
class Tight:
    """A tradeoff function that holds, and the least mu known to hold, None where there is none."""

    f: Tradeoff
    mu: Fraction | None
    exact: bool
    rho: Fraction | None = None

    @property
    def evidence(self) -> Literal["exact", "upper bound"]:
        """On which side of the truth its numbers are."""
        return "exact" if self.exact else "upper bound"

    def to_dict(self) -> dict[str, Any]:
        """Return mu, None where none holds, and epsilon at a small delta, with the side they are on."""
        mu, epsilon = None if self.mu is None else float(self.mu), self.epsilon_at(DELTA)
        at = {"epsilon": epsilon if isfinite(epsilon) else None, "delta": DELTA}
        return {"mu": mu, **at, "evidence": self.evidence}

    @property
    def words(self) -> str:
        """The same in words."""
        told = [f"epsilon {self.epsilon_at(DELTA):.4g} at delta {DELTA:g}"]
        if self.mu is not None:
            told.append(f"mu {'' if self.exact else 'at most '}{float(self.mu):.4g}")
        return ", ".join(told)

    def epsilon_at(self, delta: float) -> float:
        """Return an epsilon that holds at a delta, the least where the evidence is exact."""
        least = self.f.epsilon_at(delta)
        if self.rho is None or self.exact:
            return least
        return min(least, zcdp_to_epsilon(rho=float(self.rho), delta=delta).value)


def tight(intensity: Intensity, known: PiecewiseLinear | None = None) -> Tight:
    """Return the most that is known of an intensity, and of a tradeoff function that says more."""
    rho = intensity.rho if isinstance(intensity, ZeroConcentrated) else None
    if known is not None:
        return Tight(known, _up(least_mu(known)), known.certainty == "exact", rho)
    match intensity:
        case Pure() | GaussianNoise() | GaussianDP():
            mu = convert(intensity, "gaussian")
            assert isinstance(mu, GaussianDP)  # noqa: S101 - what it was asked for
            return Tight(tradeoff(intensity), mu.mu, exact=False, rho=rho)
        case Approximate(_, delta) if delta == 0:
            return tight(Pure(intensity.epsilon))
    return Tight(tradeoff(intensity), None, exact=False, rho=rho)


def on_a_line(log_weights: FloatArray, steps: int) -> PiecewiseLinear:
    """Return T(P, P + steps) for a symmetric P on -n..n with these log weights at 0, 1, ..., n.

    Where weights are log-concave, the likelihood ratio is monotone and every test is a threshold on the
    number; a larger shift raises the power of each. So the largest shift has the least tradeoff function.
    """
    logs = np.concatenate([log_weights[:0:-1], log_weights])
    masses = np.exp(logs - logs.max())
    masses /= masses.sum()
    nothing = np.zeros(steps)
    return PiecewiseLinear.of_masses(np.concatenate([masses, nothing]), np.concatenate([nothing, masses]))


def least_mu(f: PiecewiseLinear) -> float:
    """Return the least mu with f >= G_mu, but for what probabilities of less than 1e-290 could ask.

    G_mu is convex and f is linear between its corners, so the corners decide, with the largest
    Phi^-1(1 - alpha) - Phi^-1(beta).
    """
    knots = f.knots
    seen = (np.minimum(knots.alpha, knots.beta) > 1e-290) & (np.minimum(knots.confidence, knots.power) > 0)
    if not seen.any():
        return 0.0
    own = -_probit(knots.alpha[seen], knots.confidence[seen])
    return float(np.max(own - _probit(knots.beta[seen], knots.power[seen]), initial=0.0))


def _probit(chance: FloatArray, other: FloatArray) -> FloatArray:
    """Return Phi^-1, from the smaller of a chance and what it lacks of 1."""
    near = np.array([STANDARD.inv_cdf(least) for least in np.minimum(chance, other).tolist()])
    return np.where(chance <= other, near, -near)


def _up(value: float) -> Fraction:
    """Return a rational a little above a float."""
    return Fraction(f"{value * (1 + 1e-11):.12g}") + Fraction(f"{value * 1e-11:.2g}")
