"""Doubts about data, each with the line that mends it; they name no count."""

from typing import Any

import polars as pl
import pytest

import holdfast as hf
from holdfast.data.read import read_table
from holdfast.spec.data import Data
from holdfast.spec.model import Spec
from holdfast.spec.privacy import Privacy
from holdfast.system.errors import DataError

COUNTS = {"county": ["A", "A", "B", "B"], "sex": ["f", "m"] * 2, "n": [371, 482, 593, 617]}
TOTALS = {"county": ["A", "B", "Total"], "n": [371, 482, 853]}
PEOPLE = {"person_id": [i // 2 for i in range(60)], "sex": ["f", "m", "m"] * 20}


ONE = Privacy(epsilon="1")


def said(columns: Any, privacy: Privacy = ONE, **data: Any) -> tuple[str, ...]:
    return read_table(Spec(data=Data(**data), privacy=privacy), pl.DataFrame(columns)).warnings


@pytest.mark.parametrize(
    ("columns", "data", "words", "mends"),
    [
        (COUNTS, {"cells": ["county", "sex"]}, "'n' looks like a count", "count='n'"),
        (
            TOTALS,
            {"cells": ["county"], "count": "n"},
            "has the level 'Total'",
            "omit={\"county\": ['Total']}",
        ),
        (
            {"person_id": [str(i) for i in range(60)], "sex": ["f", "m", "m"] * 20},
            {"cells": ["person_id", "sex"]},
            "person_id looks like an id",
            "take it out of cells",
        ),
        (
            {"county": ["A ", "B"], "n": [371, 482]},
            {"cells": ["county"], "count": "n"},
            "'A '",
            "fold=True",
        ),
        (PEOPLE, {"cells": ["sex"]}, "'person_id' stands on more rows", "records_per_unit"),
        (
            {
                "tract": [f"t{i}" for i in range(30)],
                "county": [f"c{i // 9}" for i in range(30)],
                "sex": ["f"] * 29 + ["m"],
                "n": [7] * 30,
            },
            {"cells": ["county", "tract", "sex"], "count": "n", "within": {"tract": "county"}},
            "no row counts 0",
            "list all of them",
        ),
        (
            {"a": ["0", "1"], "n": [371, 482]},
            {"cells": ["a"], "count": "n", "levels": {"a": [str(i) for i in range(2001)]}},
            "the table has 2,001 cells",
            "name fewer",
        ),
        (
            {"a": [str(i % 20) for i in range(20)], "n": [371] * 20},
            {"cells": ["a"], "count": "n", "levels": {"a": [str(i) for i in range(10_000)]}},
            "the table is nearly empty",
            "name fewer",
        ),
    ],
)
def test_each_doubt_says_what_mends_it(
    columns: dict[str, list[Any]], data: dict[str, Any], words: str, mends: str
) -> None:
    found = [sentence for sentence in said(columns, **data) if words in sentence]
    assert len(found) == 1
    assert mends in found[0]
    for count in ("371", "482", "593", "617", "853"):
        assert count not in found[0]


@pytest.mark.parametrize(
    ("columns", "data"),
    [
        (COUNTS, {"cells": ["county", "sex"], "count": "n"}),
        (TOTALS, {"cells": ["county"], "count": "n", "omit": {"county": ["Total"]}}),
        ({**TOTALS, "n": [371, 482, 852]}, {"cells": ["county"], "count": "n"}),
    ],
)
def test_what_is_right_is_not_doubted(columns: dict[str, list[Any]], data: dict[str, Any]) -> None:
    assert said(columns, **data) == ()


def test_a_unit_with_several_records_is_not_doubted() -> None:
    two = Privacy(epsilon="1", unit="patient", records_per_unit=2)
    assert said(PEOPLE, two, cells=["sex"]) == ()


def test_strict_makes_doubts_errors() -> None:
    spec = Spec(data=Data(cells=("county",), count="n"), privacy=Privacy(epsilon="1"))
    frame = pl.DataFrame(TOTALS)
    assert len(hf.plan(spec, frame).warnings) >= 1
    with pytest.raises(DataError, match="has the level 'Total'"):
        hf.plan(spec, frame, strict=True)
