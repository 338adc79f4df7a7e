"""What was published before stays as it was: PL first, then DHC on top of it, each with its own loss."""

import json
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from tests.certificate.falsify import forgeries, write
from tests.releases.people_and_units import spec as two_files
from tests.verifier.folders import content_of

import holdfast
import holdfast_verify
from holdfast.ledger.account import Ledger
from holdfast.releases.prepare import prepare
from holdfast.spec.model import Spec
from holdfast.system.errors import HoldfastError
from holdfast.verification.verify import verify

AGES = ("0", "5", "18", "65")
VOTING = {"0-17": [0, 17], "18+": [18, 120]}
PREFIXES = {"state": 1, "county": 2, "tract": 3, "block": 4}


def rows() -> str:
    found = ["block,votingage,age,sex,people"]
    for block in (f"9{county}{tract}{block}" for county in "12" for tract in "12" for block in "123"):
        found += [
            f"{block},{'0-17' if int(age) < 18 else '18+'},{age},{sex},"
            f"{(int(block) * (place + 3) + len(sex)) % 17}"
            for place, age in enumerate(AGES)
            for sex in ("f", "mm")
        ]
    return "\n".join(found) + "\n"


def asked(folder: Path, **more: Any) -> Spec:
    (folder / "people.csv").write_text(rows())
    data = {
        "path": "people.csv",
        "cells": ["age", "sex"],
        "count": "people",
        "geography": {"column": "block", "prefixes": PREFIXES},
        **more.pop("data", {}),
    }
    values = {
        "data": data,
        "invariants": [{"total": True, "level": "state"}],
        "privacy": {"standard": "zcdp", "rho": "1/2", "adjacency": "unit"},
        "mechanism": {"name": "topdown"},
        **more,
    }
    return Spec.of(values, folder=folder)


def first(folder: Path, **more: Any) -> Spec:
    """Return the redistricting data: by voting age alone."""
    return asked(folder, data={"cells": ["votingage"], "aggregate": True}, **more)


def second(folder: Path, **more: Any) -> Spec:
    """Return what comes on top of it."""
    before = {
        "release": "pl",
        "recode": {"age": VOTING},
        "columns": {"age": "votingage"},
        **more.pop("before", {}),
    }
    return asked(folder, published=[before], **more)


def counts(path: Path) -> dict[tuple[str, str], int]:
    frame = pl.read_csv(path, infer_schema_length=0).with_columns(pl.col("people").cast(pl.Int64))
    if "votingage" in frame.columns:
        frame = frame.with_columns(age=pl.col("votingage"))
    frame = frame.with_columns(
        pl.col("age").replace(dict.fromkeys(AGES[:2], "0-17") | dict.fromkeys(AGES[2:], "18+"))
    )
    return {
        (block, age): n
        for block, age, n in frame.group_by(["block", "age"]).agg(pl.col("people").sum()).rows()
    }


@pytest.mark.parametrize("seed", range(3))
def test_numbers_stay_as_they_were_published(tmp_path: Path, seed: int) -> None:
    holdfast.release(first(tmp_path), tmp_path / "pl", seed=seed)
    holdfast.release(second(tmp_path), tmp_path / "dhc", seed=seed + 100)
    assert counts(tmp_path / "dhc" / "table.csv") == counts(tmp_path / "pl" / "table.csv")
    assert counts(tmp_path / "pl" / "table.csv") != counts(tmp_path / "people.csv")
    assert verify(tmp_path / "dhc").kept
    assert verify(tmp_path / "dhc", quick=True).kept
    assert holdfast_verify.verify(tmp_path / "dhc").exit_code == 0
    told = json.loads((tmp_path / "dhc" / "certificate.json").read_text())
    assert told["guarantee"]["intensity"] == {"rho": "1/2"}
    assert "rho 0.5 for one record" in json.dumps(told["guarantee"]["evidence"])
    assert "published-kept" in json.dumps(told["caveats"])


def test_they_bind_the_table_and_not_the_intervals(tmp_path: Path) -> None:
    """Published numbers have noise of their own: intervals of what is confidential rest on measurements."""
    holdfast.release(first(tmp_path), tmp_path / "pl", seed=1)
    holdfast.release(second(tmp_path), tmp_path / "with", seed=2)
    holdfast.release(asked(tmp_path), tmp_path / "without", seed=2)
    found = [
        holdfast.intervals(tmp_path / name, place="tract", margin=("age",)).to_frame()
        for name in ("with", "without")
    ]
    assert found[0].equals(found[1])
    tables = [(tmp_path / name / "table.csv").read_text() for name in ("with", "without")]
    assert tables[0] != tables[1]
    scopes = [
        json.loads((tmp_path / name / "certificate.json").read_text())["guarantee"]["scope"]
        for name in ("with", "without")
    ]
    assert scopes[0] == scopes[1]


