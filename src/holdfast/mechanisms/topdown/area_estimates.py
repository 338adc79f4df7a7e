"""Estimates of areas off the spine, for intervals: from the nodes that make one up, and from its own sums.

The best linear unbiased estimates of all nodes [holdfast, estimation/hierarchy/linear.py] rest on the spine
alone. An area is the sum of its largest whole nodes there; what was measured of the area itself has noise of
its own, so the two are put together by the inverses of their variances. Where invariants fix a sum of the
area, that is what it is. What is known or was measured of areas does not enter the estimates of nodes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from holdfast.data.geography import Regions
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.mechanisms.topdown.area_sums import AreaSums
from holdfast.mechanisms.topdown.measurements import Measurement

NEGLIGIBLE = 1e-9


@dataclass(frozen=True, eq=False)
class MeasuredArea:
    """What was measured of the areas of a kind by one query: its place among all measurements, and values."""

    place: int
    law: Measurement
    rows: FloatArray
    values: IntArray


@dataclass(frozen=True, eq=False)
class DirectEstimates:
    """Estimates of queries of one area from its own measurements and invariants.

    Attributes:
        estimate: of each query; 0 where nothing tells it.
        variance: 0 where invariants fix the query, infinite where nothing was measured of it.
        which: by query, the measurements whose noise is in the estimate, one for each noise.
        size: their coefficients.

    """

    estimate: FloatArray
    variance: FloatArray
    which: tuple[IntArray, ...]
    size: tuple[FloatArray, ...]

    def beside(self, estimate: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return estimates and variances together with others, independent of them, and the part of those."""
        part = np.ones(variance.size)
        told = np.isfinite(self.variance) & np.isfinite(variance) & (variance > 0)
        part[told] = self.variance[told] / (variance + self.variance)[told]
        part[np.isfinite(self.variance) & np.isinf(variance)] = 0.0
        part[self.variance == 0] = 0.0
        spine, mine = np.where(part > 0, variance, 0.0), np.where(part < 1, self.variance, 0.0)
        both = part**2 * spine + (1 - part) ** 2 * mine
        return part * estimate + (1 - part) * self.estimate, both, part


@dataclass(frozen=True, eq=False)
class AreaEstimates:
    """The areas of one kind, as nodes and by themselves."""

    regions: Regions
    kind: int
    measured: Sequence[MeasuredArea]
    known: Sequence[AreaSums]

    @property
    def codes(self) -> tuple[str, ...]:
        """The names of the areas."""
        return self.regions.areas[self.kind].codes

    def nodes(self, area: int) -> dict[str, IntArray]:
        """Return the largest nodes that lie in an area, by level."""
        found = {}
        for place, level in enumerate(self.regions.levels):
            inside = self._of[place] == area
            if place:
                inside &= self._of[place - 1][self.regions.spine.parent[place - 1]] != area
            if inside.any():
                found[level] = np.flatnonzero(inside)
        return found

    def direct(self, area: int, queries: FloatArray) -> DirectEstimates:
        """Return what was measured of an area itself, and what invariants say of it."""
        every = [self._direct(area, query) for query in queries]
        columns = list(zip(*every, strict=True))
        return DirectEstimates(np.array(columns[0]), np.array(columns[1]), columns[2], columns[3])

    @cached_property
    def _of(self) -> list[IntArray]:
        """The area of each node of each level, -1 where areas cut it."""
        return [self.regions.in_one_area(level, self.kind) for level in self.regions.levels]

    def _direct(self, area: int, query: FloatArray) -> tuple[float, float, IntArray, FloatArray]:
        none = np.zeros(0, dtype=np.int64), np.zeros(0)
        rows, values = self._known(area)
        if rows.size:
            weights = np.linalg.lstsq(rows.T, query, rcond=None)[0]
            if np.abs(weights @ rows - query).max(initial=0.0) < NEGLIGIBLE:
                return float(np.rint(weights @ values)), 0.0, *none
        found = list(self._of_query(area, query))
        if not found:
            return 0.0, np.inf, *none
        inverse = sum(1 / variance for _, variance, _, _ in found)
        parts = [1 / variance / inverse for _, variance, _, _ in found]
        which = np.concatenate([np.full(size.size, at) for _, _, at, size in found])
        size = np.concatenate([part * size for part, (_, _, _, size) in zip(parts, found, strict=True)])
        estimate = sum(part * value for part, (value, *_) in zip(parts, found, strict=True))
        return float(estimate), 1 / inverse, which, size

    def _of_query(self, area: int, query: FloatArray) -> Iterator[tuple[float, float, int, FloatArray]]:
        """Yield the estimate by each measured query that tells it, its variance, and its coefficients."""
        for each in self.measured:
            cells = each.rows.sum(axis=1)
            weights = (each.rows @ query) / np.maximum(cells, 1)
            if np.abs(weights @ each.rows - query).max(initial=0.0) < NEGLIGIBLE:
                some = weights != 0
                value = float(weights[some] @ each.values[area][some])
                variance = each.law.variance * float((weights**2).sum())
                if variance:
                    yield value, variance, each.place, np.abs(weights[some])

    def _known(self, area: int) -> tuple[FloatArray, FloatArray]:
        mine = [one for one in self.known if one.values is not None and area in one.areas]
        if not mine:
            return np.zeros((0, self.regions.width)), np.zeros(0)
        values = [
            one.values[int(np.flatnonzero(one.areas == area)[0])] for one in mine if one.values is not None
        ]
        return np.vstack([one.rows.toarray() for one in mine]).astype(np.float64), np.concatenate(
            values
        ).astype(float)
