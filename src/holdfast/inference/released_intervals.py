"""Confidence intervals for cells, a margin or a selection of a release, or for nodes of its geography."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from scipy.sparse import csr_array

from holdfast.certificate.public import Published, mechanism_of
from holdfast.data.invariants import margin_levels, margin_matrix
from holdfast.data.nmf.folder import is_opened
from holdfast.data.schema import Attribute, Schema
from holdfast.derivation.several import verified
from holdfast.inference.contrasts import Contrast, EstimateReport, settled
from holdfast.inference.intervals import Intervals, simultaneous
from holdfast.inference.intervals import intervals as each_interval
from holdfast.inference.labels import Selection, selected
from holdfast.inference.node_contrasts import attributes_of, node_contrasts
from holdfast.inference.node_intervals import NodeReport, laws_of, node_intervals
from holdfast.inference.notebook import FramedReport
from holdfast.inference.opened.estimator import OpenedEstimator, probability
from holdfast.inference.table_contrasts import table_contrasts
from holdfast.inference.tree_intervals import NodeLaws
from holdfast.mechanisms.topdown.best_linear import MeasuredNodes
from holdfast.system.errors import SpecError
from holdfast.system.text import closest
from holdfast.system.ways import option

FORMAT = "holdfast-intervals/1"
NUMBERS = ("estimate", "low", "high", "kept_exactly")
"""The columns of intervals beside those of their attributes."""


@dataclass(frozen=True, eq=False)
class IntervalReport(FramedReport):
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
    where: Selection | None = None,
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

    >>> hf.intervals(folder, margin=["county"]).to_frame()["estimate"].to_list()
    [21, 22]
    """
    return estimator_of(folder, table).intervals(
        margin=margin,
        where=where,
        level=level,
        together=together,
        place=place,
        codes=codes,
    )


def estimator_of(folder: str | Path, table: str | None = None) -> "Estimator | OpenedEstimator":
    """Return what works out intervals of a folder: of a release, or of measurements that were opened."""
    return OpenedEstimator.of(folder, table) if is_opened(Path(folder)) else Estimator.of(folder, table)


@dataclass(frozen=True, eq=False)
class Estimator:
    """A verified release with what its estimates are made of."""

    released: Published
    nodes: MeasuredNodes | None
    """What measurements say of a geography, where the release has any."""

    @classmethod
    def of(cls, folder: str | Path, table: str | None = None) -> "Estimator":
        """Return that of a folder, which is verified; of several tables that of the one that is named."""
        released = verified(folder, table)
        mechanism = mechanism_of(released.certificate, released.public)
        return cls(released, mechanism.measured_nodes(Path(folder), table))

    @property
    def geography(self) -> Sequence[str]:
        """The levels of the geography, root first."""
        return self.released.public.geography

    @cached_property
    def attributes(self) -> dict[str, Attribute]:
        """What a selection may name."""
        if self.nodes is not None:
            return attributes_of(self.nodes.regions)
        return {each.name: each for each in self.released.public.schema.attributes}

    @cached_property
    def laws(self) -> NodeLaws:
        """The laws of estimates of nodes."""
        if self.nodes is None:
            raise AssertionError("this release has no measurements")
        return laws_of(self.nodes)

    def intervals(
        self,
        *,
        margin: Sequence[str] | None = None,
        where: Selection | None = None,
        level: Fraction | float = Fraction(9, 10),
        together: bool = False,
        place: str | None = None,
        codes: Sequence[str] = (),
    ) -> IntervalReport | NodeReport:
        """Return what the function of this name does [holdfast, inference/released_intervals.py]."""
        exact, chosen = probability(level), self._selected(where)
        if self.nodes is not None:
            return node_intervals(
                self.nodes,
                level=place,
                codes=codes,
                margin=margin,
                where=chosen,
                probability=exact,
                together=together,
            )
        return self._of_table(margin, chosen, place, codes, exact, together=together)

    def contrasts(
        self,
        asked: Sequence[Contrast],
        *,
        margin: Sequence[str] = (),
        where: Selection | None = None,
        level: Fraction | float = Fraction(9, 10),
        together: bool = False,
        place: str | None = None,
    ) -> EstimateReport:
        """Return differences, ratios and other sums of selections, as a whole or by a margin or level."""
        exact, chosen = probability(level), self._selected(where)
        for name in (*margin, *(() if place is None else (place,))):
            if name not in self.attributes:
                raise SpecError(
                    f"{option('margin' if name in margin else 'level')} names {name!r}, which is no attribute"
                    f" of the release: {closest(name, self.attributes)}"
                )
        if len(set(margin)) < len(margin):
            raise _twice(margin)
        if self.nodes is None:
            names = (*(() if place is None else (place,)), *(name for name in margin if name != place))
            named = settled(asked, self.attributes, chosen, names)
            return table_contrasts(self.released, named, names, exact, together=together)
        regions = self.nodes.regions
        if places := [name for name in margin if name in regions.levels]:
            raise SpecError(
                f"{option('margin')} names {places[0]!r}, a level of the geography: ask for each of its"
                f" places by {option('level', places[0])}."
            )
        named = settled(asked, self.attributes, chosen, margin)
        return node_contrasts(
            regions, self.laws, named, level=place, margin=margin, probability=exact, together=together
        )

    def _selected(self, where: Selection | None) -> dict[str, tuple[str, ...]]:
        return selected(where, self.attributes, option("where")) if where else {}

    def _of_table(
        self,
        margin: Sequence[str] | None,
        where: Mapping[str, tuple[str, ...]],
        place: str | None,
        codes: Sequence[str],
        level: Fraction,
        *,
        together: bool,
    ) -> IntervalReport:
        released, public = self.released, self.released.public
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
            raise _twice(names)
        matrix, kept = margin_matrix(schema, names, where)
        found = (simultaneous if together else each_interval)(
            released.table.counts[public.possible],
            released.noise,
            public.universe.matrix,
            csr_array(matrix[:, public.possible]),
            level,
        )
        return IntervalReport(names, where, margin_levels(schema, names, kept), found, together)


def _twice(names: Sequence[str]) -> SpecError:
    return SpecError(f"the margin {','.join(names)} names an attribute twice: name each once.")


def _within(
    schema: Schema,
    geography: Sequence[str],
    place: str | None,
    codes: Sequence[str],
    where: Mapping[str, tuple[str, ...]],
) -> Mapping[str, tuple[str, ...]]:
    """Return a selection with the nodes of some codes, which must be of one level."""
    if place is not None and place not in geography:
        said = closest(place, geography) if geography else "this release has no geography."
        raise SpecError(f"{option('level')} is {place!r}, which is neither a number nor a level: {said}")
    if not codes:
        return where
    for level in geography if place is None else (place,):
        if all(code in schema.attribute(level).levels for code in codes):
            return {**where, level: tuple(codes)}
    raise SpecError(
        f"{option('geography')} names {' '.join(codes)}, which are not all places of one level of this"
        " release: name places of one level."
    )
