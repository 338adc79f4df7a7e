"""`holdfast compare`: a table, JSON and a picture; nothing is released."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

NAMES = "lattice-laplace,lattice-gaussian,naive-laplace,naive-gaussian"


def test_the_table_names_errors_conversions_and_a_choice(run: Run, example: Path) -> None:
    outcome = run("compare", example, "--mechanisms", NAMES, "--draws", "100")
    assert (outcome.code, outcome.err) == (0, "")
    for words in (
        "at pure epsilon 1, at most 3 records apart",
        "lattice-laplace",
        "naive-gaussian",
        "Mean absolute error of margins",
        "implies epsilon 1 and delta 1e-05, which is weaker than pure epsilon 1.",
        "Choose lattice-laplace: lattice-laplace has the smallest error of a cell",
    ):
        assert words in outcome.out


def test_json_has_every_row(run: Run, example: Path) -> None:
    report = json.loads(run("compare", example, "--mechanisms", NAMES, "--draws", "100", "--json").out)
    assert report["target"] == {"standard": "pure", "epsilon": "1", "adjacency": "semi", "records": 3}
    assert report["choice"] == "lattice-laplace"
    assert [row["l2"] for row in report["rows"]] == sorted(row["l2"] for row in report["rows"])
    assert {row["mechanism"] for row in report["rows"]} == set(NAMES.split(","))
    for row in report["rows"]:
        assert {
            *("mechanism", "standard", "intensity", "converted", "keeps_invariants", "integer", "exact"),
            *("l1", "l2", "max", "cell", "margins", "standard_error", "note"),
        } <= set(row)
        assert set(row["standard_error"]) == {"l1", "l2", "max", "cell"}


def test_unless_asked_the_usual_ones_are_compared(run: Run, example: Path) -> None:
    report = json.loads(run("compare", example, "--draws", "20", "--json").out)
    assert len(report["rows"]) == 8
    assert report["choice"] in {"k-norm", "lattice-laplace"}


def test_the_seed_decides_the_figures(run: Run, example: Path) -> None:
    asked = ("compare", example, "--mechanisms", "naive-laplace", "--draws", "50", "--json")
    assert run(*asked, "--seed", "1").out == run(*asked, "--seed", "1").out != run(*asked, "--seed", "2").out


@pytest.mark.parametrize(("name", "start"), [("c.png", b"\x89PNG"), ("c.svg", b"<?xml")])
def test_a_picture_is_drawn(run: Run, example: Path, name: str, start: bytes) -> None:
    picture = example.parent / name
    outcome = run("compare", example, "--mechanisms", NAMES, "--draws", "50", "--picture", picture)
    assert outcome.code == 0
    assert str(picture) in outcome.out
    assert picture.read_bytes().startswith(start)


def test_nothing_is_written_unless_asked(run: Run, example: Path) -> None:
    before = sorted(example.parent.iterdir())
    assert run("compare", example, "--mechanisms", "naive-laplace", "--draws", "20").code == 0
    assert sorted(example.parent.iterdir()) == before


def test_what_cannot_be_used_is_said(run: Run, example: Path) -> None:
    example.write_text(example.read_text().replace('adjacency = "semi"', 'adjacency = "unit"'))
    outcome = run("compare", example, "--mechanisms", "k-norm", "--draws", "20")
    assert outcome.code == 0
    assert "k-norm: cannot be used: k-norm is made for the differences at one distance" in outcome.out
    assert "No choice: none of these mechanisms can keep every invariant" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--mechanisms", "lattice-laplase"), "did you mean 'lattice-laplace'?"),
        (("--mechanisms", "zzz"), "choose from"),
        (("--mechanisms", " , "), "names none"),
        (("--mechanisms", "k-norm", "--draws", "3"), "ask for 20 or more"),
        (("--mechanisms", "k-norm", "--picture", "c.txt"), "c.txt is not a picture"),
        (
            ("--mechanisms", "naive-laplace", "--draws", "20", "--picture", "no/such/c.png"),
            "name another place",
        ),
    ],
)
def test_bad_input_is_one_sentence(run: Run, example: Path, arguments: tuple[str, ...], words: str) -> None:
    outcome = run("compare", example, *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert words in outcome.err


def test_a_picture_of_nothing_is_refused(run: Run, example: Path) -> None:
    example.write_text(example.read_text().replace('adjacency = "semi"', 'adjacency = "unit"'))
    outcome = run("compare", example, "--mechanisms", "k-norm", "--picture", example.parent / "c.png")
    assert outcome.code == 2
    assert "nothing to draw" in outcome.err
