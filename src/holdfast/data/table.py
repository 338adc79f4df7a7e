"""Contingency tables: whole-number counts over the cells of a schema; records, before they are counted.

A `Table` is confidential. A `PublicTable` is what a release publishes: a frame or a file in long form, a
row for each cell, the same bytes for the same table.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from html import escape
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar, Literal, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from holdfast.data.levels import quoted
from holdfast.data.schema import Attribute, Attributes, Schema, quoted_schema
from holdfast.lattice.arrays import IntArray
from holdfast.system.errors import DataError, ReleaseError, SpecError
from holdfast.system.paged import copied, is_paged
from holdfast.system.text import visible
from holdfast.system.ways import setting

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


MOST = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False, repr=False)
class CellCounts:
    """Counts, one a cell in row-major order, none in a structural zero."""

    schema: Schema
    counts: IntArray

    kinds: ClassVar[tuple[type[np.signedinteger[Any]], ...]] = (np.int64,)
    """The types of integers that are held as they are given."""

    def __post_init__(self) -> None:
        given = np.asarray(self.counts)
        if not np.issubdtype(given.dtype, np.integer):
            raise TypeError(f"counts must be integers, not {given.dtype}")
        if given.shape != (self.schema.size,):
            raise ValueError(f"counts must have shape ({self.schema.size},), not {given.shape}")
        # what nobody can change need not be copied
        kept = given.dtype in self.kinds and _stays(given)
        if not kept and not np.can_cast(given.dtype, np.int64) and given.max(initial=0) > MOST:
            raise ValueError("counts must fit 64-bit integers")
        counts = given
        if not kept:
            counts = copied(given, np.int64)
        if self.schema.impossible:
            wrong = np.flatnonzero((counts != 0) & ~self.schema.possible)
            if wrong.size:
                raise DataError(
                    f"the cell {self.schema.in_words(int(wrong[0]))} holds a count and is a structural zero: "
                    f"correct the data, or take the cell out of {setting('constraints', 'structural_zeros')}."
                )
        counts.setflags(write=False)
        object.__setattr__(self, "counts", counts)

    @property
    def total(self) -> int:
        """The sum of all counts."""
        return int(self.counts.sum())

    def margin(self, names: Sequence[str]) -> IntArray:
        """Return the sums over all other attributes, flat, in row-major order of `names`.

        Of nested attributes only real combinations are summed, as in the grid of the margin.
        """
        if len(set(names)) < len(names):
            raise ValueError(f"the attributes of a margin must be distinct, not {list(names)}")
        for name in names:
            self.schema.axis(name)
        margin = self.schema.grid.over(names)
        sums = np.zeros(margin.size, dtype=np.int64)
        np.add.at(sums, self.schema.grid.rows(margin), self.counts)
        return sums

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CellCounts) or type(other) is not type(self):
            return NotImplemented
        return self.schema == other.schema and np.array_equal(self.counts, other.counts)

    def __hash__(self) -> int:
        return hash((self.schema, self.counts.tobytes()))


def _stays(counts: "NDArray[Any]") -> bool:
    """Whether no number of an array can be changed, by itself or by what it is a part of."""
    part: object = counts
    while isinstance(part, np.ndarray):
        if part.flags.writeable:
            return False
        part = part.base
    return part is None or is_paged(counts)


class Table(CellCounts):
    """A confidential table: it shows its attributes, and never a count."""

    def __repr__(self) -> str:
        return f"<confidential table: {self.schema.attributes.in_words}; {self.schema.size:,} cells>"


_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class PublicTable(CellCounts):
    """A released table, whose counts may fall below zero, and the name of the column of its counts.

    >>> hf.read(folder).released.to_frame().columns
    ['county', 'sex', 'n']
    """

    count: str

    kinds = (np.int64, np.int32)
    """Counts of a large table may be held in half the room; what is written of them is the same."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.count in self.schema.names:
            raise SpecError(f"the count column {self.count!r} is also an attribute: give it another name.")

    @overload
    def to_frame(self, kind: Literal["polars"] = "polars") -> pl.DataFrame: ...
    @overload
    def to_frame(self, kind: Literal["pandas"]) -> "pd.DataFrame": ...
    @overload
    def to_frame(self, kind: Literal["pyarrow"]) -> "pa.Table": ...
    def to_frame(self, kind: Literal["polars", "pandas", "pyarrow"] = "polars") -> object:
        """Return all cells in row-major order: a column for each attribute, then the counts."""
        frame = long_frame(self.schema, pl.Series(self.count, self.counts, dtype=pl.Int64))
        match kind:
            case "polars":
                return frame
            case "pandas":  # not frame.to_pandas(), which needs pyarrow as well
                return _library("pandas").DataFrame({name: frame[name].to_numpy() for name in frame.columns})
            case "pyarrow":
                _library("pyarrow")
                return frame.to_arrow()
        raise DataError(f"there are no frames of the kind {kind!r}: choose polars, pandas or pyarrow.")

    def write(
        self,
        path: str | Path,
        *,
        quote_formulas: bool = False,
        file: IO[bytes] | None = None,
        status: pl.Series | None = None,
    ) -> None:
        """Write all cells as CSV or Parquet, into an open file if there is one, with a ``status`` if given.

        The same table gives the same bytes. In CSV, names that a spreadsheet would run can be quoted, with an
        apostrophe before each.
        """
        written = self
        if quote_formulas and Path(path).suffix.lower() == ".csv":
            written = PublicTable(quoted_schema(self.schema), self.counts, quoted(self.count))
        if Path(path).suffix.lower() == ".parquet":
            from holdfast.data.in_parts import write_parts  # noqa: PLC0415 - Arrow is loaded late

            write_parts(written.parts(status), path, file)
            return
        write_frames(written.frames(status), path, file)

    def frames(self, status: pl.Series | None = None) -> Iterator[pl.DataFrame]:
        """Yield what `to_frame` returns, some rows at a time."""
        for begin in range(0, self.schema.size, AT_ONCE):
            end = min(begin + AT_ONCE, self.schema.size)
            codes = self.schema.grid.cells(np.arange(begin, end))
            columns = [
                pl.Series(each.name, each.levels, dtype=pl.String).gather(codes[each.name])
                for each in self.schema.attributes
            ]
            part = pl.DataFrame([*columns, pl.Series(self.count, self.counts[begin:end], dtype=pl.Int64)])
            yield part if status is None else part.with_columns(status[begin:end])

    def parts(self, status: pl.Series | None = None) -> "Iterator[pa.Table]":
        """Yield what `to_frame` returns, some rows at a time."""
        from holdfast.data.in_parts import cells_in_parts  # noqa: PLC0415 - Arrow is loaded late

        for begin, cells in cells_in_parts(self.schema):
            end = begin + cells.num_rows
            part = cells.append_column(self.count, [self.counts[begin:end].astype(np.int64, copy=False)])
            yield part if status is None else part.append_column(status.name, status[begin:end].to_arrow())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PublicTable):
            return NotImplemented
        return self.count == other.count and super().__eq__(other)

    def __hash__(self) -> int:
        return hash((super().__hash__(), self.count))

    def __repr__(self) -> str:
        rows = [(*self.schema.names, self.count), *self._first_rows()]
        rows = [tuple(map(visible, row)) for row in rows]
        width = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([*map(str.ljust, levels, width[:-1]), count.rjust(width[-1])])
            for *levels, count in rows
        ]
        return "\n".join([*lines, *self._left_out()])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(visible(name))}</th>" for name in (*self.schema.names, self.count))
        rows = (
            "".join(f"<td>{escape(visible(text))}</td>" for text in row[:-1])
            + f'<td style="text-align: right">{row[-1]}</td>'
            for row in self._first_rows()
        )
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        more = "".join(f"<p>{line}</p>" for line in self._left_out())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    def _first_rows(self) -> Iterator[tuple[str, ...]]:
        for cell, count in enumerate(self.counts[:_SHOWN].tolist()):
            yield (*self.schema.cell(cell), str(count))

    def _left_out(self) -> list[str]:
        more = self.schema.size - _SHOWN
        return [f"and {more:,} more {'cell' if more == 1 else 'cells'}"] if more > 0 else []


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise DataError(
            f"{name} is not installed: install it, or take the Polars frame that to_frame() gives."
        ) from None


