"""`holdfast verify`: 0 kept, 1 violated, 2 nothing to verify."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.certificate.falsify import write
from tests.cli.conftest import Run
from tests.cli.test_errors import sentence


@pytest.fixture
def release(run: Run, example: Path) -> Path:
    out = example.parent / "out"
    assert run("release", example, "--out", out).code == 0
    return out


def test_a_release_is_kept(run: Run, release: Path) -> None:
    outcome = run("verify", release)
    assert (outcome.code, outcome.err) == (0, "")
    assert {line.split()[0] for line in outcome.out.splitlines()[:-1]} == {"kept"}
    assert "invariant county: 4 kept" in outcome.out
    assert "kept     universe: semi-adjacency 3\n" in outcome.out
    assert "kept     guarantee: epsilon 1 follows\n" in outcome.out
    assert outcome.out.endswith("every check holds, and all that the certificate claims was derived again.\n")


def test_a_quick_one_looks_at_files_and_invariants(run: Run, release: Path) -> None:
    whole, quick = run("verify", release), run("verify", release, "--quick")
    assert (quick.code, quick.err) == (0, "")
    *checks, verdict = quick.out.splitlines()
    assert checks == whole.out.splitlines()[: len(checks)]
    assert "invariant education: 4 kept" in quick.out
    assert "guarantee" not in quick.out
    assert verdict.endswith("(files and invariants; what is claimed of privacy was not derived).")
    told = json.loads(run("verify", "--quick", "--json", release).out)
    assert (told["kept"], told["quick"], told["warnings"], told["derived"]) == (True, True, [], [])
    (release / "table.csv").write_text("other")
    assert run("verify", "--quick", release).code == 1
    assert run("verify", "--quick", release / "none").code == 2
    assert run("verify", "--quick").code == 2
    assert run("verify", "--quick", "--what", release).code == 2


def test_a_quick_one_loads_nothing_heavy(release: Path) -> None:
    program = (
        "import sys; from holdfast.cli import main\n"
        "try: main()\n"
        "finally: print(*[m for m in sys.argv[0].split() if m in sys.modules], 'loaded')"
    )
    heavy = "highspy flint sqlite3 pydantic polars scipy jinja2"
    text = f"import sys; sys.argv[0] = {heavy!r}; {program}"
    outcome = subprocess.run(
        [sys.executable, "-c", text, "verify", str(release), "--quick"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert outcome.stdout.splitlines()[-1] == "loaded"


def test_a_seeded_release_is_told_loudly(run: Run, example: Path) -> None:
    out = example.parent / "seeded"
    assert run("release", example, "--out", out, "--seed", "1").code == 0
    for options in ((), ("--quick",)):
        outcome = run("verify", out, *options)
        assert outcome.code == 0
        assert "warning: THIS RELEASE PROTECTS NOBODY: it was drawn from a seeded generator" in outcome.err
        (warning,) = json.loads(run("verify", out, "--json", *options).out)["warnings"]
        assert warning.startswith("THIS RELEASE PROTECTS NOBODY")


def test_half_of_epsilon_with_right_hashes_is_a_violation(run: Run, release: Path) -> None:
    content = json.loads((release / "certificate.json").read_text())
    content["guarantee"]["intensity"]["epsilon"] = "1/2"
    write(release, content, page=True)
    outcome = run("verify", release)
    assert outcome.code == 1
    assert (
        "VIOLATED guarantee: the certificate claims intensity epsilon 0.5 (1/2), and what follows is"
        " epsilon 1\n" in outcome.out
    )
    assert run("intervals", release).code == 1


def test_machines_are_told_as_json(run: Run, release: Path) -> None:
    kept = json.loads(run("verify", release, "--json").out)
    assert kept["kept"] is True
    assert {"name": "invariant county: 4 kept", "holds": True, "detail": ""} in kept["checks"]
    (release / "certificate.html").write_text("another page")
    outcome = run("verify", release, "--json")
    violated = json.loads(outcome.out)
    assert (outcome.code, violated["kept"]) == (1, False)
    assert [check["name"] for check in violated["checks"] if not check["holds"]] == [
        "certificate.html unchanged"
    ]


def test_a_violation_is_shown_where_it_is(run: Run, release: Path) -> None:
    table = release / "table.csv"
    header, first, *rest = table.read_text().splitlines()
    county, education, count = first.split(",")
    table.write_text("\n".join([header, f"{county},{education},{int(count) + 1}", *rest]) + "\n")
    outcome = run("verify", release)
    assert outcome.code == 1
    assert "VIOLATED table.csv unchanged: its SHA-256 differs" in outcome.out
    assert "VIOLATED invariant county: county = Alpha is 21, not 20" in outcome.out
    assert "VIOLATED invariant education: education = Low is 51, not 50" in outcome.out
    assert "this is not the certified release" in outcome.out


def test_a_missing_table_is_a_violation(run: Run, release: Path) -> None:
    (release / "table.csv").unlink()
    outcome = run("verify", release)
    assert outcome.code == 1
    assert "VIOLATED table.csv unchanged: the file is missing" in outcome.out


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"{}", b"[" * 100_000])
def test_garbage_is_no_certificate(run: Run, release: Path, content: bytes) -> None:
    (release / "certificate.json").write_bytes(content)
    outcome = run("verify", release)
    assert (outcome.code, outcome.out) == (2, "")
    assert "certificate.json" in sentence(outcome.err)


def test_no_folder_and_no_certificate_are_errors(run: Run, release: Path, tmp_path: Path) -> None:
    for folder in (tmp_path / "none", release / "table.csv"):
        outcome = run("verify", folder)
        assert outcome.code == 2
        assert "is not a folder" in sentence(outcome.err)
    (release / "certificate.json").unlink()
    assert "certificate.json cannot be read" in sentence(run("verify", release).err)
    shutil.rmtree(release)
    assert run("verify", release, "--json").code == 2


def test_names_that_cannot_be_shown_are_spelt_out(run: Run, release: Path) -> None:
    path = release / "certificate.json"
    path.write_text(path.read_text().replace('"files": {', '"files": {"\\ud800": "12",'))
    outcome = run("verify", release)
    assert (outcome.code, outcome.err) == (1, "")
    assert "VIOLATED certificate unchanged" in outcome.out
    assert r"VIOLATED \ud800 unchanged: no release has a file of this name" in outcome.out


def test_a_damaged_certificate_is_told_by_its_place(run: Run, release: Path) -> None:
    path = release / "certificate.json"
    for old, new, words in (
        ('"standard": "pure"', '"standard": "pur"', "(target standard: Input should be 'pure', "),
        ('"norm": "l1",', "", "(parts 0 table mechanism norm: Field required)"),
        (
            '"records": 135',
            '"records": "many"',
            "(parts 0 table universe records: Input should be a",
        ),
    ):
        written = path.read_text()
        assert old in written
        path.write_text(written.replace(old, new, 1))
        outcome = run("verify", release)
        path.write_text(written)
        assert outcome.code == 1
        assert "VIOLATED certificate: certificate.json is damaged " + words in outcome.out


def test_another_form_is_no_certificate(run: Run, release: Path) -> None:
    path = release / "certificate.json"
    path.write_text(path.read_text().replace("holdfast-certificate/4", "holdfast-certificate/5"))
    outcome = run("verify", release)
    assert (outcome.code, outcome.out) == (2, "")
    assert "not a certificate of the form holdfast-certificate/4" in sentence(outcome.err)
