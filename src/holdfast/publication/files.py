"""Published files as they are found: CSV, Parquet and JSON-stat tables, and the .hrc files of tau-Argus."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from holdfast.data.files import Source, open_file
from holdfast.publication.spec import PublishedTable
from holdfast.system.errors import DataError, SpecError
from holdfast.system.files import special
from holdfast.system.text import closest, in_quotes, read_json

MOST_ROWS = 20_000_000
MOST_BYTES = 2**30
DEPTHS = "@.-*#~ \t"
"""Signs that .hrc files begin lines with, once for each level down."""


@dataclass(frozen=True, eq=False)
class PublishedFile:
    """The columns of a published table as text: its attributes in order, and its counts."""

    name: str
    attributes: tuple[str, ...]
    columns: tuple[pl.Series, ...]
    count: str
    """The name of the column of counts."""
    counts: pl.Series
    first_row: int
    """The number of the first record for a reader."""
    sha256: str
    summed: bool = False
    """Whether rows were added up, so that no row of the file is one of these records."""

    def place(self, record: int) -> str:
        """Return where a record stands, or which sum it is."""
        if not self.summed:
            return f"{self.name}, row {record + self.first_row}"
        levels = zip(self.attributes, (column[record] for column in self.columns), strict=True)
        return f"{self.name}, the sum for {', '.join(f'{name} {in_quotes(level)}' for name, level in levels)}"


def read_published(table: PublishedTable, folder: Path) -> PublishedFile:
    """Return the columns of a published file; raises DataError where it is no table."""
    path = folder / table.path
    kind = _kind(path)
    if kind not in (".csv", ".parquet", ".json"):
        raise DataError(f"{path} is no published table: name a .csv, .parquet or JSON-stat .json file.")
    try:
        source = _json_stat(path) if kind == ".json" else open_file(path, most_rows=MOST_ROWS, released=True)
        digest = digest_of(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): check its permissions.") from None
    names = list(source.header)
    if source.hint:
        raise DataError(source.hint)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{path} has two columns {in_quotes(twice)}: rename one.")
    count = table.count if table.count is not None else _count_of(names, table)
    attributes = table.attributes or tuple(name for name in names if name != count)
    for name in (*attributes, count):
        if name not in names:
            raise DataError(f"{path} has no column {in_quotes(name)}: {closest(name, names)}")
    loaded = source.load([names.index(name) for name in (*attributes, count)])
    texts = [_text(one) for one in loaded]
    columns = tuple(texts[:-1])
    found = PublishedFile(table.path, attributes, columns, count, texts[-1], source.first_row, digest)
    if texts[-1].len() == 0:
        raise DataError(f"{path} has no row: name a file with counts.")
    for name, column in zip(attributes, texts, strict=False):
        empty = (column == "").arg_max() if (column == "").any() else None
        if empty is not None:
            raise DataError(f"{found.place(int(empty))} has no {in_quotes(name)}: fill it in.")
    return found


def _kind(path: Path) -> str:
    return path.suffix.lower()


def _count_of(names: list[str], table: PublishedTable) -> str:
    """Return the column of counts where none was named: the one that is no attribute, or the last."""
    if table.attributes is not None:
        left = [name for name in names if name not in table.attributes]
        if len(left) == 1:
            return left[0]
    return names[-1]


def _text(column: pl.Series) -> pl.Series:
    """Return a column as text without spaces around it; what is missing is empty."""
    if column.dtype.is_float():
        whole = column.cast(pl.Int64, strict=False)
        if ((column == whole) | column.is_null()).all():
            column = whole
    return column.cast(pl.String, strict=False).fill_null("").str.strip_chars()


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _json_stat(path: Path) -> Source:
    """Return a JSON-stat dataset as columns; dimensions with one category are left out if all have others."""
    try:
        if (kind := special(path, links=False)) is not None:
            raise DataError(f"{path} is {kind}: put a plain file there.")
        if path.stat().st_size > MOST_BYTES:
            raise DataError(f"{path} has more than {MOST_BYTES // 2**20:,} MB: publish it as Parquet.")
        content = read_json(path.read_text(encoding="utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(f"{path} does not exist: check the path.") from None
    except ValueError:
        raise DataError(f"{path} is no JSON text: name a JSON-stat dataset.") from None
    try:
        columns, values = _dataset(content)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        raise DataError(f"{path} is no JSON-stat dataset: it needs id, size, dimension and value.") from None
    series = [pl.Series(name, column, dtype=pl.String) for name, column in columns.items()]
    series.append(pl.Series("value", values, dtype=pl.String))
    return Source(
        str(path), tuple(one.name for one in series), lambda at: [series[one] for one in at], first_row=1
    )


def _dataset(content: Any) -> tuple[dict[str, list[str]], list[str]]:
    """Return the levels of each dimension, cell by cell, and the values as text."""
    if "dataset" in content:
        content = content["dataset"]
    dimension = content["dimension"]
    names = [str(one) for one in content.get("id", dimension.get("id"))]
    sizes = [int(one) for one in content.get("size", dimension.get("size"))]
    total = 1
    for size in sizes:
        total *= size
    if total > MOST_ROWS or len(names) != len(sizes):
        raise ValueError
    levels = {}
    for name, size in zip(names, sizes, strict=True):
        category = dimension[name]["category"]
        index = category.get("index", list(category.get("label", {})))
        codes = sorted(index, key=index.__getitem__) if isinstance(index, dict) else list(index)
        labels = category.get("label", {})
        told = [str(labels.get(code, code)) for code in codes]
        levels[name] = told if len(set(told)) == len(told) else [str(code) for code in codes]
        if len(codes) != size:
            raise ValueError
    given, status = content["value"], content.get("status", {})
    values = [""] * total
    for at in range(total):
        one = given.get(str(at)) if isinstance(given, dict) else given[at]
        if one is None:
            one = status.get(str(at), "") if isinstance(status, dict) else status[at]
        values[at] = str(int(one)) if isinstance(one, float) and one.is_integer() else str(one)
    metric = set(map(str, (content.get("role") or {}).get("metric", [])))
    columns, repeat = {}, total
    for name, size in zip(names, sizes, strict=True):
        repeat //= size
        if not (size == 1 and name in metric):
            block = [level for level in levels[name] for _ in range(repeat)]
            columns[name] = block * (total // len(block))
    return columns, values


def read_hierarchy(path: Path) -> dict[str, tuple[str, ...]]:
    """Return each level of an .hrc file with the levels next below it; leaves have none.

    A line begins with one sign more than the level that it belongs to; the highest levels have no sign.
    """
    try:
        if (kind := special(path)) is not None:
            raise SpecError(f"{path} is {kind}: name an .hrc file.")
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        raise SpecError(f"{path} does not exist: check the path of the hierarchy.") from None
    except OSError as error:
        raise SpecError(f"{path} cannot be read ({error.strerror}): check its permissions.") from None
    except UnicodeDecodeError:
        raise SpecError(f"{path} is not UTF-8 text: save the hierarchy as UTF-8.") from None
    sign = next((line[0] for line in lines if line[:1] in DEPTHS and line.strip()), "@")
    found: dict[str, list[str]] = {}
    trail: list[str] = []
    for number, line in enumerate(lines, 1):
        code = line.lstrip(sign)
        depth, code = len(line) - len(code), code.strip()
        if not code:
            continue
        if depth > len(trail):
            raise SpecError(
                f"{path}, line {number} is more than one level below the line before: indent it less."
            )
        if code in found:
            raise SpecError(
                f"{path}, line {number} has {in_quotes(code)} a second time: keep it in one place."
            )
        del trail[depth:]
        if trail:
            found[trail[-1]].append(code)
        found[code] = []
        trail.append(code)
    if not found:
        raise SpecError(
            f"{path} has no level: list the levels, each line with one sign more for each level down."
        )
    return {code: tuple(below) for code, below in found.items()}
