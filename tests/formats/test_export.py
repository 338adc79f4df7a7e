"""A release in other formats: a reader of each finds the table with its statuses."""

import csv
import json
import os
import re
from base64 import b64decode
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import jsonschema
import openpyxl
import polars as pl
import pysdmx.io.csv.sdmx20.reader as sdmx
import pytest
import yaml
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from jsonstat_validator import validate_jsonstat
from tests.cli.conftest import Run, run  # noqa: F401 - a fixture
from tests.verifier.folders import good

import holdfast
import holdfast_verify
from holdfast.certificate.read import read_certificate
from holdfast.exports import cells_of, export
from holdfast.formats.attestation import encoded
from holdfast.formats.catalogue import FORMATS, Format
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.model import OF_TABLES
from holdfast.system.checks import ViolatedError
from holdfast.system.errors import ReleaseError

DATA = Path(os.environ.get("HOLDFAST_DATA", "../shared/data"))
ROWS = "county,age,n\n=A,under 5,3\n=A,5+,2\nB,under 5,0\nB,5+,0\nC,under 5,7\nC,5+,9\n"


def _release(folder: Path, rows: str = ROWS, **sections: Any) -> Path:
    """One county without people, whose cells follow; one structural zero, beside which a cell is kept."""
    (folder / "data.csv").write_text(rows)
    spec = holdfast.Spec.of(
        {
            "data": {"path": "data.csv", "cells": ["county", "age"], "count": "n"},
            "invariants": [{"margin": ["county"]}],
            "constraints": {"structural_zeros": []},
            "privacy": {"epsilon": "1"},
            **sections,
        },
        folder=folder,
    )
    return Path(holdfast.prepare(spec).release(SeededEntropy(1)).write(folder / "out"))


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return _release(tmp_path)


