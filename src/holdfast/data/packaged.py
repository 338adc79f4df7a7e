"""Files of Excel, Stata, SPSS and SAS as frames of texts and numbers: labels stand for coded values.

What reads them is an extra of this package, and is loaded where such a file is.
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl

from holdfast.system.errors import DataError


def sheet(path: Path) -> pl.DataFrame:
    """Return the first sheet of an Excel file, whose first row names the columns."""
    openpyxl = _library("openpyxl", path)
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        rows = [list(row) for row in book.worksheets[0].iter_rows(values_only=True)]
        book.close()
    except Exception:
        raise DataError(f"{path} is no Excel file, or is damaged: save it anew, or as CSV.") from None
    rows = [row for row in rows if any(value is not None for value in row)]
    if not rows:
        raise DataError(f"{path} has nothing on its first sheet: put the table there, its header first.")
    header = ["" if name is None else str(name) for name in rows[0]]
    while header and not header[-1]:
        header.pop()
    if any(value is not None for row in rows[1:] for value in row[len(header) :]):
        raise DataError(
            f"{path} has values in columns that its first row does not name: let the header be the first row,"
            " without a title above it."
        )
    columns = [[_cell(row[at]) if at < len(row) else None for row in rows[1:]] for at in range(len(header))]
    if len(set(header)) < len(header):
        raise DataError(f"{path} has two columns of one name, or of none: rename one.")
    return pl.DataFrame(
        [pl.Series(name, column, dtype=pl.String) for name, column in zip(header, columns, strict=True)]
    )


def _cell(value: object) -> str | None:
    """Return what a cell shows: whole numbers without a point, days without a time."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime) and value.time() == datetime.min.time():
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, date) else str(value)


def _statistical(read: str, *, labels: bool = True) -> Callable[[Path], pl.DataFrame]:
    keys = {"apply_value_formats": True, "formats_as_category": False} if labels else {}

    def open_one(path: Path) -> pl.DataFrame:
        pyreadstat = _library("pyreadstat", path)
        try:
            frame, _ = getattr(pyreadstat, read)(path, output_format="polars", **keys)
        except Exception:
            raise DataError(f"{path} cannot be read, or is damaged: save it anew, or as CSV.") from None
        return pl.DataFrame([_whole(column) for column in frame.get_columns()])

    return open_one


def _whole(column: pl.Series) -> pl.Series:
    """Return whole numbers as such: these programs keep all numbers as floating-point ones."""
    if column.dtype == pl.Object:
        return pl.Series(column.name, [_cell(value) for value in column], dtype=pl.String)
    if column.dtype.is_float():
        column = column.fill_nan(None)
        known = column.drop_nulls()
        if ((known == known.floor()) & (known.abs() < 2.0**53)).all():
            return column.cast(pl.Int64)
    return column


PACKAGED: Mapping[str, Callable[[Path], pl.DataFrame]] = {
    ".xlsx": sheet,
    ".dta": _statistical("read_dta"),
    ".sav": _statistical("read_sav"),
    ".zsav": _statistical("read_sav"),
    ".por": _statistical("read_por"),
    ".sas7bdat": _statistical("read_sas7bdat", labels=False),
    ".xpt": _statistical("read_xport", labels=False),
}


def _library(name: str, path: Path) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise DataError(
            f"{path} needs the library {name}, which is not here: install the extra"
            " files of holdfast-dp, or save the file as CSV."
        ) from None
