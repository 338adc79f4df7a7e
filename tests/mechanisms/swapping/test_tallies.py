"""Invariants of a swapped file: kept by every swap and counted as by hand, or refused before a draw."""

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from tests.mechanisms.swapping.small import TYPES, asked, households, typed

from holdfast.data.microdata import holds_levels, open_microdata
from holdfast.mechanisms.records import ColumnRoles
from holdfast.mechanisms.swapping.tallies import MERGED, Tally, keeper, kept_tallies
from holdfast.releases.records import prepare_records
from holdfast.spec.values import Range
from holdfast.system.errors import DataError, InvariantError, SpecError

COLUMNS = ColumnRoles(("state", "size"), ("county",), ("tenure", "income"))


def wanted(*invariants: dict[str, Any]) -> tuple[Tally, ...]:
    return kept_tallies(asked(invariants=list(invariants)).invariants, COLUMNS)


def counted(tally: Tally, table: pa.Table) -> Tally:
    for start in range(0, table.num_rows, 7):
        tally = tally.with_rows(table.slice(start, 7))
    return tally


@pytest.mark.parametrize(
    ("invariant", "kept_by"),
    [
        ({"total": True}, "stratum by held"),
        ({"margin": ["state"]}, "stratum by held"),
        ({"margin": ["state", "county"]}, "stratum by swap"),
        ({"margin": ["tenure", "income", "size"]}, "stratum by held"),
        ({"margin": ["county"], "where": {"size": ["1"]}}, "stratum by swap"),
        ({"margin": ["tenure"], "where": {"income": [0, 500]}}, "stratum by held"),
        ({"where": {"county": "00", "state": "0"}}, "stratum by swap"),
    ],
)
def test_what_every_swap_keeps_is_marked(invariant: dict[str, Any], kept_by: str) -> None:
    (tally,) = wanted(invariant)
    assert keeper(tally, COLUMNS, "here") == kept_by
    (section,) = prepare_records(asked(invariants=[invariant]), households()).file.public.invariants
    assert section.kept_by == kept_by


@pytest.mark.parametrize(
    "invariant",
    [
        {"margin": ["county", "tenure"]},
        {"margin": ["county"], "where": {"income": [0, 500]}},
        {"margin": ["tenure"], "where": {"county": "00"}},
        {"where": {"county": "00", "tenure": "own"}},
        {"margin": ["state", "size", "county", "income"]},
    ],
)
def test_what_a_swap_would_break_is_refused(invariant: dict[str, Any]) -> None:
    with pytest.raises(
        InvariantError, match=r"invariants\[0\] .*'county', which is swapped, by .* held"
    ) as refused:
        wanted(invariant)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("invariant", "said"),
    [
        ({"margin": ["countyy"]}, r"invariants\[0\] has 'countyy', .* did you mean 'county'"),
        ({"where": {"nowhere": "x"}}, r"invariants\[0\] has 'nowhere'"),
        ({"weights": {"file": "w.csv"}}, "has weights of cells, and records that are swapped have none"),
    ],
)
def test_what_cannot_be_counted_is_refused(invariant: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        wanted(invariant)


def test_counts_are_those_by_hand() -> None:
    table = households()
    rows = list(zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True))
    found = counted(Tally("x", ("county", "state")), table)
    assert dict(found.values) == Counter((row[2], row[0]) for row in rows)
    assert [levels for levels, _ in found.values] == sorted(levels for levels, _ in found.values)
    assert dict(counted(Tally("x", ()), table).values) == {(): 60}
    chosen = counted(Tally("x", ("tenure",), {"income": Range(100, 2000), "size": ("1", "9")}), table)
    assert dict(chosen.values) == Counter((r[3],) for r in rows if 100 <= r[4] <= 2000 and r[1] in (1, 9))
    none = counted(Tally("x", (), {"county": ("nowhere",)}), table)
    assert none.values == (((), 0),)
    assert found.levels("county") == tuple(sorted({row[2] for row in rows}))


def test_partial_counts_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = counted(Tally("x", ("income",)), households())
    monkeypatch.setattr("holdfast.mechanisms.swapping.tallies.MERGED", 5)
    again = counted(Tally("x", ("income",)), households())
    assert again.values == whole.values
    assert len(again.parts) < len(whole.parts) <= MERGED


@pytest.mark.parametrize(
    "name", [name for name, values in TYPES.items() if holds_levels(values.type, floats=True)]
)
def test_levels_of_many_types_are_counted(name: str) -> None:
    table = open_microdata(typed(24)).whole()
    found = counted(Tally("x", (name,)), table)
    expected = Counter(str(value) for value in table.column(name).to_pylist())
    assert sorted(count for _, count in found.values) == sorted(expected.values())


@pytest.mark.parametrize(
    "name", [name for name, values in TYPES.items() if not holds_levels(values.type, floats=True)]
)
def test_what_is_no_level_is_not_counted(name: str) -> None:
    mechanism = {"stratify": ["s"], "swap": ["c"]}
    for sections in ({"invariants": [{"margin": [name]}]}, {"data": {"cells": [name]}}):
        with pytest.raises(DataError, match=f"column '{name}' holds .* values: store its levels as text"):
            prepare_records(asked(mechanism=mechanism, **sections), typed())


def test_a_column_without_a_name_is_counted() -> None:
    table = pa.table({"": ["x", "y", "x"]})
    assert dict(counted(Tally("x", ("",)), table).values) == {("x",): 2, ("y",): 1}


@pytest.mark.parametrize(
    ("invariant", "right"),
    [
        ({"total": True, "equals": 60}, True),
        ({"total": True, "equals": 61}, False),
        ({"where": {"county": "00"}, "equals": 6}, True),
    ],
)
def test_what_it_must_equal_is_checked(invariant: dict[str, Any], right: bool) -> None:
    if right:
        assert (
            prepare_records(asked(invariants=[invariant]), households()).file.public.invariants[0].equals
            is not None
        )
        return
    with pytest.raises(InvariantError, match="total is not 61 in the data: correct equals"):
        prepare_records(asked(invariants=[invariant]), households())


def test_no_count_shows_in_a_repr() -> None:
    found = counted(Tally("x", ("tenure",)), households())
    assert found.values
    assert "own" not in repr(found)
