"""Whatever is changed in a release is found, and no certificate makes the verifier fall over."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.certificate.record import digest
from holdfast.certificate.verify import Verification, verify
from holdfast.certificate.write import sha256
from holdfast.errors import ReleaseError
from holdfast.release import prepare
from holdfast.sampling.entropy import SeededEntropy

SPEC = """\
[data]
path = "data.csv"
cells = ["sex", "age"]
count = "n"
[[invariants]]
margin = ["sex"]
[[invariants]]
margin = ["age"]
[[invariants]]
name = "weighted"
weights = { file = "w.csv" }
[constraints]
structural_zeros = [{ sex = "m", age = "old" }]
[privacy]
epsilon = "1"
"""
DATA = "sex,age,n\nf,young,3\nf,middle,4\nf,old,5\nm,young,6\nm,middle,2\n"
WEIGHTS = "invariant,sex,age,weight\na,f,young,2\na,f,middle,2\na,f,old,2\n"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release")
    for name, text in (("holdfast.toml", SPEC), ("data.csv", DATA), ("w.csv", WEIGHTS)):
        (folder / name).write_text(text)
    return prepare(folder / "holdfast.toml").release(SeededEntropy(1)).write(folder / "out")


@pytest.fixture
def release(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "out"))


def reseal(release: Path, change: Callable[[dict[str, Any]], object] = lambda _: None) -> None:
    """Do what a forger would: change the record, take the hashes anew, and seal it again."""
    path = release / "certificate.json"
    content = json.loads(path.read_text())
    content["files"] = {name: sha256(release / name) for name in content["files"]}
    change(content)
    content.pop("digest", None)
    path.write_text(json.dumps({**content, "digest": digest(content)}))


def add(release: Path, **changes: int) -> None:
    """Add to some cells of the table: f_young=1."""
    rows = [line.split(",") for line in (release / "table.csv").read_text().splitlines()]
    for row in rows[1:]:
        row[2] = str(int(row[2]) + changes.get(f"{row[0]}_{row[1]}", 0))
    (release / "table.csv").write_text("".join(",".join(row) + "\n" for row in rows))


def failed(verification: Verification) -> list[str]:
    assert verification.kept == all(check.holds for check in verification.checks)
    return [check.name for check in verification.checks if not check.holds]


def test_a_release_is_kept_wherever_it_stands(release: Path) -> None:
    assert failed(verify(release)) == []
    assert failed(verify(str(release))) == []
    reseal(release)
    assert failed(verify(release)) == []


def test_one_changed_cell_breaks_the_hash_and_the_invariants(release: Path) -> None:
    add(release, f_young=1)
    assert failed(verify(release)) == [
        "table.csv unchanged",
        "invariant sex",
        "invariant age",
        "invariant weighted",
    ]


def test_a_change_that_keeps_every_margin_breaks_the_hash(release: Path) -> None:
    add(release, f_young=1, f_middle=-1, m_young=-1, m_middle=1)
    assert failed(verify(release)) == ["table.csv unchanged"]


def test_a_forger_with_new_hashes_still_breaks_the_invariants(release: Path) -> None:
    add(release, f_young=1, m_young=-1)
    reseal(release)
    verification = verify(release)
    assert failed(verification) == ["invariant sex", "invariant weighted"]
    details = {check.name: check.detail for check in verification.checks}
    assert details["invariant sex"] == "sex = f is 13, not 12 (and 1 more)"
    assert details["invariant weighted"] == "a is 26, not 24"


def test_a_changed_page_breaks_its_hash(release: Path) -> None:
    with (release / "certificate.html").open("a") as page:
        page.write(" ")
    assert failed(verify(release)) == ["certificate.html unchanged"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("f,old,", "f,ancient,", "'ancient'"),
        ("sex,age,n", "sex,years,n", "no column 'age'"),
        ("m,old,0\n", "", "sex = 'm', age = 'old'"),
        ("m,old,0", "m,old,1", "structural zero"),
        ("m,old,0", "m,old,0.5", "not a whole number"),
        ("m,old,0", "m,old,", "no number"),
        ("m,old,0", "f,old,0", "repeats the cell"),
        ("sex,age,n\n", "", "no column"),
    ],
)
def test_a_table_of_another_form_breaks_the_schema_even_with_new_hashes(
    release: Path, old: str, new: str, words: str
) -> None:
    table = release / "table.csv"
    assert old in table.read_text()
    table.write_text(table.read_text().replace(old, new))
    assert failed(verify(release)) == ["table.csv unchanged", "schema"]
    reseal(release)
    verification = verify(release)
    assert failed(verification) == ["schema"]
    assert words in next(check.detail for check in verification.checks if not check.holds)


@pytest.mark.parametrize("content", [b"", b"\x00", b"\xff\xfe\x00", b"PAR1", b"a"])
def test_a_table_of_garbage_is_a_violation(release: Path, content: bytes) -> None:
    (release / "table.csv").write_bytes(content)
    assert failed(verify(release)) == ["table.csv unchanged", "schema"]


def test_a_folder_for_a_table_is_a_violation(release: Path) -> None:
    (release / "table.csv").unlink()
    assert failed(verify(release)) == ["table.csv unchanged", "schema"]
    (release / "table.csv").mkdir()
    assert failed(verify(release)) == ["table.csv unchanged", "schema"]


def test_a_changed_record_breaks_its_seal(release: Path) -> None:
    path = release / "certificate.json"
    text = path.read_text()
    content = json.loads(text)
    for key in content.keys() - {"format", "digest", "files", "table", "invariants"}:
        path.write_text(json.dumps({**content, key: "something else"}))
        assert failed(verify(release)) == ["certificate unchanged"], key
        path.write_text(json.dumps({other: value for other, value in content.items() if other != key}))
        assert failed(verify(release)) == ["certificate unchanged"], key
    path.write_text(text.replace('"epsilon": "1"', '"epsilon": "1/9"'))
    assert failed(verify(release)) == ["certificate unchanged"]


def test_a_changed_value_breaks_the_seal_and_its_invariant(release: Path) -> None:
    path = release / "certificate.json"
    content = json.loads(path.read_text())
    content["invariants"][1]["values"][0] += 1
    path.write_text(json.dumps(content))
    assert failed(verify(release)) == ["certificate unchanged", "invariant age"]


ABSURD: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    float("nan"),
    "",
    "x",
    "\ud800",
    [],
    [[]],
    [None],
    {},
    {"a": 1},
]
PLACES: dict[str, tuple[str | int, ...]] = {
    "files": ("files",),
    "hash": ("files", "table.csv"),
    "table": ("table",),
    "count": ("table", "count"),
    "schema": ("table", "schema"),
    "attributes": ("table", "schema", "attributes"),
    "attribute": ("table", "schema", "attributes", 0),
    "name": ("table", "schema", "attributes", 0, "name"),
    "levels": ("table", "schema", "attributes", 0, "levels"),
    "level": ("table", "schema", "attributes", 0, "levels", 0),
    "zeros": ("table", "schema", "structural_zeros"),
    "zero": ("table", "schema", "structural_zeros", 0),
    "invariants": ("invariants",),
    "invariant": ("invariants", 0),
    **{key: ("invariants", 0, key) for key in ("kind", "labels", "where", "values", "equals", "attributes")},
    "value": ("invariants", 0, "values", 0),
    **{f"weights {key}": ("invariants", 2, key) for key in ("rows", "cells", "weights", "labels", "values")},
    **{f"first {key}": ("invariants", 2, key, 0) for key in ("rows", "cells", "weights", "labels")},
}


@pytest.mark.parametrize("place", PLACES)
def test_absurd_records_are_violations_and_never_crashes(release: Path, place: str) -> None:
    *outer, last = PLACES[place]
    written = (release / "certificate.json").read_text()
    for absurd in ABSURD:

        def change(content: dict[str, Any], absurd: object = absurd) -> None:
            target: Any = content
            for step in outer:
                target = target[step]
            target[last] = absurd

        (release / "certificate.json").write_text(written)
        reseal(release, change)
        assert isinstance(verify(release), Verification)
        # Without a new seal, it is a violation whatever else holds.
        content = json.loads(written)
        change(content)
        (release / "certificate.json").write_text(json.dumps(content))
        same = content == json.loads(written)
        assert verify(release).kept == same, absurd


@pytest.mark.parametrize(
    "name", ["table.csv/..", "../table.csv", "table.\0.csv", "table." + "x" * 300, "table.", "/"]
)
def test_the_verifier_stays_in_the_folder(release: Path, name: str) -> None:
    (release.parent / "table.csv").write_text("elsewhere")
    reseal(release, lambda content: content["files"].update({name: "0" * 64}))
    assert not verify(release).kept


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "1", '"x"', "{}", '{"format": "holdfast-certificate/0"}', "[" * 100_000]
)
def test_what_is_no_certificate_is_an_error(release: Path, text: str) -> None:
    (release / "certificate.json").write_text(text)
    with pytest.raises(ReleaseError, match=r"certificate\.json is not .*: restore it from the release\.$"):
        verify(release)


def test_no_release_is_an_error(release: Path) -> None:
    (release / "certificate.json").unlink()
    with pytest.raises(ReleaseError, match="cannot be read"):
        verify(release)
    with pytest.raises(ReleaseError, match="is not a folder"):
        verify(release / "none")


def test_a_parquet_release_is_verified_as_well(original: Path, tmp_path: Path) -> None:
    prepared = prepare(original.parent / "holdfast.toml")
    out = prepared.release(SeededEntropy(2)).write(tmp_path / "out", parquet=True)
    assert failed(verify(out)) == []
    whole = (out / "table.parquet").read_bytes()
    for place in range(0, len(whole), 7):
        (out / "table.parquet").write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        assert "table.parquet unchanged" in failed(verify(out))
    (out / "table.parquet").write_bytes(whole[:-9])
    assert failed(verify(out)) == ["table.parquet unchanged", "schema"]
