"""Charging: exact, refused above the budget, and nothing written when anything is wrong."""

import json
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ledger.accounts import add, charge, filled, verify_stored

from holdfast.ledger import (
    BudgetError,
    Charge,
    History,
    Ledger,
    LedgerError,
    Spent,
    export,
    export_csv,
    export_json,
    salt_path,
    store,
)


def test_a_third_fits_three_times(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a", standard="pure", budget=Fraction(1))
    totals = [ledger.charge(charge(Fraction(1, 3)), add).total for _ in range(3)]
    assert totals == [Fraction(1, 3), Fraction(2, 3), Fraction(1)]
    assert (ledger.spent(), ledger.left()) == (Fraction(1), Fraction(0))
    with pytest.raises(BudgetError, match="nothing more can be released"):
        ledger.charge(charge(Fraction(1, 10**30)), add)
    assert [row.index for row in ledger.rows()] == [1, 2, 3]


def test_the_refusal_says_spent_asked_and_left(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a", standard="pure", budget=Fraction(1))
    ledger.charge(charge(Fraction(2, 3)), add)
    before = (tmp_path / "a").read_bytes()
    with pytest.raises(BudgetError) as caught:
        ledger.charge(charge(Fraction(1, 2)), add)
    assert str(caught.value) == (
        f"the budget of {tmp_path / 'a'} is not enough: 0.666667 (2/3) of 1 is spent, this release asks for"
        " 0.5 (1/2) more and 0.333333 (1/3) is left: ask for no more than that."
    )
    assert (tmp_path / "a").read_bytes() == before
    assert ledger.charge(charge(Fraction(1, 3)), add).total == 1


def test_rows_come_back_as_they_were_charged(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a", standard="zcdp", budget=Fraction(2))
    odd = replace(charge(Fraction(1, 7)), detail={"ü\ud800\n'": [1.5e300, -0.0, True, {"": None}]})
    given_charges = [odd, charge(0, "two")]
    made = [ledger.charge(each, add) for each in given_charges]
    again = Ledger.open(tmp_path / "a")
    assert again == ledger
    assert again.standard == "zcdp"
    assert again.budget == 2
    assert list(again.rows()) == made
    assert [row.charge for row in made] == given_charges
    assert made[0].previous == ledger.opening.hash
    assert made[1].previous == made[0].hash


def test_spend_sees_the_history_and_composes_as_it_likes(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a", standard="pure", budget=Fraction(1))
    seen: list[int] = []

    def parallel(history: History, new: Charge) -> Spent:
        seen.append(len(history))
        return Spent(max(new.intensity, history.total), {}, {})

    for _ in range(5):
        ledger.charge(charge(Fraction(3, 4)), parallel)
    assert seen == [0, 1, 2, 3, 4]
    assert ledger.spent() == Fraction(3, 4)


def test_when_spend_raises_nothing_is_written_and_the_lock_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "PATIENCE", 1.0)
    ledger = filled(tmp_path / "a")
    before = (tmp_path / "a").read_bytes()

    def interrupted(history: History, new: Charge) -> Spent:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger.charge(charge(), interrupted)
    assert (tmp_path / "a").read_bytes() == before
    assert ledger.charge(charge(), add).index == 4


@pytest.mark.parametrize(
    ("total", "message"),
    [(0.5, "exact rational"), (Fraction(1, 100), "never lower"), (Fraction(-1), "negative"), (True, "exact")],
)
def test_a_composition_that_cannot_be_right_is_refused(tmp_path: Path, total: Any, message: str) -> None:
    ledger = filled(tmp_path / "a")
    with pytest.raises(LedgerError, match=message):
        ledger.charge(charge(), lambda history, new: Spent(total, {}, {}))
    assert len(ledger.rows()) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"dataset": "abc"},
        {"scope": "A" * 64},
        {"certificate": None},
        {"standard": "approximate"},
        {"intensity": 0.5},
        {"intensity": Fraction(-1)},
        {"intensity": Fraction(1, 10**3000)},
        {"guarantee": [1]},
        {"detail": {"epsilon": Fraction(1, 2)}},
        {"detail": {1: "a"}},
        {"detail": {"a": float("nan")}},
    ],
)
def test_a_charge_holds_only_what_a_row_can_hold(change: dict[str, Any]) -> None:
    with pytest.raises(LedgerError):
        replace(charge(), **change)


def test_a_charge_does_not_follow_its_givers_changes() -> None:
    detail = {"invariants": ["a"]}
    made = replace(charge(), detail=detail)
    detail["invariants"].append("b")
    assert made.detail == {"invariants": ["a"]}


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    filled(tmp_path / "a")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(LedgerError, match="never overwritten"):
        Ledger.create(tmp_path / "a", standard="pure", budget=Fraction(1))
    (tmp_path / "b.salt").write_text("precious")
    with pytest.raises(LedgerError, match="never overwritten"):
        Ledger.create(tmp_path / "b", standard="pure", budget=Fraction(1))
    assert {path: path.read_bytes() for path in before} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a.salt", "b.salt"]


def test_the_salt_is_its_owners_and_no_draft_is_left(tmp_path: Path) -> None:
    filled(tmp_path / "a")
    assert salt_path(tmp_path / "a").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a.salt"]