def _rows(folder: Path) -> list[tuple[str, ...]]:
    """The released table and its statuses, without the code that is tested."""
    with (folder / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    words = cells_of(folder).status.to_list()
    return [(*row, word) for row, word in zip(rows, words, strict=True)]


def test_statuses_are_what_all_tables_with_the_invariants_say(tmp_path: Path) -> None:
    """Enumerated: 2 x 4 with both margins and a structural zero, once with an age that nobody has."""
    seen = set()
    for at, counts in enumerate([(1, 1, 2, 1, 0, 2, 1, 0), (0, 1, 2, 1, 0, 2, 1, 0)]):
        folder = tmp_path / str(at)
        folder.mkdir()
        names = [f"{sex},{age}" for sex in "fm" for age in "wxyz"]
        rows = "".join(f"{name},{count}\n" for name, count in zip(names, counts, strict=True))
        written = _release(
            folder,
            f"county,age,n\n{rows}",
            invariants=[{"margin": ["county"]}, {"margin": ["age"]}],
            constraints={"structural_zeros": [{"county": "m", "age": "z"}]},
        )
        found = cells_of(written).status.to_list()
        whole = list(_tables(counts, range(-2, 5)))
        real = [table for table in whole if min(table) >= 0]
        assert found == [_status(cell, whole, real) for cell in range(8)]
        seen |= set(found)
    assert seen == {"exact", "forced", "noisy", "structural zero"}


def _status(cell: int, whole: list[tuple[int, ...]], real: list[tuple[int, ...]]) -> str:
    if cell == 7:
        return "structural zero"
    if len({table[cell] for table in whole}) == 1:
        return "exact"
    return "forced" if len({table[cell] for table in real}) == 1 else "noisy"


def _tables(counts: tuple[int, ...], values: range) -> Iterator[tuple[int, ...]]:
    """Yield all 2 x 4 tables of some values with the margins of one, and 0 in the last cell."""
    for some in product(values, repeat=3):
        first = (*some, sum(counts[:4]) - sum(some))
        second = tuple(counts[at] + counts[at + 4] - first[at] for at in range(4))
        if second[3] == 0:
            yield (*first, *second)


def test_every_format_is_the_table_with_its_statuses(release: Path, tmp_path: Path) -> None:
    rows = _rows(release)
    assert {row[-1] for row in rows} == {"noisy", "forced"}
    for name, ending in (("csv", ".csv"), ("parquet", ".parquet"), ("csvw", "-w.csv")):
        (out, *_) = export(release, name, tmp_path / f"x{ending}").files
        frame = pl.read_parquet(out) if ending == ".parquet" else pl.read_csv(out, infer_schema=False)
        assert [tuple(map(str, row)) for row in frame.iter_rows()] == rows
    (book,) = export(release, "xlsx", tmp_path / "x.xlsx").files
    sheet = openpyxl.load_workbook(book)["Table"]
    read = [tuple(str(cell.value) for cell in row) for row in sheet.iter_rows(min_row=2)]
    assert read == [tuple("'=A" if value == "=A" else value for value in row) for row in rows]
    (cube,) = export(release, "json-stat", tmp_path / "x.json").files
    content = json.loads(cube.read_text(encoding="utf-8"))
    assert validate_jsonstat(content) is True
    levels = [content["dimension"][name]["category"]["index"] for name in content["id"]]
    values = zip(product(*levels), content["value"], content["status"], strict=True)
    assert [(*cell, str(value), status) for cell, value, status in values] == rows
    (observed,) = export(release, "sdmx-csv", tmp_path / "x-sdmx.csv").files
    (data,) = sdmx.read(observed.read_text(encoding="utf-8"))
    columns = ["COUNTY_LABEL", "AGE_LABEL", "OBS_VALUE", "HOLDFAST_STATUS"]
    assert list(data.data[columns].itertuples(index=False, name=None)) == rows
    assert set(data.data["OBS_STATUS"]) == {"E"}
    assert all(re.fullmatch(r"[A-Za-z0-9_@$-]+", code) for code in (*data.data["COUNTY"], *data.data["AGE"]))


def test_csv_on_the_web_describes_its_columns(release: Path, tmp_path: Path) -> None:
    table, described = export(release, "csvw", tmp_path / "w.csv").files
    content = json.loads(described.read_text(encoding="utf-8"))
    assert (described.name, content["url"]) == ("w.csv-metadata.json", "w.csv")
    columns = content["tableSchema"]["columns"]
    frame = pl.read_csv(table, infer_schema=False)
    assert [column["titles"] for column in columns] == frame.columns
    for column in columns:
        for value in frame[column["titles"]]:
            if column["datatype"] == "integer":
                int(value)
            else:
                assert re.fullmatch(column["datatype"]["format"], value)


def test_a_crate_is_the_release_with_its_metadata(release: Path, tmp_path: Path) -> None:
    export(release, "rocrate", tmp_path / "crate")
    assert holdfast.verify(tmp_path / "crate").kept
    graph = json.loads((tmp_path / "crate" / "ro-crate-metadata.json").read_text(encoding="utf-8"))["@graph"]
    by_id = {item["@id"]: item for item in graph}
    assert by_id["ro-crate-metadata.json"]["about"] == {"@id": "./"}
    files = {item["@id"] for item in by_id["./"]["hasPart"]}
    assert files == {path.name for path in release.iterdir()}
    assert by_id["table.csv"]["sha256"] == read_certificate(release).files["table.csv"]


def test_the_record_of_the_registry_is_of_its_schema(tmp_path: Path) -> None:
    schema = DATA / "deployments_registry_schema_2026-07-15.yaml"
    if not schema.exists():
        pytest.skip(f"{schema} is not there")
    written = _release(tmp_path, publication={"title": "A: 'b'", "publisher": "# x", "contact": "- y"})
    (out,) = export(written, "registry", tmp_path / "children_by_county.yaml").files
    record = yaml.safe_load(out.read_text(encoding="utf-8"))
    jsonschema.validate(record, yaml.safe_load(schema.read_text(encoding="utf-8")))
    deployment = record["deployment"]
    assert deployment["basic"]["name"] == "A: 'b'"
    assert deployment["dp_variant"]["variant_name"] == "Pure DP"
    assert "county" in deployment["dp_variant"]["unprotected_quantities"]
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0}
    with pytest.raises(ReleaseError, match="a name that the registry does not take"):
        export(written, "registry", tmp_path / "Children-1.yaml")


def test_a_statement_is_signed_by_the_key(release: Path, tmp_path: Path) -> None:
    private, public = holdfast.generate_keys(tmp_path / "key")
    (out,) = export(release, "in-toto", tmp_path / "s.json", key=private).files
    content = json.loads(out.read_text(encoding="utf-8"))
    body = b64decode(content["payload"])
    key: Any = load_pem_public_key(public.read_bytes())
    key.verify(b64decode(content["signatures"][0]["sig"]), encoded(body))
    hashes = {item["name"]: item["digest"]["sha256"] for item in json.loads(body)["subject"]}
    assert hashes.keys() == {path.name for path in release.iterdir()}
    assert json.loads(body)["predicate"]["guarantee"]["intensity"] == {"epsilon": str(Fraction(1))}
    with pytest.raises(ReleaseError, match="is signed: give the argument sign"):
        export(release, "in-toto", tmp_path / "t.json")


def test_an_assessment_leaves_open_what_only_the_agency_knows(release: Path, tmp_path: Path) -> None:
    (out,) = export(release, "assessment", tmp_path / "a.md").files
    text = out.read_text(encoding="utf-8")
    assert text.count("*For the agency to answer.*") == 5
    assert read_certificate(release).guarantee.statement in text


def test_names_are_no_tags_and_units_come_and_go(tmp_path: Path) -> None:
    kept = {"margin": ["county"], "name": "</script><img src=x>[a](https://example.org)"}
    privacy = {"epsilon": "1", "neighbours": "add-remove"}
    folder = _release(tmp_path, invariants=[kept], privacy=privacy)
    (out,) = export(folder, "assessment", tmp_path / "a.md").files
    text = out.read_text(encoding="utf-8")
    assert "&lt;/script&gt;&lt;img src=x&gt;\\[a](" in text
    assert "<" not in text
    (record,) = export(folder, "registry", tmp_path / "r.yaml").files
    for said in (text, record.read_text(encoding="utf-8")):
        assert "differ in at most 2 records added or removed" in said


