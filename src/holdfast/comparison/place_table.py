"""The geography of a file of records as a table: a tree of places, and the cells that each is counted by."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from holdfast.comparison.swaps import SwapBench
from holdfast.data.geography import Regions
from holdfast.data.grid import Nesting
from holdfast.data.schema import Attributes, Schema
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.records import Simulated
from holdfast.releases.records import PreparedRecords
from holdfast.spec.data import MISSING, Geography
from holdfast.system.errors import SpecError
from holdfast.system.ways import setting

ROOT = "all"
"""The node above several of the first level, and its level: shown to nobody."""


@dataclass(frozen=True, eq=False, repr=False)
class Places:
    """The geography of a file of records as a table: confidential.

    Attributes:
        schema: levels of the geography, then the cells.
        levels: its levels, root first.
        shown: those that the file has: the root may be none.
        records: the records, tabulated by their lowest place and the cells.
        order: for each place of the schema, its place in that tabulation.

    """

    schema: Schema
    levels: tuple[str, ...]
    shown: tuple[str, ...]
    records: Simulated
    order: IntArray

    @classmethod
    def of(cls, prepared: PreparedRecords) -> "Places":
        """Read the places of all records."""
        geography = prepared.spec.data.geography
        assert geography is not None  # noqa: S101 - it was asked for
        columns = prepared.file.public.columns
        column = geography.column or geography.columns[-1]
        if column not in columns.swap:
            raise SpecError(
                f"{setting('data.geography')} ends with {column!r}, which is not swapped: every swap"
                " keeps that"
                " table, and there is nothing to compare."
            )
        paths = _paths(prepared, geography)
        cells = {
            each.name: each.levels for each in prepared.schema.attributes if each.name not in paths.columns
        }
        ordered = paths.sort(paths.columns)
        levels: dict[str, tuple[str, ...]] = {}
        nestings = []
        for above, name in zip((None, *ordered.columns), ordered.columns, strict=False):
            nodes = ordered.select([above, name] if above else [name]).unique(maintain_order=True)
            levels[name] = tuple(nodes[name].to_list())
            if len(set(levels[name])) < len(levels[name]):
                twice = next(code for code in levels[name] if levels[name].count(code) > 1)
                if twice == MISSING and above:
                    raise SpecError(
                        f"records lack their {name} in more than one {above}: give them one in the file for"
                        f" each {above}, such as {nodes[above][0]}-unknown, or end"
                        f" {setting('data.geography')} above {name}."
                    )
                raise SpecError(
                    f"{setting('data.geography')} has the {name} {twice!r} in two places: give each a"
                    " code of its"
                    " own."
                )
            if above:
                within = {code: at for at, code in enumerate(levels[above])}
                nestings.append(Nesting(name, above, tuple(within[code] for code in nodes[above].to_list())))
        flat = Schema(Attributes.of({column: sorted(paths[column].to_list()), **cells}))
        schema = Schema(Attributes.of({**levels, **cells}), nestings=tuple(nestings))
        place = {code: at for at, code in enumerate(flat.attribute(column).levels)}
        order = np.array([place[code] for code in ordered[column].to_list()], dtype=np.int64)
        own = (*geography.columns, geography.column, *geography.prefixes)
        shown = tuple(level for level in levels if level in own)
        return cls(schema, tuple(levels), shown, prepared.mechanism.simulate(prepared.file, flat), order)

    @property
    def cells(self) -> tuple[str, ...]:
        """What each place is counted by."""
        return tuple(name for name in self.schema.names if name not in self.levels)

    @property
    def regions(self) -> Regions:
        """The tree of places, and the cells of each."""
        return Regions.of(self.schema, self.levels)

    def table(self, counts: IntArray) -> IntArray:
        """Return a tabulation of the records in the order of the schema."""
        return counts.reshape(self.order.size, -1)[self.order].ravel()

    def bench(self, prepared: PreparedRecords) -> SwapBench:
        """Return what all mechanisms are held to: what the swap keeps of the table."""
        columns = prepared.file.public.columns
        fixed = [name for name in self.levels if name in columns.stratify]
        margins = (
            (self.levels[-1], *(name for name in self.cells if name not in columns.held)),
            (*fixed[-1:], *(name for name in self.cells if name not in columns.swap)),
        )
        return SwapBench.of(prepared, self.schema, margins, self.table(self.records.counts), self.levels)


def _paths(prepared: PreparedRecords, geography: Geography) -> pl.DataFrame:
    """Return the levels of every place that occurs, root first: one node on the first."""
    own = [geography.column] if geography.column else list(geography.columns)
    parts = [
        pl.DataFrame(
            {name: pl.Series(pl.from_arrow(batch.column(name))).cast(pl.String) for name in own}
        ).unique()
        for batch in prepared.file.records.batches()
    ]
    found = pl.concat(parts).unique().fill_null(MISSING)
    if geography.column:
        column = geography.column
        above = [
            found[column].str.slice(0, length).alias(level)
            if length
            else pl.repeat(level, len(found), eager=True).alias(level)
            for level, length in geography.prefixes.items()
            if level != column and length < int(found[column].str.len_chars().max() or 0)  # type: ignore[arg-type]
        ]
        found = pl.DataFrame([*above, found[column]])
    if found[found.columns[0]].n_unique() > 1:
        root = ROOT if ROOT not in found.columns else f"{ROOT} places"
        found = found.select(pl.lit(root).alias(root), pl.all())
    return found
