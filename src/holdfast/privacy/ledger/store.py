"""The file: SQLite's schema, connections and transactions.

Rollback journal, not WAL: between transactions the account is then one file, and a copy of that file is the
whole account. In WAL a copy without its -wal file would silently lose the last charges, which is the one
error an account must not make. With a rollback journal the commit is the removal of the journal, and
synchronous=FULL does not force that removal to the disk: a power cut just after a commit could bring the
journal back, and so undo the commit. synchronous=EXTRA is FULL and forces it; when COMMIT returns, the
charge is there to stay. A killed process leaves a journal, and whoever opens the file next rolls it back.

Every operation has its own connection. Nothing here opens the file but SQLite: POSIX drops all locks of a
process on a file when it closes any of its handles of that file.
"""

import random
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from holdfast.privacy.ledger.chain import Stored
from holdfast.privacy.ledger.entry import HEAD_COLUMNS, OPENING_COLUMNS, ROW_COLUMNS, Record
from holdfast.privacy.ledger.errors import DamagedError, LedgerError

PATIENCE = 300.0  # seconds to wait for other processes
LONGEST_NAP = 0.02
APPLICATION = 0x486C4C64  # "HlLd", in the header of the file


def _table(name: str, columns: Iterable[str], numbers: tuple[str, ...]) -> str:
    kinds = ", ".join(
        f'"{column}" INTEGER PRIMARY KEY'
        if column == "index"
        else f'"{column}" {"INTEGER" if column in numbers else "TEXT"} NOT NULL'
        for column in columns
    )
    return f"CREATE TABLE {name} ({kinds})"


def _forbid(verb: str, table: str) -> str:
    return (
        f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table}"
        f" BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
    )


SCHEMA = (
    _table("opening", OPENING_COLUMNS, ()),
    _table("charges", ROW_COLUMNS, ()),
    _table("head", HEAD_COLUMNS, ("length",)),
    _forbid("UPDATE", "opening"),
    _forbid("DELETE", "opening"),
    _forbid("UPDATE", "charges"),
    _forbid("DELETE", "charges"),
    _forbid("DELETE", "head"),
)


def create(path: Path, opening: Record, head: Record) -> None:
    """Write a new ledger to a path that nobody else knows yet."""
    with _guarded(path), closing(sqlite3.connect(path, isolation_level=None)) as connection:
        _durable(connection)
        connection.execute(f"PRAGMA application_id={APPLICATION}")
        connection.execute("BEGIN EXCLUSIVE")
        for statement in SCHEMA:
            connection.execute(statement)
        _insert(connection, "opening", opening)
        _insert(connection, "head", head)
        connection.execute("COMMIT")


