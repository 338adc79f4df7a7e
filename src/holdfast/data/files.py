"""Sources of rows, and the words for a place in one: CSV and Parquet files, and frames in memory.

Frames are those of Polars, pandas, Arrow and all others that Narwhals knows. Of a file that does not open
it is said what is wrong, and in which row.
"""

import codecs
import csv
import gzip
import zlib
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from io import StringIO
from itertools import accumulate, chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO
from urllib.parse import unquote

import polars as pl

from holdfast.data.packaged import PACKAGED
from holdfast.system.errors import DataError
from holdfast.system.files import special
from holdfast.system.text import counted, in_quotes
from holdfast.system.ways import assigned, setting

if TYPE_CHECKING:
    import narwhals as nw


@dataclass(frozen=True, eq=False, repr=False)
class Source:
    """Columns that are loaded when they are asked for, in the types that the source has for them."""

    name: str
    header: tuple[str, ...]
    load: Callable[[Sequence[int]], list[pl.Series]]
    """The columns at some places of the header."""
    first_row: int
    """The number that the first record has for a reader: 2 in CSV, below the header, 1 in Parquet, 0 in a
    frame."""
    hint: str = ""
    """What to do where a column is missing, if the header lets one guess: it has another separator."""
    spoken: Callable[[int], str] | None = None
    """The words for a row, where its number alone does not tell: of several files, of rows left out."""
    origin: "Source | None" = None
    """The source before a spec gave it another shape: by this it is known."""
    rows: Callable[[], Iterator[list[pl.Series]]] | None = None
    """All rows as they are, batch by batch, where a database has counted equal ones: see `TIMES`."""
    read: Callable[[], Iterator[list[pl.Series]]] | None = None
    """All columns, some rows at a time, where the source need not hold them."""
    own: tuple[str, ...] | None = None
    """The names of columns as they stood before a geography added its own: what a message may offer."""

    @property
    def known(self) -> tuple[str, ...]:
        """The names that whoever wrote the file knows."""
        return self.names if self.own is None else self.own

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns that the source itself has."""
        return tuple(name for name in self.header if name != TIMES)

    @property
    def grouped(self) -> bool:
        """Whether each row stands for as many as its last column says."""
        return self.rows is not None

    def batches(self) -> Iterator[list[pl.Series]]:
        """Yield all rows as the source itself has them, some at a time."""
        if (own := self.origin or self) is not self:
            yield from own.batches()
        elif (read := self.rows or self.read) is not None:
            yield from read()
        else:
            columns = self.load(range(len(self.header)))
            for begin in range(0, max(map(len, columns), default=0), AT_ONCE):
                yield [column[begin : begin + AT_ONCE] for column in columns]

    def row(self, record: int) -> str:
        """Return the words for a row; frames count theirs from 0, so that is said."""
        if self.spoken is not None:
            return self.spoken(record)
        return f"row {record + self.first_row}" + ("" if self.first_row else " (from 0)")

    def place(self, record: int, column: str) -> str:
        """Return where a value stands."""
        if self.grouped:
            return f"{self.name}, column {column!r} of some row"
        return f"{self.name}, {self.row(record)}, column {column!r}"


AT_ONCE = 1_000_000
"""Rows of a source that are worked on at one time."""
FRAME = "the data frame"
TIMES = "\0times"
"""The column that says how many rows of a database are one here: none of a database has this name."""


def open_frame(data: object) -> Source:
    """Return a frame as a source; its rows count from 0, as its own library counts them."""
    import narwhals as nw  # noqa: PLC0415 - a tenth of a second that files need not wait for

    try:
        frame: nw.DataFrame[Any] | nw.LazyFrame[Any] = nw.from_native(data)
    except nw.exceptions.DuplicateError:
        raise DataError(f"{FRAME} has two columns of one name: rename one.") from None
    except TypeError:
        raise DataError(
            f"the data are a {type(data).__name__}: give the path of a file, or a frame of Polars, pandas, "
            "Arrow or another library that Narwhals knows."
        ) from None
    eager = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    names = eager.columns

    def load(places: Sequence[int]) -> list[pl.Series]:
        return [_column(eager.get_column(names[place])) for place in places]

    return Source(FRAME, tuple(str(name) for name in names), load, first_row=0)


def _column(series: "nw.Series[Any]") -> pl.Series:
    """Return a column in Polars' types; one with values of several types becomes a column of objects."""
    try:
        return series.to_polars()
    except (AttributeError, ImportError, NotImplementedError, TypeError, ValueError):
        # Values of several types; or pandas without pyarrow, through which its texts go otherwise.
        gaps = series.is_null().to_list()
        values = [None if gap else value for value, gap in zip(series.to_list(), gaps, strict=True)]
        kinds = {type(value) for value in values} - {type(None)}
        return pl.Series(values, dtype=pl.Object) if len(kinds) > 1 else pl.Series(values)


