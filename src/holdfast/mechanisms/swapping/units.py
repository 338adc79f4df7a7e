"""The units of a file that are swapped: its records, or households with all their rows.

Households move whole, and their persons follow. Two ways to give them. A file of households with a file of
persons beside it: households are swapped, and persons take what their household has then. Or a file of
persons alone: its rows with one id are a household, which must agree in the key and in what is swapped. Ids
are held, so persons find their household again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pyarrow as pa

from holdfast.data.fingerprint import (
    Digests,
    Fingerprint,
    Multiset,
    as_column,
    digests_of_runs,
    fingerprint,
    row_codes,
    row_digests,
)
from holdfast.data.microdata import Microdata, level_texts
from holdfast.data.sections import FileSection
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.records import ColumnRoles
from holdfast.mechanisms.swapping.details import InducedSection
from holdfast.mechanisms.swapping.public import (
    PublicStrata,
    Survey,
    file_section,
    persons_section,
    public_strata,
    records_section,
)
from holdfast.mechanisms.swapping.rounds import RoundStrata
from holdfast.mechanisms.swapping.tallies import Tally, require_levels
from holdfast.spec.privacy import ProtectedUnit
from holdfast.system.errors import DataError, SpecError
from holdfast.system.text import closest, counted
from holdfast.system.ways import setting

MEMBERS = "members"
"""A column of households that stands for all that their persons hold."""


def require_id(records: Microdata, name: str) -> None:
    """Raise DataError where a file has no column of ids, or an id is missing."""
    if name not in records.columns:
        raise DataError(
            f"{setting('data', 'id')} names {name!r}, which is no column of {records.name}:"
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
    columns: ColumnRoles

    @classmethod
    def of(cls, persons: Microdata, name: str, columns: ColumnRoles) -> "Households":
        """Put the rows of each id together; raises DataError where they differ in the key or the swap."""
        require_id(persons, name)
        whole = persons.whole()
        held = tuple(column for column in columns.held if column != name)
        frame = pl.DataFrame(
            {
                "id": ids(whole, name),
                "key": row_codes(whole, columns.keys),
                "row": np.arange(whole.num_rows),
            }
        )
        grouped = frame.group_by("id", maintain_order=True).agg(
            pl.col("row").first(), pl.len().alias("rows"), pl.col("key").n_unique().alias("keys")
        )
        split = grouped.filter(pl.col("keys") > 1).height
        if split:
            raise DataError(
                f"{persons.name}: {counted(split, 'household')} with rows that differ in"
                f" {' or '.join(columns.keys)}: a household moves whole, so make its rows agree."
            )
        chosen = whole.select([name, *columns.keys]).take(grouped["row"].to_arrow())
        household = places(frame["id"], grouped["id"])
        members = members_digests(row_digests(whole, held), household)
        table = chosen.append_column(_members(whole.column_names), as_column(members))
        return cls(_in_memory(table, persons.name), replace_held(columns, table.column_names))


def members_digests(persons: Digests, household: IntArray, number: int = 0) -> Digests:
    """Return a digest for each household, in order, of the digests of its persons in the order of these."""
    order = np.lexsort((*persons.T, household))
    return digests_of_runs(persons[order], np.cumsum(np.bincount(household, minlength=number)))


def replace_held(columns: ColumnRoles, header: Sequence[str]) -> ColumnRoles:
    """Return the design for the columns of households."""
    held = tuple(n for n in header if n not in (*columns.keys, *columns.renumber))
    return ColumnRoles(columns.stratify, columns.swap, held, columns.renumber)


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
    held: tuple[str, ...]
    fingerprint: Fingerprint
    renumbered: bool = False

    @classmethod
    def of(cls, records: Microdata, name: str, columns: ColumnRoles, households: Microdata) -> "Persons":
        """Look through a file of persons.

        Where ids are replaced, who lives together and in which household is fingerprinted in their place.
        """
        require_id(records, name)
        swap = tuple(column for column in columns.swap if column in records.columns)
        renumbered = name in columns.renumber
        held = tuple(column for column in records.columns if column not in swap)
        if not renumbered:
            return cls(records, name, swap, held, fingerprint(records.batches(), held))
        held = tuple(column for column in held if column != name)
        return cls(records, name, swap, held, _together(records, name, held, columns, households), renumbered)

    def checked(self, households: Microdata) -> "Persons":
        """Return them; raises DataError where ids of households repeat, or a person has none or another."""
        require_id(households, self.id)
        known = households.whole([self.id, *self.swap])
        keys = ids(known, self.id)
        if twice := len(keys) - keys.n_unique():
            raise DataError(
                f"{households.name}, column {self.id!r} repeats {counted(twice, 'id')}: give each household"
                f" one row, or leave persons out of {setting('data')} if rows are persons."
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


def _together(
    persons: Microdata, name: str, held: Sequence[str], columns: ColumnRoles, households: Microdata
) -> Fingerprint:
    """Return the fingerprint of households, each by what it holds and by its persons."""
    require_id(households, name)
    whole, own = persons.whole(), households.whole([name, *columns.stratify, *columns.held])
    place = places(ids(whole, name), ids(own, name))
    if place.size and place.min() < 0:
        raise DataError(
            f"{persons.name} has persons without a household in {households.name}: correct the ids."
        )
    with Multiset(held, (*columns.stratify, *columns.held)) as rows:
        members = members_digests(row_digests(whole, held), place, own.num_rows)
        rows.add(members, row_digests(own, (*columns.stratify, *columns.held)))
        return Fingerprint(whole.num_rows, rows.fingerprint().digest)


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


@dataclass(frozen=True, eq=False, repr=False)
class Units:
    """A file, one record for each unit of it, and the persons who follow them.

    ``records`` is the file itself, or the households that its rows make; ``columns`` are those of records.
    """

    source: Microdata
    records: Microdata
    columns: ColumnRoles
    id: str | None = None
    persons: Persons | None = None

    @classmethod
    def of(
        cls, source: Microdata, columns: ColumnRoles, unit_id: str | None, persons: Microdata | None
    ) -> "Units":
        """Return the units of a file; with an id, rows are put together unless persons have a file."""
        if unit_id is None:
            return cls(source, source, columns)
        if persons is not None:
            return cls(source, source, columns, unit_id, Persons.of(persons, unit_id, columns, source))
        for name in columns.renumber:
            if name != unit_id:
                raise SpecError(
                    f"{setting('mechanism', 'renumber')} names {name!r}, and of rows that are put together"
                    f" only the id {unit_id!r} can be: leave it out."
                )
        households = Households.of(source, unit_id, columns)
        return cls(source, households.records, households.columns, unit_id)

    @property
    def of_rows(self) -> bool:
        """Whether a unit is made of several rows of the file."""
        return self.records is not self.source

    def public(
        self,
        found: Survey,
        counts: tuple[Tally, ...],
        whom: ProtectedUnit,
        rounds: tuple[RoundStrata, ...] = (),
    ) -> PublicStrata:
        """Return what is public, from a survey of the records and counts that were asked for."""
        rows = found.rows
        if self.of_rows:
            rows = sum(batch.num_rows for batch in self.source.batches(self.source.columns[:1]))
        file, followers = self._persons()
        section = records_section(self.source, rows, unit_id=self.id, persons=file)
        public = public_strata(section, found, counts, self.columns, whom, followers)
        return replace(public, rounds=rounds)

    def _persons(self) -> tuple[FileSection | None, InducedSection | None]:
        if self.persons is None:
            return None, None
        records, whole = self.persons.records, self.persons.fingerprint
        return file_section(records, whole.rows), persons_section(self.persons.held, whole.rows, whole)
