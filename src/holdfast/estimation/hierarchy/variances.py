"""Variances of best linear unbiased estimates, exact for the stated variances of the measurements.

**Of each node.** Given its parent's table, a child's has the error of the down pass. With G_i = P_i S^-1 and
the parent's final covariance C,

    C_i = (I - G_i) P_i (I - G_i)' + G_i (S - P_i + C) G_i',

which is P_i - P_i S^-1 P_i + G_i C G_i' without its cancellation. An only child has its parent's covariance.

The variances hold whatever the law of the noise, as long as it is independent with mean 0 and the variances
that were stated: the estimate is linear. No distribution is assumed here.

**Over many nodes at once**, as for a union of leaves or a difference of two counties. Given its parent's
table x, child i's is G_i x plus errors that are independent of everything outside the family. For weights w_i
on the children of one parent let v = S^-1 (P_1 w_1 + ... + P_n w_n). Then the error of the sum of all w_i'x_i
is that of v'x plus one of variance

    (w_1 - v)'P_1(w_1 - v) + ... + (w_n - v)'P_n(w_n - v),

where a child without a part in it has weight 0. So weights climb from level to level, along the paths of the
nodes that are asked for and no others, and leave their variance behind; at the root it is v'C v. Covariances
between distant nodes are all in it, and no matrix grows with the number of nodes.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from holdfast.estimation.hierarchy.linear import NEGLIGIBLE, Estimates
from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.system.errors import DataError

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


def has_part(queries: FloatArray, basis: FloatArray, sizes: FloatArray | None = None) -> BoolArray:
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


ROUNDING = 1e-20
"""A variance this small beside the largest of a cell is that of a fixed query: an error of 1e-10, squared."""


@dataclass(frozen=True, eq=False)
class NodeWeights:
    """Weights on some nodes of a level.

    Attributes:
        level: the level.
        nodes: places of nodes on it; a node that is listed twice counts twice.
        weights: for each node (first axis) and query (second) a weight for each cell.

    """

    level: str
    nodes: IntArray
    weights: FloatArray


def union(estimates: Estimates, nodes: Mapping[str, IntArray], queries: FloatArray) -> list[NodeWeights]:
    """Return what sums up queries (rows over the cells) of the sum of the tables of nodes.

    ``nodes`` are places by level. The nodes must be disjoint: a part of another one is refused.
    """
    _disjoint(estimates, nodes)
    Q = np.asarray(queries, dtype=np.float64)
    return [
        NodeWeights(level, np.asarray(places), np.broadcast_to(Q, (len(places), *Q.shape)))
        for level, places in nodes.items()
    ]


def combined(estimates: Estimates, parts: Iterable[NodeWeights]) -> tuple[FloatArray, FloatArray]:
    """Return estimates and variances of the sums of weights times tables, one for each query.

    The variance is 0 where invariants fix the sum and infinite where the measurements leave it open.
    """
    by_level: dict[int, list[NodeWeights]] = {}
    for part in parts:
        by_level.setdefault(estimates.spine.levels.axis(part.level), []).append(part)
    asked = [part for each in by_level.values() for part in each]
    if not asked:
        raise DataError("no node is asked for: name one or more.")
    cells, queries = estimates.tables[0].shape[1], asked[0].weights.shape[1]
    climbing = _Climbing.none(queries, cells)
    value, sizes, variance = np.zeros(queries), np.zeros(queries), np.zeros(queries)
    is_unknown = np.zeros(queries, dtype=np.bool_)
    for place in reversed(range(len(estimates.tables))):
        for part in by_level.get(place, []):
            value += np.einsum("nkc,nc->k", part.weights, estimates.tables[place][part.nodes])
            sizes = np.maximum(sizes, np.linalg.norm(part.weights, axis=2).max(axis=0, initial=0))
            climbing = climbing.joined(part.nodes, part.weights)
        if place == 0 or not climbing.nodes.size:
            continue
        climbing, left, unknown = _climb(estimates, place, climbing, sizes)
        variance += left
        is_unknown |= unknown
    weights = climbing.weights.sum(axis=0)
    root = estimates.upward[0]
    w, P = weights @ root.spaces.measured, root.covariance[0]
    variance += ((w @ P) * w).sum(axis=1)
    largest = max(level.covariance.max(initial=0) for level in estimates.upward)
    variance[variance <= ROUNDING * largest * sizes**2] = 0
    variance[is_unknown | has_part(weights, root.spaces.open, sizes)] = np.inf
    return value, variance


@dataclass(frozen=True, eq=False)
class _Climbing:
    """Weights on nodes of one level, each node once, rising."""

    nodes: IntArray
    weights: FloatArray

    @classmethod
    def none(cls, queries: int, cells: int) -> "_Climbing":
        return cls(np.zeros(0, dtype=np.int64), np.zeros((0, queries, cells)))

    def joined(self, nodes: IntArray, weights: FloatArray) -> "_Climbing":
        """Return the weights together with further ones; those of one node add."""
        if not len(nodes):
            return self
        places = np.concatenate([self.nodes, nodes])
        order = np.argsort(places, kind="stable")
        found, starts = np.unique(places[order], return_index=True)
        return _Climbing(
            found, np.add.reduceat(np.concatenate([self.weights, weights])[order], starts, axis=0)
        )


def _climb(
    estimates: Estimates, place: int, climbing: _Climbing, sizes: FloatArray
) -> tuple[_Climbing, FloatArray, BoolArray]:
    """Return the weights on the parents, the variance left behind, and which queries are open."""
    level, children = estimates.upward[place], estimates.siblings[place - 1]
    parents, starts, family = np.unique(
        children.parent[climbing.nodes], return_index=True, return_inverse=True
    )
    P = level.covariance[climbing.nodes]
    asked = np.add.reduceat(P, starts, axis=0)
    basis, rest = level.spaces.measured, level.spaces.open
    w = climbing.weights @ basis
    v = np.add.reduceat(w @ P, starts, axis=0) @ level.inverse[parents]
    off = w - v[family]
    left = ((off @ P) * off).sum(axis=(0, 2))
    # the children that are not asked for have weight 0; where there are none, nothing is left of the sum
    count = np.diff(starts, append=climbing.nodes.size)
    whole = count == children.count[parents]
    others = np.where(whole[:, None, None], 0, level.total[parents] - asked)
    left += ((v @ others) * v).sum(axis=(0, 2))
    # what is open on this level climbs only where all children have the same of it
    u = climbing.weights @ rest
    most, least = np.maximum.reduceat(u, starts, axis=0), np.minimum.reduceat(u, starts, axis=0)
    most = np.where(whole[:, None, None], most, np.maximum(most, 0))
    least = np.where(whole[:, None, None], least, np.minimum(least, 0))
    unknown = (most - least).max(axis=(0, 2), initial=0) > NEGLIGIBLE * sizes
    weights = v @ basis.T + ((most + least) / 2) @ rest.T
    return _Climbing(parents, weights), left, unknown


def _disjoint(estimates: Estimates, nodes: Mapping[str, IntArray]) -> None:
    """Raise where a leaf lies in two of the nodes."""
    spine = estimates.spine
    inside = np.zeros(len(spine.levels.each[-1].levels), dtype=np.int64)
    for level, places in nodes.items():
        times = np.bincount(places, minlength=len(spine.codes(level)))
        inside += times[spine.ancestors(level)]
    if (inside > 1).any():
        leaves = spine.levels.each[-1]
        code = leaves.levels[int(np.argmax(inside > 1))]
        raise DataError(
            f"{leaves.name} {code!r} lies in two of the nodes that are asked for: name each place once."
        )
