"""Counts that were asked for of a swapped file: of a table, or invariants, if every swap keeps them.

A swap keeps the joint counts of key and swapped columns, and those of key and held columns. A count that
depends on columns of one of the two is a sum of those; a count of both, swapped and held, would change.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import polars as pl
import pyarrow as pa

from holdfast.data.levels import number
from holdfast.data.microdata import Microdata, holds_levels
from holdfast.data.read import ordered_levels
from holdfast.data.schema import Attributes, Schema
from holdfast.data.sections import SchemaSection, TableSection
from holdfast.data.selection import count_column
from holdfast.mechanisms.records import ColumnRoles
from holdfast.spec.constraints import Invariant, InvariantKind
from holdfast.spec.data import MISSING
from holdfast.spec.model import Spec
from holdfast.spec.values import Range, levels_or_range
from holdfast.system.errors import DataError, InvariantError, SpecError
from holdfast.system.machine import require_room
from holdfast.system.text import closest
from holdfast.system.ways import setting

Levels = tuple[str | None, ...]
RECORDS = "\0records"
"""The column of counts, beside columns of any other names."""
_COUNT = pl.len().cast(pl.Int64).alias(RECORDS)
MERGED = 1 << 18
"""Rows of partial counts that are merged at once."""


@dataclass(frozen=True, eq=False, repr=False)
class Tally:
    """The number of records by the levels of some columns, among those that a selection picks."""

    name: str
    attributes: tuple[str, ...]
    where: Mapping[str, tuple[str, ...] | Range] = field(default_factory=dict)
    equals: int | None = None
    rows: int = 0
    """All records that were looked at."""
    parts: tuple[pl.DataFrame, ...] = ()

    @property
    def involved(self) -> frozenset[str]:
        """The columns that it depends on."""
        return frozenset(self.attributes) | frozenset(self.where)

    @property
    def kind(self) -> InvariantKind:
        """What it is in a spec."""
        return "margin" if self.attributes else "where" if self.where else "total"

    def with_rows(self, batch: pa.Table) -> "Tally":
        """Return the tally with some more records."""
        names, rows = sorted(self.involved), self.rows + batch.num_rows
        if not names:
            return replace(self, rows=rows)
        frame = pl.DataFrame({name: pl.Series(pl.from_arrow(batch.column(name))) for name in names})
        counted = frame.group_by(names).agg(_COUNT)
        parts = (*self.parts, counted.with_columns(pl.col(names).cast(pl.String)))
        if sum(map(len, parts)) > MERGED + 2 * len(parts[0]):
            parts = (_merged(parts, names),)
        return replace(self, rows=rows, parts=parts)

    @property
    def cells(self) -> int:
        """How many combinations of levels there are, at least."""
        return max(map(len, self.parts), default=0)

    @cached_property
    def counts(self) -> pl.DataFrame:
        """The counts other than 0: a column for each attribute in order, then the counts."""
        found = _merged(self.parts, sorted(self.involved))
        for name, choice in self.where.items():
            levels = found[name].unique().to_list()
            found = found.filter(pl.col(name).is_in([one for one in levels if picks(choice, one)]))
        total = pl.col(RECORDS).sum()
        if not self.attributes:
            return found.select(total)
        return found.group_by(self.attributes).agg(total).sort(self.attributes)

    @cached_property
    def values(self) -> tuple[tuple[Levels, int], ...]:
        """The counts other than 0 by levels, in order; the one number where there are no attributes."""
        if not self.involved:
            return (((), self.rows),)
        if not self.attributes:
            picked = self.counts if self.parts else None
            return (((), 0 if picked is None else int(picked[RECORDS].sum())),)
        return tuple((tuple(levels), count) for *levels, count in self.counts.iter_rows())

    def levels(self, attribute: str) -> tuple[str, ...]:
        """Return the levels of an attribute that some record has, in order."""
        found = _merged(self.parts, sorted(self.involved))[attribute].unique().to_list()
        return ordered_levels([MISSING if level is None else level for level in found])

    def checked(self) -> "Tally":
        """Return it; raises InvariantError where it is not what the spec says it equals."""
        if self.equals is not None and any(count != self.equals for _, count in self.values):
            raise InvariantError(
                f"{self.name} is not {self.equals:,} in the data: correct equals, or leave it out."
            )
        return self


def _merged(parts: Sequence[pl.DataFrame], names: Sequence[str]) -> pl.DataFrame:
    return pl.concat(parts).group_by(names).agg(pl.col(RECORDS).sum())


def kept_tallies(invariants: tuple[Invariant, ...], columns: ColumnRoles) -> tuple[Tally, ...]:
    """Return what was asked for, with nothing counted yet; raises where a swap would break it."""
    found = []
    for index, invariant in enumerate(invariants, start=1):
        place = setting("invariants", index)
        if invariant.weights is not None:
            raise SpecError(
                f"{place} has weights of cells, and records that are swapped have none: give a margin, a"
                " total or a selection."
            )
        where = {name: levels_or_range(choice) for name, choice in (invariant.where or {}).items()}
        attributes = tuple(invariant.margin or ())
        tally = Tally(invariant.name or _name(attributes, where), attributes, where, invariant.equals)
        for column in sorted(tally.involved):
            if column not in columns.all:
                raise SpecError(
                    f"{place} has {column!r}, which is no column of the records:"
                    f" {closest(column, list(columns.all))}"
                )
        keeper(tally, columns, place)
        found.append(tally)
    return tuple(found)


def keeper(tally: Tally, columns: ColumnRoles, place: str) -> str:
    """Return which of the two joint counts a tally is a sum of; raises where it is of neither."""
    if new := sorted(tally.involved & set(columns.renumber)):
        raise InvariantError(
            f"{place} ({tally.name}) counts {_list(new)}, which is renumbered: nothing of it is kept; leave"
            " it out of one."
        )
    swapped = sorted(tally.involved & set(columns.swap))
    held = sorted(tally.involved & set(columns.held))
    if swapped and held:
        raise InvariantError(
            f"{place} ({tally.name}) counts {_list(swapped)}, which is swapped, by {_list(held)}, which is"
            f" held: the swap would change it; put {_list(held)} into stratify or swap in"
            f" {setting('mechanism')}, or leave the invariant out."
        )
    return "stratum by swap" if swapped else "stratum by held"


def picks(choice: tuple[str, ...] | Range, level: str | None) -> bool:
    """Whether a selection has a level: by name, or as a number of a range."""
    if not isinstance(choice, Range):
        return level in choice
    value = None if level is None else number(level)
    return value is not None and choice.low <= value <= choice.high


def _name(attributes: tuple[str, ...], where: Mapping[str, Any]) -> str:
    what = " by ".join(attributes) or ("selection" if where else "total")
    return what + (f" where {' and '.join(sorted(where))}" if where else "")


def _list(names: list[str]) -> str:
    return " and ".join(map(repr, names))


@dataclass(frozen=True, eq=False)
class Tallies:
    """Counts of units that were asked for, with nothing counted yet: those to keep, and those of a table."""

    kept: tuple[Tally, ...]
    cells: Tally | None

    @classmethod
    def of(cls, spec: Spec, columns: ColumnRoles, source: Microdata) -> "Tallies":
        """Return what a spec asks to count; raises where a column is no good for it, or a swap breaks it."""
        kept = kept_tallies(spec.invariants, columns)
        cells = spec.data.cells
        for name in cells:
            if name not in columns.all or name in columns.renumber:
                raise SpecError(
                    f"{setting('data', 'cells')} names {name!r}, which is "
                    + ("renumbered: leave it out" if name in columns.renumber else "no column of the records")
                    + f": {closest(name, [*columns.keys, *columns.held])}"
                )
        return cls(kept, Tally("cells", cells) if cells else None).checked(source)

    def checked(self, source: Microdata) -> "Tallies":
        """Return it; raises DataError where a column has no levels to count by."""
        if self.cells is not None:
            require_levels(source.schema, self.cells.attributes, source.name)
        for tally in self.kept:
            require_levels(source.schema, sorted(tally.involved), source.name, floats=True)
        return self

    @property
    def all(self) -> tuple[Tally, ...]:
        """All counts, those to keep first."""
        return (*self.kept, *(() if self.cells is None else (self.cells,)))

    def require_of_units(self, columns: ColumnRoles) -> None:
        """Raise SpecError where counts of households name a column that is of their persons."""
        for name in sorted(frozenset[str]().union(*(tally.involved for tally in self.all))):
            if name not in columns.all:
                raise SpecError(
                    f"{name!r} is a column of persons, and households are counted: name columns of stratify"
                    " or swap, or give households a file of their own, with their persons in"
                    f" {setting('data', 'persons')}."
                )


def table_of(spec: Spec, counted: Tally) -> TableSection:
    """Return the cells of the table that is counted: levels as declared, or as they occur, sorted."""
    levels = {}
    for name in spec.data.cells:
        found = counted.levels(name)
        declared = spec.data.levels.get(name)
        if declared is not None and (unknown := [level for level in found if level not in declared]):
            raise DataError(
                f"column {name!r} has the level {unknown[0]!r}, which is not declared in"
                f" {setting('data.levels')}: add it there, or correct the records."
            )
        levels[name] = declared or found
    schema = Schema(Attributes.of(levels))
    require_room(schema.size)
    inferred = tuple(name for name in spec.data.cells if name not in spec.data.levels)
    return TableSection(
        count=count_column(spec), schema=SchemaSection.model_validate(schema.to_dict()), inferred=inferred
    )


def require_levels(schema: pa.Schema, names: Iterable[str], file: str, *, floats: bool = False) -> None:
    """Raise DataError where a column that is counted by holds what is no level: rounded numbers, or lists."""
    for name in names:
        kind = schema.field(name).type
        if not holds_levels(kind, floats=floats):
            raise DataError(
                f"{file}, column {name!r} holds {kind} values: store its levels as text, whole numbers or"
                " days, or name another column."
            )