def test_a_ledger_has_both(tmp_path: Path) -> None:
    path = Ledger.create(tmp_path / "one.ledger", standard="zcdp", budget=Fraction(2)).path
    holdfast.release(first(tmp_path), tmp_path / "pl", seed=1)
    with pytest.raises(HoldfastError, match="has no row of that release"):
        holdfast.release(second(tmp_path), tmp_path / "dhc", ledger=path)
    assert not (tmp_path / "dhc").exists()
    assert Ledger.open(path).rows() == ()
    holdfast.release(first(tmp_path), tmp_path / "pl again", ledger=path)
    done = holdfast.release(second(tmp_path, before={"release": "pl again"}), tmp_path / "dhc", ledger=path)
    assert done.row is not None
    assert done.row.total == 1


def refused(folder: Path, **before: Any) -> str:
    ledger = Ledger.create(folder / "one.ledger", standard="zcdp", budget=Fraction(2)).path
    asked_ = second(folder, before=before)
    had = {path.name for path in folder.iterdir()}
    with pytest.raises(HoldfastError) as told:
        holdfast.release(asked_, folder / "dhc", ledger=ledger)
    assert {path.name for path in folder.iterdir()} == had
    assert Ledger.open(ledger).rows() == ()
    return str(told.value)


def test_numbers_that_contradict_an_invariant_are_told_as_the_smallest_set(tmp_path: Path) -> None:
    people = 0
    for line in rows().splitlines()[1:]:
        people += int(line.rsplit(",", 1)[1])
    (tmp_path / "old.csv").write_text(f"state,people\n9,{people + 1}\n")
    file: dict[str, Any] = {
        "release": None,
        "file": "old.csv",
        "count": "people",
        "cost": "rho 1 for one person",
        "recode": {},
        "columns": {},
    }
    told = refused(tmp_path, **file)
    assert told.count("state 9") == 2
    assert "an invariant" in told
    assert "published before" in told
    assert f"{people:,}" in told
    assert f"{people + 1:,}" in told
    (tmp_path / "old.csv").write_text(f"state,people\n9,{people}\n")
    holdfast.release(second(tmp_path, before=file), tmp_path / "dhc", seed=1)
    assert verify(tmp_path / "dhc").kept


FILE: dict[str, Any] = {
    "release": None,
    "file": "old.csv",
    "count": "people",
    "cost": "rho 1",
    "recode": {},
    "columns": {},
}


