"""`holdfast compare` for swapped records: building blocks, errors, and what compares with what."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

SPEC = """
[data]
path = "households.csv"
cells = ["county", "tenure"]
[privacy]
standard = "pure"
adjacency = "unit"
[mechanism]
name = "permutation-swapping"
stratify = ["size"]
swap = ["county"]
rate = "1/2"
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    rows = [f"{k % 3},c{k * 7 // 3 % 4},{'own' if k % 5 < 2 else 'rent'},{k}" for k in range(120)]
    (tmp_path / "households.csv").write_text("\n".join(["size,county,tenure,income", *rows]) + "\n")
    path = tmp_path / "swap.toml"
    path.write_text(SPEC)
    return path


def test_words_have_the_blocks_the_errors_and_the_pairs(run: Run, spec: Path) -> None:
    outcome = run("compare", spec, "--draws", "50")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("For the curator's eyes only")
    for words in (
        "top-down measurements (naive-gaussian)\n  domain     tables of counts of records",
        "  scope      those that share the counts of size by county and of size by all that is held\n",
        "  scope      those that share the number of records, and nothing else\n",
        "Errors of county by tenure: 8 cells, 120 records; margins that the swap keeps: county, tenure",
        "permutation-swapping and lattice-laplace: lattice-laplace is the stronger. ",
        "permutation-swapping and naive-gaussian: not comparable. ",
        "do not compare by their size",
    ):
        assert words in outcome.out


def test_json_and_the_file_say_the_same(run: Run, spec: Path) -> None:
    out = spec.parent / "report.json"
    outcome = run("compare", spec, "--draws", "50", "--json", "--out", out)
    report = json.loads(outcome.out)
    assert report == json.loads(out.read_text())
    assert report["for"].startswith("For the curator's eyes only")
    assert report["tabulation"] == {
        "cells": ["county", "tenure"],
        "size": 8,
        "records": 120,
        "kept_margins": ["county", "tenure"],
    }
    assert report["swap"]["rate"] == "1/2"
    assert report["swap"]["epsilon_tight"] < report["swap"]["epsilon"]
    assert [row["keeps_margins"] for row in report["rows"]] == [True, True, True, False]
    assert all(row["mean_absolute_percentage_error"] >= 0 for row in report["rows"])
    assert len(report["pairs"]) == 6


def test_mechanisms_are_chosen_by_name(run: Run, spec: Path) -> None:
    names = "naive-gaussian,permutation-swapping"
    report = json.loads(run("compare", spec, "--draws", "20", "--mechanisms", names, "--json").out)
    assert [row["mechanism"] for row in report["rows"]] == names.split(",")
    assert len(report["pairs"]) == 1


def test_a_picture_is_drawn(run: Run, spec: Path) -> None:
    picture = spec.parent / "c.png"
    outcome = run("compare", spec, "--draws", "20", "--picture", picture)
    assert str(picture) in outcome.out
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_picture_of_nothing_is_refused(run: Run, spec: Path) -> None:
    data = spec.parent / "households.csv"
    data.write_text(data.read_text().replace("rent", "own"))
    asked = ("compare", spec, "--draws", "20", "--mechanisms", "lattice-laplace")
    outcome = run(*asked, "--picture", spec.parent / "c.png")
    assert outcome.code == 2
    assert "nothing to draw" in outcome.err


@pytest.mark.parametrize(
    ("old", "new", "arguments", "words"),
    [
        ('cells = ["county", "tenure"]', "", (), "swap.toml, [data] cells is missing: name the columns of"),
        ('"tenure"', '"size"', (), "names no column that is held"),
        ("", "", ("--mechanisms", "k-norm"), "choose from"),
        ("", "", ("--draws", "3"), "ask for 20 or more"),
        ("", "", ("--picture", "c.txt"), "c.txt is not a picture"),
        ('"1/2"', '"0"', (), "give a rate above 0 and below 1"),
    ],
)
def test_bad_input_is_one_sentence(
    run: Run, spec: Path, old: str, new: str, arguments: tuple[str, ...], words: str
) -> None:
    spec.write_text(SPEC.replace(old, new) if old else SPEC)
    before = sorted(spec.parent.iterdir())
    outcome = run("compare", spec, *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert words in outcome.err
    assert sorted(spec.parent.iterdir()) == before
