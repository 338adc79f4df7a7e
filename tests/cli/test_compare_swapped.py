"""`holdfast compare` for swapped records: building blocks, errors, and what compares with what."""

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest
from matplotlib.figure import Figure
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
        "\nguarantee        permutation-swapping",
        "\nstandard         pure ",
        "\nswap rate        0.5 (1/2)\nlargest stratum  40 records\n",
        "\nAt pure epsilon 3.714: permutation-swapping; lattice-laplace.\n",
        "\nlattice-gaussian; top-down measurements (naive-gaussian): converted: ",
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
    assert report["standards"][0] == "at pure epsilon 3.714: permutation-swapping; lattice-laplace"
    assert report["rows"][0]["building_blocks"]["intensity"] == "pure epsilon 3.714"
    assert Fraction(report["rows"][0]["building_blocks"]["parameters"]["epsilon"]) < Fraction("3.714")


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


@pytest.mark.parametrize(
    ("command", "arguments", "words"),
    [
        ("compare", ("--draws", "3"), "ask for 20 or more"),
        ("compare", ("--mechanisms", "foo"), "names 'foo', which is not known"),
        ("release", ("--engine", "foo"), "there is no engine 'foo'"),
        ("release", ("--engine", "spark", "--jobs", "2"), "--jobs is for top-down releases"),
        ("release", ("--jobs", "0"), "'--jobs': 0 is not in the range from 1 to 10,000"),
        ("release", ("--jobs", "1.5"), "'--jobs': '1.5' is not a whole number in digits"),
    ],
)
def test_options_are_refused_before_the_records_are_read(
    run: Run, spec: Path, command: str, arguments: tuple[str, ...], words: str
) -> None:
    (spec.parent / "households.csv").unlink()
    out = ("--out", spec.parent / "release") if command == "release" else ()
    outcome = run(command, spec, *out, *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err


GEOGRAPHY = """
[data]
path = "households.csv"
cells = ["tenure"]
geography = { columns = ["county"] }
[privacy]
unit = "household"
adjacency = "unit"
epsilon = "5"
[mechanism]
name = "permutation-swapping"
stratify = ["size"]
swap = ["county"]
"""


def test_places_are_told_of_what_is_counted(run: Run, spec: Path) -> None:
    """No level that the file lacks, no number with an exponent, no sentence twice."""
    spec.write_text(GEOGRAPHY)
    outcome = run("compare", spec, "--draws", "20")
    assert (outcome.code, outcome.err) == (0, "")
    assert "\nlevel   households  places  permutation-swapping  topdown  topdown at rho " in outcome.out
    assert "\nErrors of county by tenure: " in outcome.out
    assert "\nintensity        pure epsilon 5 " in outcome.out
    assert "all  " not in outcome.out
    assert not re.search(r"\de[-+]\d", outcome.out.replace("1e-05", ""))
    assert outcome.out.count("exact are the counts of") == 1
    assert " 0 households" not in outcome.out


def test_hatching_is_told_of_where_there_is_some(
    run: Run, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = list[str]()
    monkeypatch.setattr(Figure, "supxlabel", lambda _, text, **__: told.append(text))
    for names in ("permutation-swapping", "naive-gaussian"):
        asked = ("compare", spec, "--draws", "20", "--mechanisms", names)
        assert run(*asked, "--picture", spec.parent / f"{names}.png").code == 0
    without, with_ = told
    assert "Hatched" not in without
    assert "Hatched: the margins are not kept." in with_
