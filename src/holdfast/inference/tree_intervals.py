"""Intervals around the best linear unbiased estimates of nodes, from the discrete law of their errors.

An estimate is linear in the measurements, so its error is a sum of their noises with known coefficients and
has a law that does not depend on the data [holdfast, estimation/hierarchy/coefficients.py]. The half-width is
one that this law reaches with the level at least [holdfast, inference/noise_sums.py]. Nodes whose paths to
the root are alike have the same law, which is worked out once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from holdfast.estimation.hierarchy.coefficients import Coefficients, EstimateTree
from holdfast.estimation.hierarchy.linear import Estimates
from holdfast.estimation.hierarchy.variances import NodeWeights, combined, union, variances
from holdfast.inference.noise_sums import NoiseSum
from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.mechanisms.topdown.area_estimates import AreaEstimates, DirectEstimates
from holdfast.mechanisms.topdown.measurements import Measurement
from holdfast.system.errors import SpecError
from holdfast.system.progress import steps

SMALL = 300
"""Nodes of a tree all of whose noises are listed."""
NEGLIGIBLE = (1e-4, 1e-6, 1e-8, 0.0)
"""Parts of a variance that are not looked into, one after the other until the bounds allow them."""
ROUNDED, ROUNDING = 1e-7, 1e-12
"""What rounding may do to an estimate: of coefficients, beside the standard deviation, and of the passes,
beside the largest estimate of the tree."""


@dataclass(frozen=True, eq=False)
class NodeIntervals:
    """The intervals estimate -+ half-width, each covering with the level at least.

    Attributes:
        estimate: the best linear unbiased ones; a whole number where invariants fix a sum of counts.
        variance: their variances; 0 where invariants fix the query, infinite where nothing measures it.
        half_width: 0 where invariants fix the query, infinite where nothing measures it.
        exact: whether no shorter half-width reaches the level.

    """

    estimate: FloatArray
    variance: FloatArray
    half_width: FloatArray
    exact: BoolArray

    @property
    def low(self) -> FloatArray:
        """The lower ends."""
        return np.asarray(self.estimate - self.half_width)

    @property
    def high(self) -> FloatArray:
        """The upper ends."""
        return np.asarray(self.estimate + self.half_width)

    @property
    def determined(self) -> BoolArray:
        """Whether the invariants fix the query: then the interval is a point, and certain."""
        return np.asarray(self.variance == 0)


@dataclass(frozen=True, eq=False)
class NodeLaws:
    """The laws of errors of estimates.

    Attributes:
        estimates: of all nodes.
        measurements: with their noise, in the order of the queries of each level, kind of nodes after kind.
        rows: how many queries each has at a node.
        times: for each row of each of them, how many independent noises it is the sum of; one where None.

    """

    estimates: Estimates
    measurements: Sequence[Measurement]
    rows: Sequence[int]
    times: Sequence[IntArray] | None = None
    _known: dict[object, tuple[float, bool]] = field(default_factory=dict, repr=False)

    @cached_property
    def _tree(self) -> EstimateTree:
        return EstimateTree(self.estimates)

    def at(self, level: str, queries: FloatArray, probability: Fraction) -> NodeIntervals:
        """Return an interval for each node (a row) of a level and each query (a row over the cells)."""
        _check(probability)
        Q = np.asarray(queries, dtype=np.float64)
        estimate, variance = self.estimates.at(level) @ Q.T, variances(self.estimates, level, Q)
        tree = self._tree
        _, first, alike = np.unique(
            tree.paths(self.estimates.spine.levels.axis(level)), return_index=True, return_inverse=True
        )
        half, exact = np.zeros((first.size, len(Q))), np.ones((first.size, len(Q)), dtype=np.bool_)
        for place, node in enumerate(steps(first, "working out the laws of errors", first.size)):
            part = NodeWeights(level, np.array([node]), Q[None])
            half[place], exact[place] = self._half_widths(tree, [part], variance[node], probability)
        half, exact = half[alike.ravel()], exact[alike.ravel()]
        return self._widened(estimate, variance, half, exact, _whole([Q]))

    def union(
        self, nodes: Mapping[str, IntArray], queries: FloatArray, probability: Fraction
    ) -> NodeIntervals:
        """Return an interval for each query of the sum of the tables of disjoint nodes, given by level."""
        return self.combined(union(self.estimates, nodes, queries), probability)

    def combined(self, parts: Sequence[NodeWeights], probability: Fraction) -> NodeIntervals:
        """Return an interval for each query of a sum of weights times the tables of nodes, of any levels."""
        _check(probability)
        estimate, variance = combined(self.estimates, parts)
        half, exact = self._half_widths(self._tree, parts, variance, probability)
        return self._widened(estimate, variance, half, exact, _whole([each.weights for each in parts]))

    def area(
        self, areas: AreaEstimates, area: int, queries: FloatArray, probability: Fraction
    ) -> NodeIntervals:
        """Return an interval for each query of an area, from its nodes and from its own measurements."""
        _check(probability)
        parts = union(self.estimates, areas.nodes(area), queries)
        direct = areas.direct(area, queries)
        estimate, variance, part = direct.beside(*combined(self.estimates, parts))
        half, exact = self._half_widths(self._tree, parts, variance, probability, (direct, part))
        return self._widened(estimate, variance, half, exact, _whole([queries]))

    def _widened(
        self, estimate: FloatArray, variance: FloatArray, half: FloatArray, exact: BoolArray, whole: BoolArray
    ) -> NodeIntervals:
        """Return intervals that rounding cannot make too short, and what is fixed as the number that it is.

        Counts are whole, and so is a sum of them with ``whole`` weights, whatever rounding left of it.
        """
        estimate = np.where((variance == 0) & whole, np.rint(estimate), estimate) + 0.0  # no -0.0
        some = (half < np.inf) & (variance > 0)
        largest = max(float(np.abs(table).max(initial=1.0)) for table in self.estimates.tables)
        slack = ROUNDED * np.sqrt(np.where(some, variance, 0)) + ROUNDING * largest
        return NodeIntervals(estimate, variance, np.where(some, half + slack, half), exact)

    def _half_widths(
        self,
        tree: EstimateTree,
        parts: Sequence[NodeWeights],
        variance: FloatArray,
        probability: Fraction,
        beside: tuple[DirectEstimates, FloatArray] | None = None,
    ) -> tuple[FloatArray, BoolArray]:
        half = np.where(variance == 0, 0.0, np.inf)
        exact = variance == 0
        open_ = np.flatnonzero((variance > 0) & np.isfinite(variance))
        small = sum(map(len, self.estimates.tables)) <= SMALL
        for negligible in NEGLIGIBLE[-1:] if small else NEGLIGIBLE:
            some = [NodeWeights(each.level, each.nodes, each.weights[:, open_]) for each in parts]
            left = []
            for query, law in zip(
                open_,
                self._sums(tree, some, negligible, open_.tolist(), beside) if open_.size else (),
                strict=True,
            ):
                key = (*law.key, probability)
                found = self._known.get(key) or law.half_width(probability)
                if found is None:
                    left.append(query)
                else:
                    self._known[key] = found
                    half[query], exact[query] = found
            open_ = np.array(left, dtype=np.int64)
        return half, exact

    def _sums(
        self,
        tree: EstimateTree,
        parts: Sequence[NodeWeights],
        negligible: float,
        queries: Sequence[int] = (),
        beside: tuple[DirectEstimates, FloatArray] | None = None,
    ) -> list[NoiseSum]:
        """Return the law of the error of each query; estimates ``beside`` have the other part of it."""
        levels = len(self.estimates.tables)
        offsets, by_level, alike = [], [], []
        for place in range(levels):
            mine = [at for at, each in enumerate(self.measurements) if each.of.level == place]
            by_level.append(np.repeat(mine, [self.rows[at] for at in mine]).astype(np.int64))
            offsets.append(sum(map(len, by_level[:-1])))
            multiples = [
                np.ones(self.rows[at], dtype=np.int64) if self.times is None else self.times[at]
                for at in mine
            ]
            alike.append(np.concatenate([np.zeros(0, dtype=np.int64), *multiples]))
        which, times = np.concatenate(by_level), np.concatenate(alike)
        each = np.array([law.variance for law in self.measurements])
        variances = tuple(each[some] * number for some, number in zip(by_level, alike, strict=True))
        found = tree.coefficients(parts, variances, negligible)
        starts = np.array(offsets)
        rows = [starts[one.level] + one.row for one in found]
        laws = [which[some] for some in rows]
        found = [replace(one, times=one.times * times[some]) for one, some in zip(found, rows, strict=True)]
        if beside is None:
            return [NoiseSum.of(self.measurements, law, one) for law, one in zip(laws, found, strict=True)]
        direct, of_spine = beside
        return [
            NoiseSum.of(self.measurements, *_both(law, one, of_spine[query], direct, query))
            for query, law, one in zip(queries, laws, found, strict=True)
        ]


def _both(
    which: IntArray, found: Coefficients, part: float, direct: DirectEstimates, query: int
) -> tuple[IntArray, Coefficients]:
    """Return the noises of a part of one estimate, and of what is left of another one."""
    own, size = direct.which[query], (1 - part) * direct.size[query]
    own, size = (own, size) if part < 1 else (own[:0], size[:0])
    some = slice(None) if part > 0 else slice(0)
    none = np.zeros(size.size, dtype=np.int64)
    return np.concatenate([which[some], own]), Coefficients(
        np.concatenate([found.level[some], none]),
        np.concatenate([found.row[some], none]),
        np.concatenate([part * found.size[some], size]),
        np.concatenate([found.times[some], np.ones_like(none)]),
        part**2 * found.rest,
        part**2 * found.largest,
    )


def _whole(weights: Sequence[FloatArray]) -> BoolArray:
    """Return which queries, the last axis but one, have whole weights alone."""
    fractions = [(each != np.rint(each)).any(axis=-1) for each in weights]
    found = [each.reshape(-1, each.shape[-1]).any(axis=0) for each in fractions]
    return np.asarray(~np.any(found, axis=0))


def _check(probability: Fraction) -> None:
    # users say level, as in a level of confidence; here a level is one of the geography
    if not 0 < probability < 1:
        raise SpecError(f"the level is {probability}: give a probability between 0 and 1, such as 0.9.")