@contextmanager
def connected(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a file that exists; SQLite's errors leave as one sentence.

    The connection may write even where it only reads: rolling back what a killed process left is a write.
    """
    try:
        state = "" if path.is_file() else "is not a file" if path.exists() else "does not exist"
    except OSError as error:
        state = f"cannot be read ({error.strerror})"
    if state:
        raise LedgerError(f"the ledger {path} {state}: name one, or open a new ledger.")
    address = f"{path.absolute().as_uri()}?mode=rw"
    with (
        _guarded(path),
        closing(sqlite3.connect(address, uri=True, isolation_level=None, timeout=PATIENCE)) as connection,
    ):
        connection.execute("PRAGMA trusted_schema=OFF")
        if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION,):
            raise LedgerError(f"{path} is not a ledger of Holdfast: name another file.")
        yield connection


@contextmanager
def reading(connection: sqlite3.Connection) -> Iterator[None]:
    """See one state of the file, whatever others write meanwhile."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        _roll_back(connection)


@contextmanager
def writing(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Hold the only right to write until the commit; anything raised leaves the file as it was.

    BEGIN IMMEDIATE takes the right before the first read, so no two processes can see the same rest of the
    budget and both spend it.
    """
    _durable(connection)
    _begin_immediate(connection, path)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        _roll_back(connection)
        raise


def read(connection: sqlite3.Connection) -> Stored:
    """Return everything that a file holds; called within a transaction."""
    found = connection.execute("SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
    odd = []
    if sorted(str(sql) for (sql,) in found) != sorted(SCHEMA):
        odd.append("the tables or triggers are not those of a ledger")
    if connection.execute("PRAGMA journal_mode").fetchone() == ("wal",):
        odd.append("the file was switched to WAL, where a copy can lose rows: set PRAGMA journal_mode=DELETE")
    return Stored(
        _records(connection, "opening"),
        _records(connection, "charges"),
        _records(connection, "head"),
        tuple(odd),
    )


def append(connection: sqlite3.Connection, row: Record, head: Record) -> None:
    """Add a row and move the head to it; called within a transaction."""
    _insert(connection, "charges", row)
    connection.execute('UPDATE head SET length = :length, hash = :hash, seal = :seal WHERE "index" = 0', head)


def pages_intact(connection: sqlite3.Connection) -> bool:
    """Ask SQLite to check its own pages."""
    return connection.execute("PRAGMA integrity_check(1)").fetchall() == [("ok",)]


def _records(connection: sqlite3.Connection, table: str) -> tuple[Record, ...]:
    cursor = connection.execute(f'SELECT * FROM {table} ORDER BY "index", rowid')  # noqa: S608
    names = [column[0] for column in cursor.description]
    return tuple(dict(zip(names, values, strict=True)) for values in cursor)


def _insert(connection: sqlite3.Connection, table: str, record: Record) -> None:
    columns = ", ".join(f'"{name}"' for name in record)
    marks = ", ".join("?" for _ in record)
    connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", tuple(record.values()))  # noqa: S608


def _durable(connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):  # `read` refuses that one
        connection.execute("PRAGMA journal_mode=DELETE")
    connection.execute("PRAGMA synchronous=EXTRA")
    connection.execute("PRAGMA fullfsync=ON")  # macOS: past the disk's own cache; elsewhere nothing


def _begin_immediate(connection: sqlite3.Connection, path: Path) -> None:
    """Wait for the right to write with naps of random length.

    SQLite's own naps grow with the waiting, so that newcomers overtake; here every process that waits has
    the same chance at every moment.
    """
    until = time.monotonic() + PATIENCE
    connection.execute("PRAGMA busy_timeout=0")
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
            break
        except sqlite3.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_BUSY:
                raise
            if time.monotonic() > until:
                raise _busy(path) from None
        time.sleep(random.uniform(0.0005, LONGEST_NAP))
    connection.execute(f"PRAGMA busy_timeout={int(PATIENCE * 1000)}")  # COMMIT waits for readers


def _roll_back(connection: sqlite3.Connection) -> None:
    """Give the lock back; where even that fails, closing does, and the journal undoes the rest."""
    if connection.in_transaction:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")


@contextmanager
def _guarded(path: Path) -> Iterator[None]:
    """Turn SQLite's errors, and damage found on the way, into one sentence."""
    try:
        yield
    except DamagedError as error:
        raise DamagedError(
            f"the ledger {path} is damaged ({error}): restore a copy that holds every release."
        ) from None
    except sqlite3.Error as error:
        raise _sentence(path, error) from None


def _sentence(path: Path, error: sqlite3.Error) -> LedgerError:
    said = " ".join(str(error).encode("ascii", "replace").decode().split())
    match _code(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return _busy(path)
        case sqlite3.SQLITE_NOTADB:
            return LedgerError(f"{path} is not a ledger of Holdfast: name another file.")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return LedgerError(f"the ledger {path} or its folder cannot be opened for writing ({said}).")
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR | sqlite3.SQLITE_NOMEM:
            return LedgerError(
                f"the disk of the ledger {path} refuses ({said}): draw nothing, and try again."
            )
    return DamagedError(f"the ledger {path} is damaged ({said}): restore a copy that holds every release.")


def _busy(path: Path) -> LedgerError:
    return LedgerError(f"the ledger {path} was in use by others for {PATIENCE:g} seconds: try again.")


def _code(error: sqlite3.Error) -> int | None:
    """Return the primary error code; what Python itself could not read has none."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF
