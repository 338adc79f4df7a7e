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
    assert {line["unit"] for line in report["lines"]} == {"person", "housing unit"}
    assert [total["rho"] for total in report["totals"]] == [2.63, 15.29]
    assert report["sources"]
    assert "<svg" in picture.read_text()
    said = run("audit", "census-2020").out
    assert "40.95057" in said
    assert "rho 2.63, advertised for the redistricting file, is a sum: 2.56 (person" in said
    table = said[said.index("building blocks") : said.index("\nExact in 2020")].splitlines()[1:]
    assert table[0].split() == ["system", *report["systems"][0]["building_blocks"], "source"]
    assert max(map(len, table)) <= 120
    words = " ".join(said.split())
    assert all(kept in words for kept in report["systems"][0]["invariants"])
    for system in report["systems"]:
        assert all(source in words for source in system["sources"])
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


def test_a_swap_rate_is_read_as_an_epsilon(run: Run, tmp_path: Path) -> None:
    outcome = run("audit", "swapping", "--stratum-size", "264331", "--rate", "0.5", "--json")
    report = json.loads(outcome.out)
    assert outcome.code == 0
    assert report["stratum_size"] == 264331
    assert report["rate"] == "1/2"
    assert round(report["epsilon"], 5) == 12.48496
    assert report["epsilon_tight"] < report["epsilon"] < report["epsilon_tight"] + 1e-4
    assert round(report["smallest_epsilon"], 5) == 6.24248
    assert report["smallest_epsilon_tight"] < report["smallest_epsilon"]
    assert "rates" not in report
    written = tmp_path / "swapping.json"
    assert "12.48496" in run("audit", "swapping", "--stratum-size", "264331", "--rate", "1/2").out
    run("audit", "swapping", "--stratum-size", "264331", "--rate", "1/2", "--out", written)
    assert json.loads(written.read_text()) == report


def test_an_epsilon_is_read_as_two_swap_rates(run: Run) -> None:
    asked = ("audit", "swapping", "--stratum-size", "264331", "--epsilon", "14")
    report = json.loads(run(*asked, "--json").out)
    assert report["rate"] is report["epsilon"] is report["epsilon_tight"] is None
    assert report["target"] == 14
    assert report["rates"] == pytest.approx([0.1801932, 0.9999991685], abs=1e-7)
    assert report["rates_tight"][0] < report["rates"][0]
    for rate in report["rates"]:
        again = run("audit", "swapping", "--stratum-size", "264331", "--rate", repr(rate), "--json")
        assert 14 - 1e-6 < json.loads(again.out)["epsilon"] <= 14
    words = run(*asked).out
    assert "0.1801932" in words
    assert "fewer records move" in words
    both = json.loads(run(*asked, "--rate", "1/2", "--json").out)
    assert both["rates"] == report["rates"]
    assert both["rate"] == "1/2"


def test_the_smallest_epsilon_can_be_asked_for(run: Run) -> None:
    for size in ("2", "3", "50", "264331"):
        least = json.loads(run("audit", "swapping", "--stratum-size", size, "--json").out)["smallest_epsilon"]
        asked = run("audit", "swapping", "--stratum-size", size, "--epsilon", repr(least), "--json")
        low, up = json.loads(asked.out)["rates"]
        assert low <= up < low + 1e-9


def test_usual_rates_are_told_where_nothing_is_asked(run: Run) -> None:
    report = json.loads(run("audit", "swapping", "--stratum-size", "264331", "--json").out)
    told = [(one["rate"], round(one["epsilon"], 2)) for one in report["usual_rates"]]
    assert told == [("1/100", 17.08), ("1/20", 15.43), ("1/10", 14.68), ("1/2", 12.48)]


def test_a_long_rate_fits_its_row(run: Run, tmp_path: Path) -> None:
    rate = f"{10**300 + 1}/{3 * 10**300}"
    asked = ("audit", "swapping", "--stratum-size", "9", "--rate", rate)
    words = run(*asked, "--picture", tmp_path / "curves.svg").out
    assert max(map(len, words.splitlines())) < 200
    assert json.loads(run(*asked, "--json").out)["rate"] == rate


def test_the_curves_of_swapping_are_drawn(run: Run, tmp_path: Path) -> None:
    picture = tmp_path / "curves.svg"
    asked = ("audit", "swapping", "--stratum-size", "1000", "--rate", "1/20", "--epsilon", "8", "--picture")
    assert f"Wrote {picture}" in run(*asked, picture).out
    assert "<svg" in picture.read_text()
    assert run(*asked, tmp_path / "curves.doc").code == 2
    assert run(*asked, tmp_path / "nowhere" / "curves.png").code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rate", "1/2"], "--stratum-size"),
        (["--stratum-size", "0"], "not in the range"),
        (["--stratum-size", "x"], "not a whole number"),
        (["--stratum-size", "1"], "at least 2"),
        (["--stratum-size", "9", "--rate", "0"], "positive"),
        (["--stratum-size", "9", "--rate", "1"], "above 0 and below 1"),
        (["--stratum-size", "9", "--rate", "1.5"], "above 0 and below 1"),
        (["--stratum-size", "9", "--rate", "1e-10"], "out of reach"),
        (["--stratum-size", "9", "--rate", "abc"], "--rate is 'abc'"),
        (["--stratum-size", "9", "--epsilon", "-1"], "positive"),
        (["--stratum-size", "264331", "--epsilon", "6.24248"], "at least 6.242481"),
    ],
)
def test_swapping_that_cannot_be_gets_one_sentence(
    run: Run, tmp_path: Path, arguments: list[str], message: str
) -> None:
    written = ("--out", tmp_path / "report.json", "--picture", tmp_path / "curves.png")
    outcome = run("audit", "swapping", *arguments, *written)
    assert outcome.code == 2
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert message in outcome.err
    assert not list(tmp_path.iterdir())
