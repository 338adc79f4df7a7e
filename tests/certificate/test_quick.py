"""The quick part finds what the whole finds of files and invariants, and reads a table in one way only."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.certificate.falsify import write
from tests.small_releases import KINDS, released

import holdfast_verify
from holdfast.certificate.certified_cells import CertifiedCells, DamagedCertificateError
from holdfast.certificate.released_counts import read_counts
from holdfast.certificate.text import canonical, digest
from holdfast.data.schema import Attributes, Schema
from holdfast.data.table import PublicTable
from holdfast.system.checks import Check
from holdfast.verification.verify import verify

WHOLE = "lattice-laplace, zeros and weights"


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return released(WHOLE).write(tmp_path / "out")


def content_of(release: Path) -> dict[str, Any]:
    content = json.loads((release / "certificate.json").read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


def both(release: Path) -> tuple[list[Check], list[Check]]:
    """Return what fails in the quick part, and in the whole."""
    quick, whole = verify(release, quick=True), verify(release)
    assert quick.quick
    assert not whole.quick
    assert not whole.kept or quick.kept  # the whole is at least as strict
    return [c for c in quick.checks if not c.holds], [c for c in whole.checks if not c.holds]


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_is_kept(kind: str, tmp_path: Path) -> None:
    folder = released(kind).write(tmp_path / "out")
    assert both(folder) == ([], [])
    names = [check.name for check in verify(folder, quick=True).checks]
    assert names == [check.name for check in verify(folder).checks][: len(names)]


def test_a_parquet_table_is_read_in_one_way_too(tmp_path: Path) -> None:
    folder = released(WHOLE).write(tmp_path / "out", parquet=True)
    assert both(folder) == ([], [])
    table = released(WHOLE).table
    frame = table.to_frame()
    for other in (
        frame.reverse(),
        frame.head(5),
        frame.select("age", "sex", "n"),
        frame.with_columns(x=1),
        frame.cast({"n": float}),
        frame.with_columns(frame["n"] + 1),
    ):
        other.write_parquet(folder / "table.parquet")
        write(folder, content_of(folder), page=False)
        quick, whole = both(folder)
        assert quick == whole != []


def test_a_changed_parquet_table_is_not_even_read(tmp_path: Path) -> None:
    """A bit of a page header makes the reader ask for 2 EB, which ends the process."""
    folder = released(WHOLE).write(tmp_path / "out", parquet=True)
    whole = (folder / "table.parquet").read_bytes()
    for place in range(0, len(whole), 3):
        changed = whole[:place] + bytes([whole[place] ^ 85]) + whole[place + 1 :]
        (folder / "table.parquet").write_bytes(changed)
        schema = next(check for check in verify(folder, quick=True).checks if check.name == "schema")
        assert (schema.holds, "is not read" in schema.detail) == (False, True)


TABLES: dict[str, Callable[[str], str]] = {
    "a float": lambda text: text.replace(",0\n", ",0.0\n"),
    "an exponent": lambda text: text.replace(",0\n", ",0e3\n"),
    "a plus": lambda text: text.replace(",0\n", ",+0\n"),
    "a minus zero": lambda text: text.replace(",0\n", ",-0\n"),
    "a space": lambda text: text.replace(",0\n", ", 0\n"),
    "a space behind": lambda text: text.replace(",0\n", ",0 \n"),
    "an underscore": lambda text: text.replace(",0\n", ",0_0\n"),
    "a leading zero": lambda text: text.replace(",0\n", ",00\n"),
    "other digits": lambda text: text.replace(",0\n", ",\u0660\n"),
    "no number": lambda text: text.replace(",0\n", ",\n"),
    "not a number": lambda text: text.replace(",0\n", ",NaN\n"),
    "quotes": lambda text: text.replace(",0\n", ',"0"\n'),
    "64 bits": lambda text: text.replace(",0\n", f",{2**63}\n"),
    "many digits": lambda text: text.replace(",0\n", f",{'9' * 5000}\n"),
    "a row more": lambda text: text + "m,old,0\n",
    "an empty row more": lambda text: text + "\n",
    "a row less": lambda text: text.replace("m,old,0\n", ""),
    "rows in another order": lambda text: "".join(
        [*text.splitlines(keepends=True)[:1], *text.splitlines(keepends=True)[:0:-1]]
    ),
    "a column more": lambda text: text.replace("\n", ",1\n"),
    "a mark of the order of bytes": lambda text: "\ufeff" + text,
    "ends of lines": lambda text: text.replace("\n", "\r\n"),
    "no last end": lambda text: text[:-1],
    "nothing": lambda text: text[:0],
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_written_in_one_way(release: Path, name: str) -> None:
    text = (release / "table.csv").read_bytes().decode()
    other = TABLES[name](text)
    assert other != text
    (release / "table.csv").write_bytes(other.encode())
    write(release, content_of(release), page=False)
    quick, whole = both(release)
    assert [check.name for check in quick] == ["schema"]
    assert quick == whole


CERTIFICATES: dict[str, Callable[[str], str]] = {
    "a key twice": lambda text: text.replace('"created"', '"created": "now",\n  "created"', 1),
    "a space": lambda text: text.replace(": ", ":  ", 1),
    "no end": lambda text: text[:-1],
    "an end more": lambda text: text + "\n",
    "ends of lines": lambda text: text.replace("\n", "\r\n"),
    "an escape": lambda text: text.replace('"sex"', '"\\u0073ex"', 1),
    "no number": lambda text: text.replace('"equals": null', '"equals": NaN', 1),
    "infinity": lambda text: text.replace('"equals": null', '"equals": -Infinity', 1),
    "a long number": lambda text: text.replace('"equals": null', '"equals": ' + "1" * 5000, 1),
}


@pytest.mark.parametrize("name", CERTIFICATES)
def test_a_certificate_is_written_in_one_way(release: Path, name: str) -> None:
    path = release / "certificate.json"
    text = path.read_bytes().decode()
    other = CERTIFICATES[name](text)
    assert other != text
    path.write_bytes(other.encode())
    for found in both(release):
        assert "certificate text" in [check.name for check in found]
    if name == "a key twice":
        assert "the key 'created' stands twice in one place" in [check.detail for check in both(release)[0]]


@pytest.mark.parametrize("name", ["../table.csv", "sub/x", "a\\b", "..", "", "other.txt", "TABLE.CSV"])
def test_files_have_plain_known_names(release: Path, name: str) -> None:
    content = content_of(release)
    body = {**content, "files": {**content["files"], name: "0" * 64}}
    del body["digest"]
    text = canonical({**body, "digest": digest(body)})
    (release / "certificate.json").write_text(text, encoding="utf-8")
    quick, whole = both(release)
    assert [check.detail for check in quick] == ["no release has a file of this name"]
    assert set(quick) <= set(whole)


@pytest.mark.parametrize(
    ("invariant", "change"),
    [
        (0, {"values": [12.0, 8]}),
        (0, {"values": [True, 8]}),
        (0, {"values": ["12", 8]}),
        (0, {"values": [12]}),
        (0, {"values": [10**30, 8]}),
        (0, {"attributes": ["sex"] * 40}),
        (0, {"attributes": ["nothing"]}),
        (0, {"kind": "sum"}),
        (0, {"where": ""}),
        (0, {"where": []}),
        (0, {"attributes": {"sex": 1}}),
        (1, {"labels": {"young": 1, "middle": 1, "old": 1}}),
        (2, {"weights": [2, 2, 10**30]}),
        (2, {"cells": [0, 1, 10**9]}),
        (2, {"rows": [0, 0, -1]}),
    ],
)
def test_odd_invariants_are_violations(release: Path, invariant: int, change: dict[str, Any]) -> None:
    content = content_of(release)
    content["parts"][0]["invariants"][invariant] |= change
    write(release, content, page=False)
    quick, whole = both(release)
    assert quick
    assert whole


@pytest.mark.parametrize(
    ("kind", "place", "odd"),
    [
        ("lattice-laplace, nested", ("table", "schema", "within", 0, "parents", 0), False),
        ("lattice-laplace, nested", ("table", "schema", "attributes", 0, "levels"), {"A": 1, "B": 2}),
        ("k-norm-gradient, logistic", ("mechanism", "low", 0), False),
        ("k-norm-gradient, logistic", ("mechanism", "steps"), "60"),
    ],
)
def test_what_only_acts_as_a_number_or_a_list_is_a_violation(
    tmp_path: Path, kind: str, place: tuple[str | int, ...], odd: object
) -> None:
    folder = released(kind).write(tmp_path / "out")
    content = content_of(folder)
    holder: Any = content["parts"][0]
    for step in place[:-1]:
        holder = holder[step]
    holder[place[-1]] = odd
    write(folder, content, page=False)
    assert all(both(folder))
    assert not holdfast_verify.verify(folder).kept


def test_a_part_without_outputs_is_a_violation(release: Path) -> None:
    content = content_of(release)
    content["parts"][0]["outputs"] = []
    write(release, content, page=False)
    assert all(both(release))


ODD = ["a b", " lead", "a,b", 'q"q', "n\nl", "c\rr", "tab\t", "#x", "'s", "1.5", "\u2028", "\u00e9"]


def test_levels_of_any_letters_are_read_as_they_are_written(tmp_path: Path) -> None:
    schema = Schema(Attributes.of({"na,me": ODD, "b": ("x", "y")}))
    counts = np.arange(schema.size, dtype=np.int64) - 7
    PublicTable(schema, counts, "n").write(tmp_path / "table.csv")
    cells = CertifiedCells(schema, "n")
    assert np.array_equal(read_counts(tmp_path / "table.csv", cells), counts)
    other = CertifiedCells(Schema(Attributes.of({"na,me": ODD[::-1], "b": ("x", "y")})), "n")
    with pytest.raises(DamagedCertificateError, match="row 2 is not that of"):
        read_counts(tmp_path / "table.csv", other)
