"""People and units in one run: all is kept in both with ==, units apart, one charge, one verification."""

import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from tests.certificate.falsify import forgeries, write
from tests.releases.people_and_units import ACROSS, FACILITIES, PREFIXES, asked, people, spec, units
from tests.verifier.folders import content_of

import holdfast
import holdfast_verify
from holdfast.inference.posterior.table_constraints import released_table
from holdfast.ledger.account import Ledger
from holdfast.mechanisms.topdown import joint
from holdfast.releases.prepare import prepare
from holdfast.spec.files import FilesSpec
from holdfast.system.errors import HoldfastError, SpecError
from holdfast.verification.verify import verify


def counts(folder: Path, table: str) -> pl.DataFrame:
    count = {"people": "people", "units": "units"}[table]
    found = pl.read_csv(folder / f"{table}.csv", infer_schema_length=0)
    return found.with_columns(pl.col(count).cast(pl.Int64))


def by(frame: pl.DataFrame, keys: list[str], count: str, **where: str) -> dict[tuple[str, ...], int]:
    for name, level in where.items():
        frame = frame.filter(pl.col(name) == level)
    return {tuple(row[:-1]): row[-1] for row in frame.group_by(keys).agg(pl.col(count).sum()).rows()}


@pytest.mark.parametrize("seed", range(3))
def test_everything_is_kept_in_both(tmp_path: Path, seed: int) -> None:
    householders = {
        "level": "tract",
        "left": {"table": "units", "where": {"kind": "occupied"}},
        "sense": "<=",
        "right": {"table": "people", "where": {"place": "house"}, "times": 9},
    }
    asked_ = spec(tmp_path, constraints={"across": [ACROSS, householders]})
    holdfast.release(asked_, tmp_path / "out", seed=seed)
    assert verify(tmp_path / "out").kept
    assert verify(tmp_path / "out", quick=True).kept
    assert holdfast_verify.verify(tmp_path / "out").exit_code == 0
    persons, homes = counts(tmp_path / "out", "people"), counts(tmp_path / "out", "units")
    truth = pl.read_csv(tmp_path / "units.csv", infer_schema_length=0).with_columns(
        pl.col("units").cast(pl.Int64)
    )
    for kind in FACILITIES:
        there = by(homes, ["block"], "units", kind=kind)
        assert there == by(truth, ["block"], "units", kind=kind)
        for block, number in by(persons, ["block"], "people", place=kind).items():
            assert number >= there[block]
            assert number == 0 or there[block] > 0
    living = by(persons, ["tract"], "people", place="house")
    for tract, occupied in by(homes, ["tract"], "units", kind="occupied").items():
        assert occupied <= 9 * living[tract]
    assert persons["people"].sum() == sum(int(line.rsplit(",", 1)[1]) for line in people().splitlines()[1:])
    assert persons.height == 16 * 6  # also blocks where nobody lives


def test_units_are_stated_apart_and_never_added(tmp_path: Path) -> None:
    prepared = prepare(spec(tmp_path))
    told = prepared.certify(secure=True)
    assert told.joined is not None
    assert [(one.unit, one.intensity["rho"]) for one in told.joined.units or ()] == [
        ("person", 1),
        ("household", Fraction(1, 10)),
    ]
    assert prepared.guarantee.intensity.parameters() == {"rho": 1}
    assert "11/10" not in told.to_json()
    alone = {name: told.alone(name).guarantee for name in ("people", "units")}
    assert alone["units"].unit.name == "household"
    assert alone["units"].intensity["rho"] == Fraction(1, 10)


def test_intervals_and_posteriors_rest_on_the_measurements_of_the_table_that_is_named(tmp_path: Path) -> None:
    holdfast.release(spec(tmp_path), tmp_path / "out", seed=1)
    for table, rho in (("people", 1.0), ("units", 0.1)):
        found = holdfast.intervals(tmp_path / "out", table=table, place="tract")
        assert found.to_frame()["tract"].unique(maintain_order=True).to_list() == ["911", "912", "921", "922"]
        error = found.to_frame()["standard_error"].max()
        assert isinstance(error, float)
        assert 1 < error * rho**0.5 < 12  # noise of its own budget
        released = released_table(tmp_path / "out", table, level="county")
        assert "county" in released.observed.schema.names
    with pytest.raises(HoldfastError, match="several tables"):
        holdfast.intervals(tmp_path / "out", place="tract")


