"""The redistricting data of 2020 as a spec: shares as published, released as written."""

import csv
from fractions import Fraction
from math import prod
from pathlib import Path

import polars as pl
import pytest

import holdfast
from holdfast.spec.census import KINDS, LEVELS, QUERIES, SHARES, UNIT_SHARES, write_topdown
from holdfast.spec.census_after import AGES, MINORS
from holdfast.spec.files import FilesSpec
from holdfast.spec.load import read_any_spec
from holdfast.system.errors import SpecError
from holdfast.verification.verify import verify

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "pl94_2020_allocation.csv"
DENOMINATORS = (4097, 4097, 4097, 4102, 4099, 4097)


def test_shares_are_whole() -> None:
    assert tuple(map(sum, zip(*QUERIES.values(), strict=True))) == DENOMINATORS
    assert sum(map(Fraction, SHARES.values())) == sum(map(Fraction, UNIT_SHARES.values())) == 1


@pytest.mark.skipif(not DATA.is_file(), reason="the published allocation is not there")
def test_shares_are_those_of_the_published_allocation() -> None:
    with DATA.open(encoding="utf-8") as opened:
        rows = list(csv.DictReader(opened))
    others = {"total": (), "detailed": ("hhgq", "votingage", "hispanic", "cenrace")}
    for row in rows:
        at = list(LEVELS).index(row["level"])
        query = others.get(row["query"], tuple(row["query"].split("*")))
        assert Fraction(QUERIES[query][at], DENOMINATORS[at]) == Fraction(row["share_of_level"])
        assert Fraction(SHARES[row["level"]]) == Fraction(row["level_share"])
    assert len(rows) == sum(bool(weight) for weights in QUERIES.values() for weight in weights)


@pytest.mark.parametrize("kind", KINDS[:2])
def test_the_spec_is_that_of_persons_and_units(tmp_path: Path, kind: str) -> None:
    spec = read_any_spec(write_topdown(tmp_path, kind)[0])
    assert isinstance(spec, FilesSpec)
    assert spec.names == ("persons", "units")
    levels = spec.specs[0].data.levels
    assert levels is not None
    assert prod(len(each) for each in levels.values()) == (2016 if kind == "pl94" else 128)
    if kind == "pl94":
        assert [one.privacy.rho for one in spec.specs] == [Fraction("2.56"), Fraction("0.07")]


def test_the_small_one_is_released_as_written(tmp_path: Path) -> None:
    spec = write_topdown(tmp_path, "small")[0]
    holdfast.release(spec, tmp_path / "out", seed=1)
    assert verify(tmp_path / "out").kept


def test_a_release_on_top_keeps_the_numbers_of_the_first(tmp_path: Path) -> None:
    """By voting age and place to live, at every block, though neither has the true ones."""
    holdfast.release(write_topdown(tmp_path, "small")[0], tmp_path / "pl", seed=1)
    holdfast.release(write_topdown(tmp_path, "dhc")[0], tmp_path / "dhc", seed=2)
    assert verify(tmp_path / "dhc").kept
    ages = {age: "0-17" if at < MINORS else "18+" for at, age in enumerate(AGES)}
    found = []
    for path, by in ((tmp_path / "pl" / "persons.csv", "votingage"), (tmp_path / "dhc" / "table.csv", "age")):
        frame = pl.read_csv(path, schema_overrides={"block": pl.String})
        frame = frame.with_columns(pl.col(by).replace(ages).alias("voting"))
        keys = ["block", "hhgq", "voting"]
        found.append(frame.group_by(keys).agg(pl.col("people").sum()).sort(keys))
    assert found[0].equals(found[1])
    assert found[0]["people"].sum() > 500


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    write_topdown(tmp_path, "small")
    with pytest.raises(SpecError, match="exists already"):
        write_topdown(tmp_path, "small")
    with pytest.raises(SpecError, match="write pl94, small or dhc"):
        write_topdown(tmp_path, "large")