@pytest.mark.parametrize(
    ("standard", "budget"),
    [("pure", Fraction(0)), ("pure", Fraction(-1)), ("pure", 0.5), ("renyi", Fraction(1))],
)
def test_an_account_that_makes_no_sense_is_not_opened(tmp_path: Path, standard: Any, budget: Any) -> None:
    with pytest.raises(LedgerError):
        Ledger.create(tmp_path / "a", standard=standard, budget=budget)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_does_not_exist_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be written"):
        Ledger.create(tmp_path / "no" / "a", standard="pure", budget=Fraction(1))


def test_what_is_not_a_ledger_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database at all, by any measure\n" * 100)
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    for name in ("missing", "text", "empty", "folder", "nul\0byte"):
        for look in (Ledger.open, verify_stored, export):
            with pytest.raises(LedgerError, match="ledger") as caught:
                look(tmp_path / name)
            assert "\n" not in str(caught.value)
    assert not (tmp_path / "missing").exists()


def test_without_its_salt_an_account_is_read_but_not_charged(tmp_path: Path) -> None:
    ledger = filled(tmp_path / "a")
    salt = salt_path(tmp_path / "a").read_text()
    salt_path(tmp_path / "a").unlink()
    assert len(Ledger.open(tmp_path / "a").rows()) == 3
    with pytest.raises(LedgerError, match="missing"):
        ledger.charge(charge(), add)
    salt_path(tmp_path / "a").write_text("a" * 64)
    with pytest.raises(LedgerError, match="seal"):
        ledger.charge(charge(), add)
    salt_path(tmp_path / "a").write_text("rubbish")
    with pytest.raises(LedgerError, match="does not hold a salt"):
        ledger.charge(charge(), add)
    salt_path(tmp_path / "a").write_text(salt)
    assert ledger.charge(charge(), add).index == 4


def test_a_ledger_replaced_by_another_is_not_charged(tmp_path: Path) -> None:
    ledger = filled(tmp_path / "a")
    filled(tmp_path / "b")
    for name in ("b", "b.salt"):
        (tmp_path / name).replace(tmp_path / name.replace("b", "a"))
    with pytest.raises(LedgerError, match="another ledger"):
        ledger.charge(charge(), add)


def test_a_write_that_is_swallowed_is_no_charge(tmp_path: Path) -> None:
    """A trigger that ignores inserts must not turn into a release without a charge."""
    import sqlite3
    from contextlib import closing

    ledger = filled(tmp_path / "a")
    with closing(sqlite3.connect(tmp_path / "a")) as connection:
        connection.execute("CREATE TRIGGER t BEFORE INSERT ON charges BEGIN SELECT RAISE(IGNORE); END")
        connection.commit()
    with pytest.raises(LedgerError, match="triggers"):
        ledger.charge(charge(), add)


def test_others_in_the_file_are_waited_for_and_then_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "PATIENCE", 0.1)
    ledger = filled(tmp_path / "a")
    with store.connected(ledger.path) as connection, store.writing(connection, ledger.path):
        assert len(ledger.rows()) == 3  # readers need not wait
        with pytest.raises(LedgerError, match="in use by others"):
            ledger.charge(charge(), add)
    assert ledger.charge(charge(), add).index == 4


def test_the_export_can_be_verified_by_others(tmp_path: Path) -> None:
    from hashlib import sha256

    filled(tmp_path / "a")
    rows = export(tmp_path / "a")
    assert rows == json.loads(export_json(tmp_path / "a"))
    assert [row["index"] for row in rows] == [0, 1, 2, 3]
    for before, row in zip([None, *rows], rows, strict=False):
        content = {name: value for name, value in row.items() if name not in ("completion", "hash", "seal")}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        assert sha256(text.encode()).hexdigest() == row["hash"]
        assert before is None or row["previous"] == before["hash"]


def test_the_csv_has_a_line_a_row(tmp_path: Path) -> None:
    import csv

    filled(tmp_path / "a")
    lines = list(csv.DictReader(export_csv(tmp_path / "a").splitlines()))
    assert [line["intensity"] for line in lines] == ["", "1/2", "1/3", "1/4"]
    assert lines[0]["budget"] == "5"
    assert json.loads(lines[1]["detail"]) == {"invariants": ["release 0", 1, None]}


intensities = st.lists(st.fractions(min_value=0, max_value=1, max_denominator=10**6), max_size=8)


@settings(max_examples=25, deadline=None)
@given(intensities)
def test_totals_are_exact_and_never_above_the_budget(
    tmp_path_factory: pytest.TempPathFactory, asked: list[Fraction]
) -> None:
    path = tmp_path_factory.mktemp("any") / "a"
    ledger = Ledger.create(path, standard="pure", budget=Fraction(2))
    total, granted = Fraction(0), []
    for intensity in asked:
        if total + intensity <= 2:
            row = ledger.charge(charge(intensity), add)
            total += intensity
            granted.append(row)
            assert row.total == total
        else:
            with pytest.raises(BudgetError):
                ledger.charge(charge(intensity), add)
    assert ledger.rows() == tuple(granted)
    check = verify_stored(path)
    assert (check.kept, check.rows, check.sealed) == (True, len(granted), True)


def test_the_ledger_imports_nothing_heavy() -> None:
    script = "import sys, holdfast.ledger; print(*{'numpy', 'scipy', 'pydantic'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == ""
