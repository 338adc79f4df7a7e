"""The same rows have the same identity, however they are written; other rows have another."""

import datetime as dt
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast.data.identity
from holdfast.data.identity import _MAY_CHANGE, _STAYS, identity, plain_text
from holdfast.data.parquet import parquet_batches
from holdfast.data.read import ReadTable, read_table
from holdfast.spec.data import Data
from holdfast.spec.model import Spec
from holdfast.spec.privacy import Privacy
from holdfast.system.errors import DataError

FRAME = pl.DataFrame(
    {
        "sex": ["f", "m", "m", "f", "f"],
        "county": ["01001", "17031", "17031", "01001", "17019"],
        "age": [18, 0, 99, 18, 18],
        "income": [1250.5, 0.0, None, 1e-7, 1e22],
        "veteran": [True, False, False, None, True],
        "born": [dt.date(2001, 2, 3), dt.date(2024, 2, 29), dt.date(1920, 1, 1), None, dt.date(2001, 2, 3)],
        "seen": [dt.datetime(2024, 5, 6, 7, 8, 9, 500_000)] * 3 + [dt.datetime(2024, 5, 6), None],
        "note": ['Älter, als "sie" sagt', "a\nb", None, "c ", "1:c"],
    }
)
SPEC = Spec(data=Data(cells=("county", "sex")), privacy=Privacy(epsilon="1"))


def of(data: Any) -> bytes:
    return read_table(SPEC, data).identity


def written(folder: Path, name: str, write: Callable[[Path], Any]) -> Path:
    write(folder / name)
    return folder / name


def test_the_way_of_writing_does_not_show(tmp_path: Path) -> None:
    expected = identity(FRAME.get_columns())
    pandas = FRAME.to_pandas()
    copies = {
        "frame": FRAME,
        "lazy": FRAME.lazy(),
        "pandas": pandas,
        "arrow": FRAME.to_arrow(),
        "csv": written(tmp_path, "a.csv", FRAME.write_csv),
        "parquet": written(tmp_path, "a.parquet", FRAME.write_parquet),
        "csv of pandas": written(tmp_path, "b.csv", lambda path: pandas.to_csv(path, index=False)),
        "parquet of pandas": written(tmp_path, "b.parquet", pandas.to_parquet),
        "rows": FRAME.sample(fraction=1, shuffle=True, seed=1),
        "columns": FRAME.select(reversed(FRAME.columns)),
        "categories": FRAME.with_columns(pl.col("sex").cast(pl.Enum(["m", "f"]))),
        "decimals": FRAME.with_columns(pl.col("age").cast(pl.Decimal(10, 2))),
        "texts": FRAME.with_columns(pl.col("age", "income").cast(pl.String)),
    }
    assert {name: of(data) == expected for name, data in copies.items()} == dict.fromkeys(copies, True)
    renamed = FRAME.rename({"sex": "s", "county": "c", "age": "county"})
    spec = Spec(data=Data(cells=("county", "s")), privacy=Privacy(epsilon="1"))
    assert read_table(spec, renamed).identity == expected


def test_the_spec_does_not_show() -> None:
    found = set()
    for cells in (("sex",), ("age",), ("county", "sex", "age")):
        levels = {"sex": ("x", "m", "f")} if "sex" in cells else {}
        spec = Spec(data=Data(cells=cells, levels=levels), privacy=Privacy(epsilon="1"))
        found.add(read_table(spec, FRAME).identity)
    assert found == {identity(FRAME.get_columns())}


