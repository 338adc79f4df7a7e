"""Ids that are renumbered tell nothing of the old ones, and persons still find their household."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.mechanisms.swapping.small import asked, counts, households, persons, released, with_ids

import holdfast
from holdfast.mechanisms.swapping.details import swapping_of
from holdfast.system.errors import HoldfastError

NEW: dict[str, Any] = {"mechanism": {"renumber": ["id"]}}


def read(folder: Path, name: str = "microdata") -> pa.Table:
    return pq.read_table(folder / f"{name}.parquet")


def test_records_are_numbered_as_they_leave(tmp_path: Path) -> None:
    table = with_ids(households())
    written = released(tmp_path, table, seed=None, **NEW)
    found = read(written.folder)
    assert found.schema.equals(table.schema)
    assert found.column("id").to_pylist() == list(range(1, 61))
    held = ("state", "size", "tenure", "income")
    assert counts(found, held) == counts(table, held)
    assert swapping_of(written.certificate.records)[0].renumber == ("id",)
    assert swapping_of(written.certificate.records)[0].held == ("tenure", "income")
    assert "Ids in id are new." in " ".join(one.words for one in written.certificate.caveats)
    assert holdfast.verify(written.folder).kept


def test_new_ids_do_not_depend_on_the_old_ones(tmp_path: Path) -> None:
    """With one seed, files that differ in ids alone are released alike."""
    made = []
    for number, ids in enumerate((range(60), np.random.default_rng(2).permutation(10**6)[:60])):
        folder = tmp_path / str(number)
        folder.mkdir()
        table = households().append_column("id", pa.array(ids, pa.int64()))
        made.append(read(released(folder, table, **NEW).folder))
    assert made[0].equals(made[1])


@pytest.mark.parametrize("text", [True, False])
def test_persons_get_the_new_id_of_their_household(text: bool, tmp_path: Path) -> None:
    table = with_ids(households())
    theirs = persons(table)
    if text:
        table, theirs = (
            one.set_column(one.column_names.index("id"), "id", one.column("id").cast(pa.string()))
            for one in (table, theirs)
        )
    pq.write_table(theirs, tmp_path / "persons.parquet")
    sections: dict[str, Any] = {
        "data": {"id": "id", "persons": "persons.parquet"},
        "privacy": {"unit": "household"},
        **NEW,
    }
    folder = released(tmp_path, table, seed=None, **sections).folder
    homes, people = read(folder), read(folder, "persons")
    assert people.schema.equals(theirs.schema)
    incomes = dict(zip(homes.column("id").to_pylist(), homes.column("income").to_pylist(), strict=True))
    counties = dict(zip(homes.column("id").to_pylist(), homes.column("county").to_pylist(), strict=True))
    old = dict(zip(table.column("income").to_pylist(), table.column("id").to_pylist(), strict=True))
    assert sorted((str(old[incomes[row["id"]]]), row["age"]) for row in people.to_pylist()) == sorted(
        (str(row["id"]), row["age"]) for row in theirs.to_pylist()
    )
    assert all(row["county"] == counties[row["id"]] for row in people.to_pylist())
    assert holdfast.verify(folder).kept


def test_rows_of_one_household_get_one_number(tmp_path: Path) -> None:
    rows = pa.table(
        {
            "id": [f"h{at // 2}" for at in range(40)],
            "county": [f"{at // 2 % 3}" for at in range(40)],
            "age": range(40),
        }
    )
    pq.write_table(rows, tmp_path / "rows.parquet")
    spec = asked(
        tmp_path,
        "rows.parquet",
        data={"id": "id"},
        privacy={"unit": "household"},
        mechanism={"stratify": [], "renumber": ["id"]},
    )
    folder = holdfast.release(spec, tmp_path / "out", seed=1, accept_no_protection=True).folder
    found = read(folder).to_pylist()
    assert sorted({row["id"] for row in found}, key=int) == [str(at) for at in range(1, 21)]
    together = {
        tuple(sorted(row["age"] for row in found if row["id"] == one)) for one in {r["id"] for r in found}
    }
    assert together == {(at, at + 1) for at in range(0, 40, 2)}
    assert holdfast.verify(folder).kept


def test_another_number_is_found(tmp_path: Path) -> None:
    from tests.mechanisms.swapping.test_verify import reseal, set_at, wrong

    folder = released(tmp_path, with_ids(households()), **NEW).folder
    pq.write_table(set_at(read(folder), "id", 0, 61), folder / "microdata.parquet")
    reseal(folder)
    assert set(wrong(folder, quick=True)) == {"id renumbered"}


@pytest.mark.parametrize(
    ("table", "sections", "said"),
    [
        (with_ids(households()), {"mechanism": {"renumber": ["id", "id"]}}, "names 'id' twice"),
        (with_ids(households()), {"mechanism": {"renumber": ["county"]}}, "which is also in swap"),
        (
            with_ids(households()),
            {"mechanism": {"renumber": ["ids"]}},
            "renumber names 'ids', which is no column",
        ),
        (households(), {"mechanism": {"renumber": ["tenure"]}}, "values are missing or repeat"),
        (
            households().append_column("id", pa.array([at / 7 for at in range(60)])),
            NEW,
            "holds double values: ids are texts or whole numbers",
        ),
        (
            with_ids(households()),
            {**NEW, "invariants": [{"margin": ["id"]}]},
            "counts 'id', which is renumbered",
        ),
        (with_ids(households()), {**NEW, "data": {"cells": ["id"]}}, "cells names 'id', which is renumbered"),
    ],
)
def test_what_is_no_id_is_refused(
    table: pa.Table, sections: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(HoldfastError, match=said):
        released(tmp_path, table, **sections)
    assert not (tmp_path / "out").exists()
