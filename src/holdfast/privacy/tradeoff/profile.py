"""From a privacy profile to the tradeoff function it implies.

(epsilon, delta)-DP says f(alpha) >= 1 - delta - e^epsilon alpha, so any points of a profile give a lower
bound: the maximum of their lines [dong2022, Proposition 2.12].

Convex hulls of points in the plane.
"""

from typing import NamedTuple

import numpy as np

from holdfast.lattice.arrays import FloatArray
from holdfast.privacy.tradeoff.function import Certainty, Tradeoff, join
from holdfast.privacy.tradeoff.piecewise import PiecewiseLinear


def lower_hull(x: FloatArray, y: FloatArray) -> list[int]:
    """Return the indices of the lower convex hull's corners, for points sorted by x (Andrew's chain).

    Of several points with one x the first is used, so sort those by y.
    """
    xs, ys = x.tolist(), y.tolist()
    hull: list[int] = []
    for k in range(len(xs)):
        if hull and xs[k] == xs[hull[-1]]:
            continue
        while len(hull) > 1:
            i, j = hull[-2], hull[-1]
            if (xs[j] - xs[i]) * (ys[k] - ys[i]) > (ys[j] - ys[i]) * (xs[k] - xs[i]):
                break
            hull.pop()
        hull.append(k)
    return hull


POINTS = 2000
TAIL = 1e-30
STEEPEST = 700.0  # exp of more is no float


class SupportLines(NamedTuple):
    """Lines beta = 1 - delta - (1 + excess) alpha that support one half, the steepest first.

    Slopes near 1 are told apart by what exceeds 1.
    """

    excess: FloatArray
    delta: FloatArray


def grid(f: Tradeoff, points: int = POINTS) -> FloatArray:
    """Return epsilons from 0 to where f has spent all but a negligible delta."""
    return np.linspace(0.0, min(STEEPEST, max(f.epsilon_at(TAIL), f.inverse().epsilon_at(TAIL))), points)


def from_profile(
    epsilon: FloatArray, delta: FloatArray, reverse: FloatArray, *, certainty: Certainty = "exact"
) -> PiecewiseLinear:
    """Return the largest function with f(alpha) >= 1 - delta_i - e^epsilon_i alpha, and so of its inverse.

    ``epsilon`` rises from 0; ``delta`` bounds the profile of T(P, Q), ``reverse`` that of T(Q, P), both
    from above. The half with slopes beyond -1 comes from the first, the other, mirrored, from the second.
    """
    shared = min(delta[0], reverse[0])  # both are the total variation distance
    left = _supporting(epsilon, np.concatenate([[shared], delta[1:]]))
    right = _supporting(epsilon, np.concatenate([[shared], reverse[1:]]))
    right = SupportLines(right.excess[right.excess > 0], right.delta[right.excess > 0])
    i, j = len(left.excess), len(right.excess)
    while j:  # drop the lines that lie below the crossing of the two halves
        alpha, beta = _crossing(left, i - 1, right, j - 1)
        if i > 1 and alpha < _meet(left, i - 1):
            i -= 1
        elif j > 1 and beta < _meet(right, j - 1):
            j -= 1
        else:
            break
    if not j:
        alpha, beta = (1 - left.delta[i - 1]) / (1 + left.excess[i - 1]), 0.0
    p_left, q_left = _masses(left, i, alpha)
    q_right, p_right = _masses(right, j, beta)
    return PiecewiseLinear.of_masses(
        np.concatenate([[0.0], p_left, p_right, [right.delta[0] if j else max(0.0, 1 - alpha)]]),
        np.concatenate([[left.delta[0]], q_left, q_right, [0.0]]),
        join(certainty, "lower"),
    )


def _supporting(epsilon: FloatArray, delta: FloatArray) -> SupportLines:
    excess = np.expm1(epsilon)
    delta = np.minimum.accumulate(np.clip(delta, 0.0, 1.0))
    corners = lower_hull(excess, delta)[::-1]
    return SupportLines(excess[corners], delta[corners])


def _meet(lines: SupportLines, k: int) -> float:
    """Return the alpha where line k takes over from line k - 1."""
    return float((lines.delta[k] - lines.delta[k - 1]) / (lines.excess[k - 1] - lines.excess[k]))


def _crossing(left: SupportLines, i: int, right: SupportLines, j: int) -> tuple[float, float]:
    """Solve beta = 1 - delta - slope alpha with the right half's alpha = 1 - delta' - slope' beta."""
    a, b = float(left.excess[i]), float(right.excess[j])
    c, d = float(left.delta[i]), float(right.delta[j])
    both = a + b + a * b  # the product of the slopes, less 1
    return max(0.0, (b * (1 - c) - c + d) / both), max(0.0, (a * (1 - d) - d + c) / both)


def _masses(lines: SupportLines, count: int, end: float) -> tuple[FloatArray, FloatArray]:
    """Return the widths and heights of the first ``count`` lines' pieces, the last up to ``end``."""
    excess, delta = lines.excess[:count], lines.delta[:count]
    meets = (delta[1:] - delta[:-1]) / (excess[:-1] - excess[1:])
    width = np.maximum(np.diff(np.concatenate([[0.0], meets, [end]])[: count + 1]), 0.0)
    return width, (1 + excess) * width
