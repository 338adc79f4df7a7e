"""Sessions of databases that only read: PostgreSQL, DuckDB and SQLite, each in its own words.

No session can write, whatever it is asked. Of what a library says of an error only what it says of the query
is shown: other sentences may hold values.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Protocol
from urllib.parse import quote, urlsplit

import pyarrow as pa

from holdfast.data.files import readable
from holdfast.data.parquet import decoded
from holdfast.spec.databases import is_address
from holdfast.system.errors import DataError, SpecError
from holdfast.system.files import require_file
from holdfast.system.machine import require_memory
from holdfast.system.text import in_quotes
from holdfast.system.ways import setting

BATCH = 100_000
"""Rows that are read at once, at most."""


@dataclass(frozen=True)
class DatabaseColumn:
    """A column of a table or query: its name, and the type of its values as they are read."""

    name: str
    kind: pa.DataType
    as_text: bool = False
    """Whether the database makes a text of each value: Arrow has no type for them."""
    decimal: bool = False
    """Whether values are decimals, which may be whole."""

    @property
    def sql(self) -> str:
        """What is selected."""
        return f"CAST({quoted(self.name)} AS text)" if self.as_text else quoted(self.name)


def quoted(name: str) -> str:
    r"""Return a name as SQL has it, whatever is in it.

    >>> print(quoted('a" b'))
    "a"" b"
    """
    return '"' + name.replace('"', '""') + '"'


def _none_of(source: str) -> str:
    return f"SELECT * FROM {source} LIMIT 0"  # noqa: S608 - quoted names, or the query of a spec


class Session(Protocol):
    """An open connection that cannot write."""

    def tables(self) -> list[tuple[str, str, bool]]:
        """Return the schema and the name of each table and view, and whether the name alone finds it."""

    def columns(self, source: str) -> tuple[DatabaseColumn, ...]:
        """Return the columns of what follows FROM."""

    def read(self, sql: str, schema: pa.Schema) -> Iterator[pa.Table]:
        """Yield the rows of a query batch by batch; names and types are those of the schema."""


class Connection(Protocol):
    """A database that sessions can be opened of."""

    @property
    def name(self) -> str:
        """What messages call it: without a user or a secret."""

    def session(self) -> Any:
        """Open a session, closed behind it; what goes wrong in it is a DataError."""


def connection(database: str, folder: Path) -> Connection:
    """Return how a database is opened: one on a server, or in a file relative to a folder."""
    if is_address(database):
        return PostgreSQL(database)
    path = folder / database
    require_file(path, "database")
    with readable(path), path.open("rb") as file:
        start = file.read(16)
    if start == b"SQLite format 3\0":
        return SQLite(path)
    if start[8:12] == b"DUCK":
        return DuckDB(path)
    raise DataError(f"{path} is a file neither of DuckDB nor of SQLite: name one, or set path to read it.")


def _missing(library: str) -> NoReturn:
    raise SpecError(
        f"{setting('data', 'database')} needs {library}: install the extra databases of holdfast-dp."
    ) from None


def _refused(name: str, said: str) -> DataError:
    """Return what is said of a query that a database does not understand."""
    return DataError(
        f"{name} refuses the query ({in_quotes(said.strip().splitlines()[0], 200)[1:-1]}): correct"
        f" {setting('data', 'query')}."
    )


def _failed(name: str, why: str) -> DataError:
    return DataError(f"{name} stopped the query ({why}): try it in the database, and correct what it names.")


def _lost(name: str) -> DataError:
    return DataError(
        f"the connection to {name} was lost while it was read, and nothing was released: run it again."
    )


class _ArrowSession:
    """A session of a library that speaks Arrow."""

    def columns(self, source: str) -> tuple[DatabaseColumn, ...]:
        schema, _ = self.run(_none_of(source))
        return tuple(_column(field) for field in schema)

    def read(self, sql: str, schema: pa.Schema) -> Iterator[pa.Table]:
        _, batches = self.run(sql)
        for batch in batches:
            table = decoded(pa.Table.from_batches([batch]).rename_columns(schema.names))
            yield table.cast(schema)

    def run(self, sql: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        raise NotImplementedError


def _column(field: pa.Field) -> DatabaseColumn:
    kind = field.type
    if isinstance(kind, pa.BaseExtensionType) or pa.types.is_interval(kind):
        numeric = (field.metadata or {}).get(b"POSTGRESQL:type") == b"numeric"
        return DatabaseColumn(field.name, pa.string(), as_text=True, decimal=numeric)
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    plain = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    return DatabaseColumn(field.name, plain.get(kind, kind), decimal=pa.types.is_decimal(kind))


@dataclass(frozen=True)
class _PostgreSQLSession(_ArrowSession):
    cursor: Any

    def tables(self) -> list[tuple[str, str, bool]]:
        self.cursor.execute(
            "SELECT n.nspname::text, c.relname::text, pg_table_is_visible(c.oid) FROM pg_class c"
            " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p')"
            " AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')"
        )
        return list(self.cursor.fetchall())

    def run(self, sql: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        self.cursor.execute(sql)
        reader = self.cursor.fetch_record_batch()
        return reader.schema, reader


SETTINGS = (
    "default_transaction_read_only = on",
    "standard_conforming_strings = on",
    "TimeZone = 'UTC'",
    "DateStyle = 'ISO'",
)


@dataclass(frozen=True)
class PostgreSQL:
    """A database on a server; user and password are libpq's to find: PG*, a service file, ~/.pgpass."""

    address: str

    @property
    def name(self) -> str:
        """The host and the database."""
        parts = urlsplit(self.address)
        return f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"

    @contextmanager
    def session(self) -> Iterator[_PostgreSQLSession]:
        """Open a transaction that reads one state of the database."""
        try:
            from adbc_driver_manager import Error  # noqa: PLC0415 - an extra
            from adbc_driver_postgresql import dbapi  # noqa: PLC0415
        except ImportError:
            _missing("adbc-driver-postgresql")
        try:
            address = self._with("client_encoding=UTF8", "connect_timeout=30")
            connected = dbapi.connect(address, autocommit=True)
        except Error as error:
            raise self._closed(str(error)) from None
        try:
            with closing(connected), closing(connected.cursor()) as cursor:
                for said in SETTINGS:
                    cursor.execute(f"SET {said}")
                connected.adbc_connection.set_autocommit(False)
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                yield _PostgreSQLSession(cursor)
        except (Error, pa.ArrowException, OSError) as error:
            require_memory(error)
            raise self._stopped(error) from None

    def _with(self, *options: str) -> str:
        """Return the address with options that it has not."""
        added = [one for one in options if one.partition("=")[0] + "=" not in self.address]
        return "&".join([self.address + ("" if "?" in self.address else "?"), *added]).replace("?&", "?")

    def _closed(self, said: str) -> DataError:
        if re.search(r"password|authentication|role .* does not exist|pg_hba", said):
            return DataError(
                f"{self.name} does not let this user in: set PGUSER and PGPASSWORD in the environment, or"
                " name a service file or ~/.pgpass that has them."
            )
        if re.search(r"database .* does not exist", said):
            return DataError(f"{self.name} does not exist: check the name behind the host.")
        return DataError(
            f"{self.name} cannot be reached: check the host and the port, and that the server runs."
        )

    def _stopped(self, error: BaseException) -> DataError:
        state = getattr(error, "sqlstate", None) or next(
            iter(re.findall(r"SQLSTATE:? (\w{5})", str(error))), None
        )
        if state is None or state.startswith(("08", "57P")):
            return _lost(self.name)
        if state == "42501":
            return DataError(f"{self.name} does not let this user read that: ask for the right to SELECT.")
        said = re.search(r"ERROR:\s+(.*)", str(error))
        if state.startswith("42") and said:
            return _refused(self.name, said[1])
        return _failed(self.name, f"SQLSTATE {state}")


