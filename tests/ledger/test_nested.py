"""Releases of nested attributes in a ledger: as those with structural zeros, without the product."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from holdfast.ledger.account import Ledger
from holdfast.releases.prepare import prepare
from holdfast.spec.model import Spec
from holdfast.system.errors import HoldfastError

PLACES = {"1": "A", "2": "A", "3": "B", "4": "B"}
ROWS = [(PLACES[tract], tract, sex, 2 + int(tract)) for tract in PLACES for sex in "fm"]
FRAME = pl.DataFrame(ROWS, schema=["county", "tract", "sex", "n"], orient="row")
ZEROS = [{"county": c, "tract": t} for t in PLACES for c in "AB" if PLACES[t] != c]


def spec(margins: list[list[str]], *, nested: bool, cells: str = "county tract sex", **data: Any) -> Spec:
    values: dict[str, Any] = {
        "data": {"cells": cells.split(), "count": "n", **data},
        "invariants": [{"margin": margin} for margin in margins],
        "privacy": {"epsilon": "1"},
    }
    if nested:
        values["data"]["within"] = {"tract": "county"}
    elif "tract" in cells:
        values["constraints"] = {"structural_zeros": ZEROS}
    return Spec.of(values)


def spent(path: Path, *, nested: bool) -> list[Fraction]:
    account = Ledger.create(path, standard="pure", budget=Fraction(100))
    totals = []
    for margins, cells in (
        ([["county"]], "county tract sex"),
        ([["county"]], "county tract sex"),
        ([["county"], ["sex"]], "county tract sex"),
        ([["sex"]], "county sex"),
    ):
        data = {"aggregate": True} if cells == "county sex" else {}
        own = prepare(spec(margins, nested=nested and "tract" in cells, cells=cells, **data), FRAME)
        row = own.release(ledger=account).row
        assert row is not None
        totals.append(row.total)
    return totals


def test_it_costs_what_the_table_with_structural_zeros_costs(tmp_path: Path) -> None:
    assert spent(tmp_path / "one.db", nested=True) == spent(tmp_path / "other.db", nested=False)


def test_large_designs_are_composed_without_the_product(tmp_path: Path) -> None:
    many = 3000
    frame = pl.DataFrame(
        {"a": [f"a{i // 50}" for i in range(many)], "b": [f"b{i}" for i in range(many)], "n": [3] * many}
    )
    account = Ledger.create(tmp_path / "ledger.db", standard="pure", budget=Fraction(100))
    data = {"cells": ["a", "b"], "count": "n", "within": {"b": "a"}}
    totals = []
    for invariants in ([{"margin": ["a"]}], [{"total": True}]):
        values = {"data": data, "invariants": invariants, "privacy": {"epsilon": "1"}}
        row = prepare(Spec.of(values), frame).release(ledger=account).row
        assert row is not None
        totals.append(row.total)
    assert totals[0] == 1
    assert 2 <= totals[1] <= 4


def test_one_column_recoded_in_two_ways_is_refused(tmp_path: Path) -> None:
    account = Ledger.create(tmp_path / "ledger.db", standard="pure", budget=Fraction(100))
    margins = [["county"]]
    prepare(spec(margins, nested=False, cells="county sex", aggregate=True), FRAME).release(ledger=account)
    merged = spec(margins, nested=False, cells="county sex", recode={"county": {"all": ["A", "B"]}})
    with pytest.raises(HoldfastError, match="levels that are written otherwise"):
        prepare(merged, FRAME).release(ledger=account)
