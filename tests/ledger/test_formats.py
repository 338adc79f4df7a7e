"""A ledger of a format to come is named, and nothing is done to it."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.ledger.accounts import add, charge, filled, tamper

from holdfast.ledger import FormatError, Ledger, export, ledger_report
from holdfast.ledger.verify import verify_ledger


@pytest.mark.parametrize("number", [2, 9, 10])
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
    path = filled(tmp_path / "b").path
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version=0")
    assert "the tables are not marked as those of a ledger" in verify_ledger(path).problems
