"""A swapped release that was changed is found, and so is a claim that does not follow, all hashes right."""

import json
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.certificate.falsify import Forgery, forgeries, write
from tests.certificate.places import ABSURD, at, changed, places
from tests.certificate.unclaimed import OF_RECORDS
from tests.mechanisms.swapping.small import KINDS, NAMES, asked, households, put, released, typed

import holdfast
from holdfast.certificate.quick import PAGE
from holdfast.certificate.sign import generate_keys, read_signing_key
from holdfast.system.errors import HoldfastError

CHANGES = 150


@pytest.fixture(params=KINDS)
def release(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return put(request.param, tmp_path / "release")


def content(folder: Path) -> dict[str, Any]:
    read = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    assert isinstance(read, dict)
    return read


def reseal(folder: Path) -> None:
    """Make every hash right again."""
    write(folder, content(folder), page=False)


def wrong(folder: Path, *, quick: bool = False) -> dict[str, str]:
    """Return the checks that fail, by name."""
    found = {
        check.name: check.detail for check in holdfast.verify(folder, quick=quick).checks if not check.holds
    }
    assert all(detail and "\n" not in detail for detail in found.values())
    return found


def test_what_was_released_is_kept(release: Path) -> None:
    full = holdfast.verify(release)
    assert full.kept
    names = {check.name for check in full.checks}
    assert {"columns and types", "strata", "invariants", "guarantee", "page", "certificate"} <= names
    assert sum(name.startswith("induced invariant") for name in names) >= 2
    assert holdfast.verify(release, quick=True).kept
    assert any("seed" in warning.lower() for warning in full.warnings)


# records


def set_at(table: pa.Table, name: str, row: int, value: Any) -> pa.Table:
    values = table.column(name).to_pylist()
    assert values[row] != value
    values[row] = value
    kind = table.schema.field(name)
    return table.set_column(table.column_names.index(name), kind, pa.array(values, kind.type))


def across(table: pa.Table) -> pa.Table:
    """Exchange the counties of two records of different strata."""
    rows = table.to_pylist()
    other = next(
        k
        for k, row in enumerate(rows)
        if row["size"] != rows[0]["size"] and row["county"] != rows[0]["county"]
    )
    return set_at(set_at(table, "county", 0, rows[other]["county"]), "county", other, rows[0]["county"])


TAMPERED: dict[str, Callable[[pa.Table], pa.Table]] = {
    "a county across strata": across,
    "one county": lambda t: set_at(t, "county", 0, "elsewhere"),
    "a held value": lambda t: set_at(t, "income", 3, -1),
    "a missing value": lambda t: set_at(t, "tenure", 3, None),
    "a key": lambda t: set_at(t, "size", 3, 8),
    "a missing key": lambda t: set_at(t, "state", 3, None),
    "a record less": lambda t: t.slice(1),
    "a record more": lambda t: pa.concat_tables([t, t.slice(0, 1)]),
    "a column less": lambda t: t.drop_columns(["income"]),
    "a column more": lambda t: t.append_column("more", pa.array([1] * t.num_rows)),
    "another order of columns": lambda t: t.select(t.column_names[::-1]),
    "another type": lambda t: t.set_column(1, "size", t.column("size").cast(pa.int32())),
    "another name": lambda t: t.rename_columns([*t.column_names[:-1], "other"]),
    "no records": lambda t: t.slice(0, 0),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_records_that_were_changed_are_found(release: Path, name: str) -> None:
    path = release / "microdata.parquet"
    pq.write_table(TAMPERED[name](pq.read_table(path)), path)
    assert "microdata.parquet unchanged" in wrong(release)
    reseal(release)
    for quick in (False, True):
        found = wrong(release, quick=quick)
        assert set(found) - {"table"}, name


def test_the_order_of_records_claims_nothing(release: Path) -> None:
    path = release / "microdata.parquet"
    pq.write_table(pq.read_table(path).take(pa.array(range(59, -1, -1))), path)
    reseal(release)
    assert not wrong(release)


def test_a_swap_of_the_release_breaks_its_table_alone(tmp_path: Path) -> None:
    """What a swap keeps is kept by another one, but the table is no longer that of the records."""
    folder = put("records", tmp_path / "release")
    before = pq.read_table(folder / "microdata.parquet").to_pylist()
    key = ("state", "size")
    one, two = next(
        (i, j)
        for i in range(60)
        for j in range(i)
        if all(before[i][name] == before[j][name] for name in key)
        and before[i]["county"] != before[j]["county"]
        and before[i]["tenure"] != before[j]["tenure"]
    )
    table = pq.read_table(folder / "microdata.parquet")
    table = set_at(set_at(table, "county", one, before[two]["county"]), "county", two, before[one]["county"])
    pq.write_table(table, folder / "microdata.parquet")
    reseal(folder)
    assert wrong(folder) == {"table": "table.csv is not what the released records count"}


def test_strata_of_one_hash_elsewhere_are_not_mixed(tmp_path: Path) -> None:
    """The hash of Fowler, Noll and Vo takes the two states for one."""
    states = ("8yn0iYCKYHlIj4-BwPqk", "GReLUrM4wMqfg9yzV3KQ")
    rows = [(state, 1, f"{at % 3}{state[0]}", "own", at) for state in states for at in range(12)]
    table = pa.table({name: [row[at] for row in rows] for at, name in enumerate(NAMES)})
    folder = released(tmp_path, table).folder
    assert content(folder)["parts"][0]["details"]["strata"]["largest"] == 12
    assert not wrong(folder)
    path = folder / "microdata.parquet"
    found = pq.read_table(path)
    counties = found.column("county").to_pylist()
    other = next(at for at in range(24) if counties[at][1] != counties[0][1])
    mixed = set_at(set_at(found, "county", 0, counties[other]), "county", other, counties[0])
    pq.write_table(mixed, path)
    reseal(folder)
    assert set(wrong(folder, quick=True)) == {"induced invariant state and size by county"}


def test_a_table_that_was_changed_is_found(tmp_path: Path) -> None:
    folder = put("records", tmp_path / "release")
    lines = (folder / "table.csv").read_text().splitlines()
    for new in (
        [lines[0], *(f"{line.rpartition(',')[0]},1" for line in lines[1:])],
        [lines[0], *reversed(lines[1:])],
        [lines[0].replace("county,tenure", "tenure,county"), *lines[1:]],
        lines[:-1],
        [*lines, lines[-1]],
    ):
        (folder / "table.csv").write_text("\n".join(new) + "\n")
        reseal(folder)
        assert set(wrong(folder)) == {"table"}


@pytest.mark.parametrize(("name", "value"), [("county", "elsewhere"), ("age", 99), ("id", 7)])
def test_persons_that_were_changed_are_found(name: str, value: Any, tmp_path: Path) -> None:
    folder = put("households", tmp_path / "release")
    path = folder / "persons.parquet"
    pq.write_table(set_at(pq.read_table(path), name, 0, value), path)
    reseal(folder)
    assert set(wrong(folder)) <= {"persons", "induced invariant persons by all that is held"}
    assert wrong(folder)


def test_files_that_are_missing_or_too_many_are_found(release: Path) -> None:
    text = (release / "certificate.json").read_bytes()
    (release / "microdata.parquet").rename(release / "aside")
    assert wrong(release)["microdata.parquet unchanged"] == "the file is missing"
    (release / "microdata.parquet").symlink_to(release / "aside")
    assert "microdata.parquet unchanged" in wrong(release)
    (release / "microdata.parquet").unlink()
    (release / "aside").rename(release / "microdata.parquet")
    body = content(release)
    (release / "table.parquet").write_bytes(b"x")
    body["files"]["table.parquet"] = ""
    write(release, body, page=False)
    assert wrong(release)
    (release / "certificate.json").write_bytes(text)
    assert not wrong(release)


@pytest.mark.parametrize("text", [b"", b"PAR1", b"PAR1" * 100, b"a,b\n1,2\n"])
def test_a_file_that_is_none_is_found(release: Path, text: bytes) -> None:
    (release / "microdata.parquet").write_bytes(text)
    reseal(release)
    assert wrong(release)


# claims


def excused(forgery: Forgery) -> bool:
    return any(fnmatchcase(forgery.name, item.place) for item in OF_RECORDS)


def test_a_falsified_field_is_found_unless_it_claims_nothing(
    release: Path, request: pytest.FixtureRequest
) -> None:
    before, page = content(release), (release / PAGE).read_bytes()
    for forgery in forgeries(before, Random(request.node.name), CHANGES):
        (release / PAGE).write_bytes(page)
        write(release, forgery.content, page=True)
        assert wrong(release) or excused(forgery), forgery[:2]


def test_a_page_that_was_left_as_it_was_is_found(release: Path, request: pytest.FixtureRequest) -> None:
    for forgery in forgeries(content(release), Random(request.node.name), 20):
        write(release, forgery.content, page=False)
        assert wrong(release) or excused(forgery), forgery[:2]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("created", "2020-01-01T00:00:00+00:00"),
        ("publication", {"title": "Another"}),
        ("publication.title", "Another <b>"),
        ("publication.publisher", "Another"),
        ("software.version", "0.0.1"),
        ("ledger", {"row": 7, "hash": "0" * 64}),
        ("parts.0.mechanism.nulls", "level"),
        ("parts.0.table.inferred", ["tenure"]),
        ("target.epsilon", "99"),
    ],
)
def test_fields_that_claim_nothing_may_be_changed(place: str, value: Any, tmp_path: Path) -> None:
    folder = put("records", tmp_path / "release")
    body = content(folder)
    *outer, last = (int(step) if step.isdigit() else step for step in place.split("."))
    at(body, tuple(outer))[last] = value
    write(folder, body, page=True)
    assert not wrong(folder)
    assert any(fnmatchcase(place, item.place) for item in OF_RECORDS)


