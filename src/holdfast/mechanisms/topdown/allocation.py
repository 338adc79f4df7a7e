"""Shares of the budget: by level, and within a level by query; given, equal, or those with small errors.

Measurements of a level with the share x have weights in the spaces of the geography and of the sets of
attributes of the cells that grow as x does [holdfast, mechanisms/weights/spaces.py]. So the sum of the mean
variances of the best linear unbiased estimates of what is asked for is a convex function of the shares,
and is minimised as such [holdfast, mechanisms/weights/optimum.py]. Bounds and structural zeros, and
invariants that are no margins, are left out: this settles shares, and no claim rests on it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Literal

import numpy as np

from holdfast.data.node_queries import NodeQuery
from holdfast.lattice.arrays import FloatArray
from holdfast.lattice.margins import LevelledAxis, MarginStrategy, Reading
from holdfast.lattice.rows import independent_rows
from holdfast.mechanisms.topdown.design import MeasurementDesign, below
from holdfast.mechanisms.topdown.options import Aim
from holdfast.mechanisms.weights.optimum import Variances, WeightProgram, least_variance
from holdfast.mechanisms.weights.spaces import MOST_SPACES, Spaces
from holdfast.system.errors import SpecError
from holdfast.system.text import closest
from holdfast.system.ways import setting

Weights = Sequence[Sequence[Fraction]]
"""The weights of each query within the levels, root first."""


@dataclass(frozen=True)
class Allocation:
    """The share of each level, root first, and the part of each query in the share of every level."""

    levels: tuple[Fraction, ...]
    weights: tuple[tuple[Fraction, ...], ...]

    @classmethod
    def of(cls, design: MeasurementDesign, levels: tuple[Fraction, ...], weights: Weights) -> "Allocation":
        """Return what levels and weights come to.

        A query that is not measured on a level, as invariants fix it, leaves its part to the others there.
        """
        parts = [[Fraction(0)] * len(levels) for _ in weights]
        totals = [Fraction(0)] * len(levels)
        for each in design.measured:
            totals[each.level] += weights[each.query][each.level]
        for each in design.measured:
            if weight := weights[each.query][each.level]:
                parts[each.query][each.level] = weight / totals[each.level]
        return cls(levels, tuple(map(tuple, parts)))

    def shares(self, design: MeasurementDesign) -> tuple[Fraction, ...]:
        """Return the share of everything that is measured; they sum to 1."""
        return tuple(
            self.levels[each.level] * self.weights[each.query][each.level] for each in design.measured
        )


def measured_levels(design: MeasurementDesign, weights: Weights) -> list[int]:
    """Return the levels where something is measured with a weight."""
    return sorted({each.level for each in design.measured if weights[each.query][each.level]})


def levels_of(
    design: MeasurementDesign, weights: Weights, asked: Mapping[str, Fraction] | Literal["equal"]
) -> tuple[Fraction, ...]:
    """Return the share of each level, root first; raises SpecError where they do not fit the geography."""
    names, spine = tuple(design.regions.places), len(design.regions.levels)
    measured = measured_levels(design, weights)
    if not any(level < spine for level in measured):
        raise SpecError(
            f"{setting('mechanism.queries')} asks for nothing but what the invariants fix: ask for a larger"
            " marginal."
        )
    if asked == "equal":
        levels = [level for level in measured if level < spine]
        return tuple(Fraction(int(level in levels), len(levels)) for level in range(len(names)))
    _require_levels(names, asked, spine)
    for level, name in enumerate(names):
        if asked.get(name) and level not in measured:
            raise SpecError(
                f"{setting('mechanism', 'allocation')} gives {name} {asked[name]}, and all that is asked of"
                f' it is fixed by the invariants or has no weight there: give {name} "0", and its'
                " share to other levels."
            )
    return tuple(asked.get(name, Fraction(0)) for name in names)


def _require_levels(names: Sequence[str], asked: Mapping[str, Fraction], spine: int) -> None:
    """Raise where a name is that of no level or areas, or a level of the spine has no share."""
    for name in asked:
        if name not in names:
            raise SpecError(
                f"{setting('mechanism', 'allocation')} names {name!r}, which is no level of the geography:"
                f" {closest(name, names)}"
            )
    for name in names[:spine]:
        if name not in asked:
            raise SpecError(
                f"{setting('mechanism', 'allocation')} has no share for the level {name!r}: give one, as"
                ' "1/4", or "0".'
            )


PARTS = 1000
"""Shares are whole numbers of this many parts."""
UNSEEN = 1e-9
"""The weight of a cell, next to that of all that is measured: no variance is endless."""


def optimised(design: MeasurementDesign, weights: Weights, aims: Sequence[Aim]) -> tuple[Fraction, ...]:
    """Return the shares of the levels, root first, that make the errors of the aims least."""
    for query in design.queries:
        if not query.plain:
            raise SpecError(
                f'{setting("mechanism", "allocation")} = "optimise" is for marginals of the cells as they'
                f" are, and {query.name} puts levels together or leaves some out: give shares by level."
            )
    asked = _weighted_queries(design, aims)
    measured = [level for level in measured_levels(design, weights) if level < len(design.regions.levels)]
    if len(measured) < 2:
        return levels_of(design, weights, "equal")  # nothing to choose
    tree = _Tree.of(design)
    spaces = Spaces.of(tree.kept(design))
    sums = np.array([spaces.sums(tree.reading(level, query)) for level, query, _ in asked])
    known = ~sums.any(axis=1)
    if known.all():
        return levels_of(design, weights, "equal")  # invariants fix all of it
    per_share = np.zeros((len(spaces.readings), len(measured)))
    for column, level in enumerate(measured):
        here = [each for each in design.measured if each.level == level]
        total = sum((weights[each.query][level] for each in here), Fraction(0))
        for each in here:
            seen = spaces.measured(tree.reading(level, design.queries[each.query]))
            per_share[:, column] += float(weights[each.query][level] / total) / each.sensitivity * seen
    shared = _Shared(spaces.variances, per_share + UNSEEN * per_share.max())
    start = np.full(len(measured), 0.5 / len(measured))
    program = WeightProgram(shared, np.ones((1, len(measured))), np.zeros(len(measured)), start)
    found = least_variance(program, sums[~known], np.array([weight for *_, weight in asked])[~known]).weights
    parts = np.maximum(np.rint(PARTS * found / found.sum()).astype(int), 1)
    parts[int(np.argmax(parts))] += PARTS - int(parts.sum())
    shares = [Fraction(0)] * len(design.regions.numbers)
    for level, part in zip(measured, parts.tolist(), strict=True):
        shares[level] = Fraction(part, PARTS)
    return tuple(shares)


def _weighted_queries(design: MeasurementDesign, aims: Sequence[Aim]) -> list[tuple[int, NodeQuery, float]]:
    names = design.regions.levels
    found = []
    for aim in aims:
        if aim.level not in names:
            raise SpecError(
                f"{setting('mechanism.optimise_for', 'level')} is {aim.level!r}, which is no level of the"
                f" geography: {closest(aim.level, names)}"
            )
        query = NodeQuery.of(aim.marginal, design.regions, key="mechanism.optimise_for")
        found.append((names.index(aim.level), query, float(aim.weight)))
    return found or [(level, query, 1.0) for level in range(len(names)) for query in design.queries]


@dataclass(frozen=True, eq=False)
class _Shared:
    """Variances of spaces whose weights are linear in shares."""

    variances: Variances
    per_share: FloatArray

    def at(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the variances and their derivatives by share."""
        found, slopes = self.variances.at(self.per_share @ weights)
        return found, slopes @ self.per_share

    def curvature(self, weights: FloatArray, of: FloatArray) -> FloatArray:
        """Return the second derivatives by share."""
        found = self.variances.curvature(self.per_share @ weights, of)
        return np.asarray(self.per_share.T @ found @ self.per_share)


