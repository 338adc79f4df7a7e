"""Swapping, top-down releases and weighted noise on one geography: the same tables, kept alike."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from holdfast.comparison import places as module
from holdfast.comparison.compare import compare
from holdfast.comparison.contenders import simulated
from holdfast.comparison.place_errors import PlaceComparison, PlaceErrors
from holdfast.comparison.segregation import dissimilarity
from holdfast.comparison.swap_report import SwapComparison
from holdfast.mechanisms.catalogue import AnyMechanism
from holdfast.mechanisms.mechanism import DrawArray
from holdfast.spec.model import Spec
from holdfast.system.errors import SamplingError, SpecError

SWAP, TOPDOWN, WEIGHTED = "permutation-swapping", "topdown", "lattice-gaussian, weighted by level"
AT_RHO, STAND_IN = "topdown at rho 0.6684", "anchored-laplace"
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
    assert [row.label for row in found.rows] == [SWAP, TOPDOWN, AT_RHO, WEIGHTED]
    assert found.kept == ("tract", "state by tenure")
    assert found.attributes == ("state", "county", "tract", "tenure")
    assert places(found).levels == ("state", "county", "tract")
    assert places(found).sizes == (2, 4, 12)
    for row in found.rows:
        assert list(row.blocks) == ["domain", "scope", "unit", "standard", "intensity"]
        assert row.errors is not None
        assert row.errors.kept
    assert [row.nonnegative for row in found.rows] == [True, True, True, False]
    (pair,) = [pair for pair in found.pairs if {pair.one, pair.other} == {SWAP, TOPDOWN}]
    assert pair.stronger == TOPDOWN


def test_levels_of_the_key_are_exact_and_others_are_not(found: SwapComparison) -> None:
    for row in by_name(found).values():
        errors: dict[str, float] = {}
        for each in row.by_population:
            errors[each.level] = max(errors.get(each.level, 0.0), each.mean_absolute_error)
        assert errors["state"] == 0
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
    assert len(rows[SWAP].exposed) == 2  # no household is released as it is
    (together, kept), *others = places(found).left_open
    assert together == (SWAP, TOPDOWN, AT_RHO, WEIGHTED)
    assert kept == "exact are the counts of tract and of state by tenure"
    assert [names for names, _ in others] == [(SWAP,)]


def test_a_geography_of_one_column_is_the_same_tree() -> None:
    found = compare(spec(PREFIXES), [SWAP], data=households(), draws=20)
    assert isinstance(found, SwapComparison)
    assert places(found).levels == ("state", "county", "tract")
    assert found.kept == ("tract", "tenure")


def test_measurements_alone_keep_nothing() -> None:
    found = compare(spec(), ["naive-gaussian"], data=households(), draws=20)
    assert isinstance(found, SwapComparison)
    (row,) = places(found).rows
    assert row.exposed == ()
    assert next(each for each in row.by_population if each.level == "state").mean_absolute_error > 0


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
    assert [row["mechanism"] for row in told["rows"]] == [SWAP, TOPDOWN, AT_RHO, WEIGHTED]
    assert {"level", "attribute", "index", "true", "mean", "negative"} == set(
        told["rows"][0]["segregation"][0]
    )
    assert told["levels"][-1] == {"level": "tract", "places": 12}


def test_indices_of_what_is_kept_are_those_of_the_data() -> None:
    """Noise on the lattice leaves cells below 0 and their sums as they are."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "block": rng.integers(1, 21, 200),
            "grp": rng.choice(["A", "B"], 200),
            "inc": rng.choice(list("pqrs"), 200),
        }
    )
    swap = {"name": SWAP, "stratify": ["grp"], "swap": ["block"]}
    asked = Spec.of(
        {
            "data": {"cells": ["grp", "inc"], "geography": {"columns": ["block"]}},
            "privacy": {"unit": "household", "adjacency": "unit", "epsilon": "3"},
            "mechanism": swap,
        }
    )
    found = compare(asked, [SWAP, "lattice-gaussian"], data=frame, draws=20)
    assert isinstance(found, SwapComparison)
    for row in places(found).rows:
        told = {(one.attribute, one.index): one for one in row.segregation}
        for index in ("dissimilarity", "entropy"):
            assert told["grp", index].mean == told["grp", index].true > 0
            assert told["grp", index].negative == 0
            assert told["inc", index].mean != told["inc", index].true
        assert (told["inc", "entropy"].negative > 0) == (row.mechanism == WEIGHTED)
        if row.negative is None:
            assert row.mechanism == SWAP
        else:
            assert "of inc by block are below 0, and its indices take them for 0" in row.negative


