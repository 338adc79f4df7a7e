"""The small problem that is behind a question about a large histogram.

Where queries treat some levels of an attribute alike, exchanging these levels changes nothing but the names
of measurements. So the best linear unbiased estimate of what treats them alike as well is made of sums over
them: levels fall into classes, cells into products of classes, and a query that lists all levels of an
attribute is known by the sum over each class, whose noise is that of all its values together. What is asked
of two of eight attributes is so a problem over the classes of two, and of one class of each other, whatever
its size.

Levels are in one class where no recode, known sum or question tells them apart. A query of all levels tells
none apart: it is the same query after any exchange.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp, log, sqrt

import numpy as np
from scipy.sparse import csr_array, eye_array, kron, vstack

from holdfast.data.geography import Regions
from holdfast.data.nmf.opened import KnownQuery, MeasuredSums, Noise, OpenedMeasurements
from holdfast.data.nmf.queries import HistogramQuery, over_classes
from holdfast.data.schema import Attributes, Schema
from holdfast.estimation.hierarchy.linear import LevelMeasurements, estimate
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.mechanisms.topdown.best_linear import MeasuredNodes
from holdfast.mechanisms.topdown.design import MeasuredQuery
from holdfast.mechanisms.topdown.measurements import WIDE, Measurement
from holdfast.system.errors import ReleaseError
from holdfast.system.text import counted

MOST_CELLS, MOST_NUMBERS = 4_000, 400_000_000
"""Cells of a node, and entries of the covariances of all nodes, that fit a laptop."""


@dataclass(frozen=True, eq=False)
class ReducedHistogram:
    """Opened measurements over the classes that some questions need.

    Attributes:
        opened: all of them.
        classes: for each attribute the class of every level.

    """

    opened: OpenedMeasurements
    classes: tuple[IntArray, ...]

    @classmethod
    def of(
        cls,
        opened: OpenedMeasurements,
        each: Collection[str],
        chosen: Sequence[Mapping[str, tuple[str, ...]]] = (),
    ) -> "ReducedHistogram":
        """Return what tells all levels of some attributes apart, and those that are chosen from others."""
        told = [*opened.queries, *(known.query for known in opened.exact), *opened.zeros]
        classes = []
        for place, (name, levels) in enumerate(opened.histogram.levels.items()):
            signs: list[tuple[object, ...]] = [() for _ in levels]
            groupings = [query.groups[place] for query in told]
            groupings += [{"": tuple(map(levels.index, some[name]))} for some in chosen if name in some]
            for groups in groupings:
                if groups is None or _is_whole(groups, len(levels)):
                    continue
                of = {level: new for new, some in groups.items() for level in some}
                signs = [(*sign, of.get(level)) for level, sign in enumerate(signs)]
            if name in each:
                signs = [(level,) for level in range(len(levels))]
            known: dict[tuple[object, ...], int] = {}
            classes.append(np.array([known.setdefault(sign, len(known)) for sign in signs], dtype=np.int64))
        return cls(opened, tuple(classes))

    def where(self, chosen: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        """Return a choice of levels as one of classes."""
        found = {}
        for name, some in chosen.items():
            if name not in self.opened.histogram.levels:
                found[name] = some
                continue
            place = self.opened.histogram.names.index(name)
            levels = self.opened.histogram.levels[name]
            own = {int(self.classes[place][levels.index(level)]) for level in some}
            found[name] = tuple(self.labels[place][each] for each in sorted(own))
        return found

    @cached_property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """What the classes of each attribute are called: by the levels in them."""
        found = []
        for of, levels in zip(self.classes, self.opened.histogram.levels.values(), strict=True):
            members = [[levels[at] for at in np.flatnonzero(of == each)] for each in range(int(of.max()) + 1)]
            found.append(
                tuple(some[0] if len(some) == 1 else f"{some[0]}, {len(some)} levels" for some in members)
            )
        return tuple(found)

    @property
    def width(self) -> int:
        """The number of cells of a node."""
        return int(np.prod([of.max() + 1 for of in self.classes], dtype=np.int64))

    @property
    def fits(self) -> bool:
        """Whether the covariances of all nodes do."""
        return self.width <= MOST_CELLS and self.width**2 * sum(self.opened.sizes) <= MOST_NUMBERS

    @cached_property
    def regions(self) -> Regions:
        """The geography, with the classes as cells."""
        names = self.opened.histogram.names
        cells = Schema(Attributes.of(dict(zip(names, self.labels, strict=True)))) if names else None
        leaves = self.opened.sizes[-1]
        return Regions(self.opened.spine, cells, np.ones((leaves, self.width), dtype=np.bool_))

    @cached_property
    def nodes(self) -> MeasuredNodes:
        """The best linear unbiased estimates of all nodes; raises ReleaseError where they do not fit."""
        if not self.fits:
            raise ReleaseError(
                f"what is asked takes {counted(self.width, 'cell')} at"
                f" {counted(sum(self.opened.sizes), 'node')},"
                " whose covariances do not fit: ask for fewer attributes at once, or open a part of the"
                " geography."
            )
        known, measurements, rows, times = [], list[Measurement](), list[int](), list[IntArray]()
        for place in range(len(self.opened.sizes)):
            level, laws, numbers_of, own = self._level(place)
            known.append(level)
            measurements += laws
            rows += numbers_of
            times += own
        found = estimate(self.opened.spine, known)
        return MeasuredNodes(self.regions, found, measurements, rows, {}, times)

    def _level(self, place: int) -> tuple[LevelMeasurements, list[Measurement], list[int], list[IntArray]]:
        """Return what is known of a level, the laws of its noises kind by kind, their rows and multiples."""
        opened, nodes = self.opened, self.opened.sizes[place]
        measured = [each for each in opened.measured if each.level == place]
        apart = np.full((nodes, len(measured)), np.inf)
        for at, each in enumerate(measured):
            apart[each.nodes, at] = each.variances
        kinds, kind = np.unique(apart, axis=0, return_inverse=True)
        parts = [self._summed(each) for each in measured]
        laws, sizes, own = list[Measurement](), list[int](), list[IntArray]()
        variances = []
        for line in kinds:
            row = []
            for each, (_, _, number), variance in zip(measured, parts, line.tolist(), strict=True):
                law = _law(place, each.query, opened.noise, variance)
                laws.append(law)
                sizes.append(number.size)
                own.append(number)
                row.append(number * (law.variance if np.isfinite(variance) else np.inf))
            variances.append(np.concatenate([np.zeros(0), *row]))
        exact = [self._exact(each) for each in opened.exact if each.level == place]
        zero = self._zeros
        level = LevelMeasurements.of(
            nodes,
            self.width,
            queries=csr_array(vstack([matrix for matrix, _, _ in parts], format="csr")) if parts else None,
            values=np.hstack([values for _, values, _ in parts]) if parts else None,
            variances=np.stack(variances) if parts else None,
            invariants=csr_array(vstack([zero, *(matrix for matrix, _ in exact)], format="csr")),
            exact=np.hstack([np.zeros((nodes, zero.shape[0])), *(values for _, values in exact)]),
            kind=kind.ravel() if parts else None,
        )
        return level, laws, sizes, own

    def _summed(self, each: MeasuredSums) -> tuple[csr_array, FloatArray, IntArray]:
        """Return a measured query over the classes, its values, and how many noises each of them has."""
        matrix, onto = self._over(self.opened.queries[each.query])
        values = np.zeros((self.opened.sizes[each.level], onto.shape[0]))
        values[each.nodes] = each.values @ onto.T
        return matrix, values, np.asarray(onto.sum(axis=1), dtype=np.int64).ravel()

    def _exact(self, each: KnownQuery) -> tuple[csr_array, FloatArray]:
        matrix, onto = self._over(each.query)
        return matrix, np.asarray(each.values @ onto.T, dtype=np.float64)

    def _over(self, query: HistogramQuery) -> tuple[csr_array, csr_array]:
        """Return the rows of a query over cells of classes, and what sums up its values to these rows."""
        rows, onto = (csr_array(np.ones((1, 1), dtype=np.int64)) for _ in range(2))
        for groups, of in zip(query.groups, self.classes, strict=True):
            number = int(of.max()) + 1
            if groups is not None and _is_whole(groups, of.size):
                part = csr_array(eye_array(number, dtype=np.int64))
                own = of[[level for (level,) in groups.values()]]
                sums = csr_array((np.ones(of.size, dtype=np.int64), (own, np.arange(of.size))))
            else:
                part = over_classes(HistogramQuery("", (groups,)), (of,))
                sums = csr_array(eye_array(part.shape[0], dtype=np.int64))
            rows, onto = csr_array(kron(rows, part, format="csr")), csr_array(kron(onto, sums, format="csr"))
        return rows, onto

    @cached_property
    def _zeros(self) -> csr_array:
        """A row for each cell that is 0 in all tables."""
        inside = np.zeros(self.width, dtype=np.bool_)
        for query in self.opened.zeros:
            inside |= np.asarray(self._over(query)[0].sum(axis=0)).ravel() > 0
        return csr_array(csr_array(eye_array(self.width, dtype=np.int64))[np.flatnonzero(inside)])


def _is_whole(groups: Mapping[str, tuple[int, ...]], size: int) -> bool:
    """Whether groups are all levels, each by itself."""
    return len(groups) == size and all(len(some) == 1 for some in groups.values())


def _law(level: int, query: int, noise: Noise, variance: float) -> Measurement:
    """Return the law of discrete noise of a variance; any for what was not measured."""
    known = variance if np.isfinite(variance) else 1.0
    scale = laplace_scale(known) if noise == "laplace" else gaussian_scale(known)
    return Measurement(MeasuredQuery(level, query, 1, attained=False), noise, scale, Fraction(0))


def laplace_scale(variance: float) -> Fraction:
    """Return 1 / kappa of the discrete Laplace law: its variance is 2 a / (1 - a)^2, a = exp(-kappa)."""
    a = (variance + 1 - sqrt(2 * variance + 1)) / variance
    return Fraction(-1 / log(a))


def gaussian_scale(variance: float) -> Fraction:
    """Return sigma^2 of the discrete Gaussian law: its variance, but for narrow noise."""
    if variance > WIDE**2:
        return Fraction(str(variance))
    low, high = 1e-3, WIDE**2 + 1
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        weights = [exp(-z * z / (2 * middle)) for z in range(1, 400)]
        found = 2 * sum(z * z * w for z, w in enumerate(weights, start=1)) / (1 + 2 * sum(weights))
        low, high = (middle, high) if found < variance else (low, middle)
    return Fraction((low + high) / 2)
