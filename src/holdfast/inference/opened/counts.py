"""Whole counts from opened measurements: nearest to them, not negative, with all that is known kept.

This is the second step of a top-down release, for measurements of others [holdfast,
mechanisms/topdown/estimate.py]. Of a query whose variances differ among the nodes of a level the counts
take one weight, that of the mean variance; one that some nodes of a level lack is left out there, and said
to be. Counts that cannot be negative and add up are biased: unbiased estimates are those of `intervals`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import csr_array, vstack

from holdfast.data.geography import Regions
from holdfast.data.nmf.folder import is_opened
from holdfast.data.nmf.opened import KnownQuery, OpenedMeasurements, read_opened
from holdfast.data.schema import Attributes, Schema
from holdfast.estimation.hierarchy.conflict import UnmetError
from holdfast.estimation.hierarchy.descent import descend
from holdfast.estimation.hierarchy.level import Level, LevelQuery
from holdfast.estimation.hierarchy.run import Run, Workers, here
from holdfast.inference.notebook import FramedReport
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.topdown.estimate import named
from holdfast.programs.solver import UNBOUNDED
from holdfast.system.errors import ReleaseError, SpecError
from holdfast.system.text import closest, counted
from holdfast.system.ways import command, option

FORMAT = "holdfast-estimates/1"
COUNT = "count"
MOST_COUNTS = 200_000_000
STATEMENT = (
    "Whole counts that keep what is known exactly, made of the measurements alone: post-processing,"
    " which costs"
    " nothing. They are biased where they cannot be negative; intervals gives unbiased estimates."
)


@dataclass(frozen=True, eq=False)
class EstimatedCounts(FramedReport):
    """Whole counts of all nodes of a level by every cell."""

    level: str
    codes: tuple[str, ...]
    attributes: Attributes | None
    counts: IntArray
    """One row a node, one column a cell."""
    kept: int
    """How many numbers are known exactly, and kept."""
    notes: tuple[str, ...]

    def to_frame(self) -> pl.DataFrame:
        """Return a row for each node and cell: its code, its levels and its count."""
        nodes, cells = self.counts.shape
        columns = {
            self.level: pl.Series(self.codes, dtype=pl.String).gather(np.repeat(np.arange(nodes), cells))
        }
        if self.attributes is not None:
            places = np.unravel_index(np.arange(cells), [len(each.levels) for each in self.attributes])
            for each, place in zip(self.attributes, places, strict=True):
                if each.name in (self.level, COUNT):
                    raise SpecError(f"the attribute {each.name!r} has the name of another column: rename it.")
                columns[each.name] = pl.Series(each.levels, dtype=pl.String).gather(np.tile(place, nodes))
        return pl.DataFrame({**columns, COUNT: self.counts.ravel()})

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "format": FORMAT,
            "level": self.level,
            "kept_exactly": self.kept,
            "notes": list(self.notes),
            "statement": STATEMENT,
            "rows": self.to_frame().to_dicts(),
        }


def estimate(
    folder: str | Path, *, level: str | None = None, passes: Sequence[Sequence[str]] = ()
) -> EstimatedCounts:
    """Return whole counts of a level, the lowest unless it is named, from opened measurements.

    Every known sum is kept exactly, bounds are kept, and children add up to their parents. ``passes`` name
    queries that are estimated one group after the other, as ``[["total"], ["detailed"]]``; others come last.

    >>> columns = {"geocode": ["0", "01", "02"], "query_name": "total", "query_shape": [[1]] * 3}
    >>> rows = pl.DataFrame({**columns, "value": [[9], [4], [6]], "variance": 2.0})
    >>> rows.write_parquet("files.parquet")
    >>> opened = hf.open_measurements("files.parquet", "opened", noise="laplace")
    >>> int(hf.estimate("opened", level="level 1").counts.sum() == hf.estimate("opened").counts.sum())
    1
    """
    folder = Path(folder)
    if not is_opened(folder):
        raise ReleaseError(
            f"{folder} holds no opened measurements: open those of others with {command('nmf open')};"
            " the counts"
            " of a release are in its table."
        )
    opened = read_opened(folder)
    names = opened.spine.levels.names
    if level is not None and level not in names:
        raise SpecError(f"{option('level')} is {level!r}, which is no level: {closest(level, names)}")
    turns = _turns(opened, passes)
    with Workers() as run:
        counts, notes = whole_counts(opened, turns=turns, run=run)
    place = len(names) - 1 if level is None else names.index(level)
    cells = Attributes.of(opened.histogram.levels) if opened.histogram.levels else None
    kept = sum(each.values.size for each in opened.known if each.sign == "=")
    return EstimatedCounts(
        names[place], opened.spine.codes(names[place]), cells, counts[place], kept, (*opened.warnings, *notes)
    )


def whole_counts(
    opened: OpenedMeasurements,
    *,
    turns: Sequence[int] | None = None,
    last: int | None = None,
    run: Run = here,
) -> tuple[tuple[IntArray, ...], list[str]]:
    """Return the counts of all nodes by level, root first, down to a last one; and what was left out."""
    number = len(opened.sizes) if last is None else last + 1
    if opened.width * sum(opened.sizes[:number]) > MOST_COUNTS:
        raise ReleaseError(
            f"the counts of {counted(sum(opened.sizes[:number]), 'node')} by"
            f" {counted(opened.width, 'cell')} are"
            f" more than fit here: open a part of the geography, with {option('within', 'CODE')}."
        )
    notes: list[str] = []
    levels = [_level(opened, place, turns or [0] * len(opened.queries), notes) for place in range(number)]
    try:
        return descend(opened.spine.parent[: number - 1], levels, run=run).counts, notes
    except UnmetError as error:
        said = [["an invariant of the measurements"] * int(each.invariants.shape[0]) for each in levels]
        raise named(error, _regions(opened), said) from None


def _regions(opened: OpenedMeasurements) -> Regions:
    cells = Schema(Attributes.of(opened.histogram.levels)) if opened.histogram.levels else None
    return Regions(opened.spine, cells, np.ones((opened.sizes[-1], opened.width), dtype=np.bool_))


def _turns(opened: OpenedMeasurements, passes: Sequence[Sequence[str]]) -> list[int]:
    """Return in which pass each query is estimated."""
    known = [each.name for each in opened.queries]
    found = [max(len(passes) - 1, 0)] * len(known)
    seen: set[str] = set()
    for turn, each in enumerate(passes):
        for name in each:
            asked = name.strip()
            if asked not in known:
                raise SpecError(f"{option('pass')} names the query {asked!r}: {closest(asked, known)}")
            if asked in seen:
                raise SpecError(f"{option('pass')} names the query {asked!r} twice: keep one.")
            seen.add(asked)
            found[known.index(asked)] = turn
    return found


def _level(opened: OpenedMeasurements, place: int, turns: Sequence[int], notes: list[str]) -> Level:
    """Return what was measured of a level, and what is known of it."""
    name, nodes, sizes = opened.spine.levels.names[place], opened.sizes[place], opened.histogram.sizes
    measured = []
    for each in (one for one in opened.measured if one.level == place):
        if each.nodes.size < nodes:
            query = opened.queries[each.query].name
            notes.append(
                f"{query} was measured at {each.nodes.size:,} of the {nodes:,} nodes of the level {name}: the"
                " counts do without it there."
            )
            continue
        measured.append(each)
    known = [each for each in opened.known if each.level == place]
    equal = [each for each in known if each.sign == "=" and each.nodes.size == nodes]
    rows = [each.query.over(sizes) for each in equal]
    values = [each.values for each in equal]
    if place == 0 and opened.zeros:  # what is 0 at the root is 0 below
        rows.append(csr_array(opened.zero_cells[None].astype(np.int64)))
        values.append(np.zeros((1, 1), dtype=np.int64))
    none = csr_array((0, opened.width), dtype=np.int64)
    spans = [each for each in known if each.sign != "=" or each.nodes.size < nodes]
    least, most = (np.concatenate(part, axis=1) for part in zip(*_bounds(spans, nodes), strict=True))
    return Level.of(
        name,
        nodes,
        opened.width,
        queries=[
            LevelQuery(
                opened.queries[each.query].over(sizes), 1 / float(each.variances.mean()), turns[each.query]
            )
            for each in measured
        ],
        answers=[each.values for each in measured],
        invariants=csr_array(vstack([none, *rows], format="csr")),
        values=np.concatenate([np.zeros((nodes, 0), dtype=np.int64), *values], axis=1),
        ranges=csr_array(vstack([none, *(each.query.over(sizes) for each in spans)], format="csr")),
        least=least,
        most=most,
    )


def _bounds(spans: Sequence[KnownQuery], nodes: int) -> list[tuple[IntArray, IntArray]]:
    """Return the least and the most of sums at all nodes, for what bounds some of them."""
    found = [(np.zeros((nodes, 0), dtype=np.int64), np.zeros((nodes, 0), dtype=np.int64))]
    for each in spans:
        shape = (nodes, each.values.shape[1])
        least, most = np.full(shape, -UNBOUNDED), np.full(shape, UNBOUNDED)
        if each.sign != "<=":
            least[each.nodes] = each.values
        if each.sign != ">=":
            most[each.nodes] = each.values
        found.append((least, most))
    return found
