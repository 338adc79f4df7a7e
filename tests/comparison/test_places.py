"""Swapping, top-down releases and weighted noise on one geography: the same tables, kept alike."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from holdfast.comparison.compare import compare
from holdfast.comparison.place_errors import PlaceComparison, PlaceErrors
from holdfast.comparison.segregation import dissimilarity
from holdfast.comparison.swaps import SwapComparison
from holdfast.spec.model import Spec
from holdfast.system.errors import SpecError

SWAP, TOPDOWN, WEIGHTED = "permutation-swapping", "topdown", "lattice-gaussian, weighted by level"
COLUMNS = {"columns": ["state", "county", "tract"]}
PREFIXES = {"column": "tract", "prefixes": {"state": 1, "county": 2, "tract": 3}}


def households() -> pl.DataFrame:
    """Return households of two states with two counties of three tracts; owners live in the last of these."""
    rng = np.random.default_rng(0)
    tracts = [f"{s}{c}{t}" for s in "AB" for c in "12" for t in "123"]
    codes = np.repeat(tracts, rng.integers(8, 40, size=len(tracts)))
    own = rng.random(codes.size) < 0.2 + 0.2 * np.array([int(code[2]) for code in codes])
    return pl.DataFrame(
        {
            "tract": codes,
            "state": [code[0] for code in codes],
            "county": [code[:2] for code in codes],
            "size": rng.integers(1, 3, size=codes.size),
            "tenure": np.where(own, "own", "rent"),
            "number": np.arange(codes.size),
        }
    )


def spec(geography: dict[str, Any] | None = None, nulls: str = "error", **data: Any) -> Spec:
    geography = COLUMNS if geography is None else geography
    swap = ["county"] if "columns" in geography else ["tract"]
    return Spec.of(
        {
            "data": {"cells": ["tenure"], "geography": geography, **data},
            "privacy": {"unit": "household", "adjacency": "unit"},
            "mechanism": {
                "name": SWAP,
                "stratify": ["state", "size"] if "columns" in geography else ["size"],
                "swap": swap,
                "rate": "1/5",
                "nulls": nulls,
            },
        }
    )


@pytest.fixture(scope="module")
def found() -> SwapComparison:
    comparison = compare(spec(), data=households(), draws=40)
    assert isinstance(comparison, SwapComparison)
    return comparison


def places(comparison: SwapComparison) -> PlaceComparison:
    assert comparison.places is not None
    return comparison.places


def by_name(comparison: SwapComparison) -> dict[str, PlaceErrors]:
    return {row.mechanism: row for row in places(comparison).rows}


def test_the_usual_three_keep_what_the_swap_keeps(found: SwapComparison) -> None:
    assert [row.label for row in found.rows] == [SWAP, TOPDOWN, WEIGHTED]
    assert found.kept == ("tract", "state by tenure")
    assert places(found).levels == ("all", "state", "county", "tract")
    assert places(found).sizes == (1, 2, 4, 12)
    for row in found.rows:
        assert list(row.blocks) == ["domain", "scope", "unit", "standard", "intensity"]
        assert row.errors is not None
        assert row.errors.kept
    assert [row.nonnegative for row in found.rows] == [True, True, False]
    (pair,) = [pair for pair in found.pairs if {pair.one, pair.other} == {SWAP, TOPDOWN}]
    assert pair.stronger == TOPDOWN


def test_levels_of_the_key_are_exact_and_others_are_not(found: SwapComparison) -> None:
    for row in by_name(found).values():
        errors: dict[str, float] = {}
        for each in row.by_population:
            errors[each.level] = max(errors.get(each.level, 0.0), each.mean_absolute_error)
        assert (errors["all"], errors["state"]) == (0, 0)
        assert errors["county"] > 0
        assert errors["tract"] > 0
        counted: dict[str, int] = {}
        for each in row.by_population:
            counted[each.level] = counted.get(each.level, 0) + each.places
        assert tuple(counted.values()) == places(found).sizes


def test_biases_of_a_level_add_up_to_nothing(found: SwapComparison) -> None:
    """Totals of places are kept, so that what some counts gain others lose."""
    for row in by_name(found).values():
        for level in ("county", "tract"):
            some = [each for each in row.bias if each.level == level]
            assert sum(each.bias * each.counts for each in some) == pytest.approx(0, abs=1e-9)
            assert sum(each.counts for each in some) == {"county": 8, "tract": 24}[level]


def test_a_swap_makes_places_alike(found: SwapComparison) -> None:
    frame = households()
    table = frame.pivot("tenure", index="tract", values="number", aggregate_function="len").fill_null(0)
    true = dissimilarity(table.select("own", "rent").to_numpy())
    for name, row in by_name(found).items():
        (told,) = [one for one in row.segregation if (one.level, one.index) == ("tract", "dissimilarity")]
        assert told.true == pytest.approx(true)
        if name == SWAP:
            assert told.mean < 0.95 * true
        else:
            assert abs(told.mean - true) < 0.05 * true


def test_what_each_leaves_open(found: SwapComparison) -> None:
    rows = by_name(found)
    assert rows[TOPDOWN].exposed == rows[WEIGHTED].exposed
    assert rows[SWAP].exposed[:1] == rows[TOPDOWN].exposed
    assert rows[SWAP].exposed[1] == "every household is released with its own state, size, tenure, number"
    assert "0 households alone in a stratum" in rows[SWAP].exposed[2]


def test_a_geography_of_one_column_is_the_same_tree() -> None:
    found = compare(spec(PREFIXES), [SWAP], data=households(), draws=20)
    assert isinstance(found, SwapComparison)
    assert places(found).levels == ("all", "state", "county", "tract")
    assert found.kept == ("tract", "tenure")


def test_measurements_alone_keep_nothing() -> None:
    found = compare(spec(), ["naive-gaussian"], data=households(), draws=20)
    assert isinstance(found, SwapComparison)
    (row,) = places(found).rows
    assert row.exposed == ()
    assert next(each for each in row.by_population if each.level == "all").mean_absolute_error > 0


def test_what_cannot_be_compared_is_said(tmp_path: Path) -> None:
    del tmp_path
    with pytest.raises(SpecError, match="cells is missing: name the columns that each place is counted by"):
        compare(spec(cells=[]), data=households(), draws=20)
    with pytest.raises(SpecError, match="names 'k-norm', which is not known"):
        compare(spec(), ["k-norm"], data=households(), draws=20)
    twice = households().with_columns(tract=pl.col("tract").str.slice(1))
    with pytest.raises(SpecError, match="has the tract '11' in two places: give each a code of its own"):
        compare(spec(), data=twice, draws=20)
    lacking = households().with_columns(
        tract=pl.when(pl.col("tract").str.ends_with("1")).then(None).otherwise(pl.col("tract"))
    )
    with pytest.raises(
        SpecError, match=r"lack their tract in more than one county: give them one in the file"
    ):
        compare(spec(nulls="level"), data=lacking, draws=20)


def test_the_report_is_plain_values(found: SwapComparison) -> None:
    told = found.to_dict()["places"]
    assert [row["mechanism"] for row in told["rows"]] == [SWAP, TOPDOWN, WEIGHTED]
    assert {"level", "attribute", "index", "true", "mean"} == set(told["rows"][0]["segregation"][0])
    assert told["levels"][-1] == {"level": "tract", "places": 12}