LESS: list[tuple[str, Any]] = [
    ("guarantee.intensity.epsilon", "1/2"),
    ("parts.0.details.swapping.epsilon", 0.5),
    ("parts.0.details.swapping.epsilon_tight", 0.5),
    ("parts.0.details.swapping.rate", "9/10"),
    ("parts.0.mechanism.rate", "9/10"),
    ("parts.0.mechanism.bound", "tight"),
    ("parts.0.details.strata.largest", 3),
    ("parts.0.details.strata.singletons", 0),
    ("parts.0.details.strata.alike", 1),
    ("target.epsilon", "1/2"),
    ("target.adjacency", "semi"),
    ("target.unit", "household"),
    ("randomness.secure", True),
    ("randomness.source", "operating system"),
    ("caveats", []),
    ("verdict.warnings", ["fine"]),
    ("quoted_formulas", True),
    ("parts.0.records.rows", 61),
    ("parts.0.records.kind", "csv"),
    ("parts.0.records.id", "income"),
    ("parts.0.details.induced", []),
    ("parts.0.invariants", []),
    ("parts.0.mechanism.stratify", ["state"]),
    ("parts.0.mechanism.swap", ["tenure"]),
    ("parts.0.mechanism.held", []),
]


@pytest.mark.parametrize(("place", "value"), LESS)
def test_each_claim_is_held_against_what_follows(place: str, value: Any, tmp_path: Path) -> None:
    folder = put("records", tmp_path / "release")
    body = content(folder)
    *outer, last = (int(step) if step.isdigit() else step for step in place.split("."))
    at(body, tuple(outer))[last] = value
    write(folder, body, page=True)
    assert wrong(folder)


