"""Whole counts from measurements of others keep all that is known, and are ours for our own."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.inference.opened import other
from tests.mechanisms.topdown.small import spec

import holdfast as hf
from holdfast.system.errors import InvariantError, ReleaseError, SpecError

INFINITE = float("inf")
PASSES = [["total"], ["colour"]]


def counted(folder: Path, level: str) -> np.ndarray:
    frame = hf.estimate(folder, level=level).to_frame()
    assert frame.columns == [level, "colour", "size", "count"]
    return frame["count"].to_numpy().reshape(-1, 6)


def test_known_sums_bounds_and_levels_are_kept(tmp_path: Path) -> None:
    known = other.constraints()
    hf.open_measurements(other.layout(tmp_path / "in", other.measured(), known), tmp_path / "out")
    tables = {level: counted(tmp_path / "out", level) for level in other.CODES}
    true = other.truth()
    assert (tables["State"].sum(), tables["US"].sum()) == (true["State"].sum(), true["US"].sum())
    colours = other.rows_of("colour").T
    assert (tables["County"] @ colours <= true["County"] @ colours).all()
    for level, codes in other.CODES.items():
        assert (tables[level] >= 0).all()
        sums = [tables["Block"][other.inside(level, code)].sum(axis=0) for code in codes]
        assert np.array_equal(tables[level], np.stack(sums))
    assert hf.estimate(tmp_path / "out").kept == 2


def test_an_invariant_of_some_nodes_is_kept_and_said(tmp_path: Path) -> None:
    one = {**other.constraints()[0], "level": "County", "geocode": "044003", "value": [777]}
    hf.open_measurements(other.layout(tmp_path / "in", other.measured(), [one]), tmp_path / "out")
    report = hf.estimate(tmp_path / "out", level="County")
    assert report.counts.sum(axis=1)[1] == 777
    assert any("1 of the 2 nodes" in note for note in report.notes)


def test_what_some_nodes_lack_is_left_out_and_said(tmp_path: Path) -> None:
    rows = other.measured({("044001", "detailed"): INFINITE})
    hf.open_measurements(other.layout(tmp_path / "in", rows), tmp_path / "out")
    report = hf.estimate(tmp_path / "out", passes=PASSES)
    assert report.counts.sum() == hf.estimate(tmp_path / "out", level="US", passes=PASSES).counts.sum()
    assert [note for note in report.notes if "detailed was measured at 1 of the 2 nodes" in note]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"invariants": [{"margin": ["age"], "level": "tract"}, {"where": {"sex": "f"}, "level": "county"}]},
        {"constraints": {"inequalities": [{"margin": ["sex"], "level": "tract", "at_most": 100}]}},
        {"privacy": {"epsilon": "3", "adjacency": "unit"}},
    ],
    ids=["total", "margins", "bounds", "laplace"],
)
def test_our_own_measurements_have_our_own_counts(tmp_path: Path, more: dict[str, object]) -> None:
    asked = spec(tmp_path, **more)
    hf.release(asked, tmp_path / "release", seed=4)
    hf.write_measurements(tmp_path / "release", tmp_path / "files")
    hf.open_measurements(
        tmp_path / "files", tmp_path / "opened", noise="laplace" if "privacy" in more else "gaussian"
    )
    released = pl.read_csv(tmp_path / "release" / "table.csv", schema_overrides={"block": pl.String})
    assert hf.estimate(tmp_path / "opened").to_frame()["count"].to_list() == released["people"].to_list()


def test_structural_zeros_and_recodes_go_along(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text(
        "block,age,sex,people\n11,0,f,4\n11,18,m,9\n12,0,f,7\n12,18,f,3\n12,18,m,2\n"
    )
    asked = {
        "data": {
            "path": "one.csv",
            "cells": ["age", "sex"],
            "count": "people",
            "geography": {"column": "block", "prefixes": {"all": 0, "part": 1, "block": 2}},
        },
        "constraints": {"structural_zeros": [{"age": "0", "sex": "m"}]},
        "privacy": {"standard": "zcdp", "rho": "1", "adjacency": "unit"},
        "mechanism": {
            "name": "topdown",
            "queries": [
                {"marginal": ["age", "sex"]},
                {"name": "women", "marginal": [], "where": {"sex": "f"}},
                {"name": "ages", "marginal": ["age"], "recode": {"age": {"any": ["0", "18"]}}},
            ],
        },
    }
    hf.release(hf.Spec.of(asked, folder=tmp_path), tmp_path / "release", seed=1)
    hf.write_measurements(tmp_path / "release", tmp_path / "files")
    found = hf.open_measurements(tmp_path / "files", tmp_path / "opened")
    assert [query.name for query in found.queries] == ["detailed", "women", "ages"]
    counts = hf.estimate(tmp_path / "opened").to_frame().filter(age="0", sex="m")["count"]
    assert counts.to_list() == [0, 0]
    released = pl.read_csv(tmp_path / "release" / "table.csv")
    assert hf.estimate(tmp_path / "opened").to_frame()["count"].to_list() == released["people"].to_list()
    fixed = hf.intervals(tmp_path / "opened", place="block", where={"age": "0", "sex": "m"})
    assert fixed.found.determined.all()


def test_posteriors_are_drawn(tmp_path: Path) -> None:
    known = other.constraints()
    hf.open_measurements(other.layout(tmp_path / "in", other.measured(), known), tmp_path / "out")
    model = {
        "model": {"kind": "proportions", "areas": ["US"], "level": "County"},
        "sampler": {"draws": 40, "warmup": 20},
    }
    found = hf.infer(tmp_path / "out", model, seed=1)
    tables = found.draws.tables.reshape(-1, 2, 6)
    assert (tables.sum(axis=(1, 2)) == other.truth()["US"].sum()).all()
    colours = tables @ other.rows_of("colour").T
    assert (colours <= other.truth()["County"] @ other.rows_of("colour").T).all()
    assert found.release["mechanism"] == "opened measurements"


def test_what_contradicts_is_told(tmp_path: Path) -> None:
    """Each two of three sets of bounds can be kept, and all three cannot."""
    state, _, county, *_ = other.constraints()
    known = [
        {**state, "value": [10]},
        *({**state, "level": "County", "geocode": code, "sign": "<="} for code in other.CODES["County"]),
        *({**county, "geocode": code} for code in other.CODES["County"]),
    ]
    for each, value in zip(known[1:], ([5], [10], [5, 5, 5], [1, 1, 1]), strict=True):
        each["value"] = value
    hf.open_measurements(other.layout(tmp_path / "in", other.measured(), known), tmp_path / "out")
    with pytest.raises(InvariantError, match="no counts keep all of these at once: 10 in State 044"):
        hf.estimate(tmp_path / "out")


def test_what_cannot_be_asked_for(tmp_path: Path) -> None:
    hf.open_measurements(other.layout(tmp_path / "in", other.measured()), tmp_path / "out")
    with pytest.raises(
        SpecError, match="the argument level is 'county', which is no level: did you mean 'County'"
    ):
        hf.estimate(tmp_path / "out", level="county")
    with pytest.raises(SpecError, match="names the query 'totl'"):
        hf.estimate(tmp_path / "out", passes=[["totl"]])
    with pytest.raises(ReleaseError, match="holds no opened measurements"):
        hf.estimate(tmp_path / "in")
    with pytest.raises(ReleaseError, match="holds measurements that were opened, and no release"):
        hf.verify(tmp_path / "out")
    file = tmp_path / "out" / "measurements.parquet"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(ReleaseError, match=r"measurements.parquet was changed since it was written"):
        hf.intervals(tmp_path / "out")
    (tmp_path / "out" / "opened.json").write_text("{")
    with pytest.raises(ReleaseError, match="is damaged: open the measurements again"):
        hf.intervals(tmp_path / "out")
