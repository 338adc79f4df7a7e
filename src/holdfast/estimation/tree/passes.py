"""The two passes over the tree that make the generalized least squares estimate of every node.

**Up.** Let m_i with covariance P_i be the estimate of child i from its own subtree. Children are independent,
so their sum estimates the parent's table with covariance S = P_1 + ... + P_n. The parent's own measurements
are independent of it: inverse covariances add,

    P = (S^-1 + W'V^-1 W)^-1,      m = P (S^-1 (m_1 + ... + m_n) + W'V^-1 y).

**Down.** The root's m is final. Given the parent's final estimate x, that of child i is

    x_i = m_i + P_i S^-1 (x - m_1 - ... - m_n),

so that the children sum to their parent. This is the generalized least squares estimate of all tables at once
[cumingsmenon2024]: linear, unbiased, and of least variance among such for every query.

All of it happens in coordinates of the measured queries of a level [holdfast, estimation/tree/spaces.py].
Fixed queries have their values put in, as in least squares with equality constraints. Where children leave
queries open that their parent knows, each gets an equal part, so that sums hold; such a part is no estimate,
and its variance is infinite.

Nodes of a level go through one batched call of linear algebra: O(nodes cells^3) altogether.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from holdfast.data.spine import Spine
from holdfast.errors import DataError
from holdfast.estimation.tree.measured import Measured
from holdfast.estimation.tree.spaces import Spaces, lengths, spaces
from holdfast.lattice.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Siblings:
    """The children of the nodes of one level.

    Attributes:
        parent: the parent of each child, rising.
        starts: where the children of each parent begin.
        count: how many children each parent has.

    """

    parent: IntArray
    starts: IntArray
    count: IntArray

    @classmethod
    def of(cls, parent: IntArray) -> "Siblings":
        """Return the children of parents that rise in steps of at most 1."""
        count = np.bincount(parent)
        return cls(parent, np.cumsum(count) - count, count)

    def sum(self, values: FloatArray) -> FloatArray:
        """Return the sums over the children of each parent."""
        return np.asarray(np.add.reduceat(values, self.starts, axis=0))


@dataclass(frozen=True, eq=False)
class Upward:
    """Estimates of the nodes of a level from their own subtrees, in the coordinates of its spaces.

    Attributes:
        spaces: the bases of the coordinates.
        fixed: the values of the fixed queries, one row a node.
        mean: the estimates of the measured queries, one row a node.
        covariance: P, one matrix a node.
        total: S, one matrix a parent on the level above; none at the root.
        inverse: S^-1.
        weighted: W'V^-1, the same for all nodes: one column a measured query of a node.

    """

    spaces: Spaces
    fixed: FloatArray
    mean: FloatArray
    covariance: FloatArray
    total: FloatArray
    inverse: FloatArray
    weighted: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Estimates:
    """The best linear unbiased estimates of all nodes of a geography."""

    spine: Spine
    upward: tuple[Upward, ...]
    """By level, root first."""
    tables: tuple[FloatArray, ...]
    """By level, root first: one row a node, one column a cell."""

    def at(self, level: str) -> FloatArray:
        """Return the estimated tables of the nodes of a level."""
        return self.tables[self.spine.levels.axis(level)]

    @cached_property
    def siblings(self) -> tuple[Siblings, ...]:
        """The children of each level but the last, root first."""
        return tuple(Siblings.of(parent) for parent in self.spine.parent)


def estimate(spine: Spine, measured: Sequence[Measured]) -> Estimates:
    """Return the estimates of all nodes from what is known of each level, root first."""
    nodes = [len(level.levels) for level in spine.levels]
    if [len(level.values) for level in measured] != nodes or len({level.cells for level in measured}) != 1:
        raise DataError(
            f"the levels have {', '.join(f'{n:,}' for n in nodes)} nodes, the measurements"
            f" {', '.join(f'{len(level.values):,}' for level in measured)}: give one value a node on every"
            " level, over the same cells."
        )
    siblings = [Siblings.of(parent) for parent in spine.parent]
    upward: list[Upward] = []
    for place in reversed(range(len(nodes))):
        below = (upward[-1], siblings[place]) if upward else None
        above = siblings[place - 1] if place else None
        names = spine.levels.names[place], spine.levels.each[place].levels
        upward.append(_combined(measured[place], below, above, names))
    upward.reverse()
    root = upward[0]
    tables = [root.fixed @ root.spaces.fixed.T + root.mean @ root.spaces.measured.T]
    for level, children in zip(upward[1:], siblings, strict=True):
        tables.append(_distributed(level, children, tables[-1]))
    return Estimates(spine, tuple(upward), tuple(tables))


def _combined(
    measured: Measured,
    below: tuple[Upward, Siblings] | None,
    above: Siblings | None,
    names: tuple[str, tuple[str, ...]],
) -> Upward:
    """Return the estimates of a level from its own measurements and those of the level below."""
    bases = spaces(measured, below[0].spaces if below else None)
    fixed = _fixed(measured, bases, below, names)
    # the level's own measurements, the same information for all nodes
    weighted = (measured.queries @ bases.measured).T / measured.variances
    rest = measured.values - fixed @ (measured.queries @ bases.fixed).T
    information = weighted @ (measured.queries @ bases.measured)
    score = rest @ weighted.T
    if below is None:
        covariance = np.broadcast_to(_inverse(information), (len(fixed), *information.shape))
    else:
        level, children = below
        onto = level.spaces.measured.T @ bases.measured
        rest = children.sum(level.mean) - fixed @ (level.spaces.measured.T @ bases.fixed).T
        score = score + _times(level.inverse, rest) @ onto
        covariance = _inverse(onto.T @ level.inverse @ onto + information)
    mean = _times(covariance, score)
    total = covariance[:0] if above is None else above.sum(covariance)
    return Upward(bases, fixed, mean, covariance, total, _inverse(total), np.asarray(weighted))


def _fixed(
    measured: Measured,
    bases: Spaces,
    below: tuple[Upward, Siblings] | None,
    names: tuple[str, tuple[str, ...]],
) -> FloatArray:
    """Return the values of the fixed queries; raise where the rows that fix them contradict."""
    values = measured.exact / lengths(measured.invariants.toarray())
    if below is not None:
        values = np.hstack([below[1].sum(below[0].fixed), values])
    fixed = values @ bases.solve.T
    off = np.abs(fixed @ (bases.given @ bases.fixed).T - values)
    wrong = np.flatnonzero((off > 1e-6 + 1e-10 * np.abs(values)).any(axis=1))
    if wrong.size:
        level, codes = names
        raise DataError(
            f"the invariants of {level} {codes[wrong[0]]!r} contradict each other or those of the levels"
            " below it: check their values."
        )
    return np.asarray(fixed)


def _distributed(level: Upward, children: Siblings, parents: FloatArray) -> FloatArray:
    """Return the final tables of a level, given those of the level above."""
    bases = level.spaces
    missing = parents @ bases.measured - children.sum(level.mean)
    mean = level.mean + _times(level.covariance, _times(level.inverse, missing)[children.parent])
    even = ((parents @ bases.open) / children.count[:, None])[children.parent]
    return np.asarray(level.fixed @ bases.fixed.T + mean @ bases.measured.T + even @ bases.open.T)


def _times(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return each matrix times its vector."""
    return np.asarray((matrices @ vectors[:, :, None])[:, :, 0])


def _inverse(matrices: FloatArray) -> FloatArray:
    """Return the inverse of each symmetric matrix, symmetric again."""
    found = np.asarray(np.linalg.inv(matrices), dtype=np.float64)
    return np.asarray((found + found.swapaxes(-1, -2)) / 2)
