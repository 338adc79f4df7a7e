"""Formats that are written with a release, and the status of each cell in its tables."""

import csv
import errno
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pytest
import yaml
from tests.releases.people_and_units import spec as of_files
from tests.releases.several_tables import SPEC, write_people

import holdfast
import holdfast_verify
from holdfast.certificate.read import read_certificate
from holdfast.data.cell_status import STATUSES
from holdfast.formats.catalogue import FORMATS
from holdfast.spec.model import FORMATS as ASKED
from holdfast.spec.model import OF_TABLES
from holdfast.system.errors import ReleaseError, SpecError

ROWS = "county,age,n\n=A,young,3\n=A,old,2\nB,young,0\nB,old,0\nC,young,7\nC,old,9\n"


def _spec(folder: Path, rows: str = ROWS, publication: Any = None, **sections: Any) -> holdfast.Spec:
    (folder / "data.csv").write_text(rows)
    *names, count = rows.partition("\n")[0].split(",")
    asked = {
        "data": {"path": "data.csv", "cells": names, "count": count},
        "invariants": [{"margin": names[:1]}],
        "privacy": {"epsilon": "1"},
        "publication": {"status": True, "formats": ASKED} if publication is None else publication,
        **sections,
    }
    return holdfast.Spec.of(asked, folder=folder)


def test_each_format_that_is_exported_can_be_asked_for() -> None:
    assert [*FORMATS] == [*ASKED[:-1], "in-toto", ASKED[-1]]
    assert [name for name, form in FORMATS.items() if form.of_cells is not None] == [*OF_TABLES]


@pytest.mark.parametrize("parquet", [False, True])
def test_all_formats_are_in_the_folder_and_its_certificate(tmp_path: Path, parquet: bool) -> None:
    folder = holdfast.release(_spec(tmp_path), tmp_path / "out", seed=1, parquet=parquet).folder
    certificate = read_certificate(folder)
    there = {path.name for path in folder.iterdir()}
    assert there == {*certificate.files, "certificate.json"}
    assert len(certificate.exports) == len(ASKED) + 1  # CSVW has two files
    assert holdfast.verify(folder).kept
    assert holdfast_verify.verify(folder).kept
    table = pl.read_parquet(folder / "table.parquet") if parquet else pl.read_csv(folder / "table.csv")
    assert table.columns == ["county", "age", "n", "status"]
    assert table["status"].to_list() == ["noisy"] * 2 + ["forced"] * 2 + ["noisy"] * 2
    rows = table.rows()
    assert pl.read_csv(folder / "table-csv.csv").rows() == rows
    assert pl.read_csv(folder / "table-csvw.csv").rows() == rows
    assert pl.read_parquet(folder / "table-parquet.parquet").rows() == rows
    sheet = openpyxl.load_workbook(folder / "table-xlsx.xlsx")["Table"]
    excel = [tuple(row) for row in sheet.iter_rows(min_row=2, values_only=True)]
    assert excel == [tuple("'=A" if value == "=A" else value for value in row) for row in rows]
    assert json.loads((folder / "table-json-stat.json").read_text())["value"] == table["n"].to_list()
    assert pl.read_csv(folder / "table-sdmx-csv.csv")["OBS_VALUE"].to_list() == table["n"].to_list()
    parts = json.loads((folder / "ro-crate-metadata.json").read_text())["@graph"]
    named = {part["@id"]: part.get("sha256") for part in parts if part["@type"] == "File"}
    assert named.pop("certificate.json") is None
    assert {
        **named,
        "ro-crate-metadata.json": certificate.files["ro-crate-metadata.json"],
    } == certificate.files
    assert holdfast.read(folder).table["n"].to_list() == table["n"].to_list()


def test_a_changed_export_or_status_is_found(tmp_path: Path) -> None:
    folder = holdfast.release(_spec(tmp_path), tmp_path / "out", seed=1).folder
    for name in ("table-xlsx.xlsx", "assessment.md", "ro-crate-metadata.json"):
        kept = (folder / name).read_bytes()
        (folder / name).write_bytes(kept + b" ")
        assert not holdfast.verify(folder, quick=True).kept
        assert not holdfast_verify.verify(folder).kept
        (folder / name).write_bytes(kept)
    assert holdfast.verify(folder).kept


def test_a_status_that_does_not_follow_is_found(tmp_path: Path) -> None:
    folder = holdfast.release(_spec(tmp_path), tmp_path / "out", seed=1).folder
    table, certificate = folder / "table.csv", read_certificate(folder)
    table.write_text(table.read_text().replace("forced", "exact"))
    from holdfast.certificate.write import sha256

    files = {**certificate.files, "table.csv": sha256(table)}
    sealed = certificate.sealed(files, exports=certificate.exports)
    (folder / "certificate.json").write_text(sealed.to_json())
    assert holdfast.verify(folder, quick=True).kept
    found = holdfast.verify(folder)
    assert [check.name for check in found.checks if not check.holds] == ["status"]


def test_names_that_run_are_quoted_where_the_release_quotes_them(tmp_path: Path) -> None:
    folder = holdfast.release(_spec(tmp_path), tmp_path / "out", seed=1, quote_formulas=True).folder
    for name in ("table.csv", "table-csv.csv", "table-csvw.csv"):
        assert (folder / name).read_text().splitlines()[1].startswith("'=A,")
    assert holdfast.verify(folder).kept