MOST_ROWS = 2**33
"""Files that say they have more are damaged, or made to fill the memory."""


@dataclass(frozen=True)
class Writing:
    """How a CSV file is written."""

    separator: str = ","
    encoding: str = "utf-8"
    spec: bool = True
    """Whether a section of a spec can say that it is written otherwise."""

    @property
    def utf8(self) -> bool:
        """Whether the bytes can be read as they are."""
        return codecs.lookup(self.encoding).name in ("utf-8", "utf-8-sig", "ascii")


PLAIN = Writing()
_SEPARATORS = {";": '";"', "\t": '"\\t"', ",": '","', "|": '"|"'}
"""What separates columns, and how a spec writes it."""


def open_file(
    path: Path, *, most_rows: int = MOST_ROWS, released: bool = False, writing: Writing = PLAIN
) -> Source:
    """Return a file, or the files of a folder or a pattern, as a source; text is read at once as text.

    A Parquet file that says it has more rows than ``most_rows`` is refused before any of them is read. Of a
    file that was ``released`` by somebody else no more than one row above it is read, and it may be no link.
    """
    kind, packed = kind_of(path)
    writing = replace(writing, spec=not released)
    if released and (packed or kind not in (".csv", ".parquet")):
        raise DataError(f"{path} is neither CSV nor Parquet: name a .csv or .parquet file.")
    if not released and (parts := parts_of(path)):
        opened = (open_file(part, most_rows=most_rows, writing=writing) for part in parts)
        root = _root(path)
        return _together(
            path, [_with_keys(one, _keys(part, root)) for one, part in zip(opened, parts, strict=True)]
        )
    if kind not in KINDS or (packed and kind not in TEXTS):
        raise DataError(
            f"{path} is neither CSV nor Parquet, nor what else is read: name a file in {_LISTED}."
        )
    require_plain(path, links=not released)
    if kind == ".parquet":
        return _open_parquet(path, most_rows)
    if kind not in TEXTS:
        frame = PACKAGED[kind](path)
        columns = frame.get_columns()
        return Source(str(path), tuple(frame.columns), lambda at: [columns[one] for one in at], first_row=2)
    if kind == ".tsv" and writing.separator == ",":
        writing = replace(writing, separator="\t")
    return _open_csv(path, most_rows + 1 if released else None, writing)


TEXTS = (".csv", ".tsv")
"""Kinds of text, which may be packed."""
KINDS = (*TEXTS, ".parquet", *PACKAGED)
"""The kinds of files that are read, by how their names end."""
PACKED = ".gz"
_LISTED = f"{', '.join(KINDS)}, or {' or '.join(kind + PACKED for kind in TEXTS)}"


def kind_of(path: Path) -> tuple[str, bool]:
    """Return how a file's name ends, and whether it is packed.

    >>> kind_of(Path("people.CSV.gz")), kind_of(Path("people.parquet"))
    (('.csv', True), ('.parquet', False))
    """
    packed = path.suffix.lower() == PACKED
    return (path.with_suffix("") if packed else path).suffix.lower(), packed


