"""`holdfast audit universe`."""

import json
from pathlib import Path

from tests.cli.conftest import Run


def test_the_example_as_json(run: Run, example: Path) -> None:
    outcome = run("audit", "universe", example, "--json")
    report = json.loads(outcome.out)
    assert outcome.code == 0
    assert {key: report[key] for key in ("dimension", "cells", "invariants")} == {
        "dimension": 9,
        "cells": 16,
        "invariants": 7,
    }
    assert (report["semi_adjacency"]["worst_case"], report["semi_adjacency"]["exact"]) == (3, True)
    assert isinstance(report["semi_adjacency"]["literal"], int)
    assert {key: report["sensitivity"][key] for key in ("l1", "l2_squared", "linf")} == {
        "l1": 6,
        "l2_squared": 6,
        "linf": 1,
    }


def test_the_example_in_words(run: Run, example: Path) -> None:
    words = " ".join(run("audit", "universe", example).out.split())
    assert "Cells 16 Independent invariants 7 Dimensions left open 9" in words
    assert "Semi-adjacency, worst case 3" in words
    assert "one possible table" not in words


def test_it_says_when_nothing_is_left_to_protect(run: Run, example: Path) -> None:
    example.write_text(example.read_text().replace('margin = ["county"]', 'margin = ["county", "education"]'))
    outcome = run("audit", "universe", example)
    assert outcome.code == 0
    assert "The invariants leave one possible table: nothing is left to protect." in outcome.out


def one_table(example: Path) -> Path:
    example.write_text(example.read_text().replace('margin = ["county"]', 'margin = ["county", "education"]'))
    return example


def test_both_distances_are_told_of_one_table(run: Run, example: Path) -> None:
    words = " ".join(run("audit", "universe", one_table(example)).out.split())
    assert "worst case 0 for this table; 2 for people who may exchange places" in words
    assert "a_min 2" in words
    assert "a_maxmin 2" in words
    report = json.loads(run("audit", "universe", example, "--json").out)
    assert (report["semi_adjacency"]["worst_case"], report["labelled"]["worst_case"]) == (0, 2)


def test_an_advertised_guarantee_is_read_for_people(run: Run, example: Path) -> None:
    asked = ("audit", "guarantee", one_table(example), "--rho", "2.56", "--delta", "1e-10", "--json")
    report = json.loads(run(*asked).out)
    assert (report["semi_adjacency"], report["effective"]["rho"]) == (2, 10.24)
    assert round(report["advertised"]["epsilon"], 5) == 17.91528
    assert round(report["effective"]["epsilon"], 5) == 40.95057


def test_no_guarantee_is_read_where_all_people_are_alike(run: Run, example: Path, tmp_path: Path) -> None:
    (tmp_path / "children.csv").write_text("county,education,children\nAlpha,Low,4\nBeta,Low,0\n")
    outcome = run("audit", "guarantee", one_table(example), "--epsilon", "1")
    assert outcome.code == 2
    assert "all people have the same values" in outcome.err
