"""Every change behind Holdfast's back is found, with the triggers out of the way and put back after."""

import random
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from tests.ledger.accounts import add, charge, filled, tamper, verify_stored

from holdfast.ledger import Ledger, LedgerError, export, salt_path
from holdfast.ledger.chain import read_salt, sealed, sealed_head
from holdfast.ledger.rows import (
    COMPLETION_COLUMNS,
    HEAD_COLUMNS,
    OPENING_COLUMNS,
    ROW_COLUMNS,
    foreign_format,
)

CELLS = [
    *(("opening", 0, name) for name in OPENING_COLUMNS),
    *(("charges", index, name) for index in (1, 2, 3) for name in ROW_COLUMNS),
    *(("completions", index, name) for index in (1, 2) for name in COMPLETION_COLUMNS),
    *(("head", 0, name) for name in HEAD_COLUMNS),
]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ledger = filled(tmp_path_factory.mktemp("original") / "a")
    ledger.complete(2, certificate="c" * 64, release="d" * 64)
    ledger.complete(1, certificate="c" * 64, release=None)
    return ledger.path


@pytest.fixture
def path(original: Path, tmp_path: Path) -> Path:
    for name in ("a", "a.salt"):
        shutil.copy(original.with_name(name), tmp_path / name)
    return tmp_path / "a"