def parts_of(path: Path) -> list[Path]:
    """Return the files in a folder, or that a pattern with * stands for; none where a path is one file."""
    if path.is_dir():
        found = [one for one in sorted(path.iterdir()) if kind_of(one)[0] in KINDS and one.is_file()]
        found = found or [one for one in sorted(path.glob("*=*/**/*")) if kind_of(one)[0] in KINDS]
        if not found:
            raise DataError(f"{path} is a folder that has no file of data: name one in {_LISTED}.")
        return found
    root = _root(path)
    if root == path or path.exists():
        return []
    found = sorted(one for one in root.glob(str(path.relative_to(root))) if one.is_file())
    if not found:
        raise DataError(f"{path} stands for no file: check the path.")
    return found


def _root(path: Path) -> Path:
    """Return the folder that a pattern begins in; a path without * is its own."""
    plain = [part for part in (path, *path.parents) if "*" not in str(part)]
    return plain[0] if plain else Path()


def _keys(part: Path, root: Path) -> dict[str, str | None]:
    """Return the columns that the folders above a file are named by, as ``state=RI``: Hive's partitions."""
    folders = part.relative_to(root).parts[:-1]
    named = (folder.partition("=") for folder in folders if "=" in folder)
    return {key: None if value == _NO_KEY else unquote(value) for key, _, value in named if key}


_NO_KEY = "__HIVE_DEFAULT_PARTITION__"


def _with_keys(source: Source, keys: Mapping[str, str | None]) -> Source:
    """Return a file with a column for each folder that it has no column for."""
    added = {key: value for key, value in keys.items() if key not in source.header}
    own, values = len(source.header), list(added.values())

    def load(places: Sequence[int]) -> list[pl.Series]:
        inner = [at for at in places if at < own] or [0]
        loaded = dict(zip(inner, source.load(inner), strict=True))
        size = len(loaded[inner[0]])
        return [
            loaded[at] if at < own else pl.repeat(values[at - own], size, dtype=pl.String, eager=True)
            for at in places
        ]

    def read() -> Iterator[list[pl.Series]]:
        for batch in source.batches():
            size = len(batch[0])
            yield [*batch, *(pl.repeat(value, size, dtype=pl.String, eager=True) for value in values)]

    return replace(source, header=(*source.header, *added), load=load, read=read) if added else source


def _together(path: Path, parts: Sequence[Source]) -> Source:
    """Return several files of the same columns as one source."""
    first = parts[0]
    for part in parts:
        if part.hint:
            raise DataError(part.hint)
        if part.header != first.header:
            raise DataError(
                f"{part.name} has other columns than {first.name}, and both are in {path}: give all files the"
                " same header."
            )
    ends: list[int] = []

    def load(places: Sequence[int]) -> list[pl.Series]:
        loaded = [part.load(places) for part in parts]
        ends[:] = accumulate(len(columns[0]) for columns in loaded if columns)
        texts = [len({columns[at].dtype for columns in loaded}) > 1 for at in range(len(places))]
        return [
            pl.concat([columns[at].cast(pl.String) if texts[at] else columns[at] for columns in loaded])
            for at in range(len(places))
        ]

    def spoken(record: int) -> str:
        at = bisect_right(ends, record)
        name = Path(parts[at].name).relative_to(_root(path))
        return f"{name}, {parts[at].row(record - (ends[at - 1] if at else 0))}"

    def read() -> Iterator[list[pl.Series]]:
        return chain.from_iterable(part.batches() for part in parts)

    return Source(str(path), first.header, load, first_row=first.first_row, spoken=spoken, read=read)


