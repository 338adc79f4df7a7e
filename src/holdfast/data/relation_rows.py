"""The rows of a database as a survey asks for them: counted and grouped there, the first of them read."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import polars as pl
import pyarrow as pa

from holdfast.data.columns import as_text
from holdfast.data.connections import connection
from holdfast.data.databases import Relation, groups_of
from holdfast.data.files import Source
from holdfast.data.rows import HEAD, RowGroups, Rows
from holdfast.lattice.arrays import IntArray
from holdfast.spec.data import Data
from holdfast.system.errors import DataError
from holdfast.system.text import counted, in_quotes
from holdfast.system.ways import setting

SHOWN = 8
"""Tables that are named where one is to be chosen."""


def the_table(database: str, folder: Path) -> str:
    """Return the table of a database that has one; raises DataError where one is to be chosen."""
    opened = connection(database, folder)
    with opened.session() as session:
        found = [name if visible else f"{schema}.{name}" for schema, name, visible in session.tables()]
    if len(found) == 1:
        return found[0]
    named = ", ".join(map(in_quotes, sorted(found)[:SHOWN]))
    more = "" if len(found) <= SHOWN else f" and {len(found) - SHOWN} more"
    said = f"has {counted(len(found), 'table')}: {named}{more}" if found else "has no table that you may read"
    raise DataError(f"{opened.name} {said}: name one, or write a query.")


def relation_rows(asked: Data, folder: Path) -> Rows:
    """Return the rows of a table or query."""
    return _RelationRows(Relation.of(asked, folder))


class _RelationRows:
    listed = False

    def __init__(self, relation: Relation) -> None:
        self.relation, self.name = relation, relation.name
        self._column = {column.name: column for column in relation.columns}
        self._source = Source(relation.name, relation.schema.names, lambda _: [], first_row=1)
        self._numbers: dict[tuple[str, ...], int] = {}
        self.unusable: dict[str, str] = {}
        columns = []
        for name, values in zip(self._column, self._first, strict=True):
            try:
                columns.append(self._text(name, values))
            except DataError:
                self.unusable[name] = str(values.dtype)
        self.head = pl.DataFrame(columns)

    @cached_property
    def size(self) -> int:
        return int(self._fetched("count(*)", self.relation.sql)["number"][0])

    def number(self, names: Sequence[str]) -> int:
        key = tuple(names)
        if key not in self._numbers:
            self._numbers[key] = self._distinct(key)
        return self._numbers[key]

    def _distinct(self, names: Sequence[str]) -> int:
        chosen = ", ".join(self._column[name].sql for name in names)
        source = f"(SELECT DISTINCT {chosen} FROM {self.relation.sql}) AS found"  # noqa: S608 - names are quoted
        return int(self._fetched("count(*)", source)["number"][0])

    def whole(self, name: str) -> IntArray:
        raise DataError(
            f"{self.name}, column {name!r} is not read as a whole: group it in {setting('data')}."
        )

    def groups(self, names: Sequence[str], count: str | None) -> RowGroups:
        columns = [self._column[name] for name in names]
        frame = groups_of(self.relation, columns, None if count is None else self._column[count])
        levels = pl.DataFrame([self._text(name, frame[f"{at}"]) for at, name in enumerate(names)])
        if count is None:
            return RowGroups(levels)
        sums = frame["sum"].cast(pl.Decimal(38, 0)).fill_null(0).cast(pl.Int64, strict=False).fill_null(0)
        return RowGroups(levels, sums.to_numpy(), frame["rows"].to_numpy())

    @cached_property
    def _first(self) -> list[pl.Series]:
        chosen = ", ".join(column.sql for column in self.relation.columns)
        sql = f"SELECT {chosen} FROM {self.relation.sql} LIMIT {HEAD}"  # noqa: S608 - names are quoted
        with self.relation.connection.session() as session:
            tables = list(session.read(sql, self.relation.schema))
        return pl.DataFrame(
            pl.from_arrow(pa.concat_tables([self.relation.schema.empty_table(), *tables]))
        ).get_columns()

    def _fetched(self, what: str, source: str) -> pl.DataFrame:
        schema = pa.schema([pa.field("number", pa.int64())])
        with self.relation.connection.session() as session:
            (table,) = session.read(f"SELECT {what} FROM {source}", schema)  # noqa: S608 - of this module
        return pl.DataFrame(pl.from_arrow(table))

    def _text(self, name: str, values: pl.Series) -> pl.Series:
        return as_text(self._source, values.alias(name), floats=True).fill_null("")
