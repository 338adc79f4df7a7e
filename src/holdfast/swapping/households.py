"""Units of several rows: households move whole, and their persons follow.

Two ways to give them. A file of households with a file of persons beside it: households are swapped, and
persons take what their household has then. Or a file of persons alone: its rows with one id are a household,
which must agree in the key and in what is swapped. Ids are held, so persons find their household again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pyarrow as pa

from holdfast.data.fingerprint import Fingerprint, mixed, row_words
from holdfast.data.microdata import Microdata, level_texts
from holdfast.errors import DataError
from holdfast.lattice.arrays import IntArray
from holdfast.spec.closest import closest
from holdfast.swapping.design import Columns
from holdfast.swapping.group import plain
from holdfast.swapping.survey import require_levels
from holdfast.words import counted

MEMBERS = "members"
"""A column of households that stands for all that their persons hold."""


def require_id(records: Microdata, name: str) -> None:
    """Raise DataError where a file has no column of ids, or an id is missing."""
    if name not in records.columns:
        raise DataError(
            f"[data] id names {name!r}, which is no column of {records.name}:"
            f" {closest(name, list(records.columns))}"
        )
    require_levels(records.schema, [name], records.name)
    missing = sum(batch.column(name).null_count for batch in records.batches([name]))
    if missing:
        raise DataError(
            f"{records.name}, column {name!r} has no id in {counted(missing, 'row')}: fill them in."
        )


def ids(table: pa.Table, name: str) -> pl.Series:
    """Return ids as texts: files may have them in different types."""
    return level_texts(table.column(name))


@dataclass(frozen=True, eq=False, repr=False)
class Households:
    """The households that rows of persons make, one record each, for a swap."""

    records: Microdata
    columns: Columns

    @classmethod
    def of(cls, persons: Microdata, name: str, columns: Columns) -> "Households":
        """Put the rows of each id together; raises DataError where they differ in the key or the swap."""
        require_id(persons, name)
        whole = persons.whole()
        held = tuple(column for column in columns.held if column != name)
        frame = pl.DataFrame(
            {
                "id": ids(whole, name),
                "key": row_words(whole, columns.keys),
                "held": mixed(row_words(whole, held)),
                "row": np.arange(whole.num_rows),
            }
        )
        grouped = frame.group_by("id", maintain_order=True).agg(
            pl.col("row").first(), pl.col("key").n_unique().alias("keys"), pl.col("held").sum()
        )
        split = grouped.filter(pl.col("keys") > 1).height
        if split:
            raise DataError(
                f"{persons.name}: {counted(split, 'household')} with rows that differ in"
                f" {' or '.join(columns.keys)}: a household moves whole, so make its rows agree."
            )
        chosen = whole.select([name, *columns.keys]).take(pa.array(grouped["row"].to_numpy()))
        table = chosen.append_column(_members(whole.column_names), pa.array(grouped["held"].to_numpy()))
        return cls(_in_memory(table, persons.name), replace_held(columns, table.column_names))


def replace_held(columns: Columns, header: Sequence[str]) -> Columns:
    """Return the design for the columns of households."""
    return Columns(columns.stratify, columns.swap, tuple(n for n in header if n not in columns.keys))


def _members(header: Sequence[str]) -> str:
    name = MEMBERS
    while name in header:
        name += "'"
    return name


def _in_memory(table: pa.Table, name: str) -> Microdata:
    def read(columns: Sequence[str] | None) -> "list[pa.Table]":
        return [table if columns is None else table.select(list(columns))]

    return Microdata(name, "parquet", table.schema, lambda columns: iter(read(columns)), table.num_rows)


@dataclass(frozen=True, eq=False, repr=False)
class Persons:
    """Persons who follow their households by id."""

    records: Microdata
    id: str
    swap: tuple[str, ...]
    """What is swapped and also a column of theirs: they take it from their household."""
    fingerprint: Fingerprint = field(default_factory=Fingerprint)

    @classmethod
    def of(cls, records: Microdata, name: str, columns: Columns) -> "Persons":
        """Look through a file of persons."""
        require_id(records, name)
        swap = tuple(column for column in columns.swap if column in records.columns)
        held = tuple(column for column in records.columns if column not in swap)
        found = Fingerprint()
        for batch in records.batches():
            found += Fingerprint.of(row_words(batch, held))
        return cls(records, name, swap, found)

    def checked(self, households: Microdata) -> "Persons":
        """Return them; raises DataError where ids of households repeat, or a person has none or another."""
        require_id(households, self.id)
        known = households.whole([self.id, *self.swap])
        keys = ids(known, self.id)
        if twice := len(keys) - keys.n_unique():
            raise DataError(
                f"{households.name}, column {self.id!r} repeats {counted(twice, 'id')}: give each household"
                " one row, or leave persons out of [data] if rows are persons."
            )
        table = self.records.whole([self.id, *self.swap])
        place = places(ids(table, self.id), keys)
        if lost := int((place < 0).sum()):
            raise DataError(
                f"{self.records.name}: {counted(lost, 'person', 'persons')} without a household in"
                f" {households.name}: correct the ids in {self.id!r}, or leave these rows out."
            )
        for name in self.swap:
            theirs = level_texts(table.column(name))
            own = level_texts(known.column(name)).gather(place)
            wrong = int((~theirs.eq_missing(own)).sum())
            if wrong:
                raise DataError(
                    f"{self.records.name}: {counted(wrong, 'person', 'persons')} with another {name} than"
                    f" their household in {households.name}: correct one of the two."
                )
        return self


def follow(persons: pa.Table, households: pa.Table, name: str, swap: Sequence[str]) -> pa.Table:
    """Return persons in the order of their households, with what these have after a swap.

    Persons of one household come in the order of the words of what they hold: where they stood is not told.
    """
    persons = persons.cast(plain(persons.schema))
    place = places(ids(persons, name), ids(households, name))
    held = row_words(persons, [column for column in persons.column_names if column not in swap])
    order = np.lexsort((held, place))
    theirs = pa.array(place[order])
    moved = persons.take(pa.array(order))
    for column in swap:
        at = persons.column_names.index(column)
        kind = persons.schema.field(column)
        moved = moved.set_column(at, kind, households.column(column).take(theirs).cast(kind.type))
    return moved


def agree(persons: pa.Table, households: pa.Table, name: str, swap: Sequence[str]) -> bool:
    """Whether all persons have a household, and what it has."""
    place = places(ids(persons, name), ids(households, name))
    if place.size and place.min() < 0:
        return False
    return all(
        level_texts(persons.column(one)).eq_missing(level_texts(households.column(one)).gather(place)).all()
        for one in swap
    )


def places(wanted: pl.Series, keys: pl.Series) -> IntArray:
    """Return the place of each wanted id among the keys; -1 where it is not there."""
    known = pl.DataFrame({"id": keys, "place": np.arange(len(keys))}).unique("id", keep="first")
    found = pl.DataFrame({"id": wanted}).join(known, on="id", how="left", maintain_order="left")
    place: IntArray = found["place"].fill_null(-1).to_numpy()
    return place
