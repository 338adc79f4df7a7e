"""Composition: what several releases promise together.

Composition by privacy loss distributions, for products too large to enumerate.

The loss log(q / p) under Q adds up over independent releases, so its distribution is convolved. Each one
is rounded to a grid so that the profile only rises ("connect the dots") [doroshenko2022, Algorithm 1].

Group privacy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, hypot, inf, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.lattice.arrays import FloatArray
from holdfast.privacy.roots import zero
from holdfast.privacy.tradeoff.closed_forms import PERFECTLY_PRIVATE, Gaussian
from holdfast.privacy.tradeoff.function import Certainty, Tradeoff, join
from holdfast.privacy.tradeoff.piecewise import PiecewiseLinear
from holdfast.privacy.tradeoff.profile import POINTS, STEEPEST, TAIL, from_profile

INTERVAL = 1e-3
INFINITE_MASS = 1e-18  # mass of the largest losses counted as infinite
WIDEST = 1_000_000  # grid points
ROUNDING = 1e-13  # what a Fourier transform may lose of delta, for each release


@dataclass(frozen=True)
class LossDistributions:
    """The loss distributions of a composition in both directions, from dp_accounting; pessimistic."""

    forward: Any
    backward: Any
    releases: int
    certainty: Certainty

    @classmethod
    def of(cls, fs: Sequence[Tradeoff], interval: float = INTERVAL) -> "LossDistributions":
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

        def profile(side: Any) -> FloatArray:
            return np.asarray(side.get_delta_for_epsilon(epsilon)) + slack

        return from_profile(epsilon, profile(self.forward), profile(self.backward), certainty=self.certainty)


def largest_loss(f: Tradeoff) -> float:
    """Return the largest finite loss worth keeping apart."""
    most = f.epsilon_at(INFINITE_MASS)
    return most if most < inf else float(np.max(f.pieces().losses, initial=0.0))


def group(f: Tradeoff, k: int) -> Tradeoff:
    """Return what f-DP promises for datasets that are k steps apart, 1 - (1 - f)^{o k}.

    [dong2022, Theorem 2.14]; with x = 1 - alpha it is x -> f(1 - x) composed k times, which semi-DP
    writes f^{o k} [semi-dp, Section 2.2]. Its recursion is f_k(alpha) = f(1 - f_{k-1}(alpha)). Exact:
    G_mu becomes G_{k mu}, and a piecewise linear function stays one.
    """
    if k < 0:
        raise ValueError(f"a group has a size from 0, not {k}.")
    if k == 0:
        return PERFECTLY_PRIVATE
    if k == 1:
        return f
    if isinstance(f, Gaussian):
        return Gaussian(k * f.mu, f.certainty)
    one = f.pieces()
    result = one
    for _ in range(k - 1):
        result = chain(result, one)
    return result


def chain(first: PiecewiseLinear, second: PiecewiseLinear) -> PiecewiseLinear:
    """Return alpha -> second(1 - first(alpha)), below T(P, R) if T(P, Q) = first and T(Q, R) = second.

    Both have pieces on the axis of Q's mass: the heights of the first, the widths of the second. On each
    cell of their common refinement both ratios are constant.
    """
    p, via = first.p[first.q > 0], first.q[first.q > 0]
    to, q = second.p[second.p > 0], second.q[second.p > 0]
    width, i, j = _cells(via, to)
    return PiecewiseLinear.of_masses(
        np.concatenate([width * (p / via)[i], first.p[first.q == 0], np.zeros(np.sum(second.p == 0))]),
        np.concatenate([width * (q / to)[j], np.zeros(np.sum(first.q == 0)), second.q[second.p == 0]]),
        join(first.certainty, second.certainty),
    )


def _cells(a: FloatArray, b: FloatArray) -> tuple[FloatArray, NDArray[np.intp], NDArray[np.intp]]:
    """Return the common refinement of two divisions of [0, 1]: widths, and the piece of a and b each is in.

    Each half is measured from its own end, so that narrow pieces at either keep their digits.
    """
    width, i, j = _half(a, b)
    back, k, m = _half(a[::-1], b[::-1])
    return (
        np.concatenate([width, back[::-1]]),
        np.concatenate([i, len(a) - 1 - k[::-1]]),
        np.concatenate([j, len(b) - 1 - m[::-1]]),
    )


def _half(a: FloatArray, b: FloatArray) -> tuple[FloatArray, NDArray[np.intp], NDArray[np.intp]]:
    ends, others = np.cumsum(a), np.cumsum(b)
    edges = np.unique(np.concatenate([[0.0], ends[ends < 0.5], others[others < 0.5], [0.5]]))
    middle = (edges[1:] + edges[:-1]) / 2
    i, j = np.searchsorted(ends, middle), np.searchsorted(others, middle)
    return np.diff(edges), np.minimum(i, len(a) - 1), np.minimum(j, len(b) - 1)


LARGEST = 4_000_000  # points of a product law that are enumerated


def tensor(*fs: Tradeoff, largest: int = LARGEST) -> Tradeoff:
    """Return f_1 x ... x f_n = T(P_1 x ... x P_n, Q_1 x ... x Q_n) [dong2022, Definition 3.1].

    Gaussians: exact, G with the root of the sum of squares [dong2022, Corollary 3.3]. Piecewise linear
    functions: exact, by the product of their finite laws, while a product has at most ``largest`` points.
    The two kinds together: a lower bound, by tangents at exact points of the profile. Products too large
    to enumerate: a lower bound, by privacy loss distributions.
    """
    normal = [f for f in fs if isinstance(f, Gaussian)]
    finite = [f.pieces() for f in fs if not isinstance(f, Gaussian)]
    root = Gaussian(hypot(*(f.mu for f in normal)), join(*(f.certainty for f in normal)))
    if not finite:
        return root if normal else PERFECTLY_PRIVATE
    law = finite[0]
    for f in finite[1:]:
        if prod((len(law.p), len(f.p))) > largest:
            return LossDistributions.of(fs).tradeoff()
        law = product(law, f)
    return law if root.mu == 0 and root.certainty == "exact" else _mixed(law, root)


def product(f: PiecewiseLinear, g: PiecewiseLinear) -> PiecewiseLinear:
    """Return the tradeoff function of the product laws, exactly."""
    return PiecewiseLinear.of_masses(
        np.outer(f.p, g.p).ravel(), np.outer(f.q, g.q).ravel(), join(f.certainty, g.certainty)
    )


def _mixed(law: PiecewiseLinear, root: Gaussian) -> PiecewiseLinear:
    """Bound the tensor of a finite pair and a Gaussian by tangents.

    Given the finite part's outcome a Gaussian pair remains, its epsilon less that outcome's loss:
    delta(epsilon) = sum_i q_i delta_mu(epsilon - log(q_i / p_i)), exactly.
    """

    def profile(side: PiecewiseLinear, epsilon: FloatArray) -> FloatArray:
        certain, both = side.q[side.p == 0].sum(), (side.p > 0) & (side.q > 0)
        losses, masses = side.losses, side.q[both]
        return np.array([certain + masses @ root.delta_at(e - losses) for e in epsilon])

    def enough(side: PiecewiseLinear) -> float:
        spent = side.q[side.p == 0].sum() + TAIL
        top = float(np.max(side.losses, initial=0.0)) + root.epsilon_at(TAIL)
        if profile(side, np.array([top]))[0] >= spent or profile(side, np.array([0.0]))[0] <= spent:
            return top
        return zero(lambda e: profile(side, np.array([e]))[0] - spent, 0.0, top, xtol=1e-3, rtol=1e-14)

    back = law.inverse()
    epsilon = np.linspace(0.0, min(700.0, max(enough(law), enough(back))), POINTS)
    certainty = join(law.certainty, root.certainty)
    return from_profile(epsilon, profile(law, epsilon), profile(back, epsilon), certainty=certainty)