def changes(value: object, name: str) -> list[object]:
    """Other values of a column: every character changed in turn where it is short, and other types."""
    if isinstance(value, int):
        kinds = [None, "x", b"x", value + 0.5] if name not in ("index", "row") else []
        return [value + 1, value + 70, -1, *kinds]
    text = str(value)
    places = range(len(text)) if len(text) < 40 else (0, 1, len(text) // 2, len(text) - 2, len(text) - 1)
    flipped = [text[:i] + chr(ord(text[i]) ^ 1) + text[i + 1 :] for i in places]
    added = ["", text + " ", " " + text, text + "\0", text + "0", text.upper() + "É", b"\xff", text.encode()]
    same_value = {
        **{
            name: ["2/4", "1.0", "0.5", "5.0", "01", "1/0", "-1", "1e9", "nan"]
            for name in ("intensity", "total")
        },
        **{
            name: [text.replace(":", ": "), text.replace("{", '{"a":1,', 1), "{", "[]", "NaN"]
            for name in ("detail",)
        },
        "guarantee": [text.replace(",", " ,"), text.replace("\\u00e0", "à"), "[" * 100_000],
        "time": [text.replace("+00:00", "Z"), text.replace("T", " "), "yesterday"],
        "budget": ["6", "10/2", "1e9", "5.0"],
        "standard": ["zcdp", "gaussian"],
    }
    return [*flipped, *added, *same_value.get(name, [])]


def test_an_untouched_ledger_is_kept(path: Path) -> None:
    check = verify_stored(path)
    assert (check.kept, check.problems, check.rows, check.sealed) == (True, (), 3, True)


@pytest.mark.parametrize(("table", "index", "name"), CELLS)
def test_a_change_of_any_column_of_any_row_is_found(path: Path, table: str, index: int, name: str) -> None:
    pristine = path.read_bytes()
    with closing(sqlite3.connect(path)) as connection:
        where = f'FROM {table} WHERE "index" = {index}'
        (value,) = connection.execute(f'SELECT "{name}" {where}').fetchone()
    for other in changes(value, name):
        if other == value and type(other) is type(value):
            continue
        path.write_bytes(pristine)
        try:
            tamper(path, (f'UPDATE {table} SET "{name}" = ? WHERE "index" = ?', (other, index)))
        except sqlite3.IntegrityError:
            continue  # another row has that index, or the column cannot be null
        with pytest.raises(LedgerError):
            Ledger.open(path).rows()
        if name == "format" and foreign_format(other):
            continue  # that is named, not called tampering
        check = verify_stored(path)
        assert not check.kept, (other, value)
        assert check.problems
        unsealed = verify_stored(path, without_salt=True)
        assert unsealed.kept == (name == "seal" and isinstance(other, str)), (other, value)


SWAP = (
    'UPDATE charges SET "index" = 77 WHERE "index" = 1',
    'UPDATE charges SET "index" = 1 WHERE "index" = 2',
    'UPDATE charges SET "index" = 2 WHERE "index" = 77',
)
CLOSED_UP = tuple(f'UPDATE charges SET "index" = {i - 1} WHERE "index" = {i}' for i in (2, 3))
SHORTER = 'UPDATE head SET length = 2, hash = (SELECT hash FROM charges ORDER BY "index" DESC LIMIT 1)'
COPY = ", ".join(f'"{name}"' for name in ROW_COLUMNS[1:])
COMPLETED = ", ".join(f'"{name}"' for name in COMPLETION_COLUMNS[1:])


@pytest.mark.parametrize("sealed", [True, False])
@pytest.mark.parametrize(
    ("statements", "found"),
    [
        (('DELETE FROM charges WHERE "index" = 3',), "counts 3 rows and there are 2"),
        (('DELETE FROM charges WHERE "index" = 1',), "row 1 is missing"),
        (('DELETE FROM charges WHERE "index" = 2',), "row 2 is missing"),
        (('DELETE FROM charges WHERE "index" = 1', *CLOSED_UP, SHORTER), "does not follow"),
        (("DELETE FROM charges",), "counts 3 rows and there are 0"),
        (SWAP, "does not follow"),
        ((f'INSERT INTO charges SELECT 4, {COPY} FROM charges WHERE "index" = 3',), "row 4"),
        ((f'INSERT INTO charges SELECT 0, {COPY} FROM charges WHERE "index" = 1',), "row 1 is missing"),
        ((f"INSERT INTO opening SELECT 1, {', '.join(OPENING_COLUMNS[1:])} FROM opening",), "2 openings"),
        (("DELETE FROM opening",), "0 openings"),
        (("DELETE FROM head",), "0 heads"),
        ((f"INSERT INTO head SELECT 1, {', '.join(HEAD_COLUMNS[1:])} FROM head",), "2 heads"),
        (('DELETE FROM completions WHERE "index" = 2',), "counts 2 completions and there are 1"),
        (('DELETE FROM completions WHERE "index" = 1',), "completion 1 is missing"),
        (("DELETE FROM completions", 'DELETE FROM charges WHERE "index" = 2'), "counts 2 completions"),
        (('UPDATE completions SET "row" = 3 WHERE "index" = 1',), "completion 1: its content"),
        (("INSERT INTO entries VALUES ('file', '{}')",), "the checkpoint is not the one that the head holds"),
        (("INSERT INTO nodes VALUES ('', 'a', 'b')",), "the checkpoint is not the one that the head holds"),
        (("UPDATE opening SET budget = '50'",), "row 0: its content"),
        (("DROP TABLE head",), "damaged"),
        (("ALTER TABLE charges ADD COLUMN note TEXT",), "columns"),
        (("CREATE TABLE other (x)",), "tables or triggers"),
        (("PRAGMA journal_mode=WAL",), "WAL"),
    ],
)
def test_rows_that_go_come_or_move_are_found(
    path: Path, statements: tuple[str, ...], found: str, sealed: bool
) -> None:
    if statements == ("DROP TABLE head",):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(statements[0])
    else:
        tamper(path, *statements)
    check = verify_stored(path, without_salt=not sealed)
    assert not check.kept
    assert any(found in problem for problem in check.problems), check.problems
    assert check.sealed == (sealed and "damaged" not in found)


def test_the_triggers_forbid_changes(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in (
            "UPDATE charges SET total = '0'",
            "DELETE FROM charges",
            "UPDATE opening SET budget = '9'",
            "DELETE FROM opening",
            "DELETE FROM head",
            "DELETE FROM completions",
            "UPDATE completions SET release = ''",
        ):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(statement)


def test_triggers_that_are_gone_are_found(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TRIGGER charges_no_delete")
    assert verify_stored(path).problems == ("the tables or triggers are not those of a ledger",)


def test_who_has_no_salt_cannot_make_the_chain_anew(path: Path) -> None:
    """A chain made anew with a larger budget is consistent: only the seals, that is the salt, tell."""
    ledger, forger = Ledger.open(path), b"another salt"
    opening = sealed(replace(ledger.opening, budget=Fraction(50)), forger)
    previous, statements = opening.hash, []
    for row in ledger.rows():
        forged = sealed(replace(row, previous=previous), forger)
        previous = forged.hash
        statements.append(_rewrite("charges", forged.record()))
    last, head = opening.hash, ledger.judged().head
    for completion in ledger.judged().completions:
        other = sealed(replace(completion, previous=last), forger)
        last = other.hash
        statements.append(_rewrite("completions", other.record()))
    assert head is not None
    again = sealed_head(replace(head, hash=previous, completed=last), forger)
    tamper(path, *statements, _rewrite("opening", opening.record()), _rewrite("head", again.record()))
    assert len([p for p in verify_stored(path).problems if "seal" in p]) == 1 + 3 + 2 + 1
    assert verify_stored(path, without_salt=True).kept
    assert not verify_stored(path, known={3: ledger.opening.hash}, without_salt=True).kept


def test_a_total_above_the_budget_is_found_even_with_the_salt(path: Path) -> None:
    ledger, salt = Ledger.open(path), read_salt(path)
    for total, found in (
        (6, "above the budget"),
        (Fraction(1, 2), "below the one before"),
        (Fraction(1, 9), "costs alone"),
    ):
        forged = sealed(replace(ledger.rows()[-1], total=Fraction(total)), salt)
        pristine, head = path.read_bytes(), ledger.judged().head
        assert head is not None
        again = sealed_head(replace(head, hash=forged.hash), salt)
        tamper(path, _rewrite("charges", forged.record()), _rewrite("head", again.record()))
        problems = verify_stored(path).problems
        assert any(found in problem for problem in problems), problems
        assert all(problem.startswith("row 3: its total") for problem in problems)
        path.write_bytes(pristine)


def test_an_older_copy_is_found_by_what_is_known(path: Path) -> None:
    older = path.read_bytes()
    row = Ledger.open(path).charge(charge(), add)
    assert verify_stored(path, known={row.index: row.hash}).kept
    path.write_bytes(older)
    assert verify_stored(path).kept
    assert not verify_stored(path, known={row.index: row.hash}).kept


def test_a_salt_that_is_another_or_none_is_found(path: Path) -> None:
    salt_path(path).write_text("ab" * 32)
    assert any("seal" in problem for problem in verify_stored(path).problems)
    salt_path(path).write_bytes(b"\xff rubbish")
    with pytest.raises(LedgerError, match="does not hold a salt"):
        verify_stored(path)
    salt_path(path).unlink()
    with pytest.raises(LedgerError, match=r"is missing.*without_salt=True"):
        verify_stored(path)
    check = verify_stored(path, without_salt=True)
    assert (check.kept, check.sealed) == (True, False)


def test_bytes_changed_on_the_disk_are_found_or_change_nothing(path: Path) -> None:
    pristine, rows, rng = path.read_bytes(), export(path), random.Random(7)
    kept = 0
    for attempt in range(250):
        data = bytearray(pristine)
        if attempt % 10 == 0:
            data = data[: rng.randrange(1, len(data))]
        else:
            place = rng.randrange(100) if attempt % 3 == 0 else rng.randrange(len(data))
            data[place] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        try:
            sound = verify_stored(path).kept
        except LedgerError:
            sound = False
        if sound:
            kept += 1
            assert export(path) == rows
        for side in ("-wal", "-shm", "-journal"):
            path.with_name(path.name + side).unlink(missing_ok=True)
    assert kept < 250


def _rewrite(table: str, record: dict[str, object]) -> tuple[str, tuple[object, ...]]:
    sets = ", ".join(f'"{name}" = ?' for name in record)
    return f'UPDATE {table} SET {sets} WHERE "index" = ?', (*record.values(), record["index"])
