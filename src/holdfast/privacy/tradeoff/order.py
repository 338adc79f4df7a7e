"""Which of two tradeoff functions promises more."""

import numpy as np

from holdfast.privacy.tradeoff.epsilon_delta import EpsilonDelta
from holdfast.privacy.tradeoff.function import Tradeoff
from holdfast.privacy.tradeoff.gaussian import Gaussian
from holdfast.privacy.tradeoff.piecewise import PiecewiseLinear

TOLERANCE = 1e-12


def at_least(f: Tradeoff, g: Tradeoff, *, tolerance: float = TOLERANCE) -> bool:
    """Return whether f >= g everywhere, so that f-DP implies g-DP, up to ``tolerance`` in beta.

    No grid is involved. Two Gaussians: compare mu. A claim of (epsilon, delta): compare f's delta, for
    closed forms up to ``tolerance`` times delta, however small that is. A piecewise linear g is the
    maximum of its lines, and f is above a line exactly when f's delta at its slope is no more than g's.
    A piecewise linear f is above a convex g exactly when it is so at its corners.
    """
    if isinstance(g, Gaussian):
        if isinstance(f, Gaussian):
            return f.mu <= g.mu
        knots = f.pieces().knots
        return bool(np.all(knots.beta >= g(knots.alpha) - tolerance))
    if isinstance(g, EpsilonDelta):
        slack = tolerance if isinstance(f, PiecewiseLinear) else tolerance * g.delta
        return max(f.delta_at(g.epsilon), f.inverse().delta_at(g.epsilon)) <= g.delta + slack
    lines = g.pieces().losses
    return bool(np.all(f.delta_at(lines) <= g.delta_at(lines) + tolerance))