def test_noise_is_compared_at_one_standard(found: SwapComparison) -> None:
    rows = {row.label: row for row in found.rows}
    pure, at_rho, weighted = (rows[name].promise for name in (TOPDOWN, AT_RHO, WEIGHTED))
    assert pure is not None
    assert at_rho is not None
    assert weighted is not None
    assert at_rho.intensity.parameters() == weighted.intensity.parameters() != pure.intensity.parameters()
    epsilon = rows[SWAP].blocks["intensity"]
    assert found.standards[:2] == (
        f"at {epsilon}: {SWAP}; {TOPDOWN}",
        f"at rho 0.6684: {AT_RHO}; {WEIGHTED}",
    )
    errors = by_name(found)
    assert errors[TOPDOWN].by_population != errors[AT_RHO].by_population
    about = [names for names, words in found.notes if words.startswith("converted: this rho implies epsilon")]
    assert about == [(AT_RHO, WEIGHTED)]


def test_what_takes_too_long_has_a_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise that is too narrow to be drawn gives way to noise that is drawn at any size, at one epsilon."""
    monkeypatch.setattr(module, "simulated", narrow)
    found = compare(spec(), data=households(), draws=20)
    assert isinstance(found, SwapComparison)
    assert [row.label for row in found.rows] == [SWAP, TOPDOWN, STAND_IN]
    row = found.rows[-1]
    assert row.note == f"shown in place of {WEIGHTED}, which takes too long to be drawn exactly on this table"
    assert list(row.blocks) == ["domain", "scope", "unit", "standard", "intensity"]
    assert row.blocks["intensity"] == found.rows[0].blocks["intensity"]
    assert row.errors is not None
    assert row.errors.kept
    assert len(found.standards) == 1
    named = compare(spec(), ["lattice-gaussian", STAND_IN], data=households(), draws=20)
    assert isinstance(named, SwapComparison)
    assert [row.label for row in named.rows] == [WEIGHTED, STAND_IN]
    assert named.rows[0].note == "cannot be used: a draw takes too long"


def narrow(mechanism: AnyMechanism, *given: Any) -> Iterator[DrawArray]:
    if mechanism.name == "lattice-gaussian":
        raise SamplingError("a draw takes too long: write other options of tables.")
    return simulated(mechanism, *given)


def test_five_building_blocks_stand_side_by_side(found: SwapComparison) -> None:
    blocks = found.building_blocks
    assert list(blocks) == [
        "domain",
        "scope",
        "unit",
        "standard",
        "intensity",
        "swap rate",
        "largest stratum",
    ]
    assert blocks["standard"] == ("pure", "pure", "zcdp", "zcdp")
    assert blocks["swap rate"] == ("0.2 (1/5)", "", "", "")
    assert blocks["largest stratum"][0] == f"{found.swap['largest_stratum']} households"


def test_no_bias_is_nothing_but_zero(found: SwapComparison) -> None:
    for row in by_name(found).values():
        assert {one.words for one in row.bias if one.level == "state"} == {"0"}
        assert all("e" not in one.words for one in row.bias)


def test_other_noise_may_be_named(found: SwapComparison) -> None:
    """Pure noise on the lattice is weighted in the norm that queries go with."""
    pure = compare(spec(), ["lattice-laplace", TOPDOWN], data=households(), draws=20)
    assert isinstance(pure, SwapComparison)
    assert [row.label for row in pure.rows] == ["lattice-laplace, weighted by level", TOPDOWN]
    assert {row.blocks["intensity"] for row in pure.rows} == {found.rows[0].blocks["intensity"]}
