"""Tables and records of a database: counts are grouped there, records come in batches, nothing is written.

A table of counts asks for one row a combination of levels,

    SELECT "county", "age", sum("n"), count(*) FROM "people" GROUP BY 1, 2

so that a database of any size costs the memory of its cells. How many rows each stands for is kept beside
it, as ledgers know a source by its rows and not by its cells. Records are read once, into a nameless file
that ends with the process: a swap goes over them several times, and after a charge no server can be missed.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import RawIOBase
from pathlib import Path
from threading import Lock
from typing import IO, Any
from weakref import finalize

import polars as pl
import pyarrow as pa
import pyarrow.parquet

from holdfast.data.connections import Connection, DatabaseColumn, Session, connection, quoted
from holdfast.data.files import TIMES, Source
from holdfast.data.microdata import Microdata, bare
from holdfast.data.parquet import batch_rows
from holdfast.data.schema import MOST_CELLS
from holdfast.spec.data import Data
from holdfast.spec.model import Spec
from holdfast.system.errors import DataError
from holdfast.system.machine import free_memory
from holdfast.system.text import closest, in_quotes
from holdfast.system.ways import assigned, setting


@dataclass(frozen=True, eq=False, repr=False)
class Relation:
    """A table, a view or a query of a database."""

    connection: Connection
    name: str
    """What messages call it."""
    sql: str
    """What follows FROM."""
    columns: tuple[DatabaseColumn, ...] = field(default=())

    @classmethod
    def of(cls, asked: Data, folder: Path) -> "Relation":
        """Find what a spec in a folder names; raises DataError where it is not there."""
        opened = connection(asked.database or "", folder)
        with opened.session() as session:
            if asked.query is not None:
                name, sql = f"{opened.name}, the query", f"({asked.query}\n) AS asked"
            else:
                table = asked.table or ""
                name, sql = f"{opened.name}, table {table}", _table(session, opened.name, table)
            columns = session.columns(sql)
        header = [column.name for column in columns]
        for column in header:
            if header.count(column) > 1:
                raise DataError(f"{name} has two columns {column!r}: rename one, with AS in a query.")
        return cls(opened, name, sql, columns)

    def without(self, omit: Mapping[str, Sequence[str]]) -> "Relation":
        """Return what is left without the rows that have one of some levels: sums of other rows."""
        kept = []
        for name, levels in omit.items():
            if name not in self.schema.names:
                raise DataError(
                    f"{self.name} has no column {in_quotes(name)}: {closest(name, self.schema.names)}"
                )
            texts = ", ".join("'" + level.replace("'", "''") + "'" for level in levels)
            column = quoted(name)
            kept.append(f"({column} IS NULL OR CAST({column} AS text) NOT IN ({texts}))")
        return replace(self, sql=f"{self.sql} WHERE {' AND '.join(kept)}") if kept else self

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns, in the types that they are read in."""
        return pa.schema([(column.name, column.kind) for column in self.columns])

    def rows(self) -> Iterator[pa.Table]:
        """Yield all rows batch by batch."""
        chosen = ", ".join(column.sql for column in self.columns)
        with self.connection.session() as session:
            yield from session.read(f"SELECT {chosen} FROM {self.sql}", self.schema)  # noqa: S608 - quoted


def _table(session: Session, database: str, asked: str) -> str:
    """Return the quoted name of a table, with its schema if it needs one."""
    found: dict[str, tuple[str, str]] = {}
    for schema, name, visible in session.tables():
        found[f"{schema}.{name}"] = schema, name
        if visible:
            found[name] = schema, name
    if asked not in found:
        plain = [name for name in found if "." not in name] or list(found)
        raise DataError(f"{database} has no table {in_quotes(asked)}: {closest(asked, plain)}")
    return ".".join(map(quoted, found[asked]))


def grouped(spec: Spec) -> Source:
    """Return the table of a spec with one row for each combination of levels that occurs."""
    asked, whole = spec.data, Relation.of(spec.data, spec.folder)
    relation = whole.without(asked.omit)
    merging = asked.aggregate or bool(asked.recode)
    kept: list[int] = []

    def load(places: Sequence[int]) -> list[pl.Series]:
        wanted = [relation.columns[place] for place in places if place < len(relation.columns)]
        levels = [column for column in wanted if column.name != asked.count]
        count = next((column for column in wanted if column.name == asked.count), None)
        frame = groups_of(relation, levels, count)
        if count is not None:
            _require_counts(relation.name, frame, levels, count.name, merging=merging)
        found = {column.name: frame[f"{at}"].alias(column.name) for at, column in enumerate(levels)}
        if count is not None:
            found[count.name] = frame["sum"].alias(count.name)
        kept[:] = [int(frame["rows"].sum())]
        found[TIMES] = frame["rows"].alias(TIMES)
        return [found[header[place]] for place in places]

    def rows() -> Iterator[list[pl.Series]]:
        read = 0
        for table in whole.rows():  # by all of them it is known, those left out as well
            read += table.num_rows
            yield pl.DataFrame(pl.from_arrow(table)).get_columns()
        if [read] < kept or (not asked.omit and [read] != kept):
            raise DataError("the data changed while they were read: run the command again.")

    header = (*relation.schema.names, TIMES)
    return Source(relation.name, header, load, first_row=1, spoken=lambda _: "some row", rows=rows)