def long_frame(schema: Schema, values: pl.Series) -> pl.DataFrame:
    """Return all cells in row-major order: a column for each attribute, then the values."""
    columns = [
        pl.Series(attribute.name, attribute.levels, dtype=pl.String).gather(schema.codes(attribute.name))
        for attribute in schema.attributes
    ]
    return pl.DataFrame([*columns, values])


def write_frame(frame: pl.DataFrame, path: str | Path, file: IO[bytes] | None = None) -> None:
    """Write a frame as CSV or Parquet, by the name of the file: into that file if it is open."""
    path = Path(path)
    try:
        if path.suffix.lower() == ".csv":
            frame.write_csv(file or path, line_terminator="\n", quote_style="necessary")
        elif path.suffix.lower() == ".parquet":
            frame.write_parquet(file or path, compression="zstd", statistics=False)
        else:
            raise ReleaseError(f"{path} is neither CSV nor Parquet: name a .csv or .parquet file.")
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = getattr(error, "strerror", None) or "no access"
        raise ReleaseError(f"{path} cannot be written ({reason}): check its folder.") from error


def write_frames(frames: Iterable[pl.DataFrame], path: str | Path, file: IO[bytes] | None = None) -> None:
    """Write frames one below the other as CSV: into a file if it is open."""
    path = Path(path)
    if path.suffix.lower() != ".csv":
        raise ReleaseError(f"{path} is neither CSV nor Parquet: name a .csv or .parquet file.")
    try:
        with path.open("wb") if file is None else nullcontext(file) as out:
            for place, frame in enumerate(frames):
                frame.write_csv(out, include_header=place == 0, line_terminator="\n", quote_style="necessary")
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = getattr(error, "strerror", None) or "no access"
        raise ReleaseError(f"{path} cannot be written ({reason}): check its folder.") from error


