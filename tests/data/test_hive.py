"""Folders named by a column, as Hive and Spark write them, are one file with that column."""

from pathlib import Path

import polars as pl
import pytest

import holdfast as hf
from holdfast.data.read import ReadTable, read_table
from holdfast.system.errors import DataError

FRAME = pl.DataFrame(
    {"state": ["MA", "N/Y", "RI", "RI"], "year": ["2024", "2025", "2024", "2025"], "age": [1, 2, 1, 2]}
)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    for (state, year), part in FRAME.partition_by("state", "year", as_dict=True, include_key=False).items():
        folder = tmp_path / "lake" / f"state={str(state).replace('/', '%2F')}" / f"year={year}"
        folder.mkdir(parents=True)
        part.write_parquet(folder / "part-0.parquet")
        (folder / "_SUCCESS").touch()
    return tmp_path / "lake"


def read(path: Path, *cells: str, missing: tuple[str, ...] = ()) -> ReadTable:
    data = hf.Data(path=str(path), cells=cells, missing=missing)
    return read_table(hf.Spec(data=data, privacy=hf.Privacy(epsilon="1")))


@pytest.mark.parametrize("pattern", ["", "state=*/year=*/*.parquet", "**/*.parquet", "*/*/part-0.parquet"])
def test_folders_are_columns(pattern: str, lake: Path, tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "whole.parquet")
    for cells in (("state", "age"), ("state",), ("year", "state")):
        truth, found = read(tmp_path / "whole.parquet", *cells), read(lake / pattern, *cells)
        assert found.table.schema == truth.table.schema
        assert (found.table.counts == truth.table.counts).all()
        assert found.identity == truth.identity


def test_one_folder_of_them_has_the_columns_below_it(lake: Path) -> None:
    assert read(lake / "state=RI", "year").table.counts.tolist() == [1, 1]
    with pytest.raises(DataError, match="has no column 'state'"):
        read(lake / "state=RI", "state")


def test_a_folder_without_a_value_is_a_missing_one_and_its_rows_are_named(lake: Path) -> None:
    (lake / "state=MA").rename(lake / "state=__HIVE_DEFAULT_PARTITION__")
    place = r"state=__HIVE_DEFAULT_PARTITION__/year=2024/part-0\.parquet, row 1, column 'state' has no level"
    with pytest.raises(DataError, match=place):
        read(lake, "state")
    assert "missing" in read(lake, "state", missing=("",)).table.schema.attribute("state").levels


def test_folders_of_another_kind_are_told(lake: Path) -> None:
    (lake / "state=RI" / "part-1.parquet").write_bytes(
        (lake / "state=MA/year=2024/part-0.parquet").read_bytes()
    )
    with pytest.raises(DataError, match=r"has other columns than .*give all files the same header"):
        read(lake, "state")
