"""`holdfast init --from`: a first spec for a file, in words and as JSON."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

COUNTS = "county;sex;people\nKent;f;12\nKent;m;9\nBristol;f;4\nBristol;m;7\n"


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    path = tmp_path / "counts.csv"
    path.write_text(COUNTS)
    return path


def test_a_file_becomes_a_release(run: Run, tmp_path: Path, counts: Path) -> None:
    outcome = run("init", "--from", counts, "--keep", "county", "total")
    assert (outcome.code, outcome.err) == (0, "")
    assert f"Wrote {tmp_path / 'holdfast.toml'}: counts in people, by county, sex." in outcome.out
    assert run("release", tmp_path / "holdfast.toml", "--out", tmp_path / "out").code == 0
    assert run("verify", tmp_path / "out").code == 0


def test_machines_read_what_was_found(run: Run, tmp_path: Path, counts: Path) -> None:
    outcome = run("init", "--from", counts, "--out", tmp_path / "s.toml", "--json")
    found = json.loads(outcome.out)
    budgets = [each["epsilon"] for each in found.pop("expected_error")]
    assert budgets == ["1/2", "1", "2"]
    assert found == {
        "spec": str(tmp_path / "s.toml"),
        "cells": ["county", "sex"],
        "count": "people",
        "within": {},
        "left_out": {},
        "mechanism": "lattice-laplace",
        "doubts": [],
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--interactive",), "--interactive asks in a terminal, and this is none"),
        (("--full",), "leave out --full, --topdown and DIR"),
        (("--keep", "sx"), "--keep: "),
    ],
)
def test_refusals(run: Run, tmp_path: Path, counts: Path, arguments: tuple[str, ...], said: str) -> None:
    outcome = run("init", "--from", counts, *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert outcome.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["counts.csv"]


def test_a_missing_file_and_no_file(run: Run, tmp_path: Path) -> None:
    assert "does not exist" in run("init", "--from", tmp_path / "none.csv").err
    assert "name them with --from FILE" in run("init", "--keep", "county").err


def test_four_questions(run: Run, tmp_path: Path, counts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import typer

    from holdfast.cli import init

    answers = iter(("household", "county, total", "the press", "1/2"))
    monkeypatch.setattr(typer, "prompt", lambda *_, **__: next(answers))
    monkeypatch.setattr(init, "in_a_terminal", lambda: True)
    assert run("init", "--from", counts, "--interactive").code == 0
    text = (tmp_path / "holdfast.toml").read_text()
    for line in ('unit = "household"', "total = true", "# for the press", 'epsilon = "1/2"'):
        assert line in text