def test_a_processed_table_leaves_as_an_estimate(release: Path, tmp_path: Path) -> None:
    holdfast.postprocess(release, "integers-l1", tmp_path / "tidy", bias_draws=0)
    (out,) = export(tmp_path / "tidy", "csv", tmp_path / "tidy.csv").files
    frame = pl.read_csv(out)
    assert frame["n"].to_list() == pl.read_csv(tmp_path / "tidy" / "table.csv")["n"].to_list()
    assert set(frame["status"]) == {"estimated", "forced"}


def test_releases_of_every_kind_leave_in_every_format_or_are_refused_in_a_sentence(tmp_path: Path) -> None:
    key, _ = holdfast.generate_keys(tmp_path / "key")
    refused, told = set(), []
    (tmp_path / "made").mkdir()
    for number, folder in enumerate(good(tmp_path / "made")):
        kinds = {part.name: part.kind for part in read_certificate(folder).parts}
        for name, form in FORMATS.items():
            whole = form.of_cells is None or len(kinds) == 1
            for table in [None] if whole else kinds:
                out = tmp_path / f"f{number}{name}{table}".replace("-", "").lower()
                out = out.with_suffix(form.ending)
                try:
                    export(folder, name, out, table=table, key=key if form.signed else None)
                except ReleaseError as error:
                    told.append(str(error))
                    refused.add((*set(kinds.values()), name))
                    assert not out.exists()
                    continue
                _read_back(folder, table or next(iter(kinds)), name, form, out)
    assert refused == {("table", "rocrate"), *product(("records", "table"), OF_TABLES)}
    assert all(re.search(r"as they are, or export|copy the folder as it is", text) for text in told)


def _read_back(folder: Path, table: str, name: str, form: Format, out: Path) -> None:
    """Compare what a reader of its own finds with the released file."""
    if name == "rocrate":
        assert holdfast_verify.verify(out).kept
    if name == "registry":
        assert yaml.safe_load(out.read_text(encoding="utf-8"))["status"] == "Draft"
    if form.of_cells is None:
        return
    (source,) = [file for file in (f"{table}.csv", f"{table}.parquet") if (folder / file).exists()]
    frame = pl.read_parquet(folder / source) if source.endswith("t") else pl.read_csv(folder / source)
    frame = frame.drop("status", strict=False)
    *names, count = frame.columns
    numbers = [float(number) for number in frame[count]]
    if name == "json-stat":
        content = json.loads(out.read_text(encoding="utf-8"))
        assert validate_jsonstat(content) is True
        assert [value for value in content["value"] if value is not None] == numbers
        return
    if name == "sdmx-csv":
        (data,) = sdmx.read(out.read_text(encoding="utf-8"))
        assert [float(value) for value in data.data["OBS_VALUE"]] == numbers
        return
    if name == "xlsx":
        head, *rows = openpyxl.load_workbook(out)["Table"].iter_rows(values_only=True)
        found = pl.DataFrame(rows, schema=[str(each) for each in head], orient="row")
    else:
        found = pl.read_parquet(out) if name == "parquet" else pl.read_csv(out)
    assert found.columns == [*names, count, "status"]
    assert found.select(pl.col(names).cast(pl.String)).equals(frame.select(pl.col(names).cast(pl.String)))
    assert [float(number) for number in found[count]] == numbers


def test_what_was_changed_is_not_handed_on(release: Path, tmp_path: Path) -> None:
    changed_table = (release / "table.csv").read_text().replace("C,5+,", "C,5+,1")
    (release / "table.csv").write_text(changed_table)
    for name, form in FORMATS.items():
        key = holdfast.generate_keys(tmp_path / "k")[0] if form.signed else None
        with pytest.raises(ViolatedError):
            export(release, name, tmp_path / f"x{form.ending}", key=key)
        assert not (tmp_path / f"x{form.ending}").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--to", "xls", "--out", "a.xls"], "there is no format 'xls': did you mean 'xlsx'?"),
        (["--to", "xlsx", "--out", "a.csv"], "a.csv has a name for another format: end it with .xlsx."),
        (["--to", "csv", "--out", "out/table.csv"], "exists already: name a new file."),
        (["--to", "csv", "--out", "a.csv", "--table", "x"], "holds one table: leave out --table."),
        (["--to", "registry", "--out", "a.yaml", "--table", "x"], "leave out --table."),
        (["--to", "csv", "--out", "a.csv", "--sign", "k"], "csv is not signed: leave out --sign."),
    ],
)
def test_what_cannot_be_written_is_one_sentence(
    run: Run,  # noqa: F811
    release: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(release.parent)
    outcome = run("export", "out", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert message in outcome.err
