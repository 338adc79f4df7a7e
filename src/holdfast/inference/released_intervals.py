"""Confidence intervals for cells, a margin or a selection of a release, or for nodes of its geography."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
from scipy.sparse import csr_array

from holdfast.certificate.public import mechanism_of
from holdfast.data.invariants import margin_levels, margin_matrix
from holdfast.data.schema import Schema
from holdfast.data.selection import chosen_levels
from holdfast.derivation.several import verified
from holdfast.inference.intervals import Intervals, simultaneous
from holdfast.inference.intervals import intervals as each_interval
from holdfast.inference.node_intervals import NodeReport, node_intervals
from holdfast.spec.values import Choice
from holdfast.system.errors import SpecError
from holdfast.system.text import closest
from holdfast.system.ways import option

FORMAT = "holdfast-intervals/1"
NUMBERS = ("estimate", "low", "high", "kept_exactly")
"""The columns of intervals beside those of their attributes."""


@dataclass(frozen=True, eq=False)
class IntervalReport:
    """Estimates with intervals: one row for each combination of levels of ``names`` in the selection."""

    names: tuple[str, ...]
    where: Mapping[str, tuple[str, ...]]
    levels: tuple[tuple[str, ...], ...]
    found: Intervals
    together: bool

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        found = self.found
        columns = (found.estimate, found.low, found.high, found.determined)
        return {
            "format": FORMAT,
            "level": str(found.level),
            "simultaneous": self.together,
            "draws": found.draws,
            "where": {name: list(some) for name, some in self.where.items()},
            "rows": [
                {
                    "cell": dict(zip(self.names, cell, strict=True)),
                    "estimate": estimate,
                    "low": low,
                    "high": high,
                    "kept_exactly": determined,
                }
                for cell, estimate, low, high, determined in zip(
                    self.levels, *(column.tolist() for column in columns), strict=True
                )
            ],
        }

    def to_frame(self) -> pl.DataFrame:
        """Return a row for each interval: its levels, estimate, low, high, and whether it is kept exactly."""
        found = self.found
        numbers = dict(zip(NUMBERS, (found.estimate, found.low, found.high, found.determined), strict=True))
        for name in self.names:
            if name in numbers:
                raise SpecError(
                    f"the column {name!r} of intervals is also an attribute: write them as .json, or give the"
                    " attribute another name."
                )
        levels = {
            name: pl.Series([level[i] for level in self.levels], dtype=pl.String)
            for i, name in enumerate(self.names)
        }
        return pl.DataFrame({**levels, **numbers})


def intervals(
    folder: str | Path,
    *,
    margin: Sequence[str] | None = None,
    where: Mapping[str, Choice] | None = None,
    level: Fraction | float = Fraction(9, 10),
    together: bool = False,
    table: str | None = None,
    place: str | None = None,
    codes: Sequence[str] = (),
) -> IntervalReport | NodeReport:
    """Return intervals for every cell of a release, or for a margin, or for the count of a selection.

    ``together`` lets all of them cover at once; ``table`` names one of several tables. With a geography,
    ``place`` is a level whose every node gets its own, and ``codes`` are nodes that are put together. Of
    nodes that were measured, these are best linear unbiased estimates, of the leaves unless others are named.
    Raises ViolatedError where the release is not as certified.
    """
    released = verified(folder, table)
    public = released.public
    nodes = mechanism_of(released.certificate, public).measured_nodes(Path(folder))
    if nodes is not None:
        exact = level if isinstance(level, Fraction) else Fraction(str(level))
        return node_intervals(
            nodes, level=place, codes=codes, margin=margin, where=where, probability=exact, together=together
        )
    schema = public.schema
    where = _within(schema, public.geography, place, codes, where)
    names = tuple(margin) if margin is not None else () if where else schema.names
    if place is not None and not codes:
        cells = tuple(name for name in schema.names if name not in public.geography)
        own = tuple(margin) if margin is not None else () if where else cells
        names = (place, *(name for name in own if name != place))
    for name in names:
        schema.axis(name)
    if len(set(names)) < len(names):
        raise SpecError(f"the margin {','.join(names)} names an attribute twice: name each once.")
    selection = chosen_levels(schema, where, place=option("where")) if where else {}
    matrix, kept = margin_matrix(schema, names, selection)
    found = (simultaneous if together else each_interval)(
        released.table.counts[public.possible],
        released.noise,
        public.universe.matrix,
        csr_array(matrix[:, public.possible]),
        level,
    )
    return IntervalReport(names, selection, margin_levels(schema, names, kept), found, together)


def _within(
    schema: Schema,
    geography: Sequence[str],
    place: str | None,
    codes: Sequence[str],
    where: Mapping[str, Choice] | None,
) -> Mapping[str, Choice] | None:
    """Return a selection with the nodes of some codes, which must be of one level."""
    if place is not None and place not in geography:
        said = closest(place, geography) if geography else "this release has no geography."
        raise SpecError(f"{option('level')} is {place!r}, which is neither a number nor a level: {said}")
    if not codes:
        return where
    for level in geography if place is None else (place,):
        if all(code in schema.attribute(level).levels for code in codes):
            return {**(where or {}), level: tuple(codes)}
    raise SpecError(
        f"{option('geography')} names {' '.join(codes)}, which are not all places of one level of this"
        " release: name places of one level."
    )