@pytest.mark.parametrize(
    ("text", "before", "said"),
    [
        ("county,people\n91,3\n", FILE, "does not have the county '92'"),
        ("county,people\n91,3\n92,4\n93,1\n", FILE, "which the data do not have"),
        ("county,age,people\n91,7,3\n92,0,1\n", {**FILE, "margin": ["age"]}, "no cell is in it"),
        ("county,people\n91,-3\n92,1\n", FILE, "below zero"),
        ("county,people\n91,a\n92,1\n", FILE, "no whole number"),
        ("street,people\n91,1\n", FILE, "with the codes of a level"),
        ("county,people\n91,3\n92,1\n", {**FILE, "count": "persons"}, "no column 'persons'"),
        ("county,people\n91,3\n92,1\n", {**FILE, "margin": ["race"]}, "not among the cells"),
        ("county,people\n91,3\n92,1\n", {**FILE, "margin": ["sex"]}, "no column 'sex'"),
        ("county,people\n91,3\n92,1\n", {**FILE, "columns": {"age": "agee"}}, "no column 'agee'"),
        ("county,people\n91,3\n92,1\n", {**FILE, "recode": {"age": VOTING}}, "no column 'age'"),
        ("county,people\n91,3\n92,1\n", {**FILE, "recode": {"ages": VOTING}}, "did you mean 'age'"),
        (
            "county,age,people\n91,0-17,3\n92,0-17,1\n",
            {**FILE, "margin": [], "recode": {"age": VOTING}},
            "recode is of 'age', by which nothing is kept",
        ),
        (
            "county,old,people\n91,0-17,3\n92,0-17,1\n",
            {**FILE, "margin": [], "columns": {"age": "old"}},
            "columns is of 'age', by which nothing is kept",
        ),
        ("county,people\n91,3\n92,1\n91,4\n", FILE, "old.csv, row 4 repeats row 2: "),
        ("", {"release": "nowhere"}, "nowhere"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, text: str, before: dict[str, Any], said: str) -> None:
    (tmp_path / "old.csv").write_text(text)
    told = refused(tmp_path, **before)
    assert said in told
    assert told.count(". ") <= 1


def test_the_fewest_numbers_that_contradict_are_told_in_whatever_order_files_come(tmp_path: Path) -> None:
    people = sum(int(line.rsplit(",", 1)[1]) for line in rows().splitlines()[1:])
    texts = {
        "a.csv": f"state,sex,n\n9,f,{people + 1}\n9,mm,0\n",
        "b.csv": "state,age,n\n9,0,1\n9,5,2\n9,18,3\n9,65,4\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    for order in (("a.csv", "b.csv"), ("b.csv", "a.csv")):
        published = [{"file": name, "count": "n", "cost": "rho 1"} for name in order]
        with pytest.raises(HoldfastError) as told:
            prepare(asked(tmp_path, published=published))
        assert str(told.value) == (
            f"no counts keep all of these at once: {people:,} in state 9, an invariant; {people + 1:,} in"
            " state 9, published before, sex = f: correct one of them."
        )


def test_cells_that_cannot_be_are_told_once_with_their_number(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("state,age,people\n9,0,1\n9,5,0\n9,18,0\n9,65,0\n")
    (tmp_path / "people.csv").write_text("block,age,sex,people\n9111,18,f,5\n9112,65,mm,0\n")
    values: dict[str, Any] = {
        "data": {
            "path": "people.csv",
            "cells": ["age", "sex"],
            "count": "people",
            "levels": {"age": list(AGES)},
            "geography": {"column": "block", "prefixes": PREFIXES},
        },
        "privacy": {"standard": "zcdp", "rho": "1/2", "adjacency": "unit"},
        "mechanism": {"name": "topdown"},
        "constraints": {"structural_zeros": [{"age": "0"}]},
        "published": [{"file": "old.csv", "count": "people", "cost": "rho 1"}],
    }
    with pytest.raises(HoldfastError) as told:
        prepare(Spec.of(values, folder=tmp_path))
    assert str(told.value) == (
        "no counts keep all of these at once: 1 in state 9, published before, age = 0; at most 0 in each of 2"
        " cells of state 9, what is public there at the level county: correct one of them."
    )


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ({"file": "old.csv"}, "one source"),
        ({"release": None}, "one source"),
        ({"release": None, "file": "old.csv", "count": "people"}, "without cost"),
        ({"cost": "rho 1"}, "leave them out"),
        ({**FILE, "table": "people"}, "release of several"),
    ],
)
def test_a_source_is_one(tmp_path: Path, before: dict[str, Any], said: str) -> None:
    with pytest.raises(HoldfastError, match=said):
        second(tmp_path, before=before)


def test_noise_on_the_table_keeps_nothing_that_was_published(tmp_path: Path) -> None:
    holdfast.release(first(tmp_path), tmp_path / "pl", seed=1)
    with pytest.raises(HoldfastError, match="estimates that keep it"):
        prepare(second(tmp_path, mechanism={"name": "lattice-gaussian"}))


def test_an_earlier_release_that_was_changed_is_refused(tmp_path: Path) -> None:
    holdfast.release(first(tmp_path), tmp_path / "pl", seed=1)
    path = tmp_path / "pl" / "table.csv"
    path.write_text(path.read_text().replace(",18+,", ",18+,1", 1))
    with pytest.raises(HoldfastError, match="not as its certificate has it"):
        prepare(second(tmp_path))


def test_other_numbers_in_a_certificate_are_found(tmp_path: Path) -> None:
    holdfast.release(first(tmp_path), tmp_path / "pl", seed=1)
    holdfast.release(second(tmp_path), tmp_path / "dhc", seed=2)
    honest = content_of(tmp_path / "dhc")
    about = [
        forgery
        for forgery in forgeries(honest, Random("published"), 4000)
        if "published" in forgery.place and "values" in forgery.place
    ]
    assert len(about) > 3
    for forgery in about[:6]:
        write(tmp_path / "dhc", forgery.content, page=False)
        assert not verify(tmp_path / "dhc").kept, forgery.name


def test_of_several_files_each_keeps_its_own(tmp_path: Path) -> None:
    holdfast.release(two_files(tmp_path), tmp_path / "earlier", seed=1)
    again = two_files(
        tmp_path, people={"published": [{"release": "earlier", "table": "people", "margin": ["place"]}]}
    )
    holdfast.release(again, tmp_path / "out", seed=2)
    assert verify(tmp_path / "out").kept
    tables = [
        pl.read_csv(tmp_path / name / "people.csv")
        .group_by(["block", "place"])
        .agg(pl.col("people").sum())
        .sort("block", "place")
        for name in ("earlier", "out")
    ]
    assert tables[0].equals(tables[1])
