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

import os
import random
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from holdfast.ledger import checkpoint as tree
from holdfast.ledger.chain import StoredLedger
from holdfast.ledger.rows import (
    COMPLETION_COLUMNS,
    HEAD_COLUMNS,
    OPENING_COLUMNS,
    ROW_COLUMNS,
    Completion,
    Head,
    Opening,
    Row,
    StoredRecord,
    foreign_format,
)
from holdfast.system.errors import DamagedLedgerError, FormatError, LedgerError

PATIENCE = 300.0  # seconds to wait for other processes
LONGEST_NAP = 0.02
APPLICATION = 0x486C4C64  # "HlLd", in the header of the file
VERSION = 1
"""The format of the tables, as SQLite's user_version."""


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
    _forbid("UPDATE", "opening"),
    _forbid("DELETE", "opening"),
    _forbid("UPDATE", "charges"),
    _forbid("DELETE", "charges"),
    _table("head", HEAD_COLUMNS, ("length", "completions")),
    _forbid("DELETE", "head"),
    _table("completions", COMPLETION_COLUMNS, ("row",)),
    "CREATE UNIQUE INDEX completion_of_row ON completions (row)",
    _forbid("UPDATE", "completions"),
    _forbid("DELETE", "completions"),
    # the checkpoint: entries by key, and the tree of their digests
    'CREATE TABLE entries ("key" TEXT PRIMARY KEY, "value" TEXT NOT NULL) WITHOUT ROWID',
    "CREATE TABLE nodes (parent TEXT, name TEXT, digest TEXT, PRIMARY KEY (parent, name)) WITHOUT ROWID",
    # working notes, of no account: where the draft of a row is
    'CREATE TABLE drafts ("row" INTEGER PRIMARY KEY, "path" BLOB NOT NULL)',
)


def create(path: Path, opening: Opening, head: Head) -> None:
    """Write a new ledger to a path that nobody else knows yet."""
    with _guarded(path), closing(sqlite3.connect(path, isolation_level=None)) as connection:
        _durable(connection)
        connection.execute(f"PRAGMA application_id={APPLICATION}")
        connection.execute("BEGIN EXCLUSIVE")
        for statement in SCHEMA:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version={VERSION}")
        _insert(connection, "opening", opening.record())
        _insert(connection, "head", head.record())
        connection.execute("COMMIT")


def require_ledger(path: Path) -> None:
    """Raise LedgerError unless there is a file to open."""
    try:
        state = "" if path.is_file() else "is not a file" if path.exists() else "does not exist"
    except OSError as error:
        state = f"cannot be read ({error.strerror})"
    if state:
        raise LedgerError(f"the ledger {path} {state}: name one, or open a new ledger.")