@dataclass(frozen=True, eq=False)
class _Tree:
    """A geography as an axis, its nodes by level as partitions of the leaves, and the attributes of cells."""

    names: tuple[str, ...]
    axes: tuple[LevelledAxis, ...]
    levels: tuple[int, ...]
    """The level of the axis that each level of the geography is; levels of the same nodes are one."""

    @classmethod
    def of(cls, design: MeasurementDesign) -> "_Tree":
        regions = design.regions
        leaves = np.arange(regions.sizes[-1])
        nodes = [leaves]
        for parent in reversed(regions.spine.parent):
            nodes.insert(0, parent[nodes[0]])
        axis = LevelledAxis.of(leaves.size, nodes)
        assert axis is not None  # noqa: S101 - each level is finer than the one above
        sizes = [len(regions.cells.attribute(name).levels) for name in regions.names if regions.cells]
        others = [one for size in sizes if (one := LevelledAxis.of(size, ())) is not None]
        if (axis.depth + 1) * prod(one.depth + 1 for one in others) > MOST_SPACES:
            raise SpecError(
                f'{setting("mechanism", "allocation")} = "optimise" is not for so many attributes as'
                f" {len(others)}: give shares by level."
            )
        return cls(regions.names, (axis, *others), tuple(map(axis.level, nodes)))

    def reading(self, level: int, query: NodeQuery) -> Reading:
        """Return how a query of the nodes of a level reads the axes."""
        own = (
            int(name in query.marginal) * one.depth
            for name, one in zip(self.names, self.axes[1:], strict=True)
        )
        return (self.levels[level], *own)

    def kept(self, design: MeasurementDesign) -> MarginStrategy:
        """Return what is known of nodes: a sum of their cells as if it were the total, or all cells."""
        sizes, found = design.regions.sizes, []
        for level, place in enumerate(self.levels):
            if rank := independent_rows(below(design.kept, sizes, level)).size:
                whole = rank >= design.regions.width
                found.append((place, *(one.depth * whole for one in self.axes[1:])))
        return MarginStrategy(self.axes, tuple(found), ())
