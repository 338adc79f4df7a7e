"""Ledgers of the first format are read on, and those of a format to come are named."""

import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.privacy.ledger.accounts import add, charge, filled, tamper

from holdfast.account import spend
from holdfast.account.verify import verify_ledger
from holdfast.privacy.ledger import FormatError, Ledger, LedgerError, export, ledger_report, store

DATA = Path(__file__).parent / "data"
"""A ledger of the first format: the example, its counties alone, and the example again."""


@pytest.fixture
def first(tmp_path: Path) -> Path:
    for name in ("format-1.ledger", "format-1.ledger.salt"):
        shutil.copy(DATA / name, tmp_path / name)
        (tmp_path / name).chmod(0o600)
    return tmp_path / "format-1.ledger"


def test_a_ledger_of_the_first_format_is_read_as_it_is(first: Path) -> None:
    before = first.read_bytes()
    check = verify_ledger(first)
    assert (check.kept, check.rows, check.sealed, check.completions) == (True, 3, True, 0)
    assert (check.problems, check.warnings) == ((), ())
    report = ledger_report(first)
    assert (report.spent, report.left) == (Fraction(7, 2), Fraction(13, 2))
    assert report.released == (None, None, None)
    assert [row["index"] for row in export(first)] == [0, 1, 2, 3]
    assert Ledger.open(first).row(2).total == Fraction(5, 2)
    assert Ledger.open(first).completion(2) is None
    assert Ledger.open(first).draft(2) is None
    assert first.read_bytes() == before


def test_it_is_brought_to_this_format_when_it_is_charged(first: Path) -> None:
    ledger = Ledger.open(first)
    rows = ledger.rows()
    row = ledger.charge(rows[0].charge, spend)
    assert (row.index, row.total, row.previous) == (4, Fraction(9, 2), rows[-1].hash)
    assert ledger.rows()[:3] == rows
    ledger.complete(4, certificate="a" * 64, release="b" * 64)
    check = verify_ledger(first)
    assert (check.kept, check.rows, check.completions, check.warnings) == (True, 4, 1, ())
    assert ledger_report(first).released == (None, None, None, True)
    assert ledger.charge(rows[1].charge, spend).total == Fraction(9, 2) + Fraction(3, 2)
    assert verify_ledger(first).kept
    with pytest.raises(LedgerError, match="ledgers did not record whether a release was handed over"):
        ledger.resume(1, rows[0].charge, draft=first.with_name("draft"))
    ledger.resume(5, rows[1].charge, draft=first.with_name("draft"))


def test_a_damaged_one_is_not_brought_to_this_format(first: Path) -> None:
    charged = Ledger.open(first).rows()[0].charge
    tamper(first, "UPDATE charges SET total = '1' WHERE \"index\" = 2")
    before = first.read_bytes()
    with pytest.raises(LedgerError, match="row 2: its content"):
        Ledger.open(first).charge(charged, spend)
    assert first.read_bytes() == before
    assert not verify_ledger(first).kept


def test_totals_of_an_earlier_version_are_not_called_tampering(
    tmp_path: Path,
) -> None:
    # composed by another rule, and of details that this version cannot read
    path = filled(tmp_path / "a").path
    check = verify_ledger(path)
    assert check.kept
    assert check.warnings == ("row 1: its total cannot be composed again (its detail cannot be read)",)


@pytest.mark.parametrize("number", [1, 3, 9, 10])
def test_a_format_to_come_is_named_and_nothing_is_done_to_it(tmp_path: Path, number: int) -> None:
    ledger = filled(tmp_path / "a")
    with closing(sqlite3.connect(ledger.path)) as connection:
        connection.execute(f"PRAGMA user_version={number}")
    _refused(ledger, f"holdfast-ledger/{number}")


def test_a_format_that_the_opening_names_is_named_too(tmp_path: Path) -> None:
    ledger = filled(tmp_path / "a")
    tamper(ledger.path, "UPDATE opening SET format = 'holdfast-ledger/9'")
    _refused(ledger, "holdfast-ledger/9")


def _refused(ledger: Ledger, named: str) -> None:
    path, before = ledger.path, ledger.path.read_bytes()
    said = f"is a ledger of format {named}, which this version of Holdfast does not read: update it"
    looks: tuple[Any, ...] = (
        Ledger.open,
        verify_ledger,
        export,
        ledger_report,
        lambda _: ledger.charge(charge(), add),
        lambda _: ledger.complete(1, certificate="a" * 64, release=None),
    )
    for look in looks:
        with pytest.raises(FormatError, match=said):
            look(path)
    assert path.read_bytes() == before


def test_what_names_no_format_at_all_is_tampering(tmp_path: Path) -> None:
    path = filled(tmp_path / "a").path
    tamper(path, "UPDATE opening SET format = 'holdfast'")
    assert "row 0: the format is not known" in verify_ledger(path).problems
    # tables of this format under the number of the first
    path = filled(tmp_path / "b").path
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version=0")
    assert store.VERSIONS[0] == 1
    assert "the tables or triggers are not those of a ledger" in verify_ledger(path).problems
