"""Piecewise linear tradeoff functions, which are those of pairs of finite laws.

Tradeoff functions of laws that can be enumerated.
"""

from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

import numpy as np
import scipy

from holdfast.lattice.arrays import FloatArray
from holdfast.privacy.tradeoff.function import Certainty, Tradeoff

SAME_RATIO = 1e-13  # log likelihood ratios this close are one up to rounding


class Knots(NamedTuple):
    """The corners of a piecewise linear function; both complements are kept, each exact near zero."""

    alpha: FloatArray
    confidence: FloatArray  # 1 - alpha
    beta: FloatArray
    power: FloatArray  # 1 - beta


@dataclass(frozen=True, eq=False)
class PiecewiseLinear(Tradeoff):
    """T(P, Q) for laws with masses ``p`` and ``q``, in the order of falling likelihood ratio q / p.

    The best test rejects P where q / p is large (Neyman and Pearson), so the function runs through the
    points (p_1 + ... + p_i, q_{i+1} + ... + q_n) and is linear between them: exact for finite laws, and
    each convex, decreasing, piecewise linear function below 1 - alpha is one. Make it by ``of_masses``
    from masses in any order, or by ``through`` from corners.
    """

    p: FloatArray
    q: FloatArray
    certainty: Certainty = "exact"

    @classmethod
    def of_masses(cls, p: FloatArray, q: FloatArray, certainty: Certainty = "exact") -> "PiecewiseLinear":
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
    def through(
        cls, alpha: FloatArray, beta: FloatArray, certainty: Certainty = "exact"
    ) -> "PiecewiseLinear":
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

        def sums(masses: FloatArray) -> FloatArray:
            return np.concatenate([[0.0], np.cumsum(masses)])

        return Knots(
            alpha=np.minimum(sums(self.p)[upto], 1.0),
            confidence=np.minimum(sums(self.p[::-1])[after][::-1], 1.0),
            beta=np.minimum(sums(self.q[::-1])[after][::-1], 1.0),
            power=np.minimum(sums(self.q)[upto], 1.0),
        )

    @property
    def losses(self) -> FloatArray:
        """The finite logarithms of q / p, falling: the function's slopes are minus their exponentials."""
        both = (self.p > 0) & (self.q > 0)
        return np.log(self.q[both]) - np.log(self.p[both])

    def _beta(self, alpha: FloatArray) -> FloatArray:
        knots = self.knots
        near_zero = np.interp(alpha, knots.alpha, knots.beta)
        near_one = np.interp(1 - alpha, knots.confidence[::-1], knots.beta[::-1])
        return np.asarray(np.where(alpha < 0.5, near_zero, near_one))

    def _delta(self, epsilon: FloatArray) -> FloatArray:
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


def tradeoff_of(p: FloatArray, q: FloatArray) -> PiecewiseLinear:
    """Return T(P, Q) of two laws on the same finite set, exactly.

    >>> tradeoff_of(np.array([0.75, 0.25]), np.array([0.25, 0.75])).delta_at(0.0)
    0.5
    """
    p, q = np.asarray(p, dtype=np.float64).ravel(), np.asarray(q, dtype=np.float64).ravel()
    if p.shape != q.shape:
        raise ValueError(f"two laws on one set have as many masses: {len(p)} and {len(q)} do not match.")
    for masses in (p, q):
        if not (np.all(masses >= 0) and abs(masses.sum() - 1) < 1e-9):
            raise ValueError("masses are not negative and sum to 1.")
    return PiecewiseLinear.of_masses(p / p.sum(), q / q.sum())


def tradeoff_of_lattice(log_p: FloatArray, log_q: FloatArray, left_out: float) -> PiecewiseLinear:
    """Return a lower bound on T(P, Q) of two laws known on a window, each with at most left_out outside.

    ``log_p`` and ``log_q`` are log masses on the window, each up to a constant of its own. On the window
    P has at least 1 - left_out times the normalised masses. A test's errors are at least those it makes
    on the window, and they only fall with the masses; so all the rest of P and Q is taken to be told
    apart at no cost. A part in 1e16 for each term summed pays for rounding.
    """
    if not 0 <= left_out < 1:
        raise ValueError(f"left_out lies in [0, 1), not {left_out}.")
    if np.shape(log_p) != np.shape(log_q):
        raise ValueError("two laws on one window have as many masses.")

    def window(log_masses: FloatArray) -> FloatArray:
        logs = np.asarray(log_masses, dtype=np.float64).ravel()
        largest = float(np.max(np.abs(logs[np.isfinite(logs)]), initial=0.0))
        rounding = np.finfo(np.float64).eps * (2 * len(logs) + 4 * largest + 8)
        masses = np.exp(logs - scipy.special.logsumexp(logs)) * (1 - left_out) * (1 - rounding)
        return np.asarray(masses, dtype=np.float64)

    p, q = window(log_p), window(log_q)
    return PiecewiseLinear.of_masses(
        np.concatenate([p, [0.0, max(0.0, 1 - p.sum())]]),
        np.concatenate([q, [max(0.0, 1 - q.sum()), 0.0]]),
        "lower",
    )
