"""`holdfast audit projection`."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

ASKED = ("audit", "projection", "--people", "20", "--null", "0.3", "--alternative", "0.5")


def test_bounds_cost_nothing_and_a_total_does(run: Run) -> None:
    bounds = json.loads(run(*ASKED, "--epsilon", "1/10", "--json").out)
    total = json.loads(run(*ASKED, "--epsilon", "1/5", "--design", "total", "--json").out)
    assert (bounds["rate"], total["rate"]) == (0.1, 0.1)
    assert bounds["powers"][0]["lost"] == pytest.approx(0, abs=1e-9)
    assert total["powers"][0]["lost"] == pytest.approx(0.0207, abs=1e-4)


def test_words_say_what_is_lost(run: Run) -> None:
    assert "costs no power" in run(*ASKED, "--epsilon", "1/10").out
    outcome = run(*ASKED, "--epsilon", "1/5", "--design", "total", "--draws", "2000", "--seed", "1")
    assert "up to 0.0207 of power" in outcome.out
    assert outcome.out.count("simulated") == 2


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (("--epsilon", "0"), "positive"),
        (("--epsilon", "1", "--design", "totals"), "did you mean 'total'?"),
        (("--epsilon", "1", "--alternative", "0.1"), "larger alternatives"),
        (("--epsilon", "1", "--level", "2"), "no probability"),
        (("--epsilon", "1", "--delta-z", "x"), "--delta-z is 'x'"),
    ],
)
def test_bad_questions_get_one_sentence(run: Run, more: tuple[str, ...], complaint: str) -> None:
    outcome = run(*ASKED, *more)
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    assert complaint in outcome.err


@pytest.fixture
def two(tmp_path: Path) -> Path:
    (tmp_path / "two.csv").write_text("answer,people\nno,3\nyes,2\n")
    spec = tmp_path / "two.toml"
    spec.write_text(
        '[data]\npath = "two.csv"\ncells = ["answer"]\ncount = "people"\n'
        '[[invariants]]\ntotal = true\n[privacy]\nepsilon = "1"\n'
    )
    return spec


def test_a_table_and_a_projection_of_ones_own(run: Run, two: Path, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("1,0\n-1,0\n")
    asked = ("audit", "projection", two, "--epsilon", "1")
    orthogonal = json.loads(run(*asked, "--json").out)
    own = json.loads(run(*asked, "--projection", tmp_path / "one.csv", "--json").out)
    assert [report["projection"] for report in (orthogonal, own)] == ["l2", "one.csv"]
    one, other = (report["powers"][0] for report in (orthogonal, own))
    assert one["difference"] == other["difference"] == [1, -1]
    assert one["released"] == other["released"]
    assert 0 < one["lost"] < other["lost"]  # the middle of two counts tells more than one of them
    assert "+1 -1" in run(*asked).out


@pytest.mark.parametrize(
    ("file", "more", "complaint"),
    [
        ("1,0\n0,1\n", (), "does not keep the invariants"),
        ("1,x\n", (), "line 1"),
        ("1,1/0\n", (), "line 1"),
        (None, (), "give l2, or a file with a matrix"),
        ("1,0\n-1,0\n", ("--people", "20"), "leave out one of the two"),
    ],
)
def test_bad_projections_get_one_sentence(
    run: Run, two: Path, tmp_path: Path, file: str | None, more: tuple[str, ...], complaint: str
) -> None:
    if file is not None:
        (tmp_path / "own.csv").write_text(file)
    outcome = run("audit", "projection", two, "--epsilon", "1", "--projection", tmp_path / "own.csv", *more)
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    assert complaint in outcome.err


def test_a_table_or_people_are_needed(run: Run) -> None:
    outcome = run("audit", "projection", "--epsilon", "1")
    assert outcome.code == 2
    assert "give --people, --null and --alternative, or a spec" in outcome.err
