"""Frames in memory give what a file with the same rows gives."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from holdfast.data.read import read_table
from holdfast.spec.data import Data
from holdfast.spec.model import Spec
from holdfast.spec.privacy import Privacy
from holdfast.system.errors import DataError, SpecError

ROWS = {"county": ["Beta", "Alpha", "Beta", "Beta"], "age": [9, 18, 18, 9], "name": ["a", "b", "c", None]}
KINDS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "pandas": pd.DataFrame,
    "arrow": pa.table,
    "narwhals": lambda rows: nw.from_native(pl.DataFrame(rows)),
}


def spec_of(*cells: str, count: str | None = None, **keys: Any) -> Spec:
    return Spec(data=Data(cells=cells, count=count, **keys), privacy=Privacy(epsilon="1"))


@pytest.fixture(params=KINDS)
def frame(request: pytest.FixtureRequest) -> Callable[[dict[str, Any]], Any]:
    return KINDS[request.param]


def test_records(frame: Callable[[dict[str, Any]], Any], tmp_path: Path) -> None:
    table = read_table(spec_of("county", "age"), frame(ROWS)).table
    assert table.schema.attribute("county").levels == ("Alpha", "Beta")
    assert table.schema.attribute("age").levels == ("9", "18")
    assert table.counts.tolist() == [0, 1, 2, 1]
    pl.DataFrame(ROWS).write_csv(tmp_path / "people.csv")
    assert read_table(spec_of("county", "age"), tmp_path / "people.csv").table == table
    assert read_table(spec_of("county", "age"), str(tmp_path / "people.csv")).table == table


def test_counts(frame: Callable[[dict[str, Any]], Any]) -> None:
    data = frame({"n": [3, 0, 5], "sex": ["m", "f", "x"]})
    reading = read_table(spec_of("sex", count="n"), data)
    assert reading.table.schema.attribute("sex").levels == ("m", "f", "x")
    assert reading.table.counts.tolist() == [3, 0, 5]
    assert reading.inferred == ("sex",)


def test_a_frame_goes_before_the_path_of_the_spec() -> None:
    data = pl.DataFrame({"sex": ["f", "m", "m"]})
    assert read_table(spec_of("sex", path="none.csv"), data).table.counts.tolist() == [1, 2]


def test_without_a_path_and_a_frame_there_are_no_data() -> None:
    with pytest.raises(SpecError, match=r"^data\.path is missing: .* or give a frame\.$"):
        read_table(spec_of("sex"))


LEVELS: list[tuple[Any, tuple[str, ...]]] = [
    (pd.Categorical(["x", "y", "x"]), ("x", "y")),
    (pd.Categorical([3, 10, 3]), ("3", "10")),
    ([True, False, True], ("false", "true")),
    (pd.array([1, 2, 2], dtype="Int64"), ("1", "2")),
    (pd.Series(["b", "a", "b"], dtype=object), ("a", "b")),
    (pd.Series([2, 1, 2], dtype=object), ("1", "2")),
    ([dt.date(2020, 1, 31), dt.date(2019, 1, 1), dt.date(2020, 1, 31)], ("2019-01-01", "2020-01-31")),
    (pd.to_datetime(["2020-01-31", "2019-01-01", "2020-01-31"]), ("2019-01-01", "2020-01-31")),
    ([Decimal("1.50"), Decimal("0.25"), Decimal("1.50")], ("0.25", "1.50")),
]


@pytest.mark.parametrize(("values", "levels"), LEVELS)
def test_levels_become_text(values: Any, levels: tuple[str, ...]) -> None:
    table = read_table(spec_of("x"), pd.DataFrame({"x": values})).table
    assert table.schema.attribute("x").levels == levels
    assert sorted(table.counts.tolist()) == [1, 2]


def test_an_enum_is_text() -> None:
    data = pl.DataFrame({"x": pl.Series(["b", "a", "b"], dtype=pl.Enum(["b", "a", "c"]))})
    assert read_table(spec_of("x"), data).table.schema.attribute("x").levels == ("a", "b")


WRONG: list[tuple[Any, dict[str, Any], str]] = [
    (pd.DataFrame({"x": [1.0, 2.5]}), {}, "column 'x' holds Float64 values: store its levels as text"),
    (pd.DataFrame({"x": [1, None]}), {}, "column 'x' holds Float64 values"),
    (pd.DataFrame({"x": pd.Series([1, "a"], dtype=object)}), {}, "column 'x' holds values of several types"),
    (pd.DataFrame({"x": pd.Series([1, True], dtype=object)}), {}, "column 'x' holds values of several types"),
    (pd.DataFrame({"x": pd.to_datetime(["2020-01-31 12:00"])}), {}, "column 'x' holds Datetime("),
    (pd.DataFrame({"x": pd.to_timedelta(["1 day"])}), {}, "column 'x' holds Duration("),
    (pd.DataFrame({"x": ["a", "b", None]}), {}, "row 2 (from 0), column 'x' has no level"),
    (pd.DataFrame({"x": pd.array([1, None], dtype="Int64")}), {}, "row 1 (from 0), column 'x' has no level"),
    (pd.DataFrame({"x": pd.Categorical(["a", None])}), {}, "row 1 (from 0), column 'x' has no level"),
    (pd.DataFrame({"x": [None, None]}), {}, "row 0 (from 0), column 'x' has no level"),
    (pa.table({"x": ["a", None]}), {}, "row 1 (from 0), column 'x' has no level"),
    (pl.DataFrame({"x": [b"a"]}), {}, "column 'x' holds Binary values"),
    (pl.DataFrame({"x": [[1]]}), {}, "column 'x' holds List(Int64) values"),
    (pl.DataFrame({"y": ["a"]}), {}, "has no column 'x': choose from 'y'."),
    (pd.DataFrame([["a", "b"]], columns=["x", "x"]), {}, "has two columns of one name: rename one."),
    (
        pl.DataFrame({"x": ["a", "a"], "n": [1, 1]}),
        {"count": "n"},
        "row 1 (from 0) repeats the cell x = 'a' of",
    ),
    (pl.DataFrame({"x": ["a"], "n": [-1]}), {"count": "n"}, "row 0 (from 0), column 'n' is -1"),
    (pd.DataFrame({"x": ["a"], "n": [None]}), {"count": "n"}, "row 0 (from 0), column 'n' has no number"),
    (pl.DataFrame({"x": ["a"], "n": [None]}), {"count": "n"}, "row 0 (from 0), column 'n' has no number"),
    (
        pd.DataFrame({"x": ["a", "b"], "n": [1, None]}),
        {"count": "n"},
        "row 1 (from 0), column 'n' has no number",
    ),
    (
        pd.DataFrame({"x": ["a", "b"], "n": pd.Series([1, "2"], dtype=object)}),
        {"count": "n"},
        "of several types",
    ),
    (
        pl.DataFrame({"x": ["a", "b"]}),
        {"levels": {"x": ("a",)}},
        "row 1 (from 0), column 'x' has the level 'b'",
    ),
    (pl.DataFrame({"x": []}), {}, "has no rows, and an empty table"),
]


@pytest.mark.parametrize(("data", "keys", "words"), WRONG)
def test_what_is_wrong_is_one_sentence_with_its_place(data: Any, keys: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError) as caught:
        read_table(spec_of("x", **keys), data)
    message = str(caught.value)
    assert message.startswith("the data frame")
    assert words in message
    assert "\n" not in message


@pytest.mark.parametrize("data", [[1], {"x": ["a"]}, 5, pd.Series(["a"]), pl.Series(["a"])])
def test_what_is_no_frame_is_refused(data: Any) -> None:
    with pytest.raises(
        DataError, match=r"^the data are a \w+: give the path of a file, or a frame of Polars"
    ):
        read_table(spec_of("x"), data)


def test_an_empty_frame_is_refused_also_where_levels_are_declared() -> None:
    for data in (pl.DataFrame({"x": []}), pd.DataFrame({"x": pd.Series([], dtype=object)})):
        with pytest.raises(DataError, match="an empty table has nothing to release"):
            read_table(spec_of("x", levels={"x": ("a", "b")}), data)


def test_columns_of_pandas_need_no_names_in_text() -> None:
    data = pd.DataFrame([["a", 1], ["b", 2]])
    assert read_table(spec_of("0"), data).table.counts.tolist() == [1, 1]


def test_pandas_needs_no_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: object) -> pl.Series:
        raise ModuleNotFoundError("pyarrow")

    monkeypatch.setattr(nw.Series, "to_polars", missing)
    data = pd.DataFrame({"x": ["b", "a", "b"], "y": pd.Categorical([2, 1, 2]), "z": [1, 1, 1]})
    assert read_table(spec_of("x", "y", "z"), data).table.counts.tolist() == [1, 0, 0, 2]
    for gap in (["b", None], pd.array([1, None], dtype="Int64"), pd.Categorical(["b", None])):
        with pytest.raises(DataError, match=r"row 1 \(from 0\), column 'x' has no level"):
            read_table(spec_of("x"), pd.DataFrame({"x": gap}))