def require_plain(path: Path, *, links: bool = True) -> None:
    """Raise DataError where a path is no plain file that can be opened: a pipe, a device, a folder."""
    try:
        kind = special(path, links=links)
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(f"{path} does not exist: check the path.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): check the path.") from None
    if kind == "a folder":
        raise DataError(f"{path} is a folder: name a .csv or .parquet file in it.")
    if kind is not None:
        raise DataError(f"{path} is {kind}: put a plain file there.")


def _open_csv(path: Path, read_rows: int | None, writing: Writing) -> Source:
    with readable(path):
        text = None if writing.utf8 and not kind_of(path)[1] else _decoded(path, writing.encoding)
        header = _csv_header(path, writing, text)
        hint = _other_separator(path, header, writing)
        source = path if text is None else text.encode()
        try:
            # All columns, even those that are not needed: a row with too many fields shows only then.
            frame = pl.read_csv(
                source, infer_schema=False, glob=False, n_rows=read_rows, separator=writing.separator
            )
        except pl.exceptions.PolarsError:
            raise DataError(hint or _csv_damage(path, writing, text, len(header))) from None
    columns = frame.get_columns()
    return Source(
        str(path), tuple(header), lambda at: [columns[place] for place in at], first_row=2, hint=hint
    )


def _decoded(path: Path, encoding: str) -> str:
    content = _unpacked(path) if kind_of(path)[1] else path.read_bytes()
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except UnicodeError as error:
        at = getattr(error, "start", len(content))
        row = content.count(b"\n", 0, at) + 1
        raise DataError(
            f"{path}, row {row} is not {encoding} text: name the one that the file has in"
            f" {setting('data', 'encoding')}."
        ) from None


def _unpacked(path: Path) -> bytes:
    try:
        return gzip.decompress(path.read_bytes())
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise DataError(f"{path} is no gzip file, or is damaged: pack it anew.") from None


@contextmanager
def _opened(path: Path, text: str | None) -> Iterator[TextIO]:
    with path.open(encoding="utf-8-sig", newline="") if text is None else StringIO(text, newline="") as file:
        yield file


def csv_header(path: Path, writing: Writing) -> tuple[list[str], str]:
    """Return the names in the first row of a CSV file, and what to do where another sign would split it."""
    with readable(path):
        header = _csv_header(path, writing, None if writing.utf8 else _decoded(path, writing.encoding))
    return header, _other_separator(path, header, writing)


def csv_damage(path: Path, writing: Writing) -> str:
    """Return what is wrong with a CSV file of records, and in which row: a field for each name is needed."""
    text = None if writing.utf8 else _decoded(path, writing.encoding)
    width = len(_csv_header(path, writing, text))
    found = _csv_damage(path, writing, text, width)
    with suppress(csv.Error, UnicodeDecodeError), _opened(path, text) as file:
        reader = csv.reader(file, strict=True, delimiter=writing.separator)
        for fields in reader:
            if fields and len(fields) < width:
                return (
                    f"{path}, row {reader.line_num} has {counted(len(fields), 'field')} and the header"
                    f" {width}: fill the row, or delete it."
                )
    return found


def require_closed(path: Path, writing: Writing) -> None:
    """Raise DataError where a CSV file ends within quotation marks: all that follows one would be a value."""
    if '"'.encode(writing.encoding, "replace") != b'"':  # a sign of several bytes is not counted
        return
    with readable(path), path.open("rb") as file:
        if sum(block.count(b'"') for block in iter(lambda: file.read(1 << 20), b"")) % 2 == 0:
            return
    with _opened(path, None if writing.utf8 else _decoded(path, writing.encoding)) as file:
        reader = csv.reader(file, strict=True, delimiter=writing.separator)
        try:
            deque(reader, maxlen=0)
        except (csv.Error, UnicodeDecodeError):
            raise DataError(csv_damage(path, writing)) from None


