"""A charge reads no row but the first and the last, and no older checkpoint passes for the newest."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from tests.ledger.accounts import tamper
from tests.ledger.releases import Made, digest, records

from holdfast.ledger import Charge, Ledger, LedgerError, store
from holdfast.ledger.chain import salt_path
from holdfast.ledger.composition import spend
from holdfast.ledger.rows import StoredRecord
from holdfast.ledger.verify import verify_ledger
from holdfast.privacy.profile import NormLoss

FILE = records("000", "010", "011", "101", "110", "111")
SEX = Made(("a", "b"), (("a",),))
BOTH = Made(("b", "c"), (("b",), ("c",)))


def opened(path: Path, standard: str = "pure") -> Ledger:
    return Ledger.create(path, standard=standard, budget=Fraction(10**6))  # type: ignore[arg-type]


def of(year: int, made: Made = SEX) -> Charge:
    return made.charge(FILE, f"year {year}")


def size(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute(f"SELECT sum(length(value)) FROM {table}").fetchone()[0])


def test_a_charge_reads_the_first_row_and_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = opened(tmp_path / "a")
    charges = [of(0), of(1), of(0, BOTH), of(0), of(1), of(2)]
    totals = [ledger.charge(charge, spend).total for charge in charges]
    monkeypatch.setattr(store, "read", None)
    read: list[int] = []
    read_row = store.read_row

    def counted(connection: sqlite3.Connection, index: int) -> StoredRecord | None:
        read.append(index)
        return read_row(connection, index)

    monkeypatch.setattr(store, "read_row", counted)
    again = Ledger.open(ledger.path)
    assert again.spent() == totals[-1]
    row = again.charge(of(0, BOTH), spend)
    assert (row.index, read) == (7, [1])
    again.charge(of(3), spend)  # another file
    again.charge(of(1), spend)
    assert read == [1, 1, 1]
    again.charge(of(0, replace(SEX, margins=(("a",), ("b",)))), spend)
    assert sorted(set(read)) == [1, 3]  # a new design: the first row of each of its file
    monkeypatch.undo()
    assert verify_ledger(ledger.path).kept


def test_a_known_design_needs_no_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from holdfast.ledger import composition as book

    ledger = opened(tmp_path / "a")
    for charge in (of(0), of(0, BOTH)):
        total = ledger.charge(charge, spend).total
    monkeypatch.setattr(book, "JointScope", None)
    assert total == 16
    assert [ledger.charge(charge, spend).total for charge in (of(0), of(0, BOTH), of(0))] == [24, 32, 40]


def test_the_checkpoint_grows_with_designs_and_not_with_rows(tmp_path: Path) -> None:
    ledger = opened(tmp_path / "a")
    stronger = replace(SEX, profile=NormLoss(Fraction(1, 3), "l1"))
    for _ in range(2):
        ledger.charge(of(0), spend)
    before = size(ledger.path, "entries")
    for _ in range(20):
        ledger.charge(of(0), spend)
    for _ in range(2):
        ledger.charge(of(0, stronger), spend)
    assert size(ledger.path, "entries") <= before + 8  # longer numbers
    assert ledger.spent() == 22 * 4 + 2 * Fraction(4, 3)
    assert verify_ledger(ledger.path).kept


def test_who_has_no_salt_cannot_bring_an_older_checkpoint_back(tmp_path: Path) -> None:
    """All that the first charges left in the file is put back, but for the rows and the head."""
    ledger = opened(tmp_path / "a")
    ledger.charge(of(0), spend)
    ledger.charge(of(1), spend)
    with closing(sqlite3.connect(ledger.path)) as connection:
        entries = connection.execute("SELECT * FROM entries").fetchall()
        nodes = connection.execute("SELECT * FROM nodes").fetchall()
    for _ in range(5):
        ledger.charge(of(0), spend)
    pristine = ledger.path.read_bytes()
    older = [("INSERT OR REPLACE INTO entries VALUES (?, ?)", each) for each in entries]
    with_nodes = [*older, *(("INSERT OR REPLACE INTO nodes VALUES (?, ?, ?)", each) for each in nodes)]
    forgotten = [("DELETE FROM entries WHERE key = ?", (digest("year 0"),))]
    erased = ["DELETE FROM entries", "DELETE FROM nodes"]
    for attack in (older, with_nodes, forgotten, erased):
        tamper(ledger.path, *attack)
        with pytest.raises(LedgerError, match="the checkpoint does not hold together"):
            ledger.charge(of(0), spend)
        assert "the checkpoint is not the one that the head holds" in verify_ledger(ledger.path).problems
        ledger.path.write_bytes(pristine)
    assert ledger.charge(of(0), spend).total == 4 * 8


def test_who_has_the_salt_is_found_by_composing_again(tmp_path: Path) -> None:
    from holdfast.ledger.chain import sealed_head

    ledger = opened(tmp_path / "a")
    for _ in range(3):
        ledger.charge(of(0), spend)
    head = ledger.judged().head
    assert head is not None
    forged = sealed_head(
        replace(head, state=head.state.replace('"sum":"12"', '"sum":"4"')),
        bytes.fromhex(salt_path(ledger.path).read_text()),
    )
    assert forged.state != head.state
    record = forged.record()
    sets = ", ".join(f'"{name}" = :{name}' for name in record)
    with closing(sqlite3.connect(ledger.path)) as connection:
        connection.execute(f"UPDATE head SET {sets}", record)
        connection.commit()
    assert verify_ledger(ledger.path).problems == ("the checkpoint is not what the rows come to",)
    ledger.charge(of(1), spend)  # 12 at least, as before
    assert any("composed again it is 16" in problem for problem in verify_ledger(ledger.path).problems)
