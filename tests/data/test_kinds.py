"""Kinds of files: each reads as the same table as the CSV file of its rows."""

import gzip
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import polars as pl
import pyreadstat
import pytest

from holdfast.data.read import read_table
from holdfast.spec.data import Data
from holdfast.spec.model import Spec
from holdfast.spec.privacy import Privacy
from holdfast.system.errors import DataError

FRAME = pl.DataFrame({"county": ["A", "A", "B", "B"], "year": [2020, 2021] * 2, "n": [3, 0, 5, 7]})


def counts(path: str, folder: Path, **keys: Any) -> list[int]:
    data = Data(path=path, cells=("county", "year"), count="n", **keys)
    spec = Spec(data=data, privacy=Privacy(epsilon="1"), folder=folder)
    return [int(count) for count in read_table(spec).table.counts]


@pytest.mark.parametrize(
    "name", ["t.csv", "t.tsv", "t.csv.gz", "t.tsv.gz", "t.parquet", "t.xlsx", "t.dta", "t.sav", "t.xpt"]
)
def test_every_kind_reads_alike(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    text = FRAME.write_csv(separator="\t" if ".tsv" in name else ",").encode()
    if name.endswith(".parquet"):
        FRAME.write_parquet(path)
    elif name.endswith(".xlsx"):
        book = openpyxl.Workbook()
        for row in (FRAME.columns, *FRAME.rows()):
            book.active.append(list(row))
        book.save(path)
    elif path.suffix in (".dta", ".sav", ".xpt"):
        coded = pd.DataFrame(FRAME.with_columns(pl.col("n").cast(pl.Float64)).to_dict(as_series=False))
        if path.suffix != ".xpt":
            coded["county"] = [1, 1, 2, 2]
        write: dict[str, Any] = {
            ".dta": pyreadstat.write_dta,
            ".sav": pyreadstat.write_sav,
            ".xpt": pyreadstat.write_xport,
        }
        labels = {} if path.suffix == ".xpt" else {"variable_value_labels": {"county": {1: "A", 2: "B"}}}
        write[path.suffix](coded, str(path), **labels)
    else:
        path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    assert counts(name, tmp_path, levels={"county": ("A", "B")}) == [3, 0, 5, 7]


def test_a_sheet_that_begins_with_a_title_is_refused(tmp_path: Path) -> None:
    """Its first row named one column, and what stood in all others was not read."""
    book = openpyxl.Workbook()
    for row in (["A report"], [], FRAME.columns, *FRAME.rows()):
        book.active.append(list(row))
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(DataError, match="let the header be the first row, without a title above it"):
        counts("t.xlsx", tmp_path)


@pytest.mark.parametrize("name", ["parts", "parts/*.csv"])
def test_files_of_a_folder_are_one_table(tmp_path: Path, name: str) -> None:
    (tmp_path / "parts").mkdir()
    FRAME[:2].write_csv(tmp_path / "parts" / "a.csv")
    FRAME[2:].write_csv(tmp_path / "parts" / "b.csv")
    assert counts(name, tmp_path) == [3, 0, 5, 7]
    (tmp_path / "parts" / "b.csv").write_text("county,year,n\nB,2020,5\nB,2021,x\n")
    with pytest.raises(DataError, match=r"b\.csv, row 3, column 'n' is 'x'"):
        counts(name, tmp_path)
    (tmp_path / "parts" / "b.csv").write_text("county,n\nB,5\n")
    with pytest.raises(DataError, match="has other columns than"):
        counts(name, tmp_path)


def test_rows_of_sums_are_left_out_and_others_keep_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("county,year,n\nA,2020,3\nTotal,2020,3\nB,2020,5\n")
    assert counts("t.csv", tmp_path, omit={"county": ("Total",)}) == [3, 5]
    (tmp_path / "t.csv").write_text("county,year,n\nA,2020,3\nTotal,2020,3\nB,2020,x\n")
    with pytest.raises(DataError, match="row 4, column 'n'"):
        counts("t.csv", tmp_path, omit={"county": ("Total",)})
    with pytest.raises(DataError, match="has no column 'conty'"):
        counts("t.csv", tmp_path, omit={"conty": ("Total",)})
