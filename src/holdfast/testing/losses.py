"""Privacy loss by enumeration: the slow truth that guarantees are held against.

On a small universe every conforming table and every likely output can be listed. The loss of a pair of
tables is the largest log ratio of the probabilities of an output under them, each law normalised over
the listed outputs. What a pair loses by another standard is found from the same probabilities.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import log_ndtr, logsumexp

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.mechanisms.mechanism import Law
from holdfast.privacy.intensity import Approximate, GaussianDP, Intensity, Pure, ZeroConcentrated
from holdfast.spec.privacy import Neighbours

ORDERS = (1.01, 1.5, 2.0, 3.0)
"""The Renyi orders at which zCDP is held against a list."""
EPSILONS = (0.0, 0.5, 1.0, 2.0)
"""Where a curve of Gaussian DP is."""


def losses(law: Callable[[IntArray], Law], tables: IntArray, outputs: IntArray) -> FloatArray:
    """Return the loss of every ordered pair of tables, as a matrix."""
    log_prob = np.stack([law(table).log_prob(outputs) for table in tables])
    log_prob -= logsumexp(log_prob, axis=1, keepdims=True)
    return np.stack([(row - log_prob).max(axis=1) for row in log_prob])


def record_distances(tables: IntArray, neighbours: Neighbours = "replace") -> IntArray:
    """Return how many records apart each pair of tables of the same size is: ||x - x'||_1 / 2 [theory, 1].

    Pairs of different sizes are no number of changed records apart: -1. Where records are added and removed,
    it is ||x - x'||_1 of any two [theory, 14].
    """
    apart = np.abs(tables[:, None, :] - tables[None, :, :]).sum(axis=2)
    if neighbours == "add-remove":
        return np.asarray(apart)
    sizes = tables.sum(axis=1)
    return np.where(sizes[:, None] == sizes[None, :], apart // 2, -1)


def log_shares(law: Law, outputs: NDArray[Any]) -> FloatArray:
    """Return the log probabilities of outputs, given that it is one of them."""
    logs = law.log_prob(outputs)
    return np.asarray(logs - logsumexp(logs))


def spent(stated: Intensity, one: FloatArray, other: FloatArray) -> float:
    """Return what two laws lose, by their log probabilities, as a share of what is stated."""
    match stated:
        case Pure(epsilon):
            return float((one - other).max()) / float(epsilon)
        case Approximate(epsilon, delta):
            return _delta(one, other, float(epsilon)) / float(delta)
        case ZeroConcentrated(rho):
            return max(_renyi(one, other, alpha) / alpha for alpha in ORDERS) / float(rho)
        case GaussianDP(mu):
            return max(_mu(e, _delta(one, other, e)) for e in EPSILONS) / float(mu)
    raise NotImplementedError(f"{stated.standard} is not enumerated")


def _delta(one: FloatArray, other: FloatArray, epsilon: float) -> float:
    """Return the least delta of (epsilon, delta) between two laws."""
    return float(np.maximum(np.exp(one) - np.exp(epsilon + other), 0).sum())


def _renyi(one: FloatArray, other: FloatArray, alpha: float) -> float:
    """Return the Renyi divergence of an order between two laws."""
    terms = alpha * one + (1 - alpha) * other
    most = float(terms.max())
    return (most + float(np.log(np.exp(terms - most).sum())) if np.isfinite(most) else most) / (alpha - 1)


def _mu(epsilon: float, delta: float) -> float:
    """Return the mu of Gaussian DP at which epsilon goes with delta [dong2022, Corollary 2.13]."""

    def over(mu: float) -> float:
        near, far = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-mu / 2 - epsilon / mu)
        return float(np.exp(near) - np.exp(far) - delta)

    least = 1e-3
    if over(least) >= 0:  # laws that are nearly one
        return least
    return float(brentq(over, least, 50.0))