def test_tables_of_one_unit_add_up(tmp_path: Path) -> None:
    both = spec(tmp_path, units={"privacy": {"unit": "person", "rho": "1/10"}})
    assert prepare(both).guarantee.intensity.parameters() == {"rho": Fraction(11, 10)}


def test_a_shared_budget_is_divided(tmp_path: Path) -> None:
    told = spec(
        tmp_path,
        privacy={"standard": "zcdp", "rho": "1"},
        budget={"division": "weights"},
        people={"privacy": {"unit": "person"}, "weight": 3},
        units={"privacy": {"unit": "household"}},
    )
    assert [one.privacy.rho for one in told.specs] == [Fraction(3, 4), Fraction(1, 4)]


def test_one_row_of_a_ledger_has_both_units(tmp_path: Path) -> None:
    asked_ = spec(tmp_path)
    path = Ledger.create(tmp_path / "one.ledger", standard="zcdp", budget=Fraction(4)).path
    first = holdfast.release(asked_, tmp_path / "out", ledger=path)
    assert first.row is not None
    assert first.row.total == 1
    detail = first.row.charge.detail
    assert {name: one["detail"]["unit"]["name"] for name, one in detail["tables"].items()} == {
        "people": "person",
        "units": "household",
    }
    assert {name: one["intensity"] for name, one in detail["tables"].items()} == {
        "people": "1",
        "units": "1/10",
    }
    second = holdfast.release(asked_, tmp_path / "again", ledger=path)
    assert second.row is not None
    assert second.row.total == 2
    more = holdfast.release(
        spec(
            tmp_path,
            people={"privacy": {"unit": "person", "rho": "1/100"}},
            units={"privacy": {"unit": "household", "rho": "1"}},
        ),
        tmp_path / "third",
        ledger=path,
    )
    assert more.row is not None
    assert more.row.total == 3  # no unit lost more than what every release cost at most
    found = holdfast.verify_ledger(path, releases=[tmp_path / "out", tmp_path / "third"])
    assert found.kept, found.problems


def test_what_is_known_across_is_checked_by_all_verifiers(tmp_path: Path) -> None:
    """People are moved from a dormitory to houses of the same block, and every hash is made right again."""
    holdfast.release(spec(tmp_path), tmp_path / "out", seed=1)
    path = tmp_path / "out" / "people.csv"
    lines = path.read_text().splitlines()
    rows = [line.rsplit(",", 1) for line in lines[1:]]
    dorm = next(at for at, (key, n) in enumerate(rows) if ",dorm," in key and int(n) > 0)
    key = rows[dorm][0]
    house = next(at for at, (other, _) in enumerate(rows) if other == key.replace(",dorm,", ",house,"))
    moved = {other: int(n) for other, n in rows}
    for at, (other, n) in enumerate(rows):
        if other.split(",")[:4] == key.split(",")[:4] and ",dorm," in other:
            moved[rows[house][0]] += int(n)
            moved[other] = 0
        del at
    path.write_text("\n".join([lines[0], *(f"{other},{moved[other]}" for other, _ in rows), ""]))
    write(tmp_path / "out", content_of(tmp_path / "out"), page=False)
    for quick in (True, False):
        told = [check for check in verify(tmp_path / "out", quick=quick).checks if not check.holds]
        assert any(check.name.startswith("across tables") for check in told)
    assert holdfast_verify.verify(tmp_path / "out").exit_code == 1


def test_no_falsified_certificate_is_kept(tmp_path: Path) -> None:
    holdfast.release(spec(tmp_path), tmp_path / "out", seed=1)
    honest = content_of(tmp_path / "out")
    about = [
        forgery
        for forgery in forgeries(honest, Random("joined"), 1500)
        if forgery.place[0] == "joined" or forgery.place[0] == "measured"
    ]
    assert len(about) > 20
    for forgery in about[:60]:
        write(tmp_path / "out", forgery.content, page=False)
        assert not verify(tmp_path / "out").kept, forgery.name


class Crash(BaseException):
    """As sudden as the end of a process."""


