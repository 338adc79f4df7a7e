"""Files of records of any columns, read and written in batches: CSV, Parquet, or a frame in memory.

Types are those of Arrow, as Parquet stores them; in CSV every value is a text, and an empty field is missing.
No file is ever held whole unless it is small.
"""

import codecs
import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO, StringIO
from pathlib import Path
from typing import IO, Any, Literal, Self

import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from holdfast.data.files import (
    FRAME,
    PLAIN,
    Writing,
    csv_damage,
    csv_header,
    kind_of,
    open_file,
    parts_of,
    readable,
    require_closed,
    require_plain,
)
from holdfast.data.parquet import batch_rows, decoded, parquet_batches, parquet_schema
from holdfast.system.errors import DataError

BLOCK = 1 << 25
"""Bytes of CSV that are read at once."""
ROW_GROUP = 1 << 20

FileKind = Literal["csv", "parquet"]


@dataclass(frozen=True, eq=False, repr=False)
class Microdata:
    """Records in batches, as often as they are asked for: some of the columns, or all."""

    name: str
    kind: FileKind
    schema: pa.Schema
    read: Callable[[Sequence[str] | None], Iterator[pa.Table]] = field()
    rows: int | None = None
    """How many there are, where that is known before they are read."""
    writing: Writing = PLAIN
    path: Path | None = None
    """The Parquet file whose rows these are, all of them and no others."""

    def __repr__(self) -> str:
        return f"<confidential records with {len(self.columns)} columns>"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self.schema.names)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Yield the records batch by batch."""
        schema = self._schema(columns)
        for table in self.read(columns):
            yield table if table.schema.equals(schema) else table.cast(schema)

    @property
    def number(self) -> int | None:
        """How many batches there are, where that is known."""
        return None if self.rows is None else -(-self.rows // batch_rows(self.schema))

    def whole(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return all records at once."""
        return pa.concat_tables([self._schema(columns).empty_table(), *self.batches(columns)])

    def _schema(self, columns: Sequence[str] | None) -> pa.Schema:
        return self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])


def open_microdata(source: Any, writing: Writing = PLAIN) -> Microdata:
    """Return a file of any kind that is read, or a frame in memory, as records."""
    found = _file(Path(source), writing) if isinstance(source, str | Path) else _frame(source)
    if len(set(found.columns)) < len(found.columns):
        twice = next(name for name in found.columns if found.columns.count(name) > 1)
        raise DataError(f"{found.name} has two columns {twice!r}: rename one.")
    return found


def _file(path: Path, writing: Writing) -> Microdata:
    kind, packed = kind_of(path)
    if packed or kind not in {".csv", ".parquet"} or parts_of(path):
        return _gathered(path, writing)
    require_plain(path)
    return _csv(path, writing) if kind == ".csv" else _parquet(path)


def _gathered(path: Path, writing: Writing) -> Microdata:
    """Read a file of another kind, or several of a folder or a pattern, whole: they leave as Parquet."""
    source = open_file(path, writing=writing)
    if source.hint:
        raise DataError(source.hint)
    if len(set(source.header)) < len(source.header):
        raise DataError(f"{path} has two columns of one name: rename one.")
    columns = source.load(range(len(source.header)))
    frame = pl.DataFrame([column.alias(name) for name, column in zip(source.header, columns, strict=True)])
    empty = pl.col(pl.String).replace("", None)  # in text an empty field is missing
    return replace(_frame(frame.with_columns(empty)), name=str(path))


def _parquet(path: Path) -> Microdata:
    schema, rows = parquet_schema(path)

    def read(columns: Sequence[str] | None) -> Iterator[pa.Table]:
        return parquet_batches(path, columns)

    return Microdata(str(path), "parquet", bare(schema), read, rows, path=path.absolute())


def _csv(path: Path, writing: Writing) -> Microdata:
    header, hint = csv_header(path, writing)
    if hint:
        raise DataError(hint)
    require_closed(path, writing)
    texts = pa.schema([(name, pa.string()) for name in header])

    def read(columns: Sequence[str] | None) -> Iterator[pa.Table]:
        names = list(header) if columns is None else list(columns)
        parse = pyarrow.csv.ParseOptions(delimiter=writing.separator, newlines_in_values=True)
        convert = pyarrow.csv.ConvertOptions(
            column_types=texts, strings_can_be_null=True, null_values=[""], include_columns=names
        )
        options = pyarrow.csv.ReadOptions(block_size=BLOCK, encoding=writing.encoding)
        with readable(path):
            try:
                with pyarrow.csv.open_csv(path, options, parse, convert) as reader:
                    for batch in reader:
                        yield pa.Table.from_batches([batch])
            except (pa.ArrowInvalid, UnicodeError):
                raise DataError(csv_damage(path, writing)) from None

    return Microdata(str(path), "csv", texts, read, writing=writing)


