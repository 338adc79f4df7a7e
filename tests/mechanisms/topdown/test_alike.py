"""Errors over classes of cells that are alike are those of all cells."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from holdfast.mechanisms.errors.counts import Counts, usual
from holdfast.mechanisms.topdown import alike
from holdfast.mechanisms.topdown.alike import AlikeCells
from holdfast.mechanisms.topdown.mechanism import TopDown
from holdfast.public import Public
from holdfast.releases.prepare import prepare
from holdfast.spec.model import Spec

RACES = ["a", "b", "c", "d", "e"]
PLACES = ["home", "prison", "school", "ship", "tent"]
KINDS = {"at home": ["home"], "kept": ["prison", "school"], "other": ["ship", "tent"]}


def mechanism(folder: Path, **more: Any) -> tuple[TopDown, Public]:
    """Return a design with a recode, and a sum that is known of one place."""
    rows = [
        f"{block},{race},{place},5" for block in ("11", "12", "21") for race, place in product(RACES, PLACES)
    ]
    (folder / "blocks.csv").write_text("\n".join(["block,race,place,people", *rows]) + "\n")
    asked: dict[str, Any] = {
        "data": {
            "path": "blocks.csv",
            "cells": ["race", "place"],
            "count": "people",
            "levels": {"race": RACES, "place": PLACES},
            "geography": {"column": "block", "prefixes": {"all": 0, "county": 1, "block": 2}},
        },
        "invariants": [{"total": True, "level": "county"}, {"where": {"place": "ship"}, "level": "county"}],
        "privacy": {"standard": "zcdp", "rho": "1", "adjacency": "unit"},
        "mechanism": {
            "name": "topdown",
            "queries": [
                {"marginal": []},
                {"marginal": ["place"], "recode": {"place": KINDS}},
                {"marginal": ["race"]},
                {"marginal": ["race", "place"]},
            ],
        },
        **more,
    }
    prepared = prepare(Spec.of(asked, folder=folder))
    assert isinstance(prepared.mechanism, TopDown)
    return prepared.mechanism, prepared.public


def test_levels_that_no_query_and_no_sum_tells_apart_are_alike(tmp_path: Path) -> None:
    found, _ = mechanism(tmp_path)
    design = found.design
    rows = [query.rows for query in design.queries] + [kept.rows for kept in design.kept]
    assert [each.tolist() for each in AlikeCells.of(design.regions, rows).stands] == [
        [0, 0, 0, 0, 0],
        [0, 1, 1, 3, 4],
    ]
    free = AlikeCells.of(design.regions, [query.rows for query in design.queries if not query.recode][:1])
    assert free.cells.reshape(5, 5).tolist() == [[0, 1, 1, 1, 1], *[[2, 3, 3, 3, 3]] * 4]
    apart = AlikeCells.of(design.regions, rows, [{"race": ("b", "c")}])
    assert apart.stands[0].tolist() == [0, 1, 1, 0, 0]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"invariants": []},
        {"privacy": {"standard": "pure", "epsilon": "4", "adjacency": "unit"}},
    ],
)
def test_errors_over_classes_are_those_of_all_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    found, public = mechanism(tmp_path, **more)
    where = (("place", ("school", "tent")), ("race", ("b", "c")))
    asked = [*usual(public), Counts(("county", "race"), where), Counts((), where[:1])]
    over_classes = found.errors(public, asked)
    monkeypatch.setattr(alike, "MOST_WORK", 0)
    of_cells = found.errors(public, asked)
    for one, other in zip(over_classes, of_cells, strict=True):
        assert one.is_exact == other.is_exact
        assert one.deviation == pytest.approx(other.deviation, rel=1e-9)
        assert one.mean_absolute == pytest.approx(other.mean_absolute, rel=0.2 if "privacy" in more else 1e-9)
