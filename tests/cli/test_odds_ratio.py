"""`holdfast test odds-ratio`: a private test, which is a release with a certificate and a charge."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from holdfast.outputs import StatisticOutput

TABLE = ("10", "2", "3", "15")


def test_json(run: Run) -> None:
    arguments = (*TABLE, "--epsilon", "1", "--alternative", "greater", "--seed", "7", "--json")
    outcome = run("test", "odds-ratio", *arguments)
    assert outcome.code == 0
    report = json.loads(outcome.out)
    assert 0 < report["p_value"] < 1
    assert abs(report["statistic"] - 10) < 10
    assert report["alternative"] == "greater"
    assert report["margins"] == {"rows": [12, 18], "columns": [13, 17]}
    assert report["decision"] == ("reject" if report["p_value"] <= report["level"] else "do not reject")
    assert report["confidence_interval"][1] is None
    assert report["secure"] is False
    guarantee = report["guarantee"]
    assert guarantee["intensity"] == {"epsilon": "1"}
    assert guarantee["unit"] == {"name": "record", "adjacency": "semi", "distance": 3}
    assert {"statement", "scope", "standard", "evidence"} <= guarantee.keys()
    assert run("test", "odds-ratio", *arguments).out == outcome.out


def test_from_the_system(run: Run) -> None:
    outcomes = [run("test", "odds-ratio", *TABLE, "--epsilon", "1/2", "--json") for _ in range(2)]
    one, other = (json.loads(outcome.out) for outcome in outcomes)
    assert one["secure"] is True
    assert one["statistic"] != other["statistic"]


@pytest.mark.parametrize(
    ("budget", "standard"),
    [
        (["--epsilon", "1", "--delta", "1e-6"], "approximate"),
        (["--mu", "1/2"], "gaussian"),
        (["--rho", "0.125"], "zcdp"),
    ],
)
def test_standards(run: Run, budget: list[str], standard: str) -> None:
    arguments = (*TABLE, *budget, "--alternative", "two-sided", "--null", "2", "--seed", "1", "--json")
    report = json.loads(run("test", "odds-ratio", *arguments).out)
    assert report["guarantee"]["standard"] == standard
    assert report["null"] == 2


def test_text(run: Run) -> None:
    outcome = run("test", "odds-ratio", *TABLE, "--epsilon", "1", "--alternative", "less", "--seed", "1")
    assert outcome.code == 0
    for words in (
        "row totals 12 and 18",
        "less than 1?",
        "at level 0.05",
        "exp(1) = 2.72",
    ):
        assert words in " ".join(outcome.out.split())
    assert "PROTECTS NOBODY" in outcome.err
    assert "protects nobody" not in run("test", "odds-ratio", *TABLE, "--mu", "1").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-1", "2", "3", "4", "--epsilon", "1"], "x11 is -1"),
        (["1", "2.5", "3", "4", "--epsilon", "1"], "x12 is '2.5'"),
        (["1", "2", "3", "9999999999", "--epsilon", "1"], "x22 is 9999999999"),
        (["0", "0", "3", "4", "--epsilon", "1"], "nothing to test"),
        ([*TABLE, "--epsilon", "0"], "--epsilon is 0"),
        ([*TABLE, "--epsilon", "1e200"], 'to "1e6"'),
        ([*TABLE, "--mu", "1e400"], "out of reach"),
        ([*TABLE], "exactly one"),
        ([*TABLE, "--epsilon", "1", "--mu", "1"], "exactly one"),
        ([*TABLE, "--mu", "1", "--delta", "1e-6"], "--delta goes with --epsilon"),
        ([*TABLE, "--epsilon", "1", "--delta", "1"], "small probability"),
        ([*TABLE, "--epsilon", "1", "--level", "1"], "level"),
        ([*TABLE, "--epsilon", "1", "--null", "1e400"], "out of reach"),
        ([*TABLE, "--epsilon", "1", "--alternative", "more"], "choose from"),
    ],
)
def test_bad_questions_get_one_sentence(run: Run, arguments: list[str], message: str) -> None:
    outcome = run("test", "odds-ratio", *arguments)
    assert outcome.code == 2
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert message in outcome.err


def test_a_test_is_a_release_like_any_other(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    outcome = run("test", "odds-ratio", *TABLE, "--epsilon", "1", "--seed", "7", "--out", out)
    assert outcome.code == 0
    assert [line for line in outcome.out.splitlines() if line.startswith("Wrote ")] == [
        f"Wrote {out / name}" for name in ("certificate.html", "certificate.json", "statistic.csv")
    ]
    assert run("verify", out).code == 0
    report = json.loads(run("test", "odds-ratio", *TABLE, "--epsilon", "1", "--seed", "7", "--json").out)
    assert StatisticOutput.read(out / "statistic.csv").values == (report["statistic"],)
    again = run("test", "odds-ratio", *TABLE, "--epsilon", "1", "--out", out)
    assert (again.code, again.out) == (2, "")
    assert "exists already" in again.err


def test_a_test_is_charged_before_it_is_drawn(run: Run, tmp_path: Path) -> None:
    account, out = tmp_path / "ledger.db", tmp_path / "out"
    assert run("ledger", "open", account, "--budget", "3/2").code == 0
    asked = ("test", "odds-ratio", *TABLE, "--epsilon", "1", "--ledger", account)
    charged = run(*asked, "--out", out)
    assert charged.code == 0
    assert f"Charged to {account}: epsilon 1 of 1.5 (3/2) spent, 0.5 (1/2) left." in charged.out
    assert run("ledger", "verify", account, "--release", out).code == 0
    refused = run(*asked, "--out", tmp_path / "two")
    assert (refused.code, refused.out) == (2, "")
    assert "1 of 1.5 (3/2)" in refused.err
    assert not (tmp_path / "two").exists()