@contextmanager
def connected(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a file that exists; SQLite's errors leave as one sentence.

    The connection may write even where it only reads: rolling back what a killed process left is a write.
    """
    require_ledger(path)
    address = f"{path.absolute().as_uri()}?mode=rw"
    with (
        _guarded(path),
        closing(sqlite3.connect(address, uri=True, isolation_level=None, timeout=PATIENCE)) as connection,
    ):
        connection.execute("PRAGMA trusted_schema=OFF")
        if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION,):
            raise LedgerError(f"{path} is not a ledger of Holdfast: name another file.")
        _require_known_format(connection, path)
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


def read(connection: sqlite3.Connection) -> StoredLedger:
    """Return everything that a file holds; called within a transaction."""
    return StoredLedger(
        _records(connection, "opening"),
        _records(connection, "charges"),
        _records(connection, "head"),
        _records(connection, "completions"),
        tuple(_odd(connection)),
        {str(key): str(value) for key, value in connection.execute("SELECT * FROM entries")},
        {(str(p), str(n)): str(digest) for p, n, digest in connection.execute("SELECT * FROM nodes")},
    )


def read_tip(connection: sqlite3.Connection) -> StoredLedger:
    """Return the opening, the head, and the last row and completion; called within a transaction."""
    last = 'ORDER BY "index" DESC LIMIT 1'
    return StoredLedger(
        _records(connection, "opening"),
        _records(connection, "charges", last),
        _records(connection, "head"),
        _records(connection, "completions", last),
        tuple(_odd(connection)),
    )


def read_row(connection: sqlite3.Connection, index: int) -> StoredRecord | None:
    """Return the record of a row."""
    return next(iter(_records(connection, "charges", 'WHERE "index" = ?', (index,))), None)


def read_completion(connection: sqlite3.Connection, row: int) -> StoredRecord | None:
    """Return the record of the completion of a row."""
    return next(iter(_records(connection, "completions", 'WHERE "row" = ?', (row,))), None)


def read_draft(connection: sqlite3.Connection, row: int) -> Path | None:
    """Return where the last draft of a row was made."""
    found = connection.execute('SELECT "path" FROM drafts WHERE "row" = ?', (row,)).fetchone()
    return None if found is None else Path(os.fsdecode(found[0]))


def read_entry(connection: sqlite3.Connection, root: str, key: str) -> str | None:
    """Return an entry of the checkpoint that the head holds the root of; ValueError where it is not of it."""
    expected = tree.proved(lambda node: _children(connection, node), root, key)
    found = connection.execute('SELECT "value" FROM entries WHERE "key" = ?', (key,)).fetchone()
    value = None if found is None else str(found[0])
    if (None if value is None else tree.leaf(value)) != expected:
        raise ValueError("the checkpoint does not hold together")
    return value


def write_entries(connection: sqlite3.Connection, root: str, entries: Mapping[str, str]) -> str:
    """Set entries of the checkpoint, and return its new root; called within a transaction."""
    for key, value in entries.items():
        nodes = tree.changed(lambda node: _children(connection, node), key, tree.leaf(value))
        root = nodes.pop(("", ""))
        connection.execute("INSERT OR REPLACE INTO entries VALUES (?, ?)", (key, value))
        connection.executemany(
            "INSERT OR REPLACE INTO nodes VALUES (?, ?, ?)", [(*at, digest) for at, digest in nodes.items()]
        )
    return root


def append(connection: sqlite3.Connection, link: Row | Completion, head: Head) -> None:
    """Add a row or a completion and move the head to it; called within a transaction."""
    _insert(connection, "charges" if isinstance(link, Row) else "completions", link.record())
    sets = ", ".join(f'"{name}" = :{name}' for name in HEAD_COLUMNS[1:])
    connection.execute(f'UPDATE head SET {sets} WHERE "index" = 0', head.record())  # noqa: S608


def note_draft(connection: sqlite3.Connection, row: int, draft: Path) -> None:
    """Note where the draft of a row is."""
    where = os.fsencode(draft.absolute())
    connection.execute("INSERT OR REPLACE INTO drafts VALUES (?, ?)", (row, where))


def pages_intact(connection: sqlite3.Connection) -> bool:
    """Ask SQLite to check its own pages."""
    return connection.execute("PRAGMA integrity_check(1)").fetchall() == [("ok",)]


def _require_known_format(connection: sqlite3.Connection, path: Path) -> None:
    """Raise FormatError for a ledger of another version: it is not damaged, and nothing is done to it."""
    number = connection.execute("PRAGMA user_version").fetchone()[0]
    named = f"holdfast-ledger/{number}" if number > VERSION else None
    if named is None:
        with suppress(sqlite3.OperationalError):  # no such table: that is for the judge to say
            found = connection.execute("SELECT format FROM opening LIMIT 1").fetchone()
            named = found[0] if found is not None and foreign_format(found[0]) else None
    if named is not None:
        raise FormatError(
            f"{path} is a ledger of format {named}, which this version of Holdfast does not read: update it."
        )


def _odd(connection: sqlite3.Connection) -> Iterator[str]:
    found = connection.execute("SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
    if sorted(str(sql) for (sql,) in found) != sorted(SCHEMA):
        yield "the tables or triggers are not those of a ledger"
    elif connection.execute("PRAGMA user_version").fetchone() != (VERSION,):
        yield "the tables are not marked as those of a ledger"
    if connection.execute("PRAGMA journal_mode").fetchone() == ("wal",):
        yield "the file was switched to WAL, where a copy can lose rows: set PRAGMA journal_mode=DELETE"


def _children(connection: sqlite3.Connection, node: str) -> dict[str, str]:
    return dict(connection.execute('SELECT "name", "digest" FROM nodes WHERE "parent" = ?', (node,)))


def _records(
    connection: sqlite3.Connection,
    table: str,
    which: str = 'ORDER BY "index", rowid',
    values: tuple[object, ...] = (),
) -> tuple[StoredRecord, ...]:
    cursor = connection.execute(f"SELECT * FROM {table} {which}", values)  # noqa: S608
    names = [column[0] for column in cursor.description]
    return tuple(dict(zip(names, values, strict=True)) for values in cursor)


def _insert(connection: sqlite3.Connection, table: str, record: StoredRecord) -> None:
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
    except DamagedLedgerError as error:
        raise DamagedLedgerError(
            f"the ledger {path} is damaged ({error}): restore a copy that holds every release."
        ) from None
    except sqlite3.Error as error:
        raise _sentence(path, error) from None
    except UnicodeDecodeError:  # what SQLite says of a damaged schema can hold any bytes
        raise DamagedLedgerError(
            f"the ledger {path} is damaged (its schema is no text): restore a copy that holds every release."
        ) from None


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
    return DamagedLedgerError(
        f"the ledger {path} is damaged ({said}): restore a copy that holds every release."
    )


def _busy(path: Path) -> LedgerError:
    return LedgerError(f"the ledger {path} was in use by others for {PATIENCE:g} seconds: try again.")


def _code(error: sqlite3.Error) -> int | None:
    """Return the primary error code; what Python itself could not read has none."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF
