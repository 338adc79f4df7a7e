"""Ledgers know of units with several records: what was charged for one of them is charged for all."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import holdfast
from holdfast.ledger.account import Ledger
from holdfast.ledger.report import ledger_report
from holdfast.ledger.verify import verify_ledger
from holdfast.spec.model import Spec

TABLE = pl.DataFrame({"a": ["x", "x", "y", "y"], "b": ["u", "v"] * 2, "n": [3, 4, 5, 6]})


def spec(**privacy: Any) -> Spec:
    data = {"cells": ["a", "b"], "count": "n"}
    return Spec.of({"data": data, "invariants": [{"total": True}], "privacy": {"epsilon": "1", **privacy}})


@pytest.mark.parametrize("adjacency", ["semi", "unit"])
def test_a_release_for_more_records_costs_those_before_it_more(tmp_path: Path, adjacency: str) -> None:
    ledger = Ledger.create(tmp_path / "ledger.jsonl", standard="pure", budget=Fraction(10))
    one = {"adjacency": adjacency, "unit": "household"}
    first = holdfast.release(spec(**one), tmp_path / "first", data=TABLE, ledger=ledger)
    assert first.row is not None
    assert first.row.total == 1
    second = holdfast.release(spec(**one, records_per_unit=3), tmp_path / "second", data=TABLE, ledger=ledger)
    assert second.row is not None
    assert second.row.total == 4  # one for each record of the first, and one for all three of the second
    third = holdfast.release(spec(**one), tmp_path / "third", data=TABLE, ledger=ledger)
    assert third.row is not None
    assert third.row.total == 7
    told = second.row.charge.unit
    assert (told["name"], told["records_per_unit"]) == ("household", 3)
    assert first.row.charge.unit["records_per_unit"] == 1
    folders = [tmp_path / name for name in ("first", "second", "third")]
    assert verify_ledger(tmp_path / "ledger.jsonl", releases=folders).kept
    assert ledger.left() == Fraction(3)


def test_a_file_that_was_charged_for_two_units_is_told(tmp_path: Path) -> None:
    """One row speaks of persons and one of households: what is spent holds for units of one record alone."""
    ledger = Ledger.create(tmp_path / "ledger.jsonl", standard="pure", budget=Fraction(30))
    for unit, name in (("person", "first"), ("person", "second"), ("household", "third")):
        assert not ledger_report(ledger.path).warnings
        holdfast.release(spec(unit=unit), tmp_path / name, data=TABLE, ledger=ledger)
    (told,) = ledger_report(ledger.path).warnings
    assert told.startswith("rows 1 and 3 protect 'person' and 'household' of one file, each as one record:")
    other = TABLE.with_columns(pl.col("n") + 1)
    holdfast.release(spec(unit="school"), tmp_path / "other", data=other, ledger=ledger)
    assert ledger_report(ledger.path).warnings == (told,)
    more = spec(unit="household", records_per_unit=3)
    holdfast.release(more, tmp_path / "more", data=TABLE, ledger=ledger)
    assert not ledger_report(ledger.path).warnings  # what was charged for one is charged for all three
