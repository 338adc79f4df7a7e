"""Intervals of opened measurements: of any level, union of nodes, margin or selection."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np

from holdfast.data.nmf.opened import OpenedMeasurements, read_opened
from holdfast.data.schema import Attribute
from holdfast.inference.contrasts import Contrast, EstimateReport, settled
from holdfast.inference.labels import Selection, selected
from holdfast.inference.node_contrasts import node_contrasts
from holdfast.inference.node_intervals import NodeReport, laws_of, node_intervals
from holdfast.inference.opened.reduced import ReducedHistogram
from holdfast.inference.tree_intervals import NodeIntervals
from holdfast.system.errors import SpecError
from holdfast.system.progress import steps
from holdfast.system.text import closest
from holdfast.system.ways import option

MOST_CELLS = 500
"""Cells of a margin that are asked one by one."""
Key = tuple[tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...]]


@dataclass(frozen=True, eq=False)
class OpenedEstimator:
    """Opened measurements with what their estimates are made of."""

    opened: OpenedMeasurements
    _known: dict[Key, ReducedHistogram] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, folder: str | Path, table: str | None = None) -> "OpenedEstimator":
        """Return that of a folder."""
        if table is not None:
            raise SpecError(f"{folder} holds the measurements of one table: leave out {option('table')}.")
        return cls(read_opened(folder))

    @property
    def geography(self) -> Sequence[str]:
        """The levels of the geography, root first."""
        return self.opened.spine.levels.names

    @cached_property
    def attributes(self) -> dict[str, Attribute]:
        """What a selection may name."""
        cells = [Attribute(name, levels) for name, levels in self.opened.histogram.levels.items()]
        return {each.name: each for each in (*self.opened.spine.levels, *cells)}

    def intervals(
        self,
        *,
        margin: Sequence[str] | None = None,
        where: Selection | None = None,
        level: Fraction | float = Fraction(9, 10),
        together: bool = False,
        place: str | None = None,
        codes: Sequence[str] = (),
    ) -> NodeReport:
        """Return what the function of this name does [holdfast, inference/released_intervals.py]."""
        chosen = selected(where, self.attributes, option("where")) if where else {}
        names = tuple(margin) if margin is not None else () if chosen else self.opened.histogram.names
        self._require(names)
        reduced, exact = self._reduced(names, chosen), probability(level)
        if not reduced.fits and names:
            return self._by_cell(names, chosen, exact, place=place, codes=codes, together=together)
        found = node_intervals(
            reduced.nodes,
            level=place,
            codes=codes,
            margin=names,
            where=reduced.where(chosen),
            probability=exact,
            together=together,
        )
        return replace(found, where=chosen)

    def _by_cell(
        self,
        names: Sequence[str],
        chosen: Mapping[str, tuple[str, ...]],
        level: Fraction,
        *,
        place: str | None,
        codes: Sequence[str],
        together: bool,
    ) -> NodeReport:
        """Return the intervals of a margin cell by cell: each is a question of few classes."""
        levels = [chosen.get(name) or self.opened.histogram.levels[name] for name in names]
        cells = list(product(*levels))
        if len(cells) > MOST_CELLS:
            raise SpecError(
                f"the margin {','.join(names)} has {len(cells):,} cells, whose covariances do not fit, and"
                f" {MOST_CELLS:,} are asked one by one at most: choose some, with {option('where')}."
            )
        each = 1 - (1 - level) / len(cells) if together else level
        reports = []
        for cell in steps(cells, "working out the cells of the margin"):
            own = {**chosen, **{name: (one,) for name, one in zip(names, cell, strict=True)}}
            reduced = ReducedHistogram.of(self.opened, (), [own])
            reports.append(
                node_intervals(
                    reduced.nodes,
                    level=place,
                    codes=codes,
                    margin=(),
                    where=reduced.where(own),
                    probability=each,
                    together=together,
                )
            )
        found = NodeIntervals(
            *(
                np.concatenate([getattr(report.found, part.name) for report in reports], axis=1)
                for part in fields(NodeIntervals)
            )
        )
        return replace(
            reports[0],
            names=tuple(names),
            cells=tuple(cells),
            where=chosen,
            found=found,
            level=level,
        )

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
        self._require(margin)
        if place is not None and place not in self.geography:
            raise SpecError(
                f"{option('level')} is {place!r}, which is no level: {closest(place, self.geography)}"
            )
        chosen = selected(where, self.attributes, option("where")) if where else {}
        named = settled(asked, self.attributes, chosen, margin)
        reduced = self._reduced(margin, *(some for each in named for _, some in each.terms))
        within = [
            replace(each, terms=tuple((times, reduced.where(some)) for times, some in each.terms))
            for each in named
        ]
        report = node_contrasts(
            reduced.regions,
            laws_of(reduced.nodes),
            within,
            level=place,
            margin=margin,
            probability=probability(level),
            together=together,
        )
        return replace(report, asked=tuple(named))

    def _require(self, margin: Sequence[str]) -> None:
        for name in margin:
            if name in self.geography:
                raise SpecError(
                    f"{option('margin')} names {name!r}, a level of the geography: ask for each of its places"
                    f" by {option('level', name)}."
                )
            if name not in self.opened.histogram.names:
                said = (
                    closest(name, self.opened.histogram.names)
                    if self.opened.histogram.names
                    else "there is none."
                )
                raise SpecError(f"{option('margin')} names {name!r}, which is no attribute: {said}")

    def _reduced(self, names: Sequence[str], *chosen: Mapping[str, tuple[str, ...]]) -> ReducedHistogram:
        key = (
            tuple(sorted(names)),
            tuple(sorted((name, some) for each in chosen for name, some in each.items())),
        )
        return self._known.setdefault(key, ReducedHistogram.of(self.opened, names, chosen))


def probability(level: Fraction | float) -> Fraction:
    """Return a level of confidence; raises SpecError where it is none."""
    exact = level if isinstance(level, Fraction) else Fraction(str(level))
    if not 0 < exact < 1:
        raise SpecError(f"the level is {level}: give a probability between 0 and 1, such as 0.9.")
    return exact
