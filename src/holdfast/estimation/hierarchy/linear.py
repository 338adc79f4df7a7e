"""Best linear unbiased estimates of every node of a geography, by two passes over its tree.

At each node g of a level the measurements are y_g = W x_g + noise, with independent noise of known variances;
x_parent is the sum of its children; invariants A x_g = a_g hold exactly.

**Up.** Let m_i with covariance P_i be the estimate of child i from its own subtree. Children are independent,
so their sum estimates the parent's table with covariance S = P_1 + ... + P_n. The parent's own measurements
are independent of it: inverse covariances add,

    P = (S^-1 + W'V^-1 W)^-1,      m = P (S^-1 (m_1 + ... + m_n) + W'V^-1 y).

**Down.** The root's m is final. Given the parent's final estimate x, that of child i is

    x_i = m_i + P_i S^-1 (x - m_1 - ... - m_n),

so that the children sum to their parent. This is the generalized least squares estimate of all tables at once
[cumingsmenon2024]: linear, unbiased, and of least variance among such for every query.

**Spaces.** Seen from a node's own subtree, the queries q (vectors over the cells) whose answer q'x is known
exactly make a space F, and those with an unbiased estimate a space E around it. The answer of a node is the
sum of its children's, so with the same rows at all nodes of a level

    F = rows of A + F of the level below,      E = F + rows of W + E of the level below.

Both depend on the level alone, and grow from the leaves to the root. Orthonormal bases of F, of the rest of
E and of the rest of all queries come from singular values; rows are scaled to length 1 first. With
coordinates in these bases every information matrix is positive definite: an invariant is never a
measurement with a small variance, and what is not measured is never one with a large one. Nodes of a level
may be of several kinds, which differ in the variances of their measurements; a query that was not measured
at a kind has no information there, and what a node then lacks has to follow from the nodes below it.

Fixed queries have their values put in, as in least squares with equality constraints. Where children leave
queries open that their parent knows, each gets an equal part, so that sums hold; such a part is no estimate,
and its variance is infinite. Nodes of a level go through one batched call of linear algebra:
O(nodes cells^3) altogether.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from holdfast.data.geography import Spine
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.system.errors import DataError


@dataclass(frozen=True, eq=False, repr=False)
class LevelMeasurements:
    """Noisy values W x_g + noise and exact values A x_g of all nodes of a level.

    Attributes:
        queries: W, one row a query over the cells; no row for a level without measurements.
        values: the noisy values, one row a node and one column a query.
        variances: the variance of the noise of each query, above 0, one row a kind of nodes; infinite where a
            kind was not measured. The noise is independent, with mean 0.
        invariants: A, one row an invariant over the cells.
        exact: the values of the invariants, one row a node.
        kind: the kind of each node.

    """

    queries: csr_array
    values: FloatArray
    variances: FloatArray
    invariants: csr_array
    exact: FloatArray
    kind: IntArray

    @classmethod
    def of(
        cls,
        nodes: int,
        cells: int,
        *,
        queries: csr_array | None = None,
        values: IntArray | FloatArray | None = None,
        variances: FloatArray | None = None,
        invariants: csr_array | None = None,
        exact: IntArray | FloatArray | None = None,
        kind: IntArray | None = None,
    ) -> "LevelMeasurements":
        """Return what is known of so many nodes over so many cells; what is not given is not known.

        Without kinds all nodes are alike, and a query has one variance.
        """
        W = csr_array((0, cells)) if queries is None else queries
        A = csr_array((0, cells)) if invariants is None else invariants
        y = np.zeros((nodes, 0)) if values is None else np.asarray(values, dtype=np.float64)
        v = np.atleast_2d(np.zeros(0) if variances is None else np.asarray(variances, dtype=np.float64))
        of = np.zeros(nodes, dtype=np.int64) if kind is None else np.asarray(kind, dtype=np.int64)
        a = np.zeros((nodes, 0)) if exact is None else np.asarray(exact, dtype=np.float64)
        if W.shape[1] != cells or A.shape[1] != cells:
            raise DataError(
                f"the queries have {W.shape[1]} cells and the invariants {A.shape[1]}, the tables {cells}:"
                " give all of them over the same cells."
            )
        if (
            y.shape != (nodes, W.shape[0])
            or a.shape != (nodes, A.shape[0])
            or v.shape != (int(of.max()) + 1, W.shape[0])
            or of.shape != (nodes,)
        ):
            raise DataError(
                f"{nodes:,} nodes with {W.shape[0]} queries and {A.shape[0]} invariants have values of shapes"
                f" {y.shape} and {a.shape} and {v.size} variances: give one value a node and query, and one"
                " variance a query."
            )
        if not (v > 0).all() or (kind is None and not np.isfinite(v).all()):
            raise DataError("a query has no positive variance: give what is exact as an invariant.")
        if not np.isfinite(y).all() or not np.isfinite(a).all():
            raise DataError("a measured value is missing or not a number: leave out its query.")
        return cls(W, y, v, A, a, of)

    @property
    def cells(self) -> int:
        """The number of cells of a table."""
        return int(self.queries.shape[1])


NEGLIGIBLE = 1e-9
"""Singular values of unit rows below this are rounding."""


@dataclass(frozen=True, eq=False)
class QueryBases:
    """Orthonormal bases, one column a query, that together span all queries.

    Attributes:
        fixed: queries with exact answers.
        measured: queries with noisy answers.
        open: queries without an answer.
        solve: from the values of the rows that fix queries to those of the basis ``fixed``.
        given: these rows, in unit length: those of the level below and then the invariants.

    """

    fixed: FloatArray
    measured: FloatArray
    open: FloatArray
    solve: FloatArray
    given: FloatArray


def spaces(measured: LevelMeasurements, below: QueryBases | None) -> QueryBases:
    """Return the spaces of a level from its rows and the spaces of the level below, if there is one."""
    cells = measured.cells
    none = np.zeros((cells, 0))
    under_fixed, under_measured = (none, none) if below is None else (below.fixed, below.measured)
    given = np.vstack([under_fixed.T, unit(measured.invariants.toarray())])
    left, sizes, right = np.linalg.svd(given, full_matrices=False)
    rank = int((sizes > NEGLIGIBLE).sum())
    fixed, solve = right[:rank].T, (left[:, :rank] / sizes[:rank]).T
    noisy = np.vstack([under_measured.T, unit(measured.queries.toarray())])
    noisy -= (noisy @ fixed) @ fixed.T
    _, sizes, right = np.linalg.svd(noisy, full_matrices=False)
    known = right[sizes > NEGLIGIBLE].T
    if known.shape[1] == cells:  # nothing is fixed: keep the cells themselves
        return QueryBases(fixed, np.eye(cells), none, solve, given)
    _, _, right = np.linalg.svd(np.vstack([fixed.T, known.T, np.zeros((1, cells))]))
    return QueryBases(fixed, known, right[fixed.shape[1] + known.shape[1] :].T, solve, given)


def unit(rows: FloatArray) -> FloatArray:
    """Return rows scaled to length 1; rows of zeros stay."""
    return np.asarray(rows / lengths(rows)[:, None])


def lengths(rows: FloatArray) -> FloatArray:
    """Return the lengths of rows, 1 for rows of zeros."""
    found = np.linalg.norm(np.asarray(rows, dtype=np.float64), axis=1)
    return np.where(found > 0, found, 1.0)


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

    def sum(self, values: FloatArray, axis: int = -2) -> FloatArray:
        """Return the sums over the children of each parent; children are the last axis but one."""
        return np.asarray(np.add.reduceat(values, self.starts, axis=axis))

    def each(self, values: FloatArray) -> FloatArray:
        """Return the values of the parent of each child; parents are the last axis but one."""
        return np.asarray(np.take(values, self.parent, axis=-2))


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
        weighted: W'V^-1 of each kind of nodes: one column a measured query of a node.
        kind: the kind of each node.

    """

    spaces: QueryBases
    fixed: FloatArray
    mean: FloatArray
    covariance: FloatArray
    total: FloatArray
    inverse: FloatArray
    weighted: FloatArray
    kind: IntArray

    def scored(self, values: FloatArray) -> FloatArray:
        """Return W'V^-1 y of each node, from values whose last axes are nodes and queries."""
        return _scored(self.weighted, self.kind, values)


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


