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
