"""Top-down releases: invariants and sums with ==, files, engines, records."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.certificate.falsify import write
from tests.mechanisms.topdown.small import LEVELS, rows, spec

import holdfast
from holdfast.data.geography import Regions
from holdfast.engines.spark_session import require_installed
from holdfast.estimation.hierarchy import family, run
from holdfast.lattice import arrays
from holdfast.mechanisms.topdown.details import TopDownDetails
from holdfast.mechanisms.topdown.mechanism import TopDown
from holdfast.releases.prepare import prepare
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.model import Spec
from holdfast.system.errors import HoldfastError, ReleaseError
from holdfast.verification.verify import verify

WOMEN = {"where": {"sex": "f"}, "level": "tract"}
BOUNDS = {"inequalities": [{"margin": ["age"], "level": "tract", "at_most": 90}]}
ZEROS = {"structural_zeros": [{"block": "9111", "age": "0", "sex": "f"}]}


def released(folder: Path, **more: Any) -> pl.DataFrame:
    holdfast.release(spec(folder, **more), folder / "out", seed=1)
    assert verify(folder / "out").kept
    return pl.read_csv(folder / "out" / "table.csv", infer_schema_length=0).with_columns(
        pl.col("people").cast(pl.Int64)
    )


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"privacy": {"standard": "zcdp", "rho": "1"}},
        {"privacy": {"epsilon": "2"}},
        {"invariants": []},
        {"invariants": [{"total": True, "level": "block"}, {"margin": ["age"], "level": "tract"}]},
        {"invariants": [{"total": True, "level": "county"}, WOMEN], "constraints": BOUNDS},
        {"invariants": [{"margin": ["age"], "level": "block"}, {"margin": ["sex"], "level": "block"}]},
        {"mechanism": {"name": "topdown", "queries": [{"marginal": ["age"]}, {"marginal": ["sex"]}]}},
        {"mechanism": {"name": "topdown", "allocation": "optimise"}},
    ],
)
def test_invariants_and_bounds_hold_exactly_at_every_level(tmp_path: Path, more: dict[str, Any]) -> None:
    found = released(tmp_path, **more)
    truth = pl.read_csv(tmp_path / "blocks.csv", infer_schema_length=0).with_columns(
        pl.col("people").cast(pl.Int64),
        *(pl.col("block").str.slice(0, i + 1).alias(level) for i, level in enumerate(LEVELS[:-1])),
    )
    assert (found["people"] >= 0).all()
    assert found.height == 96
    for invariant in more.get("invariants", [{"total": True, "level": "county"}]):
        keys = [invariant["level"], *invariant.get("margin", [])]
        one, other = (
            frame.filter(pl.col("sex") == "f" if "where" in invariant else pl.lit(True))
            .group_by(keys)
            .agg(pl.col("people").sum())
            .sort(keys)
            for frame in (found, truth)
        )
        assert one.equals(other)
    if "constraints" in more:
        assert found.group_by("tract", "age").agg(pl.col("people").sum())["people"].max() <= 90  # type: ignore[operator]


def test_structural_zeros_stay_empty(tmp_path: Path) -> None:
    (tmp_path / "blocks.csv").write_text(rows().replace("9111,0,f,9\n", ""))
    folder = tmp_path / "zeros"
    folder.mkdir()
    text = "\n".join(line for line in rows().splitlines() if not line.startswith("9111,0,f,")) + "\n"
    asked = spec(folder, constraints=ZEROS)
    (folder / "blocks.csv").write_text(text)
    holdfast.release(asked, folder / "out", seed=1)
    assert verify(folder / "out").kept
    found = pl.read_csv(folder / "out" / "table.csv", infer_schema_length=0)
    cell = found.filter((pl.col("block") == "9111") & (pl.col("age") == "0") & (pl.col("sex") == "f"))
    assert cell["people"].to_list() == ["0"]


def test_the_budget_is_the_one_that_was_asked_for(tmp_path: Path) -> None:
    """Losses of all measurements sum to rho, exactly; with "semi" at the semi-adjacency."""
    each = prepare(spec(tmp_path)).mechanism
    one = prepare(spec(tmp_path, privacy={"standard": "zcdp", "rho": "1"})).mechanism
    pure = prepare(spec(tmp_path, privacy={"epsilon": "3", "adjacency": "unit"})).mechanism
    for mechanism, total in ((each, 1), (one, Fraction(1, 4)), (pure, 3)):
        assert isinstance(mechanism, TopDown)
        assert sum(part.loss for part in mechanism.measurements) == total
        assert next(iter(mechanism.guarantee.intensity.parameters().values())) == (3 if total == 3 else 1)


def test_the_certificate_tells_both_readings(tmp_path: Path) -> None:
    said = prepare(spec(tmp_path)).certify(secure=True).table.details
    assert isinstance(said, TopDownDetails)
    assert said.per_record == 1
    assert said.semi_adjacency == 2
    assert said.effective == 4
    assert said.epsilon_at is not None
    assert said.effective_epsilon_at is not None
    assert said.epsilon_at.epsilon < said.effective_epsilon_at.epsilon


def test_measurements_are_published_row_by_row(tmp_path: Path) -> None:
    holdfast.release(spec(tmp_path), tmp_path / "out", seed=3)
    frame = pl.read_parquet(tmp_path / "out" / "measurements.parquet")
    assert frame.columns == ["level", "geocode", "query", "age", "sex", "value", "variance"]
    sizes = frame.group_by("level", "query").len()
    found = {(level, query): number for level, query, number in sizes.iter_rows()}
    assert found == {
        ("state", "age by sex"): 4,
        ("county", "age by sex"): 8,
        ("tract", "age by sex"): 24,
        ("tract", "total"): 6,
        ("block", "age by sex"): 96,
        ("block", "total"): 24,
    }
    assert frame.filter(pl.col("query") == "total")["age"].null_count() == 30


def test_the_noise_has_the_stated_variance_by_query_and_level(tmp_path: Path) -> None:
    """Over 4,000 seeded draws, each variance is within 5 standard errors of the one that is stated."""
    prepared = prepare(spec(tmp_path))
    mechanism = prepared.mechanism
    assert isinstance(mechanism, TopDown)
    law = mechanism.law(prepared.counts)
    draws = law.sample(SeededEntropy(5), 4000)
    begin = 0
    for each, answers in zip(mechanism.measurements, law.answers, strict=True):
        noise = (draws[:, begin : begin + answers.size] - answers.ravel()).astype(np.float64)
        begin += answers.size
        squares = noise.ravel() ** 2
        error = squares.std() / np.sqrt(squares.size)
        assert abs(squares.mean() - each.variance) < 5 * error
        assert abs(noise.mean()) < 5 * noise.std() / np.sqrt(noise.size)
        assert not abs(squares.mean() - 1.1 * each.variance) < 5 * error


def test_counts_follow_from_the_measurements(tmp_path: Path) -> None:
    """The same measurements give the same counts, here and on other processes."""
    prepared = prepare(spec(tmp_path))
    mechanism = prepared.mechanism
    assert isinstance(mechanism, TopDown)
    values = mechanism.law(prepared.counts).measure(SeededEntropy(1))
    one, other = (mechanism.outputs_of(prepared.public, values)["table"] for _ in range(2))
    assert one == other


def test_records_are_one_a_person(tmp_path: Path) -> None:
    for parquet in (False, True):
        out = tmp_path / f"out-{parquet}"
        holdfast.release(spec(tmp_path), out, seed=1, microdata=True, parquet=parquet)
        name = "microdata.parquet" if parquet else "microdata.csv"
        records = pl.read_parquet(out / name) if parquet else pl.read_csv(out / name, infer_schema_length=0)
        table = pl.read_parquet(out / "table.parquet") if parquet else pl.read_csv(out / "table.csv")
        assert records.columns == [*LEVELS, "age", "sex"]
        assert records.height == table["people"].sum()
        assert verify(out).kept


def test_records_that_are_not_those_of_the_table_are_found(tmp_path: Path) -> None:

    out = tmp_path / "out"
    holdfast.release(spec(tmp_path), out, seed=1, microdata=True)
    lines = (out / "microdata.csv").read_text().splitlines(keepends=True)
    (out / "microdata.csv").write_text("".join([lines[0], *lines[2:]]))
    assert not verify(out).kept
    write(out, json.loads((out / "certificate.json").read_text()), page=True)
    wrong = [check.name for check in verify(out).checks if not check.holds]
    assert wrong == ["microdata"]


def test_a_table_that_does_not_follow_from_the_measurements_is_found(tmp_path: Path) -> None:
    """People moved between cells of one county keep every invariant, and every hash was made right."""
    out = tmp_path / "out"
    holdfast.release(spec(tmp_path), out, seed=1)
    lines = (out / "table.csv").read_text().splitlines()
    counts = [int(line.rsplit(",", 1)[1]) for line in lines[1:49]]
    most, least = counts.index(max(counts)), counts.index(min(counts))
    for place, by in ((most, -5), (least, 5)):
        head, _, count = lines[place + 1].rpartition(",")
        lines[place + 1] = f"{head},{int(count) + by}"
    (out / "table.csv").write_text("\n".join(lines) + "\n")
    write(out, json.loads((out / "certificate.json").read_text()), page=True)
    assert [check.name for check in verify(out).checks if not check.holds] == ["estimates"]


def test_microdata_may_be_read_instead_of_counts(tmp_path: Path) -> None:
    asked = spec(tmp_path)
    frame = pl.read_csv(tmp_path / "blocks.csv", schema_overrides={"block": pl.String, "age": pl.String})
    people = (
        frame.select(pl.exclude("people").repeat_by("people")).explode(["block", "age", "sex"]).drop_nulls()
    )
    values = {**asked.model_dump(exclude={"folder", "file"})}
    values["data"] = {**values["data"], "count": None, "path": None}
    records = prepare(Spec(**values), data=people)
    regions = Regions.of(records.public.schema, LEVELS)
    assert regions.sums(records.table.reading.table.counts)[1].sum(axis=1).tolist() == (
        records.public.invariants[0].values.tolist()
    )


def test_one_table_without_a_geography_is_measured_too(tmp_path: Path) -> None:
    text = (
        "row,column,n\n" + "\n".join(f"{i},{j},{(3 * i + j) % 7}" for i in range(6) for j in range(5)) + "\n"
    )
    (tmp_path / "t.csv").write_text(text)
    asked = Spec.of(
        {
            "data": {"path": "t.csv", "cells": ["row", "column"], "count": "n"},
            "invariants": [{"margin": ["row"]}],
            "privacy": {"standard": "zcdp", "rho": "1"},
            "mechanism": {
                "name": "topdown",
                "queries": [{"marginal": ["column"]}, {"marginal": ["row", "column"]}],
            },
        },
        folder=tmp_path,
    )
    holdfast.release(asked, tmp_path / "out", seed=2)
    assert verify(tmp_path / "out").kept
    frame = pl.read_parquet(tmp_path / "out" / "measurements.parquet")
    assert set(frame["level"]) == {"table"}


def test_measurements_in_few_bits_write_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holdfast.release(spec(tmp_path), tmp_path / "plain", seed=1)
    monkeypatch.setattr(arrays, "MANY", 1)
    holdfast.release(spec(tmp_path), tmp_path / "few", seed=1)
    for name in ("table.csv", "measurements.parquet"):
        assert (tmp_path / "plain" / name).read_bytes() == (tmp_path / "few" / name).read_bytes()
    measured = json.loads((tmp_path / "plain" / "certificate.json").read_text())["measured"]
    assert json.loads((tmp_path / "few" / "certificate.json").read_text())["measured"] == measured
    assert verify(tmp_path / "few").kept


def test_any_number_of_processes_writes_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(family, "AT_ONCE", 8)
    monkeypatch.setattr(run, "START", -1.0)  # others start, however little there is to do
    for jobs in (1, 2):
        holdfast.release(spec(tmp_path), tmp_path / f"by-{jobs}", seed=1, jobs=jobs)
    for name in ("table.csv", "measurements.parquet"):
        assert (tmp_path / "by-1" / name).read_bytes() == (tmp_path / "by-2" / name).read_bytes()


@pytest.mark.parametrize(
    ("mechanism", "options", "said"),
    [
        ("topdown", {"jobs": 0}, "is no number of processes: give 1 or more"),
        ("lattice-gaussian", {"jobs": 2}, "for top-down releases that this machine makes: leave it out"),
    ],
)
def test_processes_that_nothing_is_for_are_refused(
    tmp_path: Path, mechanism: str, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ReleaseError, match=said):
        holdfast.release(spec(tmp_path, mechanism={"name": mechanism}), tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_spark_finds_the_same_counts(tmp_path: Path) -> None:
    try:
        require_installed()
    except ReleaseError as error:
        pytest.skip(str(error))
    holdfast.release(spec(tmp_path), tmp_path / "here", seed=1)
    holdfast.release(spec(tmp_path), tmp_path / "there", seed=1, engine="spark")
    for name in ("table.csv", "measurements.parquet"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"mechanism": {"name": "topdown", "allocation": {"state": "1"}}}, "no share for the level 'county'"),
        (
            {"mechanism": {"name": "topdown", "allocation": {"state": "1/2", "county": "1/4"}}},
            "allocation sums to 3/4: shares of the budget sum to 1, exactly",
        ),
        ({"mechanism": {"name": "topdown", "allocation": {"stat": "1"}}}, "names 'stat', which is no level"),
        ({"mechanism": {"name": "topdown", "allocation": "most"}}, 'write "equal", "optimise"'),
        ({"mechanism": {"name": "topdown", "allocation": {"state": "-1", "county": "2"}}}, "not below 0"),
        ({"mechanism": {"name": "topdown", "queries": [{"marginal": ["agee"]}]}}, "did you mean 'age'"),
        ({"mechanism": {"name": "topdown", "queries": [{"marginal": []}, {"marginal": []}]}}, "total twice"),
        ({"mechanism": {"name": "topdown", "queries": [{"marginal": [], "weight": "0"}]}}, "0 everywhere"),
        (
            {
                "mechanism": {"name": "topdown", "queries": [{"marginal": []}]},
                "invariants": [{"total": True, "level": "block"}],
            },
            "nothing but what the invariants fix",
        ),
        ({"invariants": [{"where": {"county": "91"}}]}, 'give it level="county"'),
        (
            {"mechanism": {"name": "topdown", "allocation": "optimise", "optimise_for": [{"level": "x"}]}},
            "level is 'x', which is no level",
        ),
        ({"privacy": {"standard": "gaussian", "mu": "1"}}, "is not met by topdown"),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_written(
    tmp_path: Path, more: dict[str, Any], said: str
) -> None:
    with pytest.raises(HoldfastError, match=said):
        holdfast.release(spec(tmp_path, **more), tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["blocks.csv"]


def test_a_level_with_nothing_to_measure_is_told(tmp_path: Path) -> None:
    mechanism = {
        "name": "topdown",
        "queries": [{"marginal": []}],
        "allocation": {"state": "1/4", "county": "1/4", "tract": "1/4", "block": "1/4"},
    }
    with pytest.raises(HoldfastError, match='give state "0", and its share to other levels'):
        holdfast.release(spec(tmp_path, mechanism=mechanism), tmp_path / "out")


def test_options_of_others_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="there is no engine 'dask'"):
        holdfast.release(spec(tmp_path), tmp_path / "out", engine="dask")
    with pytest.raises(ReleaseError, match="report of utility is for records"):
        holdfast.release(spec(tmp_path), tmp_path / "out", utility="x.json")
    lattice = {"name": "lattice-gaussian"}
    with pytest.raises(ReleaseError, match="argument microdata is for top-down releases"):
        holdfast.release(spec(tmp_path, mechanism=lattice), tmp_path / "out", microdata=True)


@pytest.mark.parametrize("name", ["lattice-gaussian", "lattice-laplace"])
def test_the_unbiased_partner_takes_the_same_spec(tmp_path: Path, name: str) -> None:
    budget = {"epsilon": "1"} if name == "lattice-laplace" else {"standard": "zcdp", "rho": "1"}
    holdfast.release(spec(tmp_path, mechanism={"name": name}, privacy=budget), tmp_path / "out", seed=1)
    assert verify(tmp_path / "out").kept
