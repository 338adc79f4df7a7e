"""The redistricting data of 2020 as a spec: shares as published, released as written."""

import csv
from fractions import Fraction
from math import prod
from pathlib import Path

import pytest

import holdfast
from holdfast.spec.census import KINDS, LEVELS, QUERIES, SHARES, UNIT_SHARES, write_topdown
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


@pytest.mark.parametrize("kind", KINDS)
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


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    write_topdown(tmp_path, "small")
    with pytest.raises(SpecError, match="exists already"):
        write_topdown(tmp_path, "small")
    with pytest.raises(SpecError, match="write pl94 or small"):
        write_topdown(tmp_path, "large")
