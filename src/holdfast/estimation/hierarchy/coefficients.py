"""What the error of an estimate is made of: each noise of a measurement times a coefficient.

The two passes [holdfast, estimation/hierarchy/linear.py] are linear, so their adjoint tells by how much each
measurement moves a query. **Up** the paths of the nodes that are asked for: weights w_i on children of one
parent put v = S^-1 (P_1 w_1 + ... + P_n w_n) on their parent's table and w_i - v on each child's own estimate
m_i, which is -v where nothing is asked of a child. **Down** from the root: weights u on m of a node put
V^-1 W P u on its own measurements and S^-1 P u more on the m of each of its children.

Children that are not asked for, with the same number of children of the same kinds and so on, have the same
coefficients: one of them stands for all. A subtree with a negligible part u'P u in the variance is not
entered: its part is told instead, and bounds that of each noise in it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from holdfast.estimation.hierarchy.linear import Estimates
from holdfast.estimation.hierarchy.variances import NodeWeights
from holdfast.lattice.arrays import FloatArray, IntArray

ROUNDING = 1e-20
"""A variance this small beside the largest is that of a coefficient which is 0 but for rounding."""


@dataclass(frozen=True, eq=False)
class Coefficients:
    """The error of one estimate: sums of independent noises, each with a coefficient.

    Attributes:
        level: the place of the level of each listed noise.
        row: its place among the queries that were measured on this level, those of each kind of nodes after
            those of the kind before it.
        size: the absolute value of its coefficient, above 0.
        times: how many independent noises there are like this one.
        rest: the variance of all noises that are not listed.
        largest: the largest variance that one of these may have.

    """

    level: IntArray
    row: IntArray
    size: FloatArray
    times: IntArray
    rest: float
    largest: float


@dataclass(frozen=True, eq=False)
class _LevelWeights:
    """Weights on nodes of a level, in its coordinates: w for each node, v for the parent of each."""

    nodes: IntArray
    w: FloatArray
    parents: IntArray
    v: FloatArray


@dataclass(frozen=True, eq=False)
class _Front:
    """Nodes of a level with the weights u on their m (node, query, coordinate), each for so many alike."""

    nodes: IntArray
    times: IntArray
    u: FloatArray


@dataclass(frozen=True, eq=False)
class EstimateTree:
    """Estimates with the kinds of their nodes: nodes of one kind have subtrees of the same form."""

    estimates: Estimates
    _families: dict[tuple[int, int], tuple[IntArray, IntArray, int]] = field(default_factory=dict, repr=False)

    @cached_property
    def kinds(self) -> tuple[IntArray, ...]:
        """The kind of each node, root first: alike if they and their children were measured alike."""
        siblings, upward = self.estimates.siblings, self.estimates.upward
        found = [upward[-1].kind]
        for children, level in zip(reversed(siblings), reversed(upward[:-1]), strict=True):
            known: dict[tuple[int, bytes], int] = {}
            parts = zip(level.kind.tolist(), np.split(found[-1], children.starts[1:]), strict=True)
            kinds = [known.setdefault((own, np.sort(part).tobytes()), len(known)) for own, part in parts]
            found.append(np.array(kinds, dtype=np.int64))
        return tuple(reversed(found))

    def paths(self, place: int) -> IntArray:
        """Return, for each node of a level, a number that is the same where all nodes on its path are alike.

        Such nodes have the same coefficients for the same query.
        """
        found = np.zeros(1, dtype=np.int64)
        for children, kinds in zip(self.estimates.siblings[:place], self.kinds[1:], strict=False):
            pairs = np.stack([found[children.parent], kinds], axis=1)
            found = np.unique(pairs, axis=0, return_inverse=True)[1].ravel()
        return found

    def coefficients(
        self, parts: Iterable[NodeWeights], variances: tuple[FloatArray, ...], negligible: float
    ) -> list[Coefficients]:
        """Return what the error of each query is made of.

        Args:
            parts: weights on some nodes; what measurements leave open must have no weight.
            variances: those of the noises, for each level one a row of its queries, kind after kind; anything
                for what a kind was not measured by.
            negligible: the part of the variance up to which a subtree is not entered.

        """
        asked = self._up(parts)
        by_level: dict[int, _LevelWeights] = {each: one for each, one in enumerate(asked) if one is not None}
        root = by_level[0]
        front = _Front(root.nodes, np.ones(1, dtype=np.int64), root.w)
        queries = root.w.shape[1]
        whole = np.einsum("fqk,fkl,fql->q", root.w, self.estimates.upward[0].covariance[root.nodes], root.w)
        # what errors of the root do not explain, families add: no part of them is negative
        for place in range(1, len(asked)):
            whole = whole + self._of_families(place, by_level.get(place), queries)
        rest, largest = np.zeros(queries), np.zeros(queries)
        found: list[tuple[int, FloatArray, IntArray]] = []
        for place, level in enumerate(self.estimates.upward):
            Pu = front.u @ level.covariance[front.nodes]
            share = (Pu * front.u).sum(axis=2)
            here = by_level.get(place)
            entered = (share > negligible * whole).any(axis=1)
            entered |= np.isin(front.nodes, here.nodes) if here is not None else False
            rest = rest + front.times[~entered] @ share[~entered]
            largest = np.maximum(largest, share[~entered].max(axis=0, initial=0))
            own = _by_kind(Pu[entered], level.weighted, level.kind[front.nodes[entered]])
            found.append((place, np.abs(own), front.times[entered]))
            if place + 1 == len(asked) or not entered.any():
                break
            inner = _Front(front.nodes[entered], front.times[entered], Pu[entered])
            front = self._down(place + 1, inner, by_level.get(place + 1))
        return [
            _listed(found, query, variances, float(rest[query]), float(largest[query]))
            for query in range(queries)
        ]

    def _up(self, parts: Iterable[NodeWeights]) -> list[_LevelWeights | None]:
        """Return the weights that climb from level to level, root first."""
        estimates = self.estimates
        given: dict[int, list[NodeWeights]] = {}
        for part in parts:
            given.setdefault(estimates.spine.levels.axis(part.level), []).append(part)
        asked: list[_LevelWeights | None] = []
        nodes = np.zeros(0, dtype=np.int64)
        weights: FloatArray | None = None
        for place in reversed(range(len(estimates.tables))):
            for part in given.get(place, []):
                both = part.weights if weights is None else np.concatenate([weights, part.weights])
                nodes, weights = _joined(np.concatenate([nodes, part.nodes]), both)
            if weights is None:
                asked.append(None)
                continue
            level = estimates.upward[place]
            basis, rest = level.spaces.measured, level.spaces.open
            w = weights @ basis
            if place == 0:
                asked.append(_LevelWeights(nodes, w, nodes[:0], w[:0]))
                break
            parents, starts = np.unique(estimates.siblings[place - 1].parent[nodes], return_index=True)
            v = np.add.reduceat(w @ level.covariance[nodes], starts, axis=0) @ level.inverse[parents]
            asked.append(_LevelWeights(nodes, w, parents, v))
            # what is open here has the same weight on all children of a parent, or the variance is infinite
            nodes, weights = parents, v @ basis.T + (weights[starts] @ rest) @ rest.T
        asked.reverse()
        return asked

    def _of_families(self, place: int, asked: _LevelWeights | None, queries: int) -> FloatArray:
        """Return what a level adds to its parents' variance [holdfast, estimation/hierarchy/variances.py]."""
        if asked is None:
            return np.zeros(queries)
        level, children = self.estimates.upward[place], self.estimates.siblings[place - 1]
        family = np.searchsorted(asked.parents, children.parent[asked.nodes])
        off, P = asked.w - asked.v[family], level.covariance[asked.nodes]
        others = level.total[asked.parents] - np.add.reduceat(P, np.unique(family, return_index=True)[1])
        found = np.einsum("nqk,nkl,nql->q", off, P, off)
        return np.asarray(found + np.einsum("nqk,nkl,nql->q", asked.v, others, asked.v).clip(0))

    def _down(self, place: int, above: _Front, asked: _LevelWeights | None) -> _Front:
        """Return the children of nodes, whose ``u`` is already times P, alike ones together."""
        estimates = self.estimates
        level = estimates.upward[place]
        onto = level.spaces.measured.T @ estimates.upward[place - 1].spaces.measured
        base = (above.u @ onto.T) @ level.inverse[above.nodes]
        nodes, times, source, less = [], [], [], []
        for at, parent in enumerate(above.nodes.tolist()):
            some = asked is not None and parent in asked.parents
            first, number, size = self._alike(
                place, parent, asked.nodes if asked is not None and some else None
            )
            nodes.append(first)
            times.append(number * above.times[at])
            source.append(np.full(size, at))
            less.append(np.full(size, int(np.searchsorted(asked.parents, parent)) if asked and some else -1))
        which, family = np.concatenate(nodes), np.concatenate(less)
        u = base[np.concatenate(source)]
        if asked is not None:
            u = np.where((family >= 0)[:, None, None], u - asked.v[family], u)
            own = np.searchsorted(asked.nodes, which).clip(max=asked.nodes.size - 1)
            mine = asked.nodes[own] == which
            u[mine] += asked.w[own[mine]]
        return _Front(which, np.concatenate(times), u)

    def _alike(self, place: int, parent: int, apart: IntArray | None) -> tuple[IntArray, IntArray, int]:
        """Return a child of each kind of a parent and how many there are; some nodes stand for themselves."""
        if apart is None and (place, parent) in self._families:
            return self._families[place, parent]
        children = self.estimates.siblings[place - 1]
        begin = int(children.starts[parent])
        own = np.arange(begin, begin + int(children.count[parent]))
        alone = own[:0] if apart is None else own[np.isin(own, apart)]
        others = own if apart is None else own[~np.isin(own, apart)]
        _, first, number = np.unique(self.kinds[place][others], return_index=True, return_counts=True)
        nodes = np.concatenate([alone, others[first]])
        found = nodes, np.concatenate([np.ones(alone.size, dtype=np.int64), number]), nodes.size
        if apart is None:
            self._families[place, parent] = found
        return found