def test_absurd_values_are_violations_and_no_accidents(release: Path) -> None:
    before = content(release)
    chance = Random(3)
    tried = [place for place, _ in places(before) if place and place[0] not in ("digest", "format", "files")]
    for place in chance.sample(tried, 60):
        value = chance.choice(ABSURD)
        if at(before, place) == value:
            continue
        try:
            write(release, changed(before, place, value), page=False)
        except (ValueError, UnicodeError):  # no JSON
            continue
        name = ".".join("*" if isinstance(step, int) else step for step in place)
        try:
            assert wrong(release) or any(fnmatchcase(name, item.place) for item in OF_RECORDS), (
                name,
                value,
            )
        except HoldfastError:  # it is no certificate
            continue


def test_missing_values_in_a_key_are_not_as_claimed(tmp_path: Path) -> None:
    gaps = households().set_column(0, "state", pa.array([None, *["1"] * 59]))
    pq.write_table(gaps, tmp_path / "households.parquet")
    spec = asked(tmp_path, "households.parquet", mechanism={"nulls": "level"})
    folder = holdfast.release(spec, tmp_path / "out", seed=1, accept_no_protection=True).folder
    assert not wrong(folder)
    body = content(folder)
    body["parts"][0]["mechanism"]["nulls"] = "error"
    write(folder, body, page=True)
    assert "records" in wrong(folder)


