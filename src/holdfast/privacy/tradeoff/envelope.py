"""The strongest claim that several tradeoff functions share."""

from collections.abc import Sequence

import numpy as np

from holdfast.privacy.tradeoff.bound import join
from holdfast.privacy.tradeoff.function import Floats, Tradeoff
from holdfast.privacy.tradeoff.hull import lower_hull
from holdfast.privacy.tradeoff.order import at_least
from holdfast.privacy.tradeoff.piecewise import PiecewiseLinear


def envelope(fs: Sequence[Tradeoff]) -> Tradeoff:
    """Return the largest tradeoff function that is below each of fs.

    It is the lower convex hull of their minimum. One of fs that is below all others is returned as it
    is; piecewise linear ones are treated exactly; others through a lower bound, and so is the result.
    """
    if not fs:
        raise ValueError("the envelope of no function at all is not defined: give one or more.")
    certainty = join(*(f.certainty for f in fs))
    for f in fs:
        if all(at_least(g, f, tolerance=0.0) for g in fs if g is not f):
            return f.labelled(certainty)
    return _hull([f.pieces() for f in fs])


def symmetrise(f: Tradeoff) -> Tradeoff:
    """Return the largest symmetric tradeoff function below f and its inverse, min(f, f^{-1})**.

    A pair of neighbours with T(P, Q) = f has T(Q, P) = f^{-1}; a mechanism owes both [dong2022, Section 4].
    """
    g = f.inverse()
    return f if g is f else _hull([f.pieces(), g.pieces()])


def _hull(fs: list[PiecewiseLinear]) -> PiecewiseLinear:
    alpha, confidence, beta, power = (np.concatenate(c) for c in zip(*(f.knots for f in fs), strict=True))
    order = np.lexsort((beta, alpha))
    order = order[lower_hull(alpha[order], -power[order])]
    order = order[: int(np.argmin(beta[order])) + 1]  # what follows the first zero of beta is flat
    alpha, confidence, beta, power = alpha[order], confidence[order], beta[order], power[order]
    return PiecewiseLinear.of_masses(
        np.concatenate([[0.0], _steps(alpha, confidence), [confidence[-1]]]),
        np.concatenate([[power[0]], _steps(power, beta), [0.0]]),
        join(*(f.certainty for f in fs)),
    )


def _steps(rising: Floats, falling: Floats) -> Floats:
    """Return the differences of a rising sequence from it or its complement, whichever is smaller."""
    near_zero, near_one = np.diff(rising), -np.diff(falling)
    return np.maximum(np.where(rising[1:] < 0.5, near_zero, near_one), 0.0)