def _by_kind(Pu: FloatArray, weighted: FloatArray, kind: IntArray) -> FloatArray:
    """Return the coefficients of measurements of some nodes: those of other kinds are 0."""
    if len(weighted) == 1:
        return np.asarray(Pu @ weighted[0])
    nodes, queries, rows = *Pu.shape[:2], weighted.shape[2]
    found = np.zeros((nodes, queries, len(weighted), rows))
    found[np.arange(nodes), :, kind] = Pu @ weighted[kind]
    return found.reshape(nodes, queries, -1)


def _joined(nodes: IntArray, weights: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return nodes once each, rising, with the sums of their weights."""
    order = np.argsort(nodes, kind="stable")
    found, starts = np.unique(nodes[order], return_index=True)
    return found, np.add.reduceat(weights[order], starts, axis=0)


def _listed(
    found: list[tuple[int, FloatArray, IntArray]],
    query: int,
    variances: tuple[FloatArray, ...],
    rest: float,
    largest: float,
) -> Coefficients:
    """Return the noises of one query in one list, without those that have no part in it."""
    sizes = [own[:, query].ravel() for _, own, _ in found]
    rows = [np.tile(np.arange(own.shape[2]), own.shape[0]) for _, own, _ in found]
    levels = [np.full(size.size, place) for (place, _, _), size in zip(found, sizes, strict=True)]
    times = [np.repeat(times, own.shape[2]) for _, own, times in found]
    size, row = np.concatenate(sizes), np.concatenate(rows)
    level, number = np.concatenate(levels), np.concatenate(times)
    offsets = np.cumsum([0, *(len(each) for each in variances)])
    part = size**2 * np.concatenate(variances)[offsets[level] + row]
    kept = part > ROUNDING * part.max(initial=0)
    return Coefficients(level[kept], row[kept], size[kept], number[kept], rest, largest)
