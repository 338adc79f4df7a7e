"""`holdfast postprocess`: a new folder with a conforming table and what it is, or nothing at all."""

import hashlib
import json
from decimal import Decimal
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.cli.test_errors import sentence
from tests.processing.small import DATA, SPEC

from holdfast.certificate.text import digest


@pytest.fixture
def release(run: Run, tmp_path: Path) -> Path:
    (tmp_path / "holdfast.toml").write_text(SPEC)
    (tmp_path / "data.csv").write_text(DATA)
    out = tmp_path / "out"
    assert run("release", tmp_path / "holdfast.toml", "--out", out, "--seed", "3").code == 0
    (tmp_path / "data.csv").unlink()  # nothing confidential is needed from here on
    return out


def towns(table: Path) -> dict[str, Decimal]:
    header, *rows = (line.split(",") for line in table.read_text().splitlines())
    assert header == ["town", "kind", "n"]
    assert len(rows) == 6
    sums: dict[str, Decimal] = {}
    for town, kind, count in rows:
        assert Decimal(count) >= 0
        assert (town, kind) != ("b", "w") or Decimal(count) == 0
        sums[town] = sums.get(town, Decimal(0)) + Decimal(count)
    return sums


@pytest.mark.parametrize("method", ["nonnegative-l2", "nonnegative-weighted", "integers-l1", "rounded-l2"])
def test_a_processed_table_conforms_and_says_what_it_is(
    run: Run, release: Path, tmp_path: Path, method: str
) -> None:
    out = tmp_path / "processed"
    outcome = run("postprocess", release, "--method", method, "--out", out, "--bias-draws", "40")
    assert outcome.code == 0
    assert outcome.err.startswith("warning: THIS RELEASE PROTECTS NOBODY")
    assert towns(out / "table.csv") == {"a": 31, "b": 25}
    assert sorted(path.name for path in out.iterdir()) == [
        "certificate.html",
        "certificate.json",
        "release.json",
        "table.csv",
    ]
    record = json.loads((out / "certificate.json").read_text())
    certificate = json.loads((release / "certificate.json").read_text())
    (part,) = record["parts"]
    assert part["release"]["certificate_digest"] == certificate["digest"]
    assert part["method"] == method
    assert record["guarantee"] == certificate["guarantee"]
    assert record["caveats"][0] == {"id": "processed", "parameters": {}}
    assert record["files"]["table.csv"] == hashlib.sha256((out / "table.csv").read_bytes()).hexdigest()
    assert digest({key: value for key, value in record.items() if key != "digest"}) == record["digest"]
    assert [one["draws"] for one in part["bias"]["simulated"]] == [40, 40]
    assert sum(one["cells"] for one in part["bias"]["simulated"][0]["classes"]) == 5
    assert (out / "release.json").read_bytes() == (release / "certificate.json").read_bytes()
    page = (out / "certificate.html").read_text()
    assert certificate["digest"] in page
    assert "40 simulated releases" in page
    for words in ("costs no budget", "biased", "smallest cells", "largest cells", "unbiased"):
        assert words in outcome.out
    assert not list(tmp_path.glob(".holdfast-*"))


def test_the_same_release_gives_the_same_table(run: Run, release: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        asked = ("--method", "integers-l1", "--out", tmp_path / name, "--bias-draws", "0", "--json")
        record = json.loads(run("postprocess", release, *asked).out)
        assert record["bias"] == {"measured": False, "reason": "not asked", "simulated": []}
    assert (tmp_path / "one" / "table.csv").read_bytes() == (tmp_path / "two" / "table.csv").read_bytes()


def test_it_is_never_a_default(run: Run, release: Path, tmp_path: Path) -> None:
    assert run("postprocess", release, "--out", tmp_path / "x").code == 2
    assert run("postprocess", release, "--method", "integers-l1").code == 2
    assert not (tmp_path / "x").exists()


def test_nothing_is_overwritten_or_half_written(run: Run, release: Path, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "mine").write_text("mine")
    for output, words in ((taken, "exists already"), (tmp_path / "no" / "x", "does not exist")):
        outcome = run("postprocess", release, "--method", "integers-l1", "--out", output)
        assert (outcome.code, outcome.out) == (2, "")
        assert words in sentence(outcome.err)
    assert [path.name for path in taken.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--method", "integer-l1"), "did you mean 'integers-l1'"),
        (("--method", "integers-l1", "--bias-draws", "1"), "2 or more"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(
    run: Run, release: Path, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    outcome = run("postprocess", release, *arguments, "--out", tmp_path / "x")
    assert outcome.code == 2
    assert words in sentence(outcome.err)
    assert not (tmp_path / "x").exists()


def test_what_does_not_verify_is_refused(run: Run, release: Path, tmp_path: Path) -> None:
    out = tmp_path / "x"
    asked = ("--method", "integers-l1", "--out", out)
    assert run("postprocess", tmp_path / "none", *asked).code == 2
    table = release / "table.csv"
    table.write_text(table.read_text() + "\n")
    outcome = run("postprocess", release, *asked)
    assert outcome.code == 1
    assert "VIOLATED" in outcome.out
    (release / "certificate.json").write_text("{")
    assert run("postprocess", release, *asked).code == 2
    assert not out.exists()


def test_verify_knows_a_processed_folder(run: Run, release: Path, tmp_path: Path) -> None:
    out = tmp_path / "processed"
    asked = ("--method", "rounded-l2", "--out", out, "--bias-draws", "5")
    assert run("postprocess", release, *asked).code == 0
    found = run("verify", out)
    assert found.code == 0
    assert "processing the release again gives this table" in found.out
    assert json.loads(run("verify", out, "--release", release, "--json").out)["kept"]
    assert run("verify", out, "--quick").code == 0
    assert "leave it out" in sentence(run("verify", release, "--release", out).err)
    assert "verify its release" in sentence(run("verify", out, "--public-key", tmp_path / "k").err)
    (out / "table.csv").write_text((out / "table.csv").read_text() + "\n")
    assert run("verify", out).code == 1
    assert run("verify", out, "--quick").code == 1
    (out / "certificate.json").write_text('{"format": "holdfast-postprocessed/1"')
    assert run("verify", out).code == 2
