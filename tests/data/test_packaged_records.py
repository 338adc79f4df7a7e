"""Records to be swapped are read from every kind of file, and from folders and patterns of them."""

import gzip
from pathlib import Path

import openpyxl
import polars as pl
import pyreadstat
import pytest

from holdfast.data.microdata import open_microdata
from holdfast.system.errors import DataError

FRAME = pl.DataFrame(
    {"county": ["A", "B", None, "A"], "age": ["1", "2", "3", "1"], "x": ["p", "q", "r", "s"]}
)


def _written(kind: str, folder: Path) -> Path:
    path = folder / f"some{kind}"
    text = FRAME.write_csv()
    match kind:
        case ".csv.gz":
            path.write_bytes(gzip.compress(text.encode()))
        case ".tsv":
            path.write_text(text.replace(",", "\t"))
        case ".xlsx":
            book = openpyxl.Workbook()
            for row in (FRAME.columns, *FRAME.rows()):
                book.worksheets[0].append(list(row))
            book.save(path)
        case ".dta" | ".sav":
            write = pyreadstat.write_dta if kind == ".dta" else pyreadstat.write_sav
            write(FRAME.to_pandas(), path)
        case _:
            path = folder / "some"
            path.mkdir()
            FRAME[:2].write_csv(path / "1.csv")
            FRAME[2:].write_parquet(path / "2.parquet")
            path = path / "*" if kind == "*" else path
    return path


@pytest.mark.parametrize("kind", [".csv.gz", ".tsv", ".xlsx", ".dta", ".sav", "/", "*"])
def test_records_are_the_same_from_every_kind(kind: str, tmp_path: Path) -> None:
    path = _written(kind, tmp_path)
    found = open_microdata(path)
    assert (found.name, found.kind, found.rows) == (str(path), "parquet", 4)
    assert pl.DataFrame(found.whole()).cast(pl.String).equals(FRAME)


def test_what_is_no_file_of_records_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_text("x")
    for name, said in (
        ("a.docx", "name a file in .csv"),
        ("b*.csv", "stands for no file"),
        (".", "no file of"),
    ):
        with pytest.raises(DataError, match=said):
            open_microdata(tmp_path / name)