def estimate(spine: Spine, measured: Sequence[LevelMeasurements]) -> Estimates:
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
        fixed = level.fixed @ level.spaces.fixed.T
        tables.append(_distributed(level, fixed, level.mean, children, tables[-1]))
    return Estimates(spine, tuple(upward), tuple(tables))


def responses(estimates: Estimates, noise: Sequence[FloatArray]) -> tuple[FloatArray, ...]:
    """Return the errors of all tables that noise makes, by level: one table of nodes and cells a draw.

    ``noise`` is that of the queries of each level, by draw and node. Estimates are linear, so that all but
    these two passes is done once for all draws.
    """
    upward, siblings = estimates.upward, estimates.siblings
    means: list[FloatArray] = []
    for place in reversed(range(len(upward))):
        level = upward[place]
        score = level.scored(noise[place])
        if means:
            below = upward[place + 1]
            onto = below.spaces.measured.T @ level.spaces.measured
            score = score + _times(below.inverse, siblings[place].sum(means[-1])) @ onto
        means.append(_times(level.covariance, score))
    means.reverse()
    tables = [means[0] @ upward[0].spaces.measured.T]
    for level, mean, children in zip(upward[1:], means[1:], siblings, strict=True):
        tables.append(_distributed(level, np.zeros(1), mean, children, tables[-1]))
    return tuple(tables)


