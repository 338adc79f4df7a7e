"""Piecewise linear tradeoff functions, which are those of pairs of finite laws."""

from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

import numpy as np

from holdfast.privacy.tradeoff.bound import Certainty
from holdfast.privacy.tradeoff.function import Floats, Tradeoff

SAME_RATIO = 1e-13  # log likelihood ratios this close are one up to rounding


class Knots(NamedTuple):
    """The corners of a piecewise linear function; both complements are kept, each exact near zero."""

    alpha: Floats
    confidence: Floats  # 1 - alpha
    beta: Floats
    power: Floats  # 1 - beta


@dataclass(frozen=True, eq=False)
class PiecewiseLinear(Tradeoff):
    """T(P, Q) for laws with masses ``p`` and ``q``, in the order of falling likelihood ratio q / p.

    The best test rejects P where q / p is large (Neyman and Pearson), so the function runs through the
    points (p_1 + ... + p_i, q_{i+1} + ... + q_n) and is linear between them: exact for finite laws, and
    each convex, decreasing, piecewise linear function below 1 - alpha is one. Make it by ``of_masses``
    from masses in any order, or by ``through`` from corners.
    """

    p: Floats
    q: Floats
    certainty: Certainty = "exact"

    @classmethod
    def of_masses(cls, p: Floats, q: Floats, certainty: Certainty = "exact") -> "PiecewiseLinear":
        """Sort masses by likelihood ratio and join those that share one."""
        kept = (p > 0) | (q > 0)
        p, q = p[kept], q[kept]
        with np.errstate(divide="ignore"):
            ratio = np.log(q) - np.log(p)
        order = np.argsort(-ratio, kind="stable")
        p, q, ratio = p[order], q[order], ratio[order]
        rounding = SAME_RATIO * np.maximum(1.0, np.abs(np.where(np.isfinite(ratio), ratio, 0.0)))
        falls = ratio[:-1] > ratio[1:] + rounding[1:]
        starts = np.flatnonzero(np.concatenate([[True], falls]))
        p, q = np.add.reduceat(p, starts), np.add.reduceat(q, starts)
        p.flags.writeable = q.flags.writeable = False
        return cls(p, q, certainty)

    @classmethod
    def through(cls, alpha: Floats, beta: Floats, certainty: Certainty = "exact") -> "PiecewiseLinear":
        """Return the function with the corners (alpha_i, beta_i), from alpha = 0 to beta = 0.

        >>> PiecewiseLinear.through(np.array([0, 0.25, 1]), np.array([1, 0.25, 0]))(0.5)
        0.16666666666666666
        """
        if alpha[0] != 0 or beta[-1] != 0 or np.any(np.diff(alpha) <= 0) or np.any(np.diff(beta) > 0):
            raise ValueError("corners run from alpha = 0 to beta = 0, alpha rising and beta falling.")
        slopes = np.diff(beta) / np.diff(alpha)
        if np.any(np.diff(slopes) < -1e-12 * np.abs(slopes[1:])) or np.any(beta > 1 - alpha + 1e-12):
            raise ValueError("a tradeoff function is convex and at most 1 - alpha.")
        p, q = np.diff(alpha, prepend=0.0, append=1.0), -np.diff(beta, prepend=1.0, append=0.0)
        return cls.of_masses(np.maximum(p, 0), np.maximum(q, 0), certainty)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PiecewiseLinear)
            and self.certainty == other.certainty
            and np.array_equal(self.p, other.p)
            and np.array_equal(self.q, other.q)
        )

    def __hash__(self) -> int:
        return hash((self.p.tobytes(), self.q.tobytes(), self.certainty))

    @property
    def knots(self) -> Knots:
        """The corners from (0, f(0)) to the first with beta = 0."""
        first = int(self.p[0] == 0)  # a step down at alpha = 0 is no corner
        last = len(self.p) - int(self.q[-1] == 0)
        upto, after = slice(first, last + 1), slice(len(self.p) - last, len(self.p) - first + 1)

        def sums(masses: Floats) -> Floats:
            return np.concatenate([[0.0], np.cumsum(masses)])

        return Knots(
            alpha=np.minimum(sums(self.p)[upto], 1.0),
            confidence=np.minimum(sums(self.p[::-1])[after][::-1], 1.0),
            beta=np.minimum(sums(self.q[::-1])[after][::-1], 1.0),
            power=np.minimum(sums(self.q)[upto], 1.0),
        )

    @property
    def losses(self) -> Floats:
        """The finite logarithms of q / p, falling: the function's slopes are minus their exponentials."""
        both = (self.p > 0) & (self.q > 0)
        return np.log(self.q[both]) - np.log(self.p[both])

    def _beta(self, alpha: Floats) -> Floats:
        knots = self.knots
        near_zero = np.interp(alpha, knots.alpha, knots.beta)
        near_one = np.interp(1 - alpha, knots.confidence[::-1], knots.beta[::-1])
        return np.asarray(np.where(alpha < 0.5, near_zero, near_one))

    def _delta(self, epsilon: Floats) -> Floats:
        """Return the largest 1 - beta - e^epsilon alpha over the corners, at the one with that slope."""
        knots = self.knots
        corner = np.searchsorted(-self.losses, -epsilon)
        with np.errstate(over="ignore", invalid="ignore"):
            paid = np.where(knots.alpha[corner] > 0, np.exp(epsilon) * knots.alpha[corner], 0.0)
        return np.clip(knots.power[corner] - paid, 0.0, 1.0)

    def epsilon_at(self, delta: float) -> float:
        """Return the largest log((1 - beta - delta) / alpha) over the corners."""
        knots = self.knots
        exceeds = knots.power > delta
        if not exceeds.any():
            return 0.0
        if knots.alpha[exceeds][0] == 0:
            return inf
        return max(0.0, float(np.max(np.log(knots.power[exceeds] - delta) - np.log(knots.alpha[exceeds]))))

    def inverse(self) -> "PiecewiseLinear":
        """Exchange the two laws."""
        return PiecewiseLinear(self.q[::-1], self.p[::-1], self.certainty)

    def labelled(self, certainty: Certainty) -> "PiecewiseLinear":
        """Say on which side of the truth this function is."""
        return replace(self, certainty=certainty)

    def pieces(self) -> "PiecewiseLinear":
        """Return this function."""
        return self
