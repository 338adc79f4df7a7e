"""Group privacy."""

import numpy as np
from numpy.typing import NDArray

from holdfast.privacy.tradeoff.bound import join
from holdfast.privacy.tradeoff.function import Floats, Tradeoff
from holdfast.privacy.tradeoff.gaussian import PERFECTLY_PRIVATE, Gaussian
from holdfast.privacy.tradeoff.piecewise import PiecewiseLinear


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


def _cells(a: Floats, b: Floats) -> tuple[Floats, NDArray[np.intp], NDArray[np.intp]]:
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


def _half(a: Floats, b: Floats) -> tuple[Floats, NDArray[np.intp], NDArray[np.intp]]:
    ends, others = np.cumsum(a), np.cumsum(b)
    edges = np.unique(np.concatenate([[0.0], ends[ends < 0.5], others[others < 0.5], [0.5]]))
    middle = (edges[1:] + edges[:-1]) / 2
    i, j = np.searchsorted(ends, middle), np.searchsorted(others, middle)
    return np.diff(edges), np.minimum(i, len(a) - 1), np.minimum(j, len(b) - 1)
