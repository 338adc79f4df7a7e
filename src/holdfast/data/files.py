"""CSV and Parquet files as sources of rows, and what is wrong with those that do not open."""

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from holdfast.data.source import Source
from holdfast.errors import DataError


def open_file(path: Path) -> Source:
    """Return a CSV or Parquet file as a source; CSV is read at once and as text, Parquet by columns."""
    kind = path.suffix.lower()
    if kind not in {".csv", ".parquet"}:
        raise DataError(f"{path} is neither CSV nor Parquet: name a .csv or .parquet file.")
    if not path.exists():
        raise DataError(f"{path} does not exist: check the path.")
    if path.is_dir():
        raise DataError(f"{path} is a folder: name a .csv or .parquet file in it.")
    return _open_csv(path) if kind == ".csv" else _open_parquet(path)


def _open_csv(path: Path) -> Source:
    with _readable(path):
        header = _csv_header(path)
        try:
            # All columns, even those that are not needed: a row with too many fields shows only then.
            columns = pl.read_csv(path, infer_schema=False, glob=False).get_columns()
        except pl.exceptions.PolarsError:
            raise DataError(_csv_damage(path, len(header))) from None
    return Source(str(path), tuple(header), lambda places: [columns[place] for place in places], first_row=2)


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


def _open_parquet(path: Path) -> Source:
    with _readable(path), _whole(path):
        header = tuple(pl.read_parquet_schema(path))

    def load(places: Sequence[int]) -> list[pl.Series]:
        names = [header[place] for place in places]
        with _readable(path), _whole(path):
            return pl.read_parquet(path, columns=names, glob=False).select(names).get_columns()

    return Source(str(path), header, load, first_row=1)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(
            f"{path} cannot be read ({error.strerror or 'no access'}): check its permissions."
        ) from None


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):  # some damage makes polars panic
        raise DataError(f"{path} is not a Parquet file, or it is damaged: write it anew.") from None