def _combined(
    measured: LevelMeasurements,
    below: tuple[Upward, Siblings] | None,
    above: Siblings | None,
    names: tuple[str, tuple[str, ...]],
) -> Upward:
    """Return the estimates of a level from its own measurements and those of the level below."""
    bases = spaces(measured, below[0].spaces if below else None)
    fixed = _fixed(measured, bases, below, names)
    # the level's own measurements, the same information for all nodes of a kind
    rows, kind = np.asarray(measured.queries @ bases.measured), measured.kind
    weighted = rows.T / measured.variances[:, None, :]
    rest = measured.values - fixed @ (measured.queries @ bases.fixed).T
    information = weighted @ rows
    score = _scored(weighted, kind, rest)
    if below is None:
        if not np.isfinite(measured.variances).all():
            _require_known(information, kind, names)
        found = _inverse(information)
        covariance = (
            np.broadcast_to(found, (len(fixed), *found.shape[1:])) if len(found) == 1 else found[kind]
        )
    else:
        level, children = below
        onto = level.spaces.measured.T @ bases.measured
        rest = children.sum(level.mean) - fixed @ (level.spaces.measured.T @ bases.fixed).T
        score = score + _times(level.inverse, rest) @ onto
        every = onto.T @ level.inverse @ onto + (
            information[0] if len(information) == 1 else information[kind]
        )
        if not np.isfinite(measured.variances).all():
            _require_known(every, np.arange(len(every)), names)
        covariance = _inverse(every)
    mean = _times(covariance, score)
    total = covariance[:0] if above is None else above.sum(covariance, axis=0)
    return Upward(bases, fixed, mean, covariance, total, _inverse(total), np.asarray(weighted), kind)


def _fixed(
    measured: LevelMeasurements,
    bases: QueryBases,
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


def _distributed(
    level: Upward, fixed: FloatArray, mean: FloatArray, children: Siblings, parents: FloatArray
) -> FloatArray:
    """Return the final tables of a level from what is fixed, its means, and those of the level above."""
    bases = level.spaces
    missing = parents @ bases.measured - children.sum(mean)
    final = mean + _times(level.covariance, children.each(_times(level.inverse, missing)))
    even = children.each((parents @ bases.open) / children.count[:, None])
    return np.asarray(fixed + final @ bases.measured.T + even @ bases.open.T)


def _scored(weighted: FloatArray, kind: IntArray, values: FloatArray) -> FloatArray:
    if len(weighted) == 1:
        return np.asarray(values @ weighted[0].T)
    found = np.empty((*values.shape[:-1], weighted.shape[1]))
    for each, own in enumerate(weighted):
        found[..., kind == each, :] = values[..., kind == each, :] @ own.T
    return found


def _require_known(information: FloatArray, kind: IntArray, names: tuple[str, tuple[str, ...]]) -> None:
    """Raise where a node has no information on what others of its level measure."""
    if not information.shape[-1]:
        return
    sizes = np.linalg.eigvalsh(information)
    lacking = np.flatnonzero((sizes[:, 0] <= NEGLIGIBLE * sizes[:, -1].max(initial=0))[kind])
    if lacking.size:
        level, codes = names
        raise DataError(
            f"{level} {codes[lacking[0]]!r} was not measured as others of its level are, and nothing below it"
            " makes up for that: leave the level out, or what others alone have."
        )


def _times(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return each matrix times its vector."""
    return np.asarray((matrices @ vectors[..., None])[..., 0])


def _inverse(matrices: FloatArray) -> FloatArray:
    """Return the inverse of each symmetric matrix, symmetric again."""
    found = np.asarray(np.linalg.inv(matrices), dtype=np.float64)
    return np.asarray((found + found.swapaxes(-1, -2)) / 2)