def test_pandas_reads_what_was_written(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", FRAME.drop("seen").write_csv)
    assert of(pd.read_csv(path, dtype={"county": str})) == of(path)


def test_other_rows_are_another_file() -> None:
    expected = of(FRAME)
    changed = FRAME.with_columns(note=pl.Series(["x", *FRAME["note"][1:]]))
    others = {
        "one value": changed,
        "one row less": FRAME[1:],
        "one row twice": pl.concat([FRAME, FRAME[:1]]),
        "one column less": FRAME.drop("note"),
        "one column twice": FRAME.with_columns(again=pl.col("note")),
        "two rows exchange a value": FRAME.with_columns(age=pl.Series([0, 18, 99, 18, 18])),
    }
    found = {name: of(data) for name, data in others.items()}
    assert expected not in found.values()
    assert len(set(found.values())) == len(found)


def rows_of(*rows: tuple[str, ...]) -> bytes:
    return identity(pl.DataFrame(rows, orient="row").get_columns())


def test_values_cannot_run_into_each_other() -> None:
    assert rows_of(("a", "1:b")) != rows_of(("a1:b", ""))
    assert rows_of(("a", "b"), ("c", "d")) != rows_of(("a", "b", "c", "d"))
    assert rows_of(("a", "b"), ("c", "d")) != rows_of(("a", "c"), ("b", "d"))
    assert rows_of(("1:a", "")) != rows_of(("a", ""))
    assert rows_of(("a",)) != rows_of(("a",), ("",))
    assert identity([]) != rows_of(("",))


VALUES = st.sampled_from(["", "a", "b", "1", "1:", "1:a", "2:", "10:", "0:"])


@settings(deadline=None)
@given(
    one=st.lists(st.tuples(VALUES, VALUES), max_size=3), other=st.lists(st.tuples(VALUES, VALUES), max_size=3)
)
def test_is_equal_just_where_the_sorted_rows_are(
    one: list[tuple[str, str]], other: list[tuple[str, str]]
) -> None:
    same = sorted(map(sorted, one)) == sorted(map(sorted, other))
    frames = [pl.DataFrame(rows, {"a": pl.String, "b": pl.String}, orient="row") for rows in (one, other)]
    assert (identity(frames[0].get_columns()) == identity(frames[1].get_columns())) == same


def test_pieces_of_many_rows_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = of(FRAME)
    monkeypatch.setattr(holdfast.data.identity, "_CHUNK", 2)
    assert of(FRAME) == whole


UTC_NOON = "2020-01-31T12:30:00+00:00"


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (("1", "01", "+1", "1.", "1.00", "001.0", "1e0", "10E-1", "0.1e+1"), "1"),
        (("0", "-0", "-0.00", ".0", "0e5", "000"), "0"),
        (("-0.5", "-.5", "-00.50", "-5e-1"), "-0.5"),
        (("10000000000000000000000", "1e22", "1e+22", "1.0E22"), "10000000000000000000000"),
        (("0.0000001", "1e-7", "1E-07"), "0.0000001"),
        (("9" * 40, f"+{'9' * 40}.0", f"0{'9' * 40}"), "9" * 40),
        (("true", "True", "TRUE"), "true"),
        (("", "nan", "NaN"), ""),
        (
            ("2020-01-31", "2020-01-31 00:00:00", "2020-01-31T00:00", "2020-01-31T00:00:00.000000000"),
            "2020-01-31",
        ),
        (("2020-01-31T12:30:00.5", "2020-01-31 12:30:00.500000"), "2020-01-31T12:30:00.500000"),
        (("2020-01-31T12:30Z", "2020-01-31 13:30:00+01:00", "2020-01-31T12:30:00+0000"), UTC_NOON),
        (("2020-13-31 00:00:00",), "2020-13-31 00:00:00"),
        (("1e1000",), "1e1000"),
        ((".",), "."),
        (("18-24",), "18-24"),
        (("truer",), "truer"),
    ],
)
def test_texts_that_mean_one_value(values: tuple[str, ...], text: str) -> None:
    assert {plain_text(value) for value in values} == {text}
    assert len({rows_of((value,)) for value in values}) == 1


@settings(deadline=None)
@given(st.lists(st.text("0123456789.+-eETtrufalsnN :Z", max_size=6) | st.text(max_size=4), min_size=1))
def test_what_is_passed_over_would_not_change(values: list[str]) -> None:
    texts = pl.Series(values)
    passed = texts.filter(~texts.str.contains(_MAY_CHANGE) | texts.str.contains(_STAYS))
    assert [plain_text(value) for value in passed] == passed.to_list()
    plain = [plain_text(value) for value in values]
    assert [plain_text(value) for value in plain] == plain


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, 2], [1.0, 2.0]),
        ([1.5, None], ["1.50", ""]),
        ([Decimal("1.50"), Decimal(2)], ["1.5", "2"]),
        ([True, None], ["True", " "]),
        ([dt.time(1, 2, 3), None], ["01:02:03", None]),
        ([dt.timedelta(1), None], ["1 day, 0:00:00", None]),
        ([b"a", None], ["b'a'", None]),
        ([[1, 2], None], ["[1, 2]", None]),
        ([float("nan"), 1.0], [None, 1]),
        ([None, None], ["", " "]),
    ],
)
def test_any_type_has_an_identity(one: list[Any], other: list[Any]) -> None:
    assert identity([pl.Series(one)]) == identity([pl.Series(other)])


def test_values_of_several_types_have_one_too() -> None:
    data = FRAME.to_pandas().assign(mixed=[1, "a", 2.0, True, None])
    texts = FRAME.with_columns(mixed=pl.Series(["1", "a", "2", "true", ""]))
    assert of(data) == of(texts)


def test_never_in_a_repr() -> None:
    reading: ReadTable = read_table(SPEC, FRAME)
    assert reading.identity.hex() not in repr(reading)
    assert repr(reading) == (
        "ReadTable(table=<confidential table: county (3), sex (2); 6 cells>, inferred=('county', 'sex'))"
    )
    assert "17031" not in repr(vars(reading)["source"])


def test_a_parquet_file_is_read_by_columns_and_known_by_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, "a.parquet", FRAME.write_parquet)
    asked = list[list[str] | None]()

    def seen(path: Path, columns: list[str] | None = None) -> Iterator[Any]:
        asked.append(columns)
        return parquet_batches(path, columns)

    monkeypatch.setattr("holdfast.data.parquet.parquet_batches", seen)
    reading = read_table(SPEC, path)
    assert asked == [["county"], ["sex"]]
    assert reading.identity == reading.identity == identity(FRAME.get_columns())
    assert asked[2:] == [None]


def test_a_file_that_is_changed_while_it_is_read_has_no_identity(tmp_path: Path) -> None:
    path = written(tmp_path, "a.parquet", FRAME.write_parquet)
    reading = read_table(SPEC, path)
    FRAME.head(2).write_parquet(path)
    with pytest.raises(DataError, match="changed while it was read"):
        reading.identity  # noqa: B018