# kinds of files


@pytest.mark.parametrize("writing", [{}, {"separator": ";", "encoding": "utf-16"}, {"encoding": "utf-8-sig"}])
def test_csv_is_verified_and_its_changes_are_found(writing: dict[str, str], tmp_path: Path) -> None:
    encoding, separator = writing.get("encoding", "utf-8"), writing.get("separator", ",")
    text = pl.DataFrame(households()).write_csv(separator=separator)
    (tmp_path / "data.csv").write_bytes(text.encode(encoding))
    spec = asked(tmp_path, "data.csv", data={"cells": ["county"], **writing})
    folder = holdfast.release(spec, tmp_path / "out", seed=1, accept_no_protection=True).folder
    assert not wrong(folder)
    released = (folder / "microdata.csv").read_bytes().decode(encoding)
    assert sorted(released.splitlines()) != sorted(text.splitlines())
    (folder / "microdata.csv").write_bytes(released.replace("own", "rent", 1).encode(encoding))
    reseal(folder)
    assert wrong(folder)


def test_columns_of_every_type_are_verified(tmp_path: Path) -> None:
    pq.write_table(typed(), tmp_path / "data.parquet")
    spec = asked(tmp_path, "data.parquet", mechanism={"stratify": ["s"], "swap": ["c"]})
    folder = holdfast.release(spec, tmp_path / "out", seed=1, accept_no_protection=True).folder
    assert not wrong(folder)
    released = pq.read_table(folder / "microdata.parquet")
    for name in ("double", "bytes", "list", "struct", "decimal", "uuid", "ordered category"):
        pq.write_table(
            set_at(
                released,
                name,
                next(k for k, v in enumerate(released.column(name).to_pylist()) if v is not None),
                None,
            ),
            folder / "microdata.parquet",
        )
        reseal(folder)
        assert "induced invariant s by all that is held" in wrong(folder), name


def test_a_signature_is_checked(tmp_path: Path) -> None:
    secret, public = generate_keys(tmp_path / "key")
    _, other = generate_keys(tmp_path / "other")
    pq.write_table(households(), tmp_path / "households.parquet")
    spec = asked(tmp_path, "households.parquet")
    folder = holdfast.release(
        spec, tmp_path / "out", key=read_signing_key(secret), accept_no_protection=True
    ).folder
    assert holdfast.verify(folder, public_key=public).kept
    assert not holdfast.verify(folder, public_key=other).kept
    body = content(folder)
    body["created"] = "2020-01-01T00:00:00+00:00"
    write(folder, body, page=True)
    assert holdfast.verify(folder).kept
    assert not holdfast.verify(folder, public_key=public).kept


def test_what_is_for_tables_refuses_records(release: Path) -> None:
    from holdfast.derivation.several import verified

    with pytest.raises(HoldfastError) as refused:
        verified(release)
    assert "\n" not in str(refused.value)