def test_a_run_that_was_ended_goes_on_with_one_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_ = spec(tmp_path)
    path = Ledger.create(tmp_path / "one.ledger", standard="zcdp", budget=Fraction(1)).path

    def crash(*_: Any, **__: Any) -> Any:
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(joint, "descend", crash)
        with pytest.raises((Crash, HoldfastError)):
            holdfast.release(asked_, tmp_path / "out", ledger=path)
    (hidden,) = tmp_path.glob(".measured-*")
    before = {name: (hidden / f"{name}_measurements.parquet").read_bytes() for name in ("people", "units")}
    done = holdfast.release(asked_, tmp_path / "out", ledger=path)
    assert done.continued
    assert done.left == 0
    for name, content in before.items():
        assert (tmp_path / "out" / f"{name}_measurements.parquet").read_bytes() == content
    assert verify(tmp_path / "out").kept
    assert not list(tmp_path.glob(".measured-*"))


KILLED = """
import os, signal, sys
import holdfast
from holdfast.estimation.hierarchy import descent
from holdfast.mechanisms.topdown import joint

level, whole, below = int(sys.argv[4]), joint.descend, descent._PartialTree.children

def children(tree, place):
    if place == level:
        os.kill(os.getpid(), signal.SIGKILL)
    return below(tree, place)

def descend(*given, **more):
    descent._PartialTree.children = children
    return whole(*given, **more)

joint.descend = descend
holdfast.release(sys.argv[1], sys.argv[2], ledger=sys.argv[3])
"""


@pytest.mark.parametrize("level", [1, 3], ids=["county", "block"])
def test_kill_9_at_any_level_measures_and_charges_once(tmp_path: Path, level: int) -> None:
    spec(tmp_path)
    (tmp_path / "spec.toml").write_text(TOML)
    path = Ledger.create(tmp_path / "one.ledger", standard="zcdp", budget=Fraction(1)).path
    names = [str(tmp_path / "spec.toml"), str(tmp_path / "out"), str(path), str(level)]
    ended = subprocess.run([sys.executable, "-c", KILLED, *names], check=False, env={**os.environ})
    assert ended.returncode == -signal.SIGKILL
    (hidden,) = tmp_path.glob(".measured-*")
    before = {name: (hidden / f"{name}_measurements.parquet").read_bytes() for name in ("people", "units")}
    done = holdfast.release(tmp_path / "spec.toml", tmp_path / "out", ledger=path)
    assert done.continued
    assert done.left == 0
    for name, content in before.items():
        assert (tmp_path / "out" / f"{name}_measurements.parquet").read_bytes() == content
    assert verify(tmp_path / "out").kept


TOML = """\
[data]
geography = { column = "block", prefixes = { state = 1, county = 2, tract = 3, block = 4 } }
[privacy]
standard = "zcdp"
adjacency = "unit"
[mechanism]
name = "topdown"
[[tables]]
name = "people"
cells = ["place", "age"]
data = { path = "people.csv", count = "people" }
privacy = { unit = "person", rho = "1" }
[[tables]]
name = "units"
cells = ["kind"]
data = { path = "units.csv", count = "units" }
privacy = { unit = "household", rho = "1/10" }
[[tables.invariants]]
total = true
level = "block"
"""


def refused(folder: Path, **more: Any) -> str:
    before = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    with pytest.raises(HoldfastError) as told:
        holdfast.release(spec(folder, **more), folder / "out", seed=1)
    after = {path.name for path in folder.iterdir()} - {"people.csv", "units.csv"}
    assert after <= set(before)
    return str(told.value)


def across(**more: Any) -> dict[str, Any]:
    return {"constraints": {"across": [{**ACROSS, **more}]}}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (across(level="street"), "no level of the geography"),
        (across(left={"table": "persons", "margin": ["place"]}), "not among the tables"),
        (
            across(left={"table": "people", "margin": ["place"], "where": {"kind": "dorm"}}),
            "not among the cells",
        ),
        (across(left={"table": "people", "margin": ["place"]}), "is not among those of 'units'"),
        (across(left={"table": "people"}), "different lengths"),
        (across(right={"table": "people", "margin": ["place"]}), "on both sides"),
        (across(sense="=="), "does not hold in the data"),
        (across(sense=">"), "must be one of"),
        ({**across(), "units": {"invariants": []}}, "zero"),
        ({"units": {"mechanism": {"name": "lattice-laplace"}}}, "a spec of its own"),
        ({"units": {"name": "people"}}, "two tables of the name"),
        ({"units": {"name": "people_measurements"}}, "rename it"),
        ({"units": {"privacy": {"unit": "household", "rho": "1", "adjacency": "semi"}}}, "have one"),
        ({"privacy": {"standard": "zcdp", "adjacency": "semi"}}, "adjacency"),
        ({"units": {"privacy": {"unit": "household"}}}, "rho is missing"),
        (
            {
                "units": {
                    "data": {"path": "people.csv", "count": "people"},
                    "cells": ["age"],
                    "invariants": [],
                }
            },
            "of one file",
        ),
        ({"constraints": {"nonnegative": True}}, "move it into the table"),
        ({"invariants": []}, "move them into the tables"),
        ({"data": {}}, "add [data.geography]"),
        ({"extra": {}}, "unknown section"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, more: dict[str, Any], said: str) -> None:
    told = refused(tmp_path, **more)
    assert said in told
    assert told.count(". ") <= 1