@dataclass(frozen=True)
class _DuckDBSession(_ArrowSession):
    connected: Any

    def tables(self) -> list[tuple[str, str, bool]]:
        found = self.connected.execute(
            "SELECT table_schema, table_name, table_schema = current_schema() FROM information_schema.tables"
        )
        return list(found.fetchall())

    def run(self, sql: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        result = self.connected.sql(sql)
        newer = getattr(result, "to_arrow_reader", None)
        reader = result.fetch_arrow_reader(BATCH) if newer is None else newer(BATCH)
        return reader.schema, reader


@dataclass(frozen=True)
class DuckDB:
    """A file of DuckDB."""

    path: Path

    @property
    def name(self) -> str:
        """The file."""
        return str(self.path)

    @contextmanager
    def session(self) -> Iterator[_DuckDBSession]:
        """Open the file for reading."""
        try:
            import duckdb  # noqa: PLC0415 - an extra
        except ImportError:
            _missing("duckdb")
        try:
            connected = duckdb.connect(str(self.path), read_only=True)
        except duckdb.Error:
            raise DataError(
                f"{self.name} cannot be opened: it is damaged, of another version of DuckDB, or another"
                " program is writing to it, which must close it first."
            ) from None
        try:
            with closing(connected):
                connected.execute("SET TimeZone = 'UTC'")
                connected.execute("SET enable_progress_bar = false")
                yield _DuckDBSession(connected)
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            require_memory(error)
            if isinstance(error, duckdb.OutOfMemoryException):
                raise MemoryError("there is not enough memory") from None  # noqa: TRY004
            if isinstance(error, duckdb.ParserException | duckdb.BinderException | duckdb.CatalogException):
                raise _refused(self.name, str(error)) from None
            raise _failed(self.name, type(error).__name__) from None


@dataclass(frozen=True)
class _SQLiteSession:
    connected: sqlite3.Connection

    def tables(self) -> list[tuple[str, str, bool]]:
        found = self.connected.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        return [("main", name, True) for (name,) in found]

    def columns(self, source: str) -> tuple[DatabaseColumn, ...]:
        # values have types of their own here, whatever their column says
        header = [one[0] for one in self.connected.execute(_none_of(source)).description]
        if not header or len(set(header)) < len(header):
            return tuple(DatabaseColumn(name, pa.null()) for name in header)
        kinds = ", ".join(f"group_concat(DISTINCT typeof({quoted(name)}))" for name in header)
        found = self.connected.execute(f"SELECT {kinds} FROM {source}").fetchone()  # noqa: S608
        return tuple(_sqlite_column(name, said or "") for name, said in zip(header, found, strict=True))

    def read(self, sql: str, schema: pa.Schema) -> Iterator[pa.Table]:
        cursor = self.connected.execute(sql)
        while rows := cursor.fetchmany(BATCH):
            columns = zip(zip(*rows, strict=True), schema.types, strict=True)
            yield pa.Table.from_arrays([pa.array(values, kind) for values, kind in columns], schema=schema)


_SQLITE_KINDS = {
    frozenset({"integer"}): pa.int64(),
    frozenset({"real"}): pa.float64(),
    frozenset({"integer", "real"}): pa.float64(),
    frozenset({"blob"}): pa.binary(),
}


def _sqlite_column(name: str, said: str) -> DatabaseColumn:
    kind = _SQLITE_KINDS.get(frozenset(said.split(",")) - {"null"})
    return DatabaseColumn(name, pa.string(), as_text=True) if kind is None else DatabaseColumn(name, kind)


@dataclass(frozen=True)
class SQLite:
    """A file of SQLite."""

    path: Path

    @property
    def name(self) -> str:
        """The file."""
        return str(self.path)

    @contextmanager
    def session(self) -> Iterator[_SQLiteSession]:
        """Open the file for reading."""
        try:
            with closing(sqlite3.connect(f"file:{quote(str(self.path))}?mode=ro", uri=True)) as connected:
                connected.execute("PRAGMA query_only = ON")
                yield _SQLiteSession(connected)
        except (sqlite3.Error, pa.ArrowException) as error:
            if re.match(r"no such|near |ambiguous|misuse|wrong number|unrecognized", str(error)):
                raise _refused(self.name, str(error)) from None
            if "locked" in str(error):
                raise DataError(f"{self.name} is locked by another program: close it there.") from None
            raise _failed(self.name, type(error).__name__) from None