AT_ONCE = 1 << 20
"""Cells, or records, that are worked on together."""
LevelCodes = NDArray[np.unsignedinteger[Any]]


class NotACellError(DataError):
    """A record has levels that do not lie in each other."""

    def __init__(self, record: int, why: str) -> None:
        super().__init__(f"record {record} (from 0) is in no cell: {why}, so correct one of the two.")
        self.record, self.why = record, why


@dataclass(frozen=True, eq=False, repr=False)
class Records:
    """Confidential records in the order of their source: they show their attributes, and never a value."""

    attributes: Attributes
    codes: tuple[LevelCodes, ...]
    """For each attribute, the place of each record's level, in the smallest unsigned type that holds it."""

    def __post_init__(self) -> None:
        if len(self.codes) != len(self.attributes):
            raise ValueError(f"{len(self.attributes)} attributes need as many columns, not {len(self.codes)}")
        if any(len(codes) != self.size for codes in self.codes):
            raise ValueError("columns must have one code for each record")
        for attribute, codes in zip(self.attributes, self.codes, strict=True):
            if self.size and not 0 <= codes.min() <= codes.max() < len(attribute.levels):
                raise ValueError(f"codes of {attribute.name!r} must be places among its levels")
        object.__setattr__(self, "codes", tuple(map(_compact, self.attributes, self.codes)))

    def __repr__(self) -> str:
        return f"<confidential records: {self.attributes.in_words}>"

    @property
    def size(self) -> int:
        """The number of records."""
        return len(self.codes[0])

    def column(self, name: str) -> LevelCodes:
        """Return the codes of an attribute."""
        return self.codes[self.attributes.axis(name)]

    def rows(self, name: str, times: IntArray | None = None) -> IntArray:
        """Return how many records have each level of an attribute, where each stands for some ``times``."""
        found = np.zeros(len(self.attributes.attribute(name).levels), dtype=np.int64)
        for begin in range(0, self.size, AT_ONCE):
            some = slice(begin, begin + AT_ONCE)
            np.add.at(found, self.column(name)[some], 1 if times is None else times[some])
        return found

    def cells(self, schema: Schema) -> IntArray:
        """Return the cell of each record among those of a schema over some of the attributes."""
        for attribute in schema.attributes:
            if self.attributes.attribute(attribute.name) != attribute:
                raise SpecError(
                    f"the levels of {attribute.name!r} are not those of the records: take the same, in order."
                )
        cells = np.empty(self.size, dtype=np.int64)
        for begin in range(0, self.size, AT_ONCE):
            some = slice(begin, begin + AT_ONCE)
            codes = {name: self.column(name)[some].astype(np.int64) for name in schema.names}
            cells[some] = found = schema.grid.place(codes)
            if schema.nestings and found.min() < 0:
                record = int(np.argmin(found))
                raise NotACellError(begin + record, schema.apart(codes, record))
        return cells

    def table(self, schema: Schema) -> Table:
        """Return the number of records in each cell of a schema over some of the attributes."""
        return Table(schema, np.bincount(self.cells(schema), minlength=schema.size))


def _compact(attribute: Attribute, codes: LevelCodes) -> LevelCodes:
    compact = codes.astype(np.min_scalar_type(len(attribute.levels) - 1), copy=True)
    compact.setflags(write=False)
    return compact


def first_repeat(keys: IntArray) -> tuple[int, int] | None:
    """Return the places of the first key that comes a second time.

    >>> first_repeat(np.array([5, 7, 5]))
    (0, 2)
    """
    order = np.argsort(keys, kind="stable")
    same = keys[order][1:] == keys[order][:-1]
    if not same.any():
        return None
    second = int(order[1:][same].min())
    return int(np.argmax(keys == keys[second])), second


def first_repeated_row(rows: pl.DataFrame) -> tuple[int, int] | None:
    """Return the places of the first row that comes a second time.

    >>> first_repeated_row(pl.DataFrame({"a": ["x", "y", "x"]}))
    (0, 2)
    """
    if not rows.is_duplicated().any():
        return None
    return first_repeat(rows.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy())