def _csv_header(path: Path, writing: Writing, text: str | None) -> list[str]:
    try:
        with _opened(path, text) as file:
            header = next(csv.reader(file, delimiter=writing.separator), None)
    except (UnicodeDecodeError, csv.Error):
        raise DataError(_csv_damage(path, writing, text, 0)) from None
    if not header:
        raise DataError(f"{path} has no header: name the columns in its first row.")
    return header


def _other_separator(path: Path, header: list[str], writing: Writing) -> str:
    """Return what to do about a header of one column that another sign would split, "" about others."""
    found = {
        sign: header[0].count(sign) for sign in _SEPARATORS if sign != writing.separator and sign in header[0]
    }
    if len(header) > 1 or not found:
        return ""
    sign = max(found, key=lambda one: found[one])
    way = f"set {assigned('separator', words=_SEPARATORS[sign])} in {setting('data')}"
    return (
        f"{path} has the one column {in_quotes(header[0])}, and seems to be separated by another sign:"
        f" {way if writing.spec else 'write it with commas'}."
    )


def _csv_damage(path: Path, writing: Writing, text: str | None, width: int) -> str:
    """Return what is wrong with a CSV file that cannot be read, and in which row."""
    with path.open("rb") as file:
        for row, line in enumerate(file if text is None else (), start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                way = (
                    f", or name its encoding, such as {assigned('encoding', 'cp1252')}, in {setting('data')}"
                )
                return (
                    f"{path}, row {row} is not UTF-8 text: save the file as UTF-8"
                    f"{way if writing.spec else ''}."
                )
    try:
        with _opened(path, text) as file:
            reader = csv.reader(file, strict=True, delimiter=writing.separator)
            for fields in reader:
                if len(fields) > width:
                    return (
                        f"{path}, row {reader.line_num} has {len(fields)} fields and the header "
                        f"{width}: put levels with {_sign(writing.separator)} in quotes."
                    )
    except csv.Error:
        return f"{path}, row {reader.line_num} is not CSV: check its quotation marks."
    return f"{path} cannot be read as CSV: check its quotation marks."


def _sign(separator: str) -> str:
    return {",": "a comma", ";": "a semicolon", "\t": "a tab"}.get(separator, repr(separator))


def _open_parquet(path: Path, most_rows: int) -> Source:
    import pyarrow as pa  # noqa: PLC0415 - for Parquet alone

    from holdfast.data.parquet import decoded, parquet_batches, parquet_schema  # noqa: PLC0415

    schema, rows = parquet_schema(path)
    if rows > most_rows:
        raise DataError(
            f"{path} says that it has {rows:,} rows, more than the {most_rows:,} that it can have: write it"
            " anew."
        )
    header, before = tuple(schema.names), path.stat()

    def read() -> Iterator[list[pl.Series]]:
        for batch in parquet_batches(path):
            yield pl.DataFrame(decoded(batch)).get_columns()
        now = path.stat()
        if (now.st_ino, now.st_size, now.st_mtime_ns) != (before.st_ino, before.st_size, before.st_mtime_ns):
            raise DataError(f"{path} was changed while it was read: do the same again.")

    def load(places: Sequence[int]) -> list[pl.Series]:
        names = [header[place] for place in places]
        if not names:
            return []
        for place in places:
            if pa.types.is_decimal256(schema.field(place).type):  # Polars has none of more than 38 digits
                raise DataError(f"{path}, column {header[place]!r} has decimals of 76 digits: use fewer.")
        none = pa.schema([schema.field(place) for place in places]).empty_table()
        table = pa.concat_tables(map(decoded, (none, *parquet_batches(path, names))))
        if table.num_rows != rows:
            raise DataError(
                f"{path} says that it has {rows:,} rows and has {table.num_rows:,}: write it anew."
            )
        return pl.DataFrame(table).get_columns()

    return Source(str(path), header, load, first_row=1, read=read)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Say in one sentence that a file cannot be read."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"{path} cannot be read ({error.strerror or 'no access'}): check its permissions."
        ) from None
