"""Rows are completed once, and resumed only where nothing of them was handed over."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from tests.ledger.accounts import add, charge, filled, tamper, verify_stored

from holdfast.ledger import Completion, Ledger, LedgerError, export

SETTLED, SEALED = "5" * 64, "a" * 64


def test_a_completion_binds_a_release_to_its_row(tmp_path: Path) -> None:
    ledger = filled(tmp_path / "a")
    assert ledger.completion(2) is None
    made = ledger.complete(2, certificate=SETTLED, release=SEALED)
    assert isinstance(made, Completion)
    assert (made.index, made.row, made.certificate, made.release) == (1, 2, SETTLED, SEALED)
    assert made.previous == ledger.opening.hash
    second = ledger.complete(1, certificate=SETTLED, release=None)
    assert (second.index, second.release, second.previous) == (2, None, made.hash)
    assert (ledger.completion(2), ledger.completion(1), ledger.completion(3)) == (made, second, None)
    assert ledger.charge(charge(), add).index == 4
    check = verify_stored(ledger.path)
    assert (check.kept, check.rows, check.completions) == (True, 4, 2)
    told = export(ledger.path)
    assert [row.get("completion") for row in told[1:]] == [second.to_dict(), made.to_dict(), None, None]


def test_a_row_is_completed_once_and_must_be_there(tmp_path: Path) -> None:
    ledger = filled(tmp_path / "a")
    ledger.complete(2, certificate=SETTLED, release=SEALED)
    before = ledger.path.read_bytes()
    with pytest.raises(LedgerError, match=r"row 2 of .* is completed already"):
        ledger.complete(2, certificate=SETTLED, release=None)
    for index in (0, -1, 4, 2**70):
        with pytest.raises(LedgerError, match=f"has no row {index}"):
            ledger.complete(index, certificate=SETTLED, release=SEALED)
    with pytest.raises(LedgerError, match="not a SHA-256"):
        ledger.complete(1, certificate="?", release=SEALED)
    with pytest.raises(LedgerError, match="not a SHA-256"):
        ledger.complete(1, certificate=SETTLED, release="")
    assert ledger.path.read_bytes() == before


def test_one_row_is_read_by_itself(tmp_path: Path) -> None:
    ledger = filled(tmp_path / "a")
    assert ledger.row(2) == ledger.rows()[1]
    with pytest.raises(LedgerError, match=r"has no row 4: `holdfast.Ledger.rows`"):
        ledger.row(4)
    tamper(ledger.path, "UPDATE charges SET total = '1' WHERE \"index\" = 2")
    with pytest.raises(LedgerError, match="row 2: its content does not have its hash"):
        ledger.row(2)
    assert ledger.row(3).index == 3


def test_drafts_are_noted_with_the_charge_and_never_exported(tmp_path: Path) -> None:
    ledger = filled(tmp_path / "a")
    odd = tmp_path / "dräft\udcff"
    row = ledger.charge(charge(), add, draft=odd)
    assert ledger.draft(row.index) == odd
    assert ledger.draft(1) is None
    assert ledger.draft(9) is None
    assert str(tmp_path) not in str(export(ledger.path))
    assert verify_stored(ledger.path).kept


def test_a_row_without_completion_is_resumed_without_a_second_charge(tmp_path: Path) -> None:
    ledger = filled(tmp_path / "a")
    charged = ledger.charge(charge(Fraction(1, 3)), add, draft=tmp_path / "one")
    again = replace(charged.charge, certificate="f" * 64)  # made at another moment
    assert ledger.resume(4, again, draft=tmp_path / "two") == charged
    assert ledger.resume(4, again, draft=Path("three")) == charged
    assert ledger.draft(4) == Path("three").absolute()
    assert len(ledger.rows()) == 4
    ledger.complete(4, certificate="f" * 64, release=SEALED)
    with pytest.raises(LedgerError, match=r"row 4 of .* is completed: its release was handed over"):
        ledger.resume(4, again, draft=tmp_path / "three")
    with pytest.raises(LedgerError, match="has no row 5"):
        ledger.resume(5, again, draft=tmp_path / "three")


def test_another_release_does_not_take_the_place_of_a_row(tmp_path: Path) -> None:
    ledger = filled(tmp_path / "a")
    charged = ledger.row(3).charge
    for name, value in (
        ("dataset", "0" * 64),
        ("scope", "0" * 64),
        ("standard", "zcdp"),
        ("intensity", Fraction(9)),
        ("guarantee", {}),
        ("detail", {}),
    ):
        with pytest.raises(LedgerError, match=rf"\(its {name} differs\): resume it with the same spec, data"):
            ledger.resume(3, replace(charged, **{name: value}), draft=tmp_path / "draft")  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match=r"\(its scope, intensity differ\)"):
        ledger.resume(3, replace(charged, scope="0" * 64, intensity=9), draft=tmp_path)  # type: ignore[arg-type]
    assert ledger.draft(3) is None


def test_a_completion_that_was_taken_away_opens_no_row_again(tmp_path: Path) -> None:
    ledger = filled(tmp_path / "a")
    for index in (1, 2, 3):
        ledger.complete(index, certificate=SETTLED, release=SEALED)
    charged = ledger.row(2).charge
    tamper(ledger.path, 'DELETE FROM completions WHERE "row" = 2')
    assert ledger.completion(2) is None
    with pytest.raises(LedgerError, match="completion 2 is missing"):
        ledger.resume(2, charged, draft=tmp_path / "draft")
    assert Ledger.open(ledger.path).spent() == ledger.row(3).total
