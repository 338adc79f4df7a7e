"""Geographies in files: codes unfolded, levels nested, tables by leaves."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data import columns, files, table
from holdfast.data.geography import Regions, unfolded
from holdfast.data.invariants import invariant_blocks
from holdfast.data.read import open_source, read_table
from holdfast.data.schema import Attributes, Schema
from holdfast.public import publish
from holdfast.spec.data import Geography
from holdfast.spec.model import Spec
from holdfast.system.errors import DataError, HoldfastError, SpecError

BLOCKS = Geography(column="block", prefixes={"all": 0, "state": 1, "county": 2, "block": 4})
ROWS = "block,sex,n\n1011,f,3\n1011,m,1\n1012,f,2\n1101,m,4\n2011,f,5\n"


def spec(text: str = ROWS, folder: Path = Path(), **more: object) -> Spec:
    (folder / "blocks.csv").write_text(text)
    values = {
        "data": {
            "path": "blocks.csv",
            "cells": ["sex"],
            "count": "n",
            "geography": {"column": "block", "prefixes": {"all": 0, "state": 1, "county": 2, "block": 4}},
        },
        **more,
    }
    return Spec.of(values, folder=folder)


def test_codes_are_unfolded_to_levels() -> None:
    frame = pl.DataFrame({"state": ["ours"], "block": ["1011"]})
    source = unfolded(open_source(frame), BLOCKS)
    assert source.header == ("state in the file", "block in the file", "all", "state", "county", "block")
    assert [column[0] for column in source.load(range(6))] == ["ours", "1011", "all", "1", "10", "1011"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ROWS.replace("1012", "12"), r"row 4, column 'block' is '12', and codes have 4 characters"),
        (ROWS.replace("1012", ""), r"row 4, column 'block' has no code"),
        (ROWS.replace("block", "blok"), "has no column 'block'"),
    ],
)
def test_codes_of_another_length_are_named_by_their_row(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said):
        read_table(spec(text, tmp_path))


def test_a_child_in_two_parents_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("state,county\nA,1\nB,1\n")
    asked = Spec.of(
        {"data": {"path": "x.csv", "geography": {"columns": ["state", "county"]}}}, folder=tmp_path
    )
    with pytest.raises(DataError, match=r"county '1' lies in state 'A' and in state 'B': .* in front"):
        read_table(asked)


def test_a_child_without_its_parent_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("state,county\nA,1\n,2\n")
    asked = Spec.of(
        {"data": {"path": "x.csv", "geography": {"columns": ["state", "county"]}}}, folder=tmp_path
    )
    with pytest.raises(DataError, match="row 3, column 'state' has no level"):
        read_table(asked)


def test_regions_are_leaves_by_cells_with_sums_at_every_level(tmp_path: Path) -> None:
    table = read_table(spec(folder=tmp_path)).table
    regions = Regions.of(table.schema, ("all", "state", "county", "block"))
    assert regions.sizes == (1, 2, 3, 4)
    assert regions.names == ("sex",)
    assert regions.spine.codes("county") == ("10", "11", "20")
    assert [level.tolist() for level in regions.sums(table.counts)] == [
        [[10, 5]],
        [[5, 5], [5, 0]],
        [[5, 1], [0, 4], [5, 0]],
        [[3, 1], [2, 0], [0, 4], [5, 0]],
    ]


def test_a_table_without_a_geography_is_one_node() -> None:
    regions = Regions.of(Schema(Attributes.of({"sex": ["f", "m"]})), ())
    assert (regions.levels, regions.sizes, regions.width) == (("table",), (1,), 2)


def test_several_roots_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("state,county\nA,1\nB,2\n")
    asked = Spec.of(
        {"data": {"path": "x.csv", "geography": {"columns": ["state", "county"]}}}, folder=tmp_path
    )
    with pytest.raises(
        SpecError, match="has 2 nodes: begin with a level of one node, the root, such as prefixes"
    ):
        Regions.of(read_table(asked).table.schema, ("state", "county"))


@given(codes=st.lists(st.text("01", min_size=3, max_size=3), min_size=1, max_size=12))
def test_regions_of_any_codes_agree_with_grouping(codes: list[str]) -> None:
    """Node by node, sums are those that a plain group-by gives, in whatever order rows come."""
    frame = pl.DataFrame({"block": codes, "age": ["a", "b"] * (len(codes) // 2) + ["a"] * (len(codes) % 2)})
    geography = {"column": "block", "prefixes": {"all": 0, "one": 1, "two": 2, "block": 3}}
    asked = Spec.of({"data": {"cells": ["age"], "geography": geography}})
    table = read_table(asked, frame).table
    regions = Regions.of(table.schema, ("all", "one", "two", "block"))
    for level, sums in zip(regions.levels, regions.sums(table.counts), strict=True):
        length = {"all": 0, "one": 1, "two": 2, "block": 3}[level]
        grouped: dict[str, int] = {}
        for code in codes:
            key = code[:length] if length else "all"
            grouped[key] = grouped.get(key, 0) + 1
        found = dict(zip(regions.spine.codes(level), sums.sum(axis=1).tolist(), strict=True))
        assert found == grouped


def test_invariants_by_level_are_margins_of_it(tmp_path: Path) -> None:
    asked = spec(
        folder=tmp_path,
        invariants=[
            {"total": True, "level": "county"},
            {"margin": ["sex"], "level": "state"},
            {"where": {"sex": "f"}, "level": "state", "name": "women"},
            {"total": True},
        ],
    )
    table = read_table(asked).table
    held = publish(asked, table, ()).invariants
    assert [one.values.tolist() for one in held] == [[6, 4, 5], [5, 5, 5, 0], [5, 5], [15]]
    assert [one.block.name for one in held] == ["county", "state by sex", "women", "total"]


def test_weights_by_level_weigh_the_cells_of_every_node(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("invariant,sex,weight\npoints,f,2\npoints,m,1\nmen,m,1\n")
    asked = spec(folder=tmp_path, invariants=[{"weights": {"file": "w.csv"}, "level": "state"}])
    reading = read_table(asked)
    (block,) = invariant_blocks(asked, reading.table.schema)
    assert block.labels == ("state = 1, points", "state = 1, men", "state = 2, points", "state = 2, men")
    assert block.evaluate(reading.table.counts).tolist() == [15, 5, 10, 0]
    again = type(block).from_dict(block.to_dict(), reading.table.schema)
    assert again.level == "state"
    assert np.array_equal(again.matrix.toarray(), block.matrix.toarray())


def test_bounds_that_the_data_break_are_refused(tmp_path: Path) -> None:
    bound = {"total": True, "level": "county", "at_most": 5}
    asked = spec(folder=tmp_path, constraints={"inequalities": [bound]})
    with pytest.raises(HoldfastError, match="does not hold in the data"):
        publish(asked, read_table(asked).table, ())


def test_bounds_that_the_invariants_break_are_explained(tmp_path: Path) -> None:
    asked = spec(
        folder=tmp_path,
        invariants=[{"total": True, "level": "county"}],
        constraints={"inequalities": [{"total": True, "level": "county", "at_most": 5}]},
    )
    with pytest.raises(HoldfastError, match=r"asks for at most 5, and no table with the values of 'county'"):
        publish(asked, read_table(asked).table, ())


@pytest.mark.parametrize(
    "codes",
    [
        pl.Series([{"a": 1}, {"a": 2}]),
        pl.Series([[1], [2]]),
        pl.Series([1, 2], dtype=pl.Duration("us")),
        pl.Series([b"11", b"12"]),
        pl.Series([11.0, 12.0]),
    ],
)
def test_codes_that_are_no_text_are_told(tmp_path: Path, codes: pl.Series) -> None:
    pl.DataFrame([codes.alias("block"), pl.Series("people", [3, 4])]).write_parquet(tmp_path / "b.parquet")
    geography = {"column": "block", "prefixes": {"state": 1, "block": 2}}
    data = {"path": "b.parquet", "cells": [], "count": "people", "geography": geography}
    asked = {"data": data, "privacy": {"epsilon": "1"}, "mechanism": {"name": "topdown"}}
    with pytest.raises(DataError, match=r"column 'block' holds .* values: store its levels as text"):
        read_table(Spec.of(asked, folder=tmp_path))


def test_long_columns_are_held_by_their_texts_and_read_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts that stand on many rows are held once: nothing that is read, told or refused changes."""
    head, *lines = ROWS.splitlines()
    text = "\n".join([head, *lines[::-1]]) + "\n"
    (tmp_path / "place.csv").write_text("county,place\n10,A\n")
    wide = {**BLOCKS.model_dump(exclude_unset=True), "areas": {"place": "place.csv"}}
    data = {"path": "blocks.csv", "cells": ["sex"], "count": "n", "geography": wide}
    asked, of_areas = spec(text, tmp_path), spec(text, tmp_path, data=data)
    plain, beside = read_table(asked), read_table(of_areas)
    for module, name, value in (
        (columns, "LONG", 1),
        (columns, "SEVERAL", 0),
        (files, "AT_ONCE", 2),
        (table, "AT_ONCE", 2),
    ):
        monkeypatch.setattr(module, name, value)
    source = unfolded(open_source(tmp_path / "blocks.csv"), asked.data.geography)
    frame = columns.Columns.of(source, ("sex", "all", "county", "block")).frame
    assert all(isinstance(kind, pl.Enum) for kind in frame.dtypes)
    held = read_table(asked)
    assert held.table == plain.table
    assert (held.identity, held.marks, held.warnings) == (plain.identity, plain.marks, plain.warnings)
    again = read_table(of_areas)
    assert (again.table, again.marks) == (beside.table, beside.marks)
    data = {**asked.data.model_dump(exclude_unset=True), "recode": {"sex": {"x": ["f", "m"]}}}
    recoded = read_table(spec(folder=tmp_path, data=data))
    assert recoded.table.schema.attribute("sex").levels == ("x",)
    for damaged, words in (
        (ROWS.replace("f,3", "f,"), "has no number"),
        (ROWS.replace("f,3", ",3"), "has no level"),
        (ROWS.replace("1011,f", "101,f"), "codes have 4 characters"),
        (ROWS.replace("f,3", "f,-3"), "never below zero"),
        (ROWS.replace("1011,m", "1011,f"), r"row 3 repeats the cell .* of row 2"),
    ):
        with pytest.raises(DataError, match=words):
            read_table(spec(damaged, tmp_path))


def test_a_file_is_known_by_its_own_rows_whatever_levels_its_codes_make(tmp_path: Path) -> None:
    (tmp_path / "place.csv").write_text("county,place\n10,A\n")
    wide = {**BLOCKS.model_dump(exclude_unset=True), "areas": {"place": "place.csv"}}
    data = {"path": "blocks.csv", "cells": ["sex"], "count": "n"}
    asked = [spec(folder=tmp_path), spec(folder=tmp_path, data={**data, "geography": wide})]
    plain = spec(folder=tmp_path, data={**data, "cells": ["block", "sex"]})
    assert {read_table(one).identity for one in asked} == {read_table(plain).identity}
