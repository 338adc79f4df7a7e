import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run


def test_the_census_bound_of_the_paper(run: Run) -> None:
    outcome = run(
        "audit", "guarantee", "--rho", "2.56", "--semi-adjacency", "2", "--delta", "1e-10", "--json"
    )
    report = json.loads(outcome.out)
    assert outcome.code == 0
    assert round(report["advertised"]["epsilon"], 5) == 17.91528
    assert report["effective"]["rho"] == 10.24
    assert round(report["effective"]["epsilon"], 5) == 40.95057
    assert report["effective"]["epsilon_tight"] < report["effective"]["epsilon"]


def test_gaussian_guarantees(run: Run) -> None:
    report = json.loads(run("audit", "guarantee", "--mu", "1", "--delta", "1e-5", "--json").out)
    assert report["advertised"]["epsilon"] == pytest.approx(4.3772, abs=1e-3)
    outcome = run("audit", "guarantee", "--mu", "1", "--delta", "1e-5", "--semi-adjacency", "3", "--json")
    assert json.loads(outcome.out)["effective"]["mu"] == 3


def test_a_spec_gives_the_semi_adjacency(run: Run, example: Path) -> None:
    report = json.loads(run("audit", "guarantee", "--epsilon", "1/2", example, "--json").out)
    assert report["semi_adjacency"] == 3
    assert report["effective"]["epsilon"] == 1.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epsilon", "1", "--mu", "1"], "exactly one"),
        ([], "exactly one"),
        (["--rho", "1"], "--delta is missing"),
        (["--rho", "x"], "--rho is 'x'"),
        (["--rho", "0"], "positive"),
        (["--rho", "1", "--delta", "2"], "small probability"),
        (["--epsilon", "9", "--delta", "0.1", "--semi-adjacency", "9"], "leave no guarantee"),
    ],
)
def test_bad_questions_get_one_sentence(run: Run, arguments: list[str], message: str) -> None:
    outcome = run("audit", "guarantee", *arguments)
    assert outcome.code == 2
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert message in outcome.err


def test_both_orders_of_composition(run: Run) -> None:
    outcome = run(
        *("audit", "compose", "--epsilon", "1", "--mu", "1", "--semi-adjacency", "3"),
        *("--delta", "1e-6", "--json"),
    )
    report = json.loads(outcome.out)
    assert report["semi_first"]["epsilon"] < report["composition_first"]["epsilon"]
    assert report["used"] == report["semi_first"]["epsilon"]
    text = run("audit", "compose", "--epsilon", "1", "--delta", "1e-6").out
    assert "semi-DP first" in text
    assert run("audit", "compose", "--delta", "1e-6").code == 2


def test_the_story_of_the_census(run: Run, tmp_path: Path) -> None:
    picture = tmp_path / "census.svg"
    outcome = run("audit", "census-2020", "--json", "--picture", picture)
    report = json.loads(outcome.out)
    rho = {(line["product"], line["semi_adjacency"]): line["effective"]["rho"] for line in report["lines"]}
    assert rho["redistricting file, persons", 2] == 10.24
    assert rho["DHC", 2] == 61.16
    assert report["sources"]
    assert "<svg" in picture.read_text()
    assert "40.95057" in run("audit", "census-2020").out
    assert run("audit", "census-2020", "--picture", tmp_path / "census.doc").code == 2


def test_exposure_is_for_the_curator(run: Run, example: Path) -> None:
    report = json.loads(run("audit", "exposure", example, "--json").out)
    assert report["for_the_curator_only"] is True
    assert "curator" in run("audit", "exposure", example).out


def test_a_release_over_budget_writes_nothing(run: Run, example: Path) -> None:
    account = example.with_name("ledger.db")
    assert run("ledger", "open", account, "--budget", "1").code == 0
    assert run("release", example, "--out", example.with_name("one"), "--ledger", account).code == 0
    outcome = run("release", example, "--out", example.with_name("two"), "--ledger", account)
    assert outcome.code == 2
    assert "1 of 1 is spent" in outcome.err
    assert not example.with_name("two").exists()
    assert run("ledger", "verify", account).code == 0
    missing = run(
        "release", example, "--out", example.with_name("two"), "--ledger", example.with_name("no.db")
    )
    assert missing.code == 2