def test_codes_that_do_not_match(tmp_path: Path) -> None:
    spec(tmp_path)
    (tmp_path / "units.csv").write_text(units().replace("9111,", "9115,"))
    asked_ = FilesSpec.of(asked(), folder=tmp_path)
    with pytest.raises(HoldfastError, match=r"'9111'|'9115'"):
        holdfast.release(asked_, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_file_that_leaves_out_a_block_is_charged_by_its_own_rows(tmp_path: Path) -> None:
    spec(tmp_path)
    kept = [line for line in people().splitlines(keepends=True) if not line.startswith("9112,")]
    (tmp_path / "people.csv").write_text("".join(kept))
    told = asked(constraints={}, units={"invariants": []})
    path = Ledger.create(tmp_path / "one.ledger", standard="zcdp", budget=Fraction(4)).path
    done = holdfast.release(FilesSpec.of(told, folder=tmp_path), tmp_path / "out", ledger=path)
    assert done.row is not None
    assert done.row.total == 1
    assert any("people.csv leaves out 1 of the 16 places" in said for said in done.warnings)
    assert holdfast.verify_ledger(path, releases=[tmp_path / "out"]).kept
    assert verify(tmp_path / "out").kept


def test_a_block_that_lies_elsewhere(tmp_path: Path) -> None:
    spec(tmp_path)
    columns = ["state", "county", "tract", "block"]

    def wide(text: str, wrong: str = "") -> str:
        head, *rows = text.splitlines()
        found = [f"{','.join(columns)},{head.split(',', 1)[1]}"]
        for row in rows:
            block, rest = row.split(",", 1)
            tract = "999" if block == wrong else block[:3]
            county = "92" if tract == "999" else block[:2]
            found.append(f"9,{county},{tract},{block},{rest}")
        return "\n".join(found) + "\n"

    (tmp_path / "people.csv").write_text(wide(people()))
    (tmp_path / "units.csv").write_text(wide(units(), "9112"))
    values = asked(data={"geography": {"columns": columns}})
    with pytest.raises(HoldfastError, match="correct one of them"):
        holdfast.release(FilesSpec.of(values, folder=tmp_path), tmp_path / "out")
    assert PREFIXES


def grown(folder: Path, seed: int) -> FilesSpec:
    """Write random files on a random tree, where householders are as many as occupied units everywhere.

    Homes have one count a block and no cells; some blocks have nobody, and some tracts no home.
    """
    generator = Random(seed)
    codes = [
        f"1{tract}{block}"
        for tract in range(generator.randint(1, 4))
        for block in range(generator.randint(1 if tract else 2, 5))
    ]
    persons, occupied, homes = ["block,role,sex,people"], ["block,kind,units"], ["block,homes"]
    for code in codes:
        alone = 5 if code == "100" else generator.choice([0, 0, 1, 5, 30])
        heads = {sex: generator.randint(0, alone) for sex in "fm"}
        there = 2 if code == "100" else generator.choice([0, 0, 1, 2]) * (code[1] != "1")
        persons += [f"{code},head,{sex},{n}" for sex, n in heads.items()]
        persons += [f"{code},other,{sex},{generator.randint(0, 2 * alone)}" for sex in "fm"]
        persons += [
            f"{code},in a home,f,{there and there + generator.randint(0, 9)}",
            f"{code},in a home,m,0",
        ]
        occupied += [f"{code},occupied,{sum(heads.values())}", f"{code},vacant,{generator.randint(0, 3)}"]
        homes += [f"{code},{there}"] if there or generator.random() < 0.5 else []
    for name, lines in (("people", persons), ("units", occupied), ("homes", homes)):
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return FilesSpec.of(
        {
            "data": {"geography": {"column": "block", "prefixes": {"state": 1, "tract": 2, "block": 3}}},
            "privacy": {"standard": "zcdp", "adjacency": "unit"},
            "mechanism": {"name": "topdown"},
            "tables": [
                {
                    "name": "people",
                    "cells": ["role", "sex"],
                    "data": {"path": "people.csv", "count": "people"},
                    "privacy": {"unit": "person", "rho": "1/2"},
                    "mechanism": {"name": "topdown", "passes": [["total"], ["detailed"]]},
                },
                {
                    "name": "units",
                    "cells": ["kind"],
                    "data": {"path": "units.csv", "count": "units"},
                    "privacy": {"unit": "household", "rho": "1/2"},
                    "invariants": [{"total": True, "level": "block"}],
                },
                {
                    "name": "homes",
                    "data": {"path": "homes.csv", "count": "homes"},
                    "privacy": {"unit": "home", "rho": "1/2"},
                    "invariants": [{"total": True, "level": "tract"}],
                    "mechanism": {"name": "topdown"},
                },
            ],
            "constraints": {
                "across": [
                    {
                        "name": "householders",
                        "left": {"table": "people", "where": {"role": "head"}},
                        "sense": "==",
                        "right": {"table": "units", "where": {"kind": "occupied"}},
                    },
                    {
                        "name": "people in homes",
                        "level": "tract",
                        "left": {"table": "people", "where": {"role": "in a home"}},
                        "sense": ">=",
                        "right": {"table": "homes"},
                        "zero": True,
                    },
                ]
            },
        },
        folder=folder,
    )


@pytest.mark.parametrize("seed", range(6))
def test_sums_across_tables_are_equal_on_trees_never_seen(tmp_path: Path, seed: int) -> None:
    asked_ = grown(tmp_path, seed)
    holdfast.release(asked_, tmp_path / "out", seed=seed)
    assert verify(tmp_path / "out").kept
    assert holdfast_verify.verify(tmp_path / "out").exit_code == 0
    read = {
        name: pl.read_csv(tmp_path / "out" / f"{name}.csv", infer_schema_length=0).with_columns(
            pl.col(count).cast(pl.Int64)
        )
        for name, count in (("people", "people"), ("units", "units"), ("homes", "homes"))
    }
    heads = by(read["people"], ["block"], "people", role="head")
    assert heads == by(read["units"], ["block"], "units", kind="occupied")
    living = by(read["people"], ["tract"], "people", role="in a home")
    for tract, there in by(read["homes"], ["tract"], "homes").items():
        assert living[tract] >= there
        assert there > 0 or living[tract] == 0
    kept = pl.read_csv(tmp_path / "units.csv", infer_schema_length=0).with_columns(
        pl.col("units").cast(pl.Int64)
    )
    assert by(read["units"], ["block"], "units") == by(kept, ["block"], "units")


def test_intervals_of_one_table_are_from_its_own_measurements(tmp_path: Path) -> None:
    holdfast.release(spec(tmp_path), tmp_path / "out", seed=1)
    told = holdfast.intervals(tmp_path / "out", table="people", place="tract", margin=())
    frame = told.to_frame()
    assert frame.height == 4
    with pytest.raises(HoldfastError, match="holds several tables"):
        holdfast.intervals(tmp_path / "out")


def test_the_same_rows_under_another_name_are_of_one_unit(tmp_path: Path) -> None:
    """A copy in another order, or in another format: whose data stand in both lose by both."""
    for unit, refused in (("household", True), ("person", False)):
        again = {
            "cells": ["place", "age"],
            "data": {"path": "copy.csv", "count": "people"},
            "privacy": {"unit": unit, "rho": "1/10"},
            "invariants": [],
        }
        asked = spec(tmp_path, units=again, constraints={})
        header, *rows = people().splitlines()
        (tmp_path / "copy.csv").write_text("\n".join((header, *reversed(rows))) + "\n")
        if not refused:
            assert set(prepare(asked).parts) == {"people", "units"}
            continue
        with pytest.raises(SpecError, match="'people' are of one file, and protect 'household' and 'person'"):
            prepare(asked)
