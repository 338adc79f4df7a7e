"""Keys of [data] that say how a file is read, against plain polars."""

import io
from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.data.read import read_table
from holdfast.data.table import Table
from holdfast.spec.data import Data
from holdfast.spec.model import Spec
from holdfast.spec.privacy import Privacy
from holdfast.system.errors import DataError

SpecFor = Callable[..., Spec]
CELLS = {"cells": ["place", "age"], "count": "n"}
BINS = {"0-17": [0, 17], "18+": [18, 120]}


def spec_of(**data: Any) -> Spec:
    return Spec(data=Data(**data), privacy=Privacy(epsilon="1"))


def counts(table: Table) -> dict[tuple[str, ...], int]:
    """Counts other than 0 by the levels of their cells."""
    return {table.schema.cell(cell): int(count) for cell, count in enumerate(table.counts) if count}


def grouped(frame: pl.DataFrame, names: list[str]) -> dict[tuple[str, ...], int]:
    sums = frame.group_by(names).agg(pl.col("n").sum())
    return {tuple(row[:-1]): row[-1] for row in sums.rows() if row[-1]}


ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", "NA", ""]), st.integers(0, 120), st.integers(0, 9)), min_size=1
)


@settings(deadline=None)
@given(rows=ROWS.filter(lambda rows: any(row[2] for row in rows)))
def test_aggregate_recode_and_missing_do_what_polars_does(rows: list[tuple[str, int, int]]) -> None:
    frame = pl.DataFrame(rows, schema=["place", "age", "n"], orient="row")
    spec = spec_of(
        **CELLS, aggregate=True, missing=["NA", ""], recode={"age": BINS, "place": {"rest": ["b", "c"]}}
    )
    plain = frame.with_columns(
        pl.col("place").replace({"b": "rest", "c": "rest", "NA": "missing", "": "missing"}),
        pl.when(pl.col("age") <= 17).then(pl.lit("0-17")).otherwise(pl.lit("18+")).alias("age"),
    )
    names = ["place", "age"]
    assert counts(read_table(spec, frame).table) == grouped(plain, names)
    text = io.StringIO(frame.write_csv(separator=";"))
    again = pl.read_csv(text, separator=";", infer_schema=False).with_columns(pl.col("n").cast(pl.Int64))
    assert counts(read_table(spec, again).table) == grouped(plain, names)
    summed = spec_of(**CELLS, aggregate=True, missing=[""])
    text_age = frame.with_columns(pl.col("age").cast(pl.String), pl.col("place").replace("", "missing"))
    assert counts(read_table(summed, frame).table) == grouped(text_age, names)


def test_repeated_cells_are_named_unless_they_are_to_be_summed(spec_for: SpecFor) -> None:
    content = "place,age,n\na,5,1\na,5,2\n"
    with pytest.raises(DataError, match=r"row 3 repeats the cell .* set aggregate=True in data "):
        read_table(spec_for(content, CELLS))
    assert read_table(spec_for(content, {**CELLS, "aggregate": True})).table.total == 3
    recoded = spec_for(content.replace("a,5,2", "a,6,2"), {**CELLS, "recode": {"age": BINS}})
    assert counts(read_table(recoded).table) == {("a", "0-17"): 3}


def test_codes_of_missing_values_are_one_level_and_repeats_are_seen(spec_for: SpecFor) -> None:
    data = {**CELLS, "missing": ["NA", ""]}
    table = read_table(spec_for("place,age,n\nNA,5,1\n,5,2\nb,5,4\n", data)).table
    assert counts(table) == {("missing", "5"): 3, ("b", "5"): 4}
    with pytest.raises(DataError, match="row 3 repeats the cell place = 'missing', age = '5' of row 2"):
        read_table(spec_for("place,age,n\nNA,5,1\nNA,5,2\n", data))
    with pytest.raises(DataError, match=r"has no level: .* or set missing=\[\"\"\] in data\."):
        read_table(spec_for("place,age,n\n,5,1\n", {**CELLS, "missing": ["NA"]}))
    with pytest.raises(DataError, match="has the level 'missing', which is not declared"):
        read_table(spec_for("place,age,n\nNA,5,1\n", {**data, "levels": {"place": ["a", "b"]}}))


def test_bins_are_the_levels_in_order_and_not_taken_from_the_data(spec_for: SpecFor) -> None:
    bins = {"18+": [18, 120], "0-17": [0, 17], "unknown": ["x", "NA"]}
    data = {**CELLS, "recode": {"age": bins}}
    reading = read_table(spec_for("place,age,n\na,19,1\na,17.0,2\na,NA,3\n", data))
    assert reading.table.schema.attribute("age").levels == ("18+", "0-17", "unknown")
    assert reading.table.counts.tolist() == [1, 2, 3]
    assert reading.inferred == ("place",)
    assert any("lists 'x', which no row has" in said for said in reading.warnings)