def test_every_kind_of_table_says_it(tmp_path: Path) -> None:
    """Several tables of one file, tables of several files, and a processed table."""
    told = {"status": True, "formats": ["csv", "rocrate"]}
    several = write_people(tmp_path, f'{SPEC}\n[publication]\nstatus = true\nformats = ["csv", "rocrate"]\n')
    together = of_files(tmp_path / "files", publication=told)
    folders = {
        "several": holdfast.release(several, tmp_path / "together", seed=1).folder,
        "files": holdfast.release(together, tmp_path / "out", seed=1).folder,
    }
    for folder in folders.values():
        certificate = read_certificate(folder)
        tables = [part.name for part in certificate.parts]
        assert [*certificate.exports] == [*(f"{name}-csv.csv" for name in tables), "ro-crate-metadata.json"]
        for name in tables:
            with (folder / f"{name}.csv").open(newline="") as file:
                rows = list(csv.DictReader(file))
            assert {row["status"] for row in rows} <= {*STATUSES}
            assert (folder / f"{name}-csv.csv").read_bytes() == (folder / f"{name}.csv").read_bytes()
        assert holdfast.verify(folder).kept
        assert holdfast_verify.verify(folder).kept
    assert "estimated" in (folders["files"] / "people.csv").read_text()
    holdfast.export(folders["files"], "registry", tmp_path / "both.yaml")
    told = yaml.safe_load((tmp_path / "both.yaml").read_text())["deployment"]["privacy_loss"]
    assert told["privacy_parameters_details"].splitlines()[1:] == [
        "Of each person, by people: rho 1.",
        "Of each household, by units: rho 0.1.",
    ]
    raw = holdfast.release(_spec(tmp_path, publication={"status": True}), tmp_path / "raw", seed=1).folder
    folder = tmp_path / "processed"
    holdfast.postprocess(raw, "rounded-l2", folder, bias_draws=2)
    assert (folder / "table.csv").read_text().splitlines()[1].endswith(",estimated")
    assert holdfast.verify(folder).kept
    assert holdfast_verify.verify(folder).kept
    holdfast.export(folder, "csv", tmp_path / "processed.csv")


UNIT = {"adjacency": "unit"}
REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"publication": {"status": True}}, ROWS.replace("age", "status"), "one of that name: rename that"),
    ({"publication": {"formats": ["csv"]}}, ROWS.replace("age", "status"), "rename that"),
    (
        {"publication": {"formats": ["xlsx"]}, "mechanism": {"name": "noisy-count"}},
        "sex,age,n\nf,young,3\nf,old,5\nm,young,6\nm,old,2\n",
        "asks for what tables have",
    ),
]


@pytest.mark.parametrize(("sections", "rows", "said"), REFUSED)
def test_what_cannot_be_written_costs_nothing(
    tmp_path: Path, sections: dict[str, Any], rows: str, said: str
) -> None:
    ledger = holdfast.Ledger.create(tmp_path / "ledger.db", standard="pure", budget=Fraction(2))
    if "mechanism" in sections:
        sections = {**sections, "invariants": [{"margin": ["sex"]}, {"margin": ["age"]}]}
    with pytest.raises(SpecError, match=said):
        holdfast.release(_spec(tmp_path, rows, **sections), tmp_path / "out", ledger=ledger)
    assert not (tmp_path / "out").exists()
    assert ledger.left() == 2


def test_records_have_no_formats_of_tables(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b,c\n" + "x,1,2\nx,2,1\n" * 20)
    swap = {"name": "permutation-swapping", "stratify": ["a"], "swap": ["b"], "rate": "1/2"}
    for told in ({"status": True}, {"formats": ["rocrate", "xlsx"]}):
        asked = {"data": {"path": "data.csv"}, "mechanism": swap, "publication": told, "privacy": UNIT}
        with pytest.raises(SpecError, match="releases records: leave it out"):
            holdfast.Spec.of(asked, folder=tmp_path)
    asked = {
        "data": {"path": "data.csv"},
        "mechanism": swap,
        "publication": {"formats": ["rocrate", "registry"]},
        "privacy": UNIT,
    }
    folder = holdfast.release(
        holdfast.Spec.of(asked, folder=tmp_path), tmp_path / "out", seed=1, accept_no_protection=True
    ).folder
    assert {"registry.yaml", "ro-crate-metadata.json"} <= {path.name for path in folder.iterdir()}
    assert holdfast.verify(folder).kept


def test_a_table_whose_name_an_export_takes_is_refused(tmp_path: Path) -> None:
    asked = of_files(tmp_path / "files", publication={"formats": ["csv"]}, people={"name": "units-csv"})
    asked = asked.model_copy(update={"across": ()})
    with pytest.raises(ReleaseError, match=r"units-csv\.csv, and the release has a file of that name"):
        holdfast.release(asked, tmp_path / "out", seed=1)
    assert not (tmp_path / "out").exists()


def test_a_full_disk_leaves_no_part_of_a_crate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = holdfast.release(_spec(tmp_path, publication={}), tmp_path / "out", seed=1).folder

    def full(*_: Any) -> Iterator[Any]:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr("holdfast.exports.copyfileobj", full)
    with pytest.raises(ReleaseError, match=r"crate cannot be written \(no space left on device\)"):
        holdfast.export(folder, "rocrate", tmp_path / "crate")
    assert sorted(tmp_path.iterdir()) == before