def groups_of(
    relation: Relation, levels: Sequence[DatabaseColumn], count: DatabaseColumn | None
) -> pl.DataFrame:
    """Return how often each combination of levels occurs, and the sum of its counts."""
    chosen = [column.sql for column in levels]
    fields = [pa.field(f"{at}", column.kind) for at, column in enumerate(levels)]
    chosen.append("count(*)")
    fields.append(pa.field("rows", pa.int64()))
    if count is not None:
        _require_whole(relation.name, count)
        value = quoted(count.name)
        wrong = f"{value} < 0", f"{value} <> floor({value})" if count.decimal else "1 = 0"
        chosen.append(f"count({value})")
        chosen += [f"CAST(sum(CASE WHEN {one} THEN 1 ELSE 0 END) AS bigint)" for one in wrong]
        chosen.append(f"CAST(sum({value}) AS text)")
        fields += [pa.field(name, pa.int64()) for name in ("filled", "below", "broken")]
        fields.append(pa.field("sum", pa.string()))
    sql = f"SELECT {', '.join(chosen)} FROM {relation.sql}"  # noqa: S608 - names are quoted
    if levels:
        sql += " GROUP BY " + ", ".join(str(at) for at in range(1, len(levels) + 1))
    schema, frames, held = pa.schema(fields), [], 0
    with relation.connection.session() as session:
        for table in session.read(sql, schema):
            frames.append(pl.DataFrame(pl.from_arrow(table)))
            held += table.nbytes
            free = free_memory()
            if sum(map(len, frames)) > MOST_CELLS or (free is not None and 2 * held > free):
                raise DataError(
                    f"{relation.name} has more combinations of {setting('data', 'cells')} than are handled"
                    " here: name fewer columns, or merge levels in a query."
                )
    return pl.concat([pl.DataFrame(pl.from_arrow(schema.empty_table())), *frames])


def _require_whole(name: str, count: DatabaseColumn) -> None:
    if not (count.decimal or pa.types.is_integer(count.kind)):
        kind = "no whole numbers alone" if count.as_text else f"values of the type {count.kind}"
        raise DataError(
            f"{name}, column {count.name!r} holds {kind}: cast it in a query, such as"
            f" CAST({quoted(count.name)} AS bigint)."
        )


def _require_counts(
    name: str, frame: pl.DataFrame, levels: Sequence[DatabaseColumn], count: str, *, merging: bool
) -> None:
    """Raise where a row has no count or a wrong one, or a cell has several rows that are not to be added."""

    def cell(at: int) -> str:
        values = [(column.name, frame[f"{place}"][at]) for place, column in enumerate(levels)]
        return " and ".join(f"{key} {in_quotes(str(value))}" for key, value in values)

    for wrong, said in (
        (frame["filled"] < frame["rows"], "has no number in some row of {}: fill it in, or delete the row."),
        (frame["below"] > 0, "is below zero in some row of {}: a count never is, so correct it."),
        (frame["broken"] > 0, "is not a whole number in some row of {}: round it, or correct the row."),
    ):
        if wrong.any():
            raise DataError(f"{name}, column {count!r} {said.format(cell(int(wrong.arg_true()[0])))}")
    if not merging and (frame["rows"] > 1).any():
        twice = int((frame["rows"] > 1).arg_true()[0])
        raise DataError(
            f"{name} repeats the cell {cell(twice)}: list each cell once, set {assigned('aggregate', True)}"
            f" in {setting('data')} to sum them, or leave out count if rows are records."
        )


def records_of(spec: Spec) -> Microdata:
    """Return all records of what a spec names, as they are at one moment."""
    relation = Relation.of(spec.data, spec.folder)
    schema = bare(relation.schema)
    spool = _Spool(schema)
    try:
        number = spool.fill(relation.rows())
    except pa.ArrowException:
        raise DataError(
            f"{relation.name} has a column of a type that no file of records has: cast it to text in a query."
        ) from None
    return Microdata(relation.name, "parquet", schema, spool.read, number)


class _Spool:
    """Records in a nameless file, which is gone with the last that refers to it, or with the process."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema, self._lock = schema, Lock()
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by the next line
        finalize(self, self._file.close)

    def fill(self, rows: Iterator[pa.Table]) -> int:
        """Take the rows, and return how many there are."""
        number = 0
        with pyarrow.parquet.ParquetWriter(self._file, self._schema, compression="zstd") as writer:
            for table in rows:
                number += table.num_rows
                writer.write_table(table.cast(self._schema))
        return number

    def read(self, names: Sequence[str] | None) -> Iterator[pa.Table]:
        """Yield the rows batch by batch; several may go over them at once."""
        with pyarrow.parquet.ParquetFile(_Reader(self._file, self._lock)) as file:
            chosen = None if names is None else list(names)
            for batch in file.iter_batches(batch_rows(self._schema), columns=chosen):
                table = pa.Table.from_batches([batch])
                yield table if chosen is None else table.select(chosen)


class _Reader(RawIOBase):
    """Reads a file that others read as well, each at a place of its own."""

    def __init__(self, file: IO[bytes], lock: Lock) -> None:
        super().__init__()
        self._file, self._lock, self._at = file, lock, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        with self._lock:
            start = (0, self._at, self._file.seek(0, 2))[whence]
        self._at = start + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        with self._lock:
            self._file.seek(self._at)
            content = self._file.read(len(buffer))
        buffer[: len(content)] = content
        self._at += len(content)
        return len(content)
