"""Commands with a spec of several tables."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.releases.several_tables import SPEC, write_people


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    return write_people(tmp_path)


def test_release_verify_intervals_and_ledger(run: Run, spec: Path, tmp_path: Path) -> None:
    ledger, out = tmp_path / "l.db", tmp_path / "out"
    assert run("ledger", "open", ledger, "--budget", "2").code == 0
    done = run("release", spec, "--out", out, "--ledger", ledger)
    assert done.code == 0
    assert "epsilon 1 of 2 spent, 1 left." in done.out
    assert "county: in age_by_county, sex_by_county" in " ".join(done.out.split())
    assert run("verify", out).code == 0
    assert run("verify", out, "--quick").code == 0
    assert run("ledger", "verify", ledger, "--release", out).code == 0
    rows = json.loads(run("intervals", out, "--table", "sex_by_county", "--json").out)["rows"]
    assert len(rows) == 6
    (out / "age_by_county.csv").unlink()
    assert run("verify", out).code == 1
    assert run("verify", out, "--quick").code == 1
    assert run("intervals", out, "--table", "sex_by_county").code == 1


def test_a_margin_that_one_table_keeps_and_another_does_not_is_noted(run: Run, tmp_path: Path) -> None:
    spec = write_people(tmp_path, SPEC.rpartition("[[tables.invariants]]")[0])
    done = " ".join(run("release", spec, "--out", tmp_path / "out").out.split())
    assert "counts of county are exact in age_by_county and with noise in sex_by_county" in done


def test_plan_and_universe_tell_of_each_table(run: Run, spec: Path) -> None:
    plan = run("plan", spec)
    assert plan.code == 0
    assert "age_by_county, with epsilon 0.5 (1/2) of the budget:" in plan.out
    assert set(json.loads(run("plan", spec, "--json").out)["tables"]) == {"age_by_county", "sex_by_county"}
    universe = json.loads(run("audit", "universe", spec, "--json").out)
    assert universe["semi_adjacency"] == 2
    assert universe["tables"]["age_by_county"]["cells"] == 6
    assert "With the invariants of all tables" in run("audit", "universe", spec).out


@pytest.mark.parametrize("command", [["compare"], ["audit", "exposure"]])
def test_what_is_for_one_table_is_refused(run: Run, spec: Path, command: list[str]) -> None:
    done = run(*command, spec)
    assert (done.code, done.out) == (2, "")
    assert "this is for a spec of one table" in done.err


def test_post_processing_is_for_one_table(run: Run, spec: Path, tmp_path: Path) -> None:
    run("release", spec, "--out", tmp_path / "out")
    done = run("postprocess", tmp_path / "out", "--method", "rounded-l2", "--output", tmp_path / "p")
    assert done.code == 2
    assert "several tables" in done.err
    assert "by a spec of its own" in done.err  # there is no option that names one
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('epsilon = "1"', "", "epsilon is missing: give the budget"),
        ('epsilon = "1"', 'standard = "gaussian"\nmu = "1"', "in place of mu, or name = 'lattice-gaussian'"),
        ('cells = ["county", "sex"]', 'cells = ["county", "sx"]', "'sx'"),
        ("[budget]", '[mechanism]\nname = "noisy-count"\n[budget]', "releases no table"),
        ("[budget]", '[mechanism]\nname = "topdown"\n[budget]', "add [data.geography]"),
        ('epsilon = "1"', 'epsilon = "1"\ndistance = 1', "does not cover one person"),
        (
            'margin = ["county"]',
            'margin = ["county", "age"]',
            "'age_by_county': the invariants leave",
        ),
    ],
)
def test_errors_are_one_sentence_and_nothing_is_written(
    run: Run, tmp_path: Path, old: str, new: str, words: str
) -> None:
    assert old in SPEC
    done = run("release", write_people(tmp_path, SPEC.replace(old, new, 1)), "--out", tmp_path / "out")
    assert done.code == 2
    assert words in done.err
    assert not (tmp_path / "out").exists()
