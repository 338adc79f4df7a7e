"""Held columns that tell the swapped one are told; others are not."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import holdfast
from holdfast.data.validation import doubts_of_records
from holdfast.mechanisms.records import ColumnRoles
from holdfast.mechanisms.swapping import warnings as doubts
from holdfast.mechanisms.swapping.warnings import telling_columns
from holdfast.spec.model import Spec
from holdfast.system.errors import DataError

ROWS = 600
RNG = np.random.default_rng(4)
STATE = RNG.integers(0, 2, ROWS)
TRACT = RNG.integers(0, 12, ROWS)
COUNTY = np.array([f"c{state}{tract // 4}" for state, tract in zip(STATE, TRACT, strict=True)])
PLACES = [f"{state}-{tract}" for state, tract in zip(STATE, TRACT, strict=True)]
FILE = pa.table(
    {
        "state": STATE,
        "county": COUNTY,
        "tract": TRACT,
        "place": PLACES,
        "tenure": RNG.integers(0, 2, ROWS),
        "id": RNG.permutation(ROWS),
    }
)


def told(*held: str, stratify: tuple[str, ...] = ("state",)) -> list[str]:
    columns = ColumnRoles(stratify, ("county",), held)
    return list(telling_columns(FILE.select([*columns.all]), columns))


@pytest.mark.parametrize("name", ["tract", "place"])
def test_a_column_that_lies_in_the_swapped_one_is_told(name: str) -> None:
    (sentence,) = told("tenure", name, "id")
    assert f"each value of {name!r} comes with one 'county' within state" in sentence


def test_without_the_key_a_column_must_tell_by_itself() -> None:
    (sentence,) = told("tract", stratify=())
    assert "'tract' nearly tells 'county':" in sentence  # a tract of each of two states
    (sentence,) = told("place", stratify=())
    assert "each value of 'place' comes with one 'county':" in sentence


def test_columns_that_tell_nothing_and_ids_are_not_told() -> None:
    assert told("tenure", "id") == []


def test_where_the_key_tells_the_swapped_column_nothing_is_to_say() -> None:
    assert told("tract", "tenure", stratify=("state", "place")) == []


def of(table: pa.Table, swap: str, *held: str, stratify: tuple[str, ...] = ()) -> list[str]:
    return list(telling_columns(table, ColumnRoles(stratify, (swap,), held)))


def test_what_the_swapped_column_tells_is_told() -> None:
    """A block lies in one tract: a record with a block of another tract was moved."""
    table = FILE.append_column("block", pa.array([f"{place}{at % 3}" for at, place in enumerate(PLACES)]))
    (sentence,) = of(table, "block", "place", "tenure")
    assert "each 'block' comes with one value of 'place'" in sentence
    assert "seen to have moved" in sentence
    assert of(table, "block", "tenure") == []


@pytest.mark.parametrize(("noise", "warned"), [(0.1, True), (0.9, False)])
def test_what_nearly_tells_is_told(noise: float, warned: bool) -> None:
    """A column that is that of the county but for some records, which are drawn anew."""
    rng = np.random.default_rng(5)
    group = np.where(rng.random(ROWS) < noise, rng.choice(COUNTY, ROWS), COUNTY)
    found = of(FILE.append_column("group", pa.array(group)), "county", "group", stratify=("state",))
    assert bool(found) == warned
    assert all("'group' nearly tells 'county' within state" in sentence for sentence in found)


@pytest.mark.parametrize("text", [False, True])
def test_ids_in_the_order_of_places_are_told(text: bool) -> None:
    by_place = np.empty(ROWS, dtype=np.int64)
    by_place[np.argsort(COUNTY, kind="stable")] = np.arange(ROWS) * 3 + 100
    ids = pa.array(by_place)
    table = FILE.append_column("number", ids.cast(pa.string()) if text else ids)
    (sentence,) = of(table, "county", "number", "id", stratify=("tenure",))
    assert "in the order of 'number' share their 'county'" in sentence
    assert 'renumber=["number"]' in sentence


def test_ids_in_the_order_of_values_that_never_repeat_are_told() -> None:
    place = RNG.permutation(ROWS)
    table = pa.table(
        {"address": [f"{at:04}" for at in place], "number": 7 * place, "other": RNG.permutation(ROWS)}
    )
    (sentence,) = of(table, "address", "number", "other")
    assert "in the order of 'number'" in sentence


@pytest.mark.parametrize("step", [1, -2])
def test_row_numbers_are_told(step: int) -> None:
    table = FILE.append_column("row", pa.array(np.arange(ROWS) * step))
    (sentence,) = of(table, "county", "row", "tenure", stratify=("state",))
    assert "'row' numbers the records in the order of the file" in sentence


def test_parts_of_a_large_file_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doubts, "LOOKED_AT", 300)
    monkeypatch.setattr(doubts, "RUN", 50)
    (sentence,) = told("tenure", "tract", "id")
    assert "each value of 'tract' comes with one 'county' within state" in sentence


def test_no_number_of_the_data_is_in_a_warning() -> None:
    table = FILE.append_column("block", pa.array([f"{place}{at % 3}" for at, place in enumerate(PLACES)]))
    for sentence in of(table, "block", "place", "tract", "county", "state"):
        assert not any(sign.isdigit() for sign in sentence)


def _asked(**data: Any) -> Spec:
    swap = {"name": "permutation-swapping", "stratify": ["age"], "swap": ["county"], "rate": "1/2"}
    return Spec.of({"data": {"path": "d.csv", **data}, "mechanism": swap, "privacy": {"adjacency": "unit"}})


def test_what_is_doubted_of_tables_is_doubted_of_records() -> None:
    plain = {"age": ["1", "2"] * 60, "county": ["A", "B", "B"] * 40, "sex": ["f", "m", "f", "f"] * 30}

    def told(spec: Spec, **columns: list[str] | list[int]) -> list[str]:
        some = {name: pl.Series(name, values) for name, values in {**plain, **columns}.items()}
        return list(doubts_of_records(spec, some, ("age", "county")))

    assert told(_asked()) == []
    assert told(_asked(), id=[*range(120)]) == []
    (count,) = told(_asked(), n=["1", "12"] * 60)
    assert "looks like a count, and every row is one record" in count
    twice = [place // 2 for place in range(120)]
    (repeated,) = told(_asked(), pid=twice)
    assert "'pid' stands on more rows than privacy.records_per_unit = 1" in repeated
    assert told(_asked(id="pid"), pid=twice) == []
    (total,) = told(_asked(), county=["A", "B", "Total"] * 40)
    assert "county has the level 'Total', whose rows look like sums" in total
    (spaced,) = told(_asked(), county=["A", "B", "A "] * 40)
    assert "county has 'A ' with spaces" in spaced


def test_a_release_of_records_tells_its_doubts(tmp_path: Path) -> None:
    rows = "".join(f"{place // 3},{place % 2},{'AB'[place % 3 % 2]},{place % 7}\n" for place in range(120))
    (tmp_path / "d.csv").write_text(f"pid,age,county,x\n{rows}")
    spec = _asked().model_copy(update={"folder": tmp_path})
    found = holdfast.plan(spec).warnings
    assert any("'pid' stands on more rows" in one for one in found)
    with pytest.raises(DataError, match="There are 1 more such doubts"):
        holdfast.release(spec, tmp_path / "out", strict=True)
    assert [path.name for path in tmp_path.iterdir()] == ["d.csv"]
