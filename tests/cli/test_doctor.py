"""`holdfast doctor` says what a machine has, and what helps; `holdfast docs` where the documentation is."""

import json
import os
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from holdfast.cli.docs import site
from holdfast.cli.doctor import cure
from holdfast.health import EXTRAS, Finding, examine


def test_every_finding_has_a_cure_where_something_is_wrong() -> None:
    found = examine().findings
    assert {"python", "entropy", "solver", "compiler", "folder", "private files", "browser"} <= {
        finding.name for finding in found
    }
    assert {f"extra {extra}" for extra in EXTRAS} <= {finding.name for finding in found}
    for finding in found:
        assert cure(Finding(finding.name, "broken", ""))
        assert not cure(Finding(finding.name, "fine", ""))


def test_broken_randomness_ends_with_1(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.urandom", bytes)
    outcome = run("doctor")
    assert outcome.code == 1
    assert "release nothing on this machine" in outcome.out


def test_a_generator_with_a_stuck_bit_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.urandom
    monkeypatch.setattr("os.urandom", lambda size: bytes(byte | 1 for byte in real(size)))
    (entropy,) = (finding for finding in examine().findings if finding.name == "entropy")
    assert entropy.state == "broken"


def test_a_ledger_is_looked_at_with_its_salt(run: Run, tmp_path: Path) -> None:
    ledger = tmp_path / "a.ledger"
    run("ledger", "open", ledger, "--budget", "2")
    report = json.loads(run("doctor", "--ledger", ledger, "--json").out)
    states = {finding["name"]: finding["state"] for finding in report["findings"]}
    assert (report["well"], states["ledger"], states["ledger's salt"]) == (True, "fine", "fine")
    salt = Path(f"{ledger}.salt")
    salt.chmod(0o644)
    assert run("doctor", "--ledger", ledger).code == 1
    salt.unlink()
    assert run("doctor", "--ledger", ledger).code == 1
    assert run("doctor", "--ledger", tmp_path / "none.ledger").code == 1


def test_documentation_that_is_not_there_is_said_so(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.cli.docs.__file__", str(tmp_path / "a" / "b" / "c" / "docs.py"))
    outcome = run("docs", "--json")
    assert outcome.code == 2
    assert "holdfast-dp[docs]" in outcome.err
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("a page")
    assert site() == tmp_path / "site"
    assert json.loads(run("docs", "--json").out)["page"].endswith("index.html")


@pytest.mark.parametrize(("said", "state"), [("17.0.9", "fine"), ("21", "fine"), ("1.8.0_381", "absent")])
def test_java_is_asked_for_its_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str, state: str
) -> None:
    pytest.importorskip("pyspark")
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{said}\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    (spark,) = (finding for finding in examine().findings if finding.name == "spark")
    assert spark.state == state


def test_spark_without_java_is_absent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    (spark,) = (finding for finding in examine().findings if finding.name == "spark")
    assert spark.state == "absent"
    assert "needs Java 17" in spark.found


def test_a_package_that_is_too_old_or_missing_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import PackageNotFoundError, version

    def changed(name: str) -> str:
        if name == "scipy":
            raise PackageNotFoundError(name)
        return {"numpy": "2.0.2", "rich": "13.10.0rc1"}.get(name) or version(name)

    monkeypatch.setattr("holdfast.health.version", changed)
    found = {finding.name: finding for finding in examine().findings}
    assert found["numpy"] == Finding("numpy", "broken", "2.0.2, older than 2.1.1")
    assert found["scipy"] == Finding("scipy", "broken", "not installed")
    assert found["rich"].state == found["highspy"].state == "fine"
    assert cure(found["numpy"]) == "python -m pip install --upgrade numpy"
    assert not examine().well


def test_a_ledger_that_may_not_be_written_to_is_told(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = tmp_path / "a.ledger"
    run("ledger", "open", ledger, "--budget", "2")
    real = os.access
    monkeypatch.setattr(
        "os.access", lambda path, mode: mode == os.R_OK or (real(path, mode) and path != ledger)
    )
    outcome = run("doctor", "--ledger", ledger)
    assert outcome.code == 1
    assert "the right to write" in outcome.out
