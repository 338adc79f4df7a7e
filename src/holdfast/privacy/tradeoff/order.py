"""Which of two tradeoff functions promises more.

The strongest claim that several tradeoff functions share.

Whether a test of one's own is private [semi-dp, Lemma 34].

A test rejects data X with the chance phi(X), and what is released is the outcome of that toss. It is f-DP
exactly when for any two data X, X' that are protected against each other

    phi(X) <= 1 - f(phi(X'))    and    phi(X) >= f(1 - phi(X')),

f(alpha) being the least rate of missed cases at the rate alpha of false alarms [dong2022]. *Proof.* Of two
tosses the tests worth looking at are "reject on 1" and "reject on 0", with mixtures of them and of
constants, and f is convex. The lemma prints the first with f of one minus the rate, and leaves the second
to the symmetry of f, for which it is the first with X and X' in exchange.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.privacy.tradeoff.closed_forms import EpsilonDelta, Gaussian
from holdfast.privacy.tradeoff.function import Tradeoff, join
from holdfast.privacy.tradeoff.piecewise import PiecewiseLinear
from holdfast.privacy.tradeoff.profile import lower_hull
from holdfast.system.errors import GuaranteeError
from holdfast.universe.tables import conforming_tables
from holdfast.universe.universe import Universe

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


def _steps(rising: FloatArray, falling: FloatArray) -> FloatArray:
    """Return the differences of a rising sequence from it or its complement, whichever is smaller."""
    near_zero, near_one = np.diff(rising), -np.diff(falling)
    return np.maximum(np.where(rising[1:] < 0.5, near_zero, near_one), 0.0)


MOST_TABLES = 2_000
ROUNDING = 1e-12
"""What floats may be off by in a chance."""


@dataclass(frozen=True)
class Rejections:
    """Whether a test keeps f, by how much it misses that at most, and the two data where it does."""

    kept: bool
    excess: float
    worst: tuple[int, int] | None
    pairs: int


def check_chances(chances: ArrayLike, pairs: ArrayLike, f: Tradeoff) -> Rejections:
    """Check the chances of rejection of listed data over the pairs that are protected, in both orders."""
    phi, both = np.asarray(chances, dtype=np.float64), np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    if not ((phi >= 0) & (phi <= 1)).all():
        raise GuaranteeError("a chance of rejection lies between 0 and 1: correct the test.")
    both = np.vstack([both, both[:, ::-1]])
    if not both.size:
        return Rejections(kept=True, excess=0.0, worst=None, pairs=0)
    on_one, on_zero = f(phi), f(1 - phi)
    one, other = both.T
    over = np.maximum(phi[one] - (1 - on_one[other]), on_zero[other] - phi[one])
    place = int(over.argmax())
    excess = max(float(over[place]), 0.0)
    worst = (int(one[place]), int(other[place]))
    return Rejections(kept=excess <= ROUNDING, excess=excess, worst=worst, pairs=both.shape[0] // 2)


def check_test(
    test: Callable[[IntArray], float], universe: Universe, distance: int, f: Tradeoff
) -> Rejections:
    """Check a test on all tables of a small universe, for those at most ``distance`` records apart.

    ``worst`` counts tables in the order of `conforming_tables`. Raises GuaranteeError for large universes.
    """
    tables = conforming_tables(universe, MOST_TABLES)
    sizes = tables.sum(axis=1)
    apart = np.abs(tables[:, None] - tables[None]).sum(axis=2)
    near = (apart > 0) & (apart <= 2 * distance) & (sizes[:, None] == sizes[None])
    return check_chances([test(table) for table in tables], np.argwhere(np.triu(near)), f)
