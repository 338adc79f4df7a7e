"""The covariance of the estimate of each node, exact for the stated variances of the measurements.

Given its parent's table, a child's has the error of the down pass. With G_i = P_i S^-1 and the parent's final
covariance C,

    C_i = (I - G_i) P_i (I - G_i)' + G_i (S - P_i + C) G_i',

which is P_i - P_i S^-1 P_i + G_i C G_i' without its cancellation. An only child has its parent's covariance.

The variances hold whatever the law of the noise, as long as it is independent with mean 0 and the variances
that were stated: the estimate is linear. No distribution is assumed here.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from holdfast.estimation.tree.passes import Estimates
from holdfast.estimation.tree.spaces import NEGLIGIBLE
from holdfast.lattice.arrays import FloatArray, IntArray

AT_ONCE = 4096
"""Nodes whose matrices are worked on together."""


def covariances(estimates: Estimates, level: str) -> FloatArray:
    """Return the covariance of the estimated table of each node of a level, one matrix a node.

    Queries that are open at a node have the covariance 0 here, and infinite variance in `variances`.
    """
    place = estimates.spine.levels.axis(level)
    root = estimates.upward[0]
    found = np.asarray(root.spaces.measured @ root.covariance @ root.spaces.measured.T)
    for below in range(1, place + 1):
        found = np.concatenate(list(_children(estimates, below, found)))
    return found


def variances(estimates: Estimates, level: str, queries: FloatArray) -> FloatArray:
    """Return the variance of each query (a row over the cells) at each node (a row) of a level.

    A query that invariants fix has variance 0, one that the measurements leave open has infinite variance.
    """
    levels = estimates.spine.levels
    place = levels.axis(level)
    Q = np.asarray(queries, dtype=np.float64)
    if place == 0:
        found = _of_queries(covariances(estimates, level), Q)
    else:
        above = covariances(estimates, levels.names[place - 1])
        found = np.concatenate([_of_queries(part, Q) for part in _children(estimates, place, above)])
    tops = _known_since(estimates, place)
    for top in np.unique(tops):
        bases = estimates.upward[top].spaces
        here = tops == top
        found[np.ix_(here, ~has_part(Q, np.hstack([bases.measured, bases.open])))] = 0
        found[np.ix_(here, has_part(Q, bases.open))] = np.inf
    return found


def has_part(queries: FloatArray, basis: FloatArray, sizes: FloatArray | None = None) -> NDArray[np.bool_]:
    """Return which queries have a part in a space that is no rounding beside their sizes."""
    size = np.linalg.norm(queries, axis=1) if sizes is None else sizes
    return np.asarray(np.linalg.norm(queries @ basis, axis=1) > NEGLIGIBLE * size)


def _known_since(estimates: Estimates, place: int) -> IntArray:
    """Return, for each node of a level, the level that says which queries are fixed or open at the node.

    It is the node's own, but an only child knows all that its parent knows. Of several children none has a
    fixed query that not all have: the others' noise is left in it.
    """
    found = np.zeros(1, dtype=np.int64)
    for below, children in enumerate(estimates.siblings[:place], start=1):
        found = np.where(children.count == 1, found, below)[children.parent]
    return found


def _children(estimates: Estimates, place: int, above: FloatArray) -> Iterator[FloatArray]:
    """Yield the covariances of the nodes of a level, some at a time, given those of the level above."""
    level, children = estimates.upward[place], estimates.siblings[place - 1]
    basis = level.spaces.measured
    outer = level.total + basis.T @ above @ basis
    same = np.eye(basis.shape[1])
    for begin in range(0, children.parent.size, AT_ONCE):
        part = slice(begin, begin + AT_ONCE)
        parent = children.parent[part]
        P = level.covariance[part]
        G = P @ level.inverse[parent]
        keep = same - G
        C = keep @ P @ keep.swapaxes(1, 2) + G @ (outer[parent] - P) @ G.swapaxes(1, 2)
        C = basis @ ((C + C.swapaxes(1, 2)) / 2) @ basis.T
        only = children.count[parent] == 1
        C[only] = above[parent[only]]
        yield C


def _of_queries(matrices: FloatArray, queries: FloatArray) -> FloatArray:
    """Return q'Cq for each matrix (a row) and query."""
    return np.asarray(np.maximum(((queries @ matrices) * queries).sum(axis=2), 0), dtype=np.float64)
