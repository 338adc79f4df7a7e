"""The confidential tables that are to be made coarser, and the cells that must not be known too closely.

A table with the rule ``exact`` or ``suppressed`` holds its true counts: the rule says how it is to be
published. All other tables, and those that ``keep`` names, stay as they are; they hold what is published.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.publication.bounds import ContradictionError
from holdfast.publication.conflicts import conflicts
from holdfast.publication.files import PublishedFile, read_hierarchy, read_published
from holdfast.publication.intervals import SumIntervals, intervals
from holdfast.publication.levels import TOTALS
from holdfast.publication.spec import PublicationSpec, PublishedTable
from holdfast.publication.tables import Grouped, PublishedTables, assembled
from holdfast.system.errors import DataError, SpecError
from holdfast.system.text import closest, in_quotes

TOTAL = "Total"
"""The level of all."""


@dataclass(frozen=True, eq=False, repr=False)
class Truth:
    """The tables as they are, and what is asked of them.

    Attributes:
        tables: all numbers, true ones where a table may be made coarser.
        free: for each number whether its table may be.
        asked: the cells that are asked about, with what is known of them if all is published.
        protected: those of them that must not be narrow.

    """

    tables: PublishedTables
    free: BoolArray
    asked: Grouped
    known: SumIntervals
    protected: IntArray

    @property
    def spec(self) -> PublicationSpec:
        """What was asked."""
        return self.tables.spec

    @property
    def narrow(self) -> int:
        """The width that intervals must have."""
        return self.spec.coarsen.narrow

    def is_free(self, table: int) -> bool:
        """Whether a table may be made coarser."""
        return is_free(self.spec, self.spec.published[table])


def is_free(spec: PublicationSpec, table: PublishedTable) -> bool:
    """Whether a table may be made coarser."""
    return table.rule in ("exact", "suppressed") and table.path not in spec.coarsen.keep


def read_truth(spec: PublicationSpec) -> Truth:
    """Read the tables of a spec that says how they are to be published."""
    paths = [table.path for table in spec.published]
    for path in spec.coarsen.keep:
        if path not in paths:
            raise SpecError(
                f"no published table is {in_quotes(path)}, which is to be kept: {closest(path, paths)}"
            )
    free = [place for place, table in enumerate(spec.published) if is_free(spec, table)]
    if not free:
        raise SpecError(
            "no table may be made coarser: give one the rule 'exact' or 'suppressed', with its true counts."
        )
    files = [
        _true(spec, read_published(_read_as(spec, table), spec.folder))
        if is_free(spec, table)
        else read_published(table, spec.folder)
        for table in spec.published
    ]
    tables = assembled(spec, tuple(files), told=free)
    names = spec.population.attributes or tables.attributes
    asked = tables.grouped(names)
    try:
        known = intervals(tables.numbers, None if asked.count == tables.cells else asked.matrix)
    except ContradictionError:
        raise DataError(_conflict(tables)) from None
    return Truth(tables, np.isin(tables.table, free), asked, known, _protected(spec, known))


def _protected(spec: PublicationSpec, known: SumIntervals) -> IntArray:
    """Return the asked cells that hold somebody, or nobody where zeros are hidden, below the threshold."""
    free = [table for table in spec.published if is_free(spec, table)]
    below = spec.coarsen.below or max((table.below or 0 for table in free), default=0)
    least = 0 if any(table.zeros == "hidden" for table in free) else 1
    mine = known.high >= least
    return np.flatnonzero(mine & (known.low < below) if below else mine)


def _conflict(tables: PublishedTables) -> str:
    """Say which true counts contradict each other, by their places alone."""
    numbers, _ = next(conflicts(tables.numbers))
    places = []
    for one in numbers.tolist()[:4]:
        file, row = tables.files[tables.table[one]], int(tables.row[one])
        places.append(f"{file.name}, a cell that it does not list," if row < 0 else file.place(row))
    named = " and ".join(dict.fromkeys(places))
    return f"{named} contradict each other, and no population has all: correct the tables."


def _read_as(spec: PublicationSpec, table: PublishedTable) -> PublishedTable:
    """Return how a confidential table is read: of records every row counts for one."""
    if not spec.coarsen.records:
        return table
    if table.attributes is None:
        raise SpecError(f"{table.path} holds records: name the attributes of the table that is made of it.")
    if table.count is not None:
        raise SpecError(f"{table.path} holds records, of which each counts for one: leave count out.")
    return table.model_copy(update={"count": table.attributes[0]})


def _true(spec: PublicationSpec, file: PublishedFile) -> PublishedFile:
    """Return a table by the attributes of its publication, with totals where they are asked for."""
    if spec.coarsen.records:
        file = replace(file, count="count", counts=pl.Series(["1"] * file.counts.len(), dtype=pl.String))
    frame = pl.DataFrame([one.alias(str(at)) for at, one in enumerate((*file.columns, file.counts))])
    by = [str(at) for at in range(len(file.attributes))]
    if frame.select(by).is_duplicated().any() or spec.coarsen.totals:
        frame = _summed(spec, file, frame, by)
        columns = frame.get_columns()
        file = replace(file, columns=tuple(columns[:-1]), counts=columns[-1], summed=True)
    return file


def _summed(
    spec: PublicationSpec, file: PublishedFile, frame: pl.DataFrame, by: Sequence[str]
) -> pl.DataFrame:
    """Add up rows of one cell, and all totals if there are to be any."""
    count = str(len(by))
    whole = frame[count].str.contains(r"^\d{1,13}$")
    if not whole.all():
        at = int((~whole).arg_max() or 0)
        raise DataError(f"{file.place(at)} has no whole count, and counts are to be added up: correct it.")
    frame = frame.with_columns(pl.col(count).cast(pl.Int64))
    if spec.coarsen.totals:
        for name, column in zip(file.attributes, by, strict=True):
            frame = frame.join(
                _above(spec, name, frame[column]), left_on=column, right_on="level", how="left"
            )
            frame = frame.with_columns(pl.col("above").alias(column)).drop("above")
    summed = frame.group_by(by, maintain_order=True).agg(pl.col(count).sum().cast(pl.String))
    return summed.sort([_order(column) for column in by], maintain_order=True).select([*by, count])


def _order(column: str) -> pl.Expr:
    """Return where a level stands: as it first appears, and the total of all after them."""
    return (pl.col(column) == TOTAL).cast(pl.Int8)


def _above(spec: PublicationSpec, name: str, column: pl.Series) -> pl.DataFrame:
    """Return each level of an attribute with itself and all that it is part of."""
    levels = column.unique(maintain_order=True).to_list()
    listed = next((level for level in levels if level.casefold() in TOTALS), None)
    if listed is not None:
        raise DataError(f"{name} has {in_quotes(listed)} already, and totals are to be added: leave one out.")
    parents: dict[str, str] = {}
    if (path := spec.population.hierarchies.get(name)) is not None:
        for level, inner in read_hierarchy(Path(spec.folder / path)).items():
            parents |= dict.fromkeys(inner, level)
    pairs = []
    for level in levels:
        trail = [level]
        while trail[-1] in parents:
            trail.append(parents[trail[-1]])
        pairs += [(level, one) for one in (*trail, TOTAL)]
    return pl.DataFrame(pairs, schema={"level": pl.String, "above": pl.String}, orient="row")


def require_told(truth: Truth) -> None:
    """Raise DataError where a table that is to be recoded or rounded holds no true count somewhere."""
    tables = truth.tables
    open_ = np.flatnonzero(truth.free & (tables.numbers.low < tables.numbers.high))
    if open_.size:
        number = int(open_[0])
        file = tables.files[tables.table[number]]
        raise DataError(
            f"{file.place(int(tables.row[number]))} has no true count, and nothing else can be recoded or"
            " rounded: give it, or choose suppression."
        )
