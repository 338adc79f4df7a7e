"""Confidence intervals at any level of a geography, from the measurements of a top-down release.

The best linear unbiased estimates use all measurements and all invariants, so they have no bias where the
estimated table has one, and no interval is longer than without the invariants
[holdfast, estimation/hierarchy/linear.py].
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from holdfast.data.geography import Regions
from holdfast.data.invariants import margin_levels, margin_matrix
from holdfast.inference.notebook import FramedReport
from holdfast.inference.tree_intervals import NodeIntervals, NodeLaws
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.mechanisms.topdown.area_estimates import AreaEstimates
from holdfast.mechanisms.topdown.best_linear import MeasuredNodes
from holdfast.system.errors import SpecError
from holdfast.system.progress import steps
from holdfast.system.text import closest
from holdfast.system.ways import option

FORMAT = "holdfast-node-intervals/1"
NUMBERS = ("estimate", "standard_error", "low", "high", "kept_exactly", "coverage")
"""The columns of intervals beside those of nodes and cells."""
EXACT, AT_LEAST = "exact", "at least"
"""What the coverage of an interval is: the level by the shortest interval that has it, or no less than it."""


@dataclass(frozen=True, eq=False)
class NodeReport(FramedReport):
    """Estimates with intervals: a row for each node, or for some together, and each cell of a marginal."""

    place: str
    """The level of the nodes, or what the nodes are that were put together."""
    codes: tuple[str, ...]
    names: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    where: Mapping[str, tuple[str, ...]]
    found: NodeIntervals
    """One row a node, one column a cell."""
    level: Fraction
    together: bool

    def to_frame(self) -> pl.DataFrame:
        """Return a row for each interval: its node, its cell, the estimate and its interval."""
        nodes, cells = self.found.estimate.shape
        columns = {
            self.place: pl.Series(self.codes, dtype=pl.String).gather(np.repeat(np.arange(nodes), cells))
        }
        for i, name in enumerate(self.names):
            if name in (*NUMBERS, self.place):
                raise SpecError(
                    f"the column {name!r} of intervals is also an attribute: give the attribute another name."
                )
            levels = pl.Series([cell[i] for cell in self.cells], dtype=pl.String)
            columns[name] = levels.gather(np.tile(np.arange(cells), nodes))
        found = self.found
        told = np.where(found.exact, EXACT, AT_LEAST)
        numbers = (found.estimate, np.sqrt(found.variance), found.low, found.high, found.determined, told)
        for name, values in zip(NUMBERS, numbers, strict=True):
            columns[name] = pl.Series(np.asarray(values).ravel())
        return pl.DataFrame(columns)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name; what nothing measures has no bounds."""
        keys = (self.place, *self.names)
        rows = [
            {
                "cell": {name: row[name] for name in keys},
                **{name: _finite(row[name]) for name in NUMBERS},
            }
            for row in self.to_frame().iter_rows(named=True)
        ]
        return {
            "format": FORMAT,
            "level": str(self.level),
            "simultaneous": self.together,
            "where": {name: list(some) for name, some in self.where.items()},
            "rows": rows,
        }


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value


def node_intervals(
    nodes: MeasuredNodes,
    *,
    level: str | None,
    codes: Sequence[str],
    margin: Sequence[str] | None,
    where: Mapping[str, tuple[str, ...]],
    probability: Fraction,
    together: bool,
) -> NodeReport:
    """Return intervals for every node of a level, or for the nodes of some codes put together.

    Without a level they are for the leaves. ``margin`` names attributes of the cells, none of them for the
    total; without it every cell has its interval.
    """
    regions = nodes.regions
    names, queries, cells = _queries(regions, margin, where)
    names_of = tuple(regions.places)
    at = _place(names_of, level, len(regions.levels) - 1)
    number = queries.shape[0] * (1 if codes else regions.numbers[at])
    each = 1 - (1 - probability) / number if together else probability
    laws = laws_of(nodes)
    if not codes and at >= len(regions.levels):
        place = names_of[at]
        found = _of_areas(laws, nodes.areas[place], queries, each)
        labels = regions.places[place]
    elif codes:
        one = laws.union(_nodes(regions, codes, level), queries, each)
        found = NodeIntervals(one.estimate[None], one.variance[None], one.half_width[None], one.exact[None])
        place = "geography"
        labels = (" ".join(codes),)
    else:
        place = names_of[at]
        found = laws.at(place, queries, each)
        labels = regions.spine.codes(place)
    return NodeReport(place, labels, names, cells, where, found, probability, together)


def _of_areas(
    laws: NodeLaws, areas: AreaEstimates, queries: FloatArray, probability: Fraction
) -> NodeIntervals:
    """Return the intervals of all areas of a kind, one line each."""
    every = steps(range(len(areas.codes)), "working out the laws of errors", len(areas.codes))
    found = [laws.area(areas, area, queries, probability) for area in every]
    return NodeIntervals(
        np.stack([one.estimate for one in found]),
        np.stack([one.variance for one in found]),
        np.stack([one.half_width for one in found]),
        np.stack([one.exact for one in found]),
    )


def laws_of(nodes: MeasuredNodes) -> NodeLaws:
    """Return the laws of the errors of estimates."""
    return NodeLaws(nodes.estimates, nodes.measurements, nodes.rows, nodes.times)


def _queries(
    regions: Regions, margin: Sequence[str] | None, where: Mapping[str, tuple[str, ...]]
) -> tuple[tuple[str, ...], FloatArray, tuple[tuple[str, ...], ...]]:
    if places := [name for name in where if name in regions.levels]:
        raise SpecError(
            f"{option('where')} names {places[0]!r}, a level of the geography: name its places by"
            f" {option('geography')}, or each of them by {option('level', places[0])}."
        )
    if regions.cells is None:
        if margin:
            raise SpecError(f"this release has no cells beside its geography: leave out {option('margin')}.")
        return (), np.ones((1, 1)), ((),)
    schema = regions.cells
    names = tuple(margin) if margin is not None else () if where else schema.names
    for name in names:
        if name not in schema.names:
            raise SpecError(
                f"{option('margin')} names {name!r}, which is no cell: {closest(name, schema.names)}"
            )
    matrix, kept = margin_matrix(schema, names, where)
    return names, matrix.toarray().astype(np.float64), margin_levels(schema, names, kept)


def _place(names: Sequence[str], level: str | None, lowest: int) -> int:
    if level is None:
        return lowest
    if level not in names:
        raise SpecError(f"{option('level')} is {level!r}, which is no level: {closest(level, names)}")
    return names.index(level)


def _nodes(regions: Regions, codes: Sequence[str], level: str | None) -> dict[str, IntArray]:
    """Return the places of nodes by level; the highest level that has a code is meant, if none is named."""
    known = regions.levels
    if level is not None:
        known = (known[_place(known, level, 0)],)
    places: dict[str, list[int]] = {}
    for code in codes:
        for name in known:
            listed = regions.spine.codes(name)
            if code in listed:
                places.setdefault(name, []).append(listed.index(code))
                break
        else:
            near = closest(code, [each for name in known for each in regions.spine.codes(name)][:100_000])
            raise SpecError(f"{option('geography')} names {code!r}, which is no place of the release: {near}")
    return {name: np.array(some, dtype=np.int64) for name, some in places.items()}
