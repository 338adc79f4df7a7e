"""Households move whole: their persons follow, from a file of their own or as rows of one file."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.mechanisms.swapping.small import asked, counts, households, persons, records, with_ids

import holdfast
from holdfast.data.microdata import open_microdata
from holdfast.mechanisms.records import ColumnRoles
from holdfast.mechanisms.swapping.details import swapping_of
from holdfast.mechanisms.swapping.outputs import follow
from holdfast.mechanisms.swapping.units import Households, Persons, agree, places
from holdfast.releases.records import prepare_records
from holdfast.system.errors import DataError, SpecError

COLUMNS = ColumnRoles(("state", "size"), ("county",), ("tenure", "income", "id"))
UNIT = {"unit": "household"}


def shuffled(table: pa.Table, seed: int = 0) -> pa.Table:
    return table.take(pa.array(np.random.default_rng(seed).permutation(table.num_rows)))


def both(
    folder: Path, own: pa.Table | None = None, theirs: pa.Table | None = None, *, seed: int | None = 1
) -> tuple[pa.Table, pa.Table]:
    """Release households with their persons, verify, and return what was released."""
    table = with_ids(households()) if own is None else own
    folder.mkdir(exist_ok=True)
    pq.write_table(table, folder / "households.parquet")
    pq.write_table(persons(table) if theirs is None else theirs, folder / "persons.parquet")
    spec = asked(folder, "households.parquet", data={"id": "id", "persons": "persons.parquet"}, privacy=UNIT)
    done = holdfast.release(spec, folder / "out", seed=seed, accept_no_protection=True)
    assert holdfast.verify(done.folder).kept
    return pq.read_table(folder / "out/microdata.parquet"), pq.read_table(folder / "out/persons.parquet")


def where(table: pa.Table) -> dict[Any, set[Any]]:
    found = defaultdict(set)
    for one, county in zip(table.column("id").to_pylist(), table.column("county").to_pylist(), strict=True):
        found[str(one)].add(str(county))
    return found


@pytest.mark.parametrize("seed", [None, 1])
def test_persons_follow_their_household(seed: int | None, tmp_path: Path) -> None:
    before = with_ids(households())
    moved, followed = both(tmp_path, seed=seed)
    assert counts(moved, ("id", "tenure", "state")) == counts(before, ("id", "tenure", "state"))
    assert where(moved) != where(before)
    assert where(moved) == where(followed)
    assert followed.schema.equals(persons(before).schema)
    assert counts(followed, ("id", "age")) == counts(persons(before), ("id", "age"))


def test_nothing_depends_on_the_order_of_either_file(tmp_path: Path) -> None:
    table = with_ids(households())
    both(tmp_path / "one")
    both(tmp_path / "two", shuffled(table), shuffled(persons(table), 1))
    for name in ("microdata.parquet", "persons.parquet"):
        assert (tmp_path / "one/out" / name).read_bytes() == (tmp_path / "two/out" / name).read_bytes()


def test_ids_may_have_another_type_and_persons_no_county(tmp_path: Path) -> None:
    table = with_ids(households())
    texts = persons(table).set_column(0, "id", persons(table).column("id").cast(pa.string()))
    own, theirs = both(tmp_path / "texts", table, texts.drop_columns(["county"]))
    assert own.num_rows == 60
    assert theirs.column_names == ["id", "age"]
    small = persons(table).set_column(2, "county", persons(table).column("county").dictionary_encode())
    own, theirs = both(tmp_path / "dictionary", table, small)
    assert where(own) == where(theirs)


def test_a_household_without_persons_moves_too(tmp_path: Path) -> None:
    table = with_ids(households())
    own, theirs = both(tmp_path, table, persons(table).slice(0, 20))
    assert own.num_rows == 60
    assert theirs.num_rows == 20


@pytest.mark.parametrize("empty", [True, False])
def test_no_persons_at_all_are_no_persons(empty: bool, tmp_path: Path) -> None:
    table = with_ids(households())
    _, theirs = both(tmp_path, table, persons(table).slice(0, 0 if empty else 1))
    assert theirs.num_rows == (0 if empty else 1)


def repeated(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table, table.slice(0, 2)])


def with_gap(table: pa.Table) -> pa.Table:
    at = table.column_names.index("id")
    return table.set_column(at, "id", pa.array([None, *table.column("id").to_pylist()[1:]]))


def elsewhere(table: pa.Table) -> pa.Table:
    at = table.column_names.index("county")
    return table.set_column(at, "county", pa.array(["99", "98", *table.column("county").to_pylist()[2:]]))


def strangers(table: pa.Table) -> pa.Table:
    return table.set_column(0, "id", pa.array([900, 901, 902, *table.column("id").to_pylist()[3:]]))


@pytest.mark.parametrize(
    ("own", "theirs", "said"),
    [
        (repeated, None, "households.parquet, column 'id' repeats 2 ids: give each household one row"),
        (with_gap, None, "households.parquet, column 'id' has no id in 1 row: fill"),
        (None, with_gap, "persons.parquet, column 'id' has no id in 1 row: fill"),
        (None, strangers, "persons.parquet: 3 persons without a household in .*households.parquet"),
        (None, elsewhere, "persons.parquet: 2 persons with another county than their household"),
        (
            None,
            lambda t: t.drop_columns(["id"]),
            "id names 'id', which is no column of .*persons.parquet",
        ),
        (
            lambda t: t.drop_columns(["id"]),
            None,
            r"id names 'id', which is no column of .*households.parquet",
        ),
        (
            None,
            lambda t: t.set_column(0, "id", t.column("id").cast(pa.float64())),
            "column 'id' holds double values",
        ),
    ],
)
def test_files_that_do_not_fit_are_refused(own: Any, theirs: Any, said: str, tmp_path: Path) -> None:
    table = with_ids(households())
    pq.write_table(own(table) if own else table, tmp_path / "households.parquet")
    pq.write_table(theirs(persons(table)) if theirs else persons(table), tmp_path / "persons.parquet")
    spec = asked(
        tmp_path, "households.parquet", data={"id": "id", "persons": "persons.parquet"}, privacy=UNIT
    )
    with pytest.raises((DataError, SpecError), match=said) as refused:
        prepare_records(spec)
    assert "\n" not in str(refused.value)
    sentence = str(refused.value).replace(str(tmp_path), "")
    assert not any(value in sentence for value in ("900", "99", "98"))  # no id, no county


# rows of one file


def people() -> pa.Table:
    """Return persons with all that their household has."""
    table = with_ids(households())
    rows = [at for at, one in enumerate(table.column("id").to_pylist()) for _ in range(1 + one % 3)]
    taken = table.take(pa.array(rows)).drop_columns(["income"])
    return taken.append_column("age", pa.array([(37 * at) % 90 for at in range(len(rows))]))


@pytest.mark.parametrize("seed", [None, 1])
def test_rows_of_one_id_move_together(seed: int | None, tmp_path: Path) -> None:
    table = people()
    pq.write_table(table, tmp_path / "people.parquet")
    spec = asked(tmp_path, "people.parquet", data={"id": "id", "cells": ["county"]}, privacy=UNIT)
    done = holdfast.release(spec, tmp_path / "out", seed=seed, accept_no_protection=True)
    assert holdfast.verify(done.folder).kept
    found = pq.read_table(tmp_path / "out/microdata.parquet")
    assert found.schema.equals(table.schema)
    assert {len(counties) for counties in where(found).values()} == {1}
    assert where(found) != where(table)
    held = ("state", "size", "tenure", "id", "age")
    assert counts(found, held) == counts(table, held)
    assert swapping_of(done.certificate.records)[1].strata.largest == 10  # of households, not of persons
    assert done.certificate.records.records.rows == table.num_rows
    assert sum(int(row.split(",")[1]) for row in (tmp_path / "out/table.csv").read_text().split()[1:]) == 60


def test_rows_come_in_no_order_of_the_input(tmp_path: Path) -> None:
    for name, table in (("one", people()), ("two", shuffled(people()))):
        (tmp_path / name).mkdir()
        pq.write_table(table, tmp_path / name / "people.parquet")
        spec = asked(tmp_path / name, "people.parquet", data={"id": "id"}, privacy=UNIT)
        holdfast.release(spec, tmp_path / name / "out", seed=5, accept_no_protection=True)
    one, two = ((tmp_path / name / "out/microdata.parquet").read_bytes() for name in ("one", "two"))
    assert one == two


def test_rows_of_one_household_that_disagree_are_refused() -> None:
    table = people()
    split = table.set_column(2, "county", pa.array(["77", *table.column("county").to_pylist()[1:]]))
    columns = ColumnRoles(COLUMNS.stratify, COLUMNS.swap, ("tenure", "id", "age"))
    Households.of(open_microdata(table), "id", columns)
    with pytest.raises(
        DataError, match="1 household with rows that differ in state or size or county: a household moves"
    ):
        Households.of(open_microdata(pa.concat_tables([split, table.slice(0, 1)])), "id", columns)


def test_what_is_of_persons_is_not_counted_for_households() -> None:
    for sections in (
        {"data": {"id": "id", "cells": ["age"]}},
        {"data": {"id": "id"}, "invariants": [{"margin": ["age"]}]},
    ):
        with pytest.raises(SpecError, match="'age' is a column of persons, and households are counted"):
            prepare_records(asked(privacy=UNIT, **sections), people())


def test_a_column_named_as_the_members_is_no_trouble() -> None:
    columns = ColumnRoles(("state", "size"), ("county",), ("tenure", "id", "age", "members"))
    table = people().append_column("members", pa.array(["x"] * people().num_rows))
    found = Households.of(open_microdata(table), "id", columns)
    assert found.columns.held == ("id", "members'")


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"data": {"persons": "p.csv"}, "privacy": UNIT}, r"persons needs id"),
        ({"data": {"id": "id"}}, r'unit="household"'),
        ({"data": {"id": "county"}, "privacy": UNIT}, "which is also in"),
    ],
)
def test_ids_and_persons_go_together(sections: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        prepare_records(asked(**sections), with_ids(households()))


# parts


def test_places_of_ids() -> None:
    import polars as pl

    found = places(pl.Series(["b", "x", "a", "b"]), pl.Series(["a", "b", "c"]))
    assert found.tolist() == [1, -1, 0, 1]


def test_persons_agree_or_not() -> None:
    table = with_ids(households())
    theirs = persons(table)
    assert agree(theirs, table, "id", ["county"])
    assert not agree(elsewhere(theirs), table, "id", ["county"])
    assert not agree(strangers(theirs), table, "id", [])
    assert records(follow(theirs, table, "id", ["county"])) == records(theirs)
    assert "age" not in repr(Persons.of(open_microdata(theirs), "id", COLUMNS, open_microdata(table)))
