"""Held columns that tell the swapped one are told; others are not."""

import numpy as np
import pyarrow as pa
import pytest

from holdfast.swapping.design import Columns
from holdfast.swapping.doubts import giving_away

ROWS = 600
RNG = np.random.default_rng(4)
STATE = RNG.integers(0, 2, ROWS)
TRACT = RNG.integers(0, 12, ROWS)
COUNTY = np.array([f"c{state}{tract // 4}" for state, tract in zip(STATE, TRACT, strict=True)])
FILE = pa.table(
    {
        "state": STATE,
        "county": COUNTY,
        "tract": TRACT,
        "place": [f"{state}-{tract}" for state, tract in zip(STATE, TRACT, strict=True)],
        "tenure": RNG.integers(0, 2, ROWS),
        "id": np.arange(ROWS),
    }
)


def told(*held: str, stratify: tuple[str, ...] = ("state",)) -> list[str]:
    columns = Columns(stratify, ("county",), held)
    return list(giving_away(FILE.select([*columns.all]), columns))


@pytest.mark.parametrize("name", ["tract", "place"])
def test_a_column_that_lies_in_the_swapped_one_is_told(name: str) -> None:
    (sentence,) = told("tenure", name, "id")
    assert f"each value of {name!r} comes with one 'county' within state" in sentence


def test_without_the_key_a_column_must_tell_by_itself() -> None:
    assert told("tract", stratify=()) == []
    (sentence,) = told("place", stratify=())
    assert "each value of 'place' comes with one 'county':" in sentence


def test_columns_that_tell_nothing_and_ids_are_not_told() -> None:
    assert told("tenure", "id") == []


def test_where_the_key_tells_the_swapped_column_nothing_is_to_say() -> None:
    assert told("tract", "tenure", stratify=("state", "place")) == []