@pytest.mark.parametrize("value", ["121", "17.5", "-1", "old", "18-24", "x" * 500])
def test_a_value_that_no_bin_takes_is_named_briefly(spec_for: SpecFor, value: str) -> None:
    spec = spec_for(f"place,age,n\na,3,1\na,{value},2\n", {**CELLS, "recode": {"age": BINS}})
    with pytest.raises(DataError) as caught:
        read_table(spec)
    message = str(caught.value).removeprefix(str(spec.data_path))
    assert f"row 3, column 'age' is '{value[:40]}" in message
    assert "no bin of data.recode takes" in message
    assert len(message) < 250


def test_numbers_in_frames_fall_into_bins() -> None:
    spec = spec_of(cells=["age"], recode={"age": BINS}, missing=[""])
    for ages in ([5, 70, 18], [5.0, 70.0, 18.0]):
        for frame in (pd.DataFrame({"age": ages}), pl.DataFrame({"age": ages})):
            assert counts(read_table(spec, frame).table) == {("0-17",): 1, ("18+",): 2}
    gaps = pd.DataFrame({"age": [5.0, None, 18.0]})
    assert counts(read_table(spec, gaps).table) == {("0-17",): 1, ("18+",): 1, ("missing",): 1}


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_other_separators(spec_for: SpecFor, separator: str) -> None:
    content = 'place,age,n\nA,5,1\n"B, C",6,2\n'
    content = content.replace(",", separator).replace(f"B{separator} C", f"B{separator} C")
    table = read_table(spec_for(content, {**CELLS, "separator": separator})).table
    assert counts(table) == {("A", "5"): 1, (f"B{separator} C", "6"): 2}
    with pytest.raises(DataError, match="set separator=") as caught:
        read_table(spec_for(content.replace('"', ""), CELLS))
    assert ('"\\t"' if separator == "\t" else f'"{separator}"') in str(caught.value)


def test_decimal_commas_do_not_hide_the_separator(spec_for: SpecFor) -> None:
    with pytest.raises(DataError, match='set separator=";"'):
        read_table(spec_for("place;age;n\nA;5,5;1\n", CELLS))
    with pytest.raises(DataError, match='set separator=","'):
        read_table(spec_for("place,age,n\nA,5,1\n", {**CELLS, "separator": ";"}))


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8", "utf-8-sig"])
def test_encodings(spec_for: SpecFor, encoding: str) -> None:
    content = "place,age,n\nC\xf4te d'Or,5,1\n".encode(encoding)
    table = read_table(spec_for(content, {**CELLS, "encoding": encoding})).table
    assert counts(table) == {("C\xf4te d'Or", "5"): 1}


def test_an_encoding_that_a_file_does_not_have(spec_for: SpecFor) -> None:
    content = "place,age,n\na,1,1\nC\xf4te,5,1\n".encode("latin-1")
    with pytest.raises(DataError, match=r'row 3 is not UTF-8 text: .* encoding="cp1252"'):
        read_table(spec_for(content, CELLS))
    with pytest.raises(DataError, match=r"row 3 is not ascii text|row 3 is not UTF-8"):
        read_table(spec_for(content, {**CELLS, "encoding": "ascii"}))
    with pytest.raises(DataError, match="row 3 is not utf-7 text"):
        read_table(spec_for(content, {**CELLS, "encoding": "utf-7"}))


def test_one_file_is_one_file_however_it_is_recoded(spec_for: SpecFor) -> None:
    content = "place,age,n\na,5,1\nb,70,2\n"
    plain = read_table(spec_for(content, CELLS)).identity
    binned = read_table(spec_for(content, {**CELLS, "recode": {"age": BINS}})).identity
    other = read_table(spec_for(content.replace(",", ";"), {**CELLS, "separator": ";"})).identity
    assert plain == binned == other


def test_long_values_are_shortened(spec_for: SpecFor) -> None:
    long = "y" * 1000
    for content, data in (
        (f"place,age,n\n{long},5,1\n", {**CELLS, "levels": {"place": ["a"]}}),
        (f"place,age,n\na,5,{long}\n", CELLS),
    ):
        with pytest.raises(DataError) as caught:
            read_table(spec_for(content, data))
        assert "(1,000 letters)" in str(caught.value)
        assert long[:100] not in str(caught.value)