def _frame(data: Any) -> Microdata:
    import narwhals as nw  # noqa: PLC0415 - files need not wait for it

    try:
        frame = nw.from_native(data)
        frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        table = frame.to_arrow().select(frame.columns)  # an index is no column
        table = decoded(table, ordered=False).cast(bare(_stored(table.schema)))
    except MemoryError:  # one of Arrow's is of both kinds
        raise
    except (TypeError, nw.exceptions.NarwhalsError, pa.ArrowException):
        raise DataError(
            f"the data are a {type(data).__name__} that is no table of records: give the path of a file, or a"
            " frame of Polars, pandas, Arrow or another library that Narwhals knows."
        ) from None

    def read(columns: Sequence[str] | None) -> Iterator[pa.Table]:
        chosen = table if columns is None else table.select(list(columns))
        size = batch_rows(table.schema)
        for start in range(0, chosen.num_rows, size):
            yield chosen.slice(start, size)

    return Microdata(FRAME, "parquet", table.schema, read, table.num_rows)


def bare(schema: pa.Schema) -> pa.Schema:
    """Return a schema without notes: what a library wrote there is not looked through, so it is not kept.

    Extension types, and the levels of Polars' enumerations, are told by notes and stay. Views of texts are
    texts.
    """
    kept = [
        field.with_type(_VIEWED.get(field.type, field.type)).with_metadata(
            {
                key: value
                for key, value in (field.metadata or {}).items()
                if key.startswith((b"ARROW:extension", b"_PL_"))
            }
            or None
        )
        for field in schema
    ]
    return pa.schema(kept)


_VIEWED = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}


def _stored(schema: pa.Schema) -> pa.Schema:
    """Return the types that a Parquet file has for those of a schema."""
    file = BytesIO()
    pyarrow.parquet.write_table(schema.empty_table(), file)
    return pyarrow.parquet.read_schema(file)


def holds_levels(kind: pa.DataType, *, floats: bool = False) -> bool:
    """Whether values of a type are levels: texts, whole numbers, decimals, truth values, days and moments."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return any(is_one(kind) for is_one in (*_LEVELS, *((pa.types.is_floating,) if floats else ())))


_LEVELS = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_integer,
    pa.types.is_boolean,
    pa.types.is_decimal128,
    pa.types.is_date,
    pa.types.is_timestamp,
    pa.types.is_null,
)


def series(column: pa.ChunkedArray) -> pl.Series:
    """Return a column for Polars; decimals that are too long for it are texts."""
    return pl.Series(
        pl.from_arrow(column.cast(pa.string()) if pa.types.is_decimal256(column.type) else column)
    )


def level_texts(column: pa.ChunkedArray) -> pl.Series:
    """Return levels as texts."""
    return series(column).cast(pl.String)


class MicrodataWriter:
    """Writes records batch by batch, in the kind and the types of those they come from."""

    def __init__(self, file: IO[bytes], like: Microdata) -> None:
        self._like, self._file = like, file
        self._parquet: pyarrow.parquet.ParquetWriter | None = None
        self._encoder = codecs.getincrementalencoder(like.writing.encoding)()
        """Puts a byte order mark at the beginning alone."""

    def __enter__(self) -> Self:
        if self._like.kind == "parquet":
            self._parquet = pyarrow.parquet.ParquetWriter(self._file, self._like.schema, compression="zstd")
        else:
            row = StringIO()
            writer = csv.writer(row, delimiter=self._like.writing.separator, lineterminator="\n")
            writer.writerow(self._like.columns)
            self._file.write(self._encoder.encode(row.getvalue()))
        return self

    def __exit__(self, *_: object) -> None:
        if self._parquet is not None:
            self._parquet.close()
        self._file.close()

    def write(self, table: pa.Table) -> None:
        """Write some records after those before."""
        if self._parquet is not None:
            self._parquet.write_table(table.cast(self._like.schema), row_group_size=ROW_GROUP)
        else:
            frame = pl.DataFrame(pl.from_arrow(table))
            text = frame.write_csv(
                include_header=False,
                separator=self._like.writing.separator,
                line_terminator="\n",
                quote_style="necessary",
            )
            self._file.write(self._encoder.encode(text))
