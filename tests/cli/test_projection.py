"""`holdfast audit projection`."""

import json

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
