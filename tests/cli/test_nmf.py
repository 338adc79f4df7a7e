"""`holdfast nmf` and what works on the folder that it opens."""

import json
from pathlib import Path

import polars as pl
import pytest
from tests.cli.conftest import Run
from tests.inference.opened import other


@pytest.fixture
def opened(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    other.layout(tmp_path / "in", other.measured(), other.constraints())
    outcome = run("nmf", "open", "in", "--as", "out")
    assert (outcome.code, outcome.err) == (0, "")
    assert "Nodes         1 US, 1 State, 2 County, 4 Tract, 8 Block" in outcome.out
    assert "Known         2 numbers exactly, 6 bounds" in outcome.out
    return tmp_path / "out"


def test_intervals_counts_and_posteriors_of_files_of_others(run: Run, opened: Path, tmp_path: Path) -> None:
    outcome = run("intervals", "out", "--geography", "04400100", "044003011", "--margin", "colour", "--json")
    assert outcome.code == 0
    rows = json.loads(outcome.out)["rows"]
    assert [row["cell"]["colour"] for row in rows] == ["0", "1", "2"]
    true = other.truth()["Block"][[0, 1, 6]].sum(axis=0) @ other.rows_of("colour").T
    assert all(abs(row["estimate"] - count) < 30 for row, count in zip(rows, true, strict=True))
    assert "Each interval covers" in run("intervals", "out", "--level", "County", "--margin", "total").out
    assert run("estimate", "out", "--out", "counts.parquet").code == 0
    assert pl.read_parquet("counts.parquet")["count"].sum() == other.truth()["US"].sum()
    assert "2 numbers known exactly: all are kept" in run("estimate", "out", "--level", "County").out
    (tmp_path / "model.toml").write_text(
        '[model]\nkind = "proportions"\nareas = ["US"]\nlevel = "State"\n[sampler]\ndraws = 40\nwarmup = 20\n'
    )
    assert run("infer", "out", "--model", "model.toml", "--out", "posterior").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nmf", "open", "nowhere", "--as", "new"), "nowhere is neither a folder nor a file"),
        (("nmf", "open", "in", "--as", "out"), "out exists already: name a new folder"),
        (
            ("nmf", "open", "in", "--as", "new", "--noise", "normal"),
            "--noise is 'normal': write gaussian or laplace",
        ),
        (("nmf", "open", "in", "--as", "new", "--within", "9"), "--within names '9', which is no node"),
        (("nmf", "open", "in", "--as", "new", "--codebook", "no.toml"), "no.toml"),
        (("nmf", "open", "in", "--as", "new", "--invariants", "no.csv"), "no.csv"),
        (("nmf", "write", "out", "--as", "new"), "holds measurements that were opened, and no release"),
        (("intervals", "out", "--margin", "tint"), "--margin names 'tint', which is no attribute"),
        (("intervals", "out", "--margin", "County"), "--margin names 'County', a level of the geography"),
        (
            ("intervals", "out", "--level", "county"),
            "--level is 'county', which is no level: did you mean 'County'",
        ),
        (
            ("intervals", "out", "--table", "persons"),
            "holds the measurements of one table: leave out --table",
        ),
        (("intervals", "out", "--geography", "77"), "--geography names '77', which is no place"),
        (("estimate", "out", "--level", "Ward"), "--level is 'Ward', which is no level"),
        (("estimate", "out", "--pass", "totals"), "--pass names the query 'totals'"),
        (("estimate", "in"), "holds no opened measurements: open those of others with holdfast nmf open"),
        (("verify", "out"), "and no release: intervals, infer and estimate work on it"),
        (("postprocess", "out", "--method", "integers-l1", "--out", "new"), "and no release"),
    ],
)
def test_errors_are_one_sentence_and_write_nothing(
    arguments: tuple[str, ...], said: str, run: Run, opened: Path, tmp_path: Path
) -> None:
    del opened
    outcome = run(*arguments)
    assert outcome.code == 2
    assert outcome.err.startswith("error: ")
    assert said in outcome.err.replace("\n", " ")
    assert len(outcome.err.strip().splitlines()) == 1
    assert not (tmp_path / "new").exists()


def test_a_release_without_measurements_has_none_to_write(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run("demo", "--out", "demo")
    outcome = run(
        "nmf", "write", "demo/release" if (tmp_path / "demo" / "release").exists() else "demo", "--as", "new"
    )
    assert outcome.code == 2
    assert "has no measurements of a geography" in outcome.err
