"""Opening CSV and Parquet files, and saying what is wrong with those that do not open."""

import csv
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from holdfast.errors import DataError
from holdfast.spec.closest import closest
from holdfast.tables.columns import Columns


def open_columns(path: Path, cells: Sequence[str], numbers: Sequence[str]) -> Columns:
    """Read the columns of levels, as text, and of whole numbers from a file."""
    kind = path.suffix.lower()
    if kind not in {".csv", ".parquet"}:
        raise DataError(f"{path} is neither CSV nor Parquet: name a .csv or .parquet file.")
    if not path.exists():
        raise DataError(f"{path} does not exist: check the path.")
    if path.is_dir():
        raise DataError(f"{path} is a folder: name a .csv or .parquet file in it.")
    try:
        read = _read_csv if kind == ".csv" else _read_parquet
        return read(path, cells, numbers)
    except OSError as error:
        raise DataError(
            f"{path} cannot be read ({error.strerror or 'no access'}): check its permissions."
        ) from None


def _read_csv(path: Path, cells: Sequence[str], numbers: Sequence[str]) -> Columns:
    header = _csv_header(path)
    _check_header(path, header, (*cells, *numbers))
    try:
        # All columns, even those that are not needed: a row with too many fields shows only then.
        frame = pl.read_csv(path, infer_schema=False, glob=False)
    except pl.exceptions.PolarsError:
        raise DataError(_csv_damage(path, len(header))) from None
    frame.columns = [f"{place}" for place in range(frame.width)]
    wanted = {name: header.index(name) for name in (*cells, *numbers)}
    return Columns(path, frame.select(**{name: f"{at}" for name, at in wanted.items()}), 2)


def _csv_header(path: Path) -> list[str]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = next(csv.reader(file), None)
    except (UnicodeDecodeError, csv.Error):
        raise DataError(_csv_damage(path, 0)) from None
    if not header:
        raise DataError(f"{path} has no header: name the columns in its first row.")
    return header


def _csv_damage(path: Path, width: int) -> str:
    """Return what is wrong with a CSV file that cannot be read, and in which row."""
    with path.open("rb") as file:
        for row, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return f"{path}, row {row} is not UTF-8 text: save the file as UTF-8."
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            for fields in reader:
                if len(fields) > width:
                    return (
                        f"{path}, row {reader.line_num} has {len(fields)} fields and the header "
                        f"{width}: put levels with a comma in quotes."
                    )
    except csv.Error:
        return f"{path}, row {reader.line_num} is not CSV: check its quotation marks."
    return f"{path} cannot be read as CSV: check its quotation marks."


def _read_parquet(path: Path, cells: Sequence[str], numbers: Sequence[str]) -> Columns:
    try:
        header = list(pl.read_parquet_schema(path))
        _check_header(path, header, (*cells, *numbers))
        frame = pl.read_parquet(path, columns=[*cells, *numbers], glob=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):  # some damage makes polars panic
        raise DataError(f"{path} is not a Parquet file, or it is damaged: write it anew.") from None
    for name in cells:
        kind = frame[name].dtype
        if kind.is_float() or kind.is_nested() or kind in {pl.Binary, pl.Object, pl.Null}:
            raise DataError(
                f"{path}, column {name!r} holds {kind} values: store its levels as text or integers."
            )
    for name in numbers:
        kind = frame[name].dtype
        if not (kind.is_numeric() or kind == pl.String):
            raise DataError(f"{path}, column {name!r} holds {kind} values: store whole numbers in it.")
    text = frame.with_columns(pl.col(list(cells)).cast(pl.String))
    return Columns(path, text, 1)


def _check_header(path: Path, header: Sequence[str], wanted: Sequence[str]) -> None:
    for name in wanted:
        if name not in header:
            raise DataError(f"{path} has no column {name!r}: {closest(name, header)}")
        if header.count(name) > 1:
            raise DataError(f"{path} has two columns {name!r}: rename one.")
