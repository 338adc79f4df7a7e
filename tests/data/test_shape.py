"""Wide files, dates, spellings and signs between thousands: each reads like the long and plain file."""

from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest

from holdfast.data.read import ReadTable, read_table
from holdfast.spec.model import Spec
from holdfast.system.errors import DataError, SpecError

WIDE: dict[str, list[Any]] = {
    "block": ["1", "2"],
    "pop_white": [7, 5],
    "pop_black": [3, 2],
    "vap_white": [4, 5],
    "vap_black": [1, 0],
}
RACES = {"pop_white": {"race": "white"}, "pop_black": {"race": "black"}}
PATTERN = {"pattern": "{age}_{race}", "minor": "pop - vap"}


def read(columns: Mapping[str, Any], **data: Any) -> ReadTable:
    values = {"data": {"count": "n", **data}, "privacy": {"epsilon": "1"}}
    return read_table(Spec.of(values), pl.DataFrame(dict(columns)))


def long(found: ReadTable) -> dict[tuple[str, ...], int]:
    names = found.table.schema.names
    frame = found.table.schema.attributes
    cells = [tuple(levels) for levels in _product([one.levels for one in frame.each])]
    assert len(names) == len(cells[0])
    return dict(zip(cells, found.table.counts.tolist(), strict=True))


def _product(levels: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    cells: list[tuple[str, ...]] = [()]
    for own in levels:
        cells = [(*cell, level) for cell in cells for level in own]
    return cells


def test_named_columns_and_their_differences() -> None:
    found = read(WIDE, cells=["block", "race"], wide={"columns": RACES})
    assert long(found) == {("1", "white"): 7, ("1", "black"): 3, ("2", "white"): 5, ("2", "black"): 2}
    minors = {"pop_white - vap_white": {"age": "minor"}, "vap_white": {"age": "adult"}}
    found = read(WIDE, cells=["block", "age"], wide={"columns": minors})
    assert long(found) == {("1", "minor"): 3, ("1", "adult"): 4, ("2", "minor"): 0, ("2", "adult"): 5}


def test_a_pattern_with_a_difference() -> None:
    found = long(read(WIDE, cells=["block", "age", "race"], wide=PATTERN))
    assert found == {
        ("1", "minor", "white"): 3,
        ("1", "minor", "black"): 2,
        ("2", "minor", "white"): 0,
        ("2", "minor", "black"): 2,
        ("1", "vap", "white"): 4,
        ("1", "vap", "black"): 1,
        ("2", "vap", "white"): 5,
        ("2", "vap", "black"): 0,
    }
    assert found == long(
        read(
            WIDE,
            cells=["block", "age", "race"],
            wide={"pattern": "{age}_{race}", "differences": {"minor": "pop - vap"}},
        )
    )


def test_a_file_is_known_by_what_it_holds_whatever_its_shape() -> None:
    texts = {name: [str(value) for value in column] for name, column in WIDE.items()}
    shaped = read(texts, cells=["block", "race"], wide={"columns": RACES})
    plain = read(texts, cells=["block"], count="pop_white")
    omitted = read(texts, cells=["block"], count="pop_white", omit={"block": ["2"]})
    assert shaped.identity == plain.identity == omitted.identity
    assert (
        plain.identity
        != read({**texts, "vap_black": ["1", "1"]}, cells=["block"], count="pop_white").identity
    )


@pytest.mark.parametrize(
    ("part", "levels"),
    [
        ("year", ["2026", "2025"]),
        ("quarter", ["4", "1"]),
        ("month", ["11", "2"]),
        ("day", ["18", "3"]),
        ("weekday", ["Wednesday", "Monday"]),
        ("year-month", ["2026-11", "2025-02"]),
        ("year-quarter", ["2026-Q4", "2025-Q1"]),
    ],
)
def test_parts_of_dates(part: str, levels: list[str]) -> None:
    days = {"date": ["2026-11-18", "2025-02-03T10:00:00"], "n": [3, 4]}
    found = read(days, cells=["when"], derive={"when": {"from": "date", "part": part}})
    assert long(found) == {(levels[0],): 3, (levels[1],): 4}


def test_case_and_spaces_fold_to_what_is_declared_or_came_first() -> None:
    columns = {"county": [" Kent", "KENT ", "york  city"], "n": [1, 2, 4]}
    found = read(columns, cells=["county"], fold=True, aggregate=True)
    assert long(found) == {("Kent",): 3, ("york city",): 4}
    found = read(
        columns, cells=["county"], fold=True, aggregate=True, levels={"county": ["York City", "KENT"]}
    )
    assert long(found) == {("York City",): 4, ("KENT",): 3}


@pytest.mark.parametrize(("sign", "text"), [(",", "1,234"), (".", "1.234"), ("\u00a0", "1\u00a0234")])
def test_signs_between_thousands(sign: str, text: str) -> None:
    columns = {"a": ["x", "y"], "n": [text, "12"]}
    assert long(read(columns, cells=["a"], thousands=sign)) == {("x",): 1234, ("y",): 12}
    with pytest.raises(DataError, match="set thousands="):
        read(columns, cells=["a"]) if sign != "." else read(
            {**columns, "n": ["1.234.567", "12"]}, cells=["a"]
        )


@pytest.mark.parametrize(
    ("columns", "data", "said"),
    [
        (
            {**WIDE, "pop_white": ["*", "5"]},
            {"wide": {"columns": RACES}},
            "row 0 .*'pop_white' is '\\*', which withholds a count",
        ),
        (
            {**WIDE, "pop_white": ["7", "<5"]},
            {"wide": {"columns": RACES}},
            "row 1 .* which withholds a count",
        ),
        (
            {**WIDE, "vap_white": [8, 5]},
            {"wide": PATTERN, "cells": ["block", "age", "race"]},
            "less than 'vap_white'",
        ),
        (WIDE, {"wide": {"columns": {"pop_whit": {"race": "white"}}}}, "did you mean 'pop_white'"),
        (WIDE, {"wide": {"pattern": "x{race}y"}}, "no column whose name follows"),
        (
            {"d": ["18.11.2026"], "n": [1]},
            {"cells": ["m"], "derive": {"m": {"from": "d", "part": "month"}}},
            "which is no date",
        ),
    ],
)
def test_bad_data_are_told_with_their_place(columns: Any, data: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        read(columns, **{"cells": ["block", "race"], **data})


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"wide": {}}, "needs one of two"),
        ({"wide": {"pattern": "{sex}_{race}"}}, "names 'sex', which is not among cells"),
        ({"wide": {"pattern": "all"}}, "names no attribute"),
        ({"wide": {"columns": {"a": {"race": "x"}, "b": {"sex": "y"}}}}, "names other attributes"),
        ({"derive": {"m": {"from": "d", "part": "moon"}}}, "part"),
        ({"thousands": "x"}, "give the sign between thousands"),
        ({"omit": {"county": []}}, "is empty"),
    ],
)
def test_bad_specs_are_refused(data: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        read(WIDE, **{"cells": ["block", "race"], **data})


def test_wide_needs_a_name_for_its_counts() -> None:
    values = {"data": {"cells": ["race"], "wide": {"columns": RACES}}, "privacy": {"epsilon": "1"}}
    with pytest.raises(SpecError, match="wide makes a column of counts"):
        Spec.of(values)
