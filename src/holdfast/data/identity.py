"""The identity of a file of records: whether two sources hold the same rows, however they are written.

It is the SHA-256 of a stream. In it each value is a text, made by one rule from text, numbers, truth values
and dates alike; each row is the sorted list of its values, and the file the sorted list of its rows. So it
does not change with the order of rows, columns or levels, with the names of columns, or with the kind of
file or frame. Each value stands behind its length, and the stream begins with the numbers of rows and
columns, so that no two lists of rows make the same stream.

What it cannot tell apart: values that the rule makes equal, such as the codes 01 and 1, and files that
differ only in which column of a row holds which value. It takes any other change, such as a column left
out, for another file.

Whoever has the identity can test a guess of the whole file against it: it is confidential, and a ledger
may keep it under a secret salt only.
"""

import hashlib
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from decimal import Decimal
from typing import IO

import polars as pl
import pyarrow as pa
import pyarrow.ipc

from holdfast.lattice.arrays import IntArray

_CHUNK = 100_000
"""How many rows are Python's own objects at one time."""
_AT_ONCE = 1_000_000
"""How many rows of columns are texts at one time."""

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}.*")
_MAY_CHANGE = r"^(?:[0-9.+-]|(?i:true|false|nan)$)"
_STAYS = r"^(?:0|-?[1-9][0-9]*|-?(?:0|[1-9][0-9]*)\.[0-9]*[1-9])$"


def identity(columns: Sequence[pl.Series]) -> bytes:
    """Return the identity of the rows of some columns."""
    rows = len(columns[0]) if columns else 0
    begins = range(0, max(rows, 1), _AT_ONCE)
    return identity_of_batches([column[begin : begin + _AT_ONCE] for column in columns] for begin in begins)


def identity_of_batches(batches: Iterable[Sequence[pl.Series]]) -> bytes:
    """Return the identity of rows that come batch by batch, with the same columns in each."""
    height = width = 0
    with Ordered() as ordered:
        for columns in batches:
            values = pl.DataFrame([_behind_its_length(one).alias(f"{at}") for at, one in enumerate(columns)])
            height, width = height + values.height, values.width
            for start in range(0, values.height, _CHUNK):
                ordered.add(_rows(values[start : start + _CHUNK]))
        stream = hashlib.sha256(b"holdfast-identity/1\n%d %d\n" % (height, width))
        for texts in ordered.chunks():
            for start in range(0, len(texts), _CHUNK):
                stream.update("".join(texts[start : start + _CHUNK].to_list()).encode())
    return stream.digest()


def _rows(values: pl.DataFrame) -> pl.Series:
    """Return a text for each row, of its values in order.

    A million rows of ten take two seconds here, and eight in Polars' lists.
    """
    columns = (column.to_list() for column in values)
    texts = list(map("".join, map(sorted, zip(*columns, strict=True))))
    return pl.Series(texts, dtype=pl.String)


def column_identity(levels: Sequence[str], rows: IntArray) -> bytes:
    """Return the identity of one column of levels: how many rows have each, whatever their order."""
    stream = hashlib.sha256(b"holdfast-column/1\n")
    for level, number in sorted(zip(levels, rows.tolist(), strict=True)):
        if number:
            text = level.encode()
            stream.update(b"%d:%b %d\n" % (len(text), text, number))
    return stream.digest()


def plain_text(value: str) -> str:
    """Return the one text of all that mean the same value.

    Numbers are in digits without needless zeros, truth values in small letters, moments as ISO 8601, in UTC
    if they say their zone and without the time if they are midnights. What is not a number is empty.

    >>> [plain_text(value) for value in ("01", "1.00", "1e3", "-0.0", "True", "2020-01-31 00:00:00")]
    ['1', '1', '1000', '0', 'true', '2020-01-31']
    """
    if _NUMBER.fullmatch(value):
        digits = f"{Decimal(value):f}"
        digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
        return "0" if digits == "-0" else digits
    if _MOMENT.fullmatch(value):
        return _moment(value)
    small = value.lower()
    if small in {"true", "false"}:
        return small
    return "" if small == "nan" else value


def _moment(value: str) -> str:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return value
    if moment.tzinfo is not None:
        return moment.astimezone(UTC).isoformat()
    return moment.isoformat().removesuffix("T00:00:00")


def _behind_its_length(column: pl.Series) -> pl.Series:
    text = _texts(column)
    frame = pl.DataFrame({"text": text})
    return frame.select(pl.concat_str(pl.col("text").str.len_bytes(), pl.lit(":"), "text")).to_series()


def _texts(column: pl.Series) -> pl.Series:
    """Return the text of each value by `plain_text`, which is asked only once for each that may change."""
    kind = column.dtype
    if kind.is_integer() or isinstance(kind, pl.Boolean | pl.Date):  # plain already
        return column.cast(pl.String).fill_null("")
    if kind.is_nested() or isinstance(kind, pl.Binary | pl.Duration | pl.Object):
        found = [None if value is None else str(value) for value in column.to_list()]
        text = pl.Series(found, dtype=pl.String)
    else:
        text = column.cast(pl.String)
    text = text.fill_null("").str.strip_chars()
    odd = text.filter(text.str.contains(_MAY_CHANGE) & ~text.str.contains(_STAYS)).unique().to_list()
    return text.replace(odd, [plain_text(value) for value in odd]) if odd else text


AT_HAND = 2_000_000
"""Texts that are held in memory."""
RANGES = 64
_SCHEMA = pa.schema([("text", pa.large_string())])


class Ordered(ExitStack):
    """Takes texts in any order, and gives them back in the order of their bytes: more than memory holds.

    Few texts are sorted where they are. Of many, those at hand when there are too many tell where to cut the
    order into ranges of about the same size; every range has a file without a name, which vanishes with the
    process, and is sorted by itself when its turn comes.
    """

    def __init__(self, at_hand: int = AT_HAND) -> None:
        super().__init__()
        self._most, self._held = at_hand, list[pl.Series]()
        self._cuts = pl.Series(dtype=pl.String)
        self._files: list[IO[bytes]] = []
        self._writers: list[pa.ipc.RecordBatchStreamWriter] = []

    def add(self, texts: pl.Series) -> None:
        """Take some texts."""
        self._held.append(texts)
        if not self._files and sum(map(len, self._held)) > self._most:
            self._open(pl.concat(self._held).sort())
        if self._files:
            for one in self._held:
                self._deal(one)
            self._held = []

    def chunks(self) -> Iterator[pl.Series]:
        """Yield all texts in order, some at a time; nothing can be added after that."""
        if not self._files:
            yield (pl.concat(self._held) if self._held else pl.Series(dtype=pl.String)).sort()
            return
        for file, writer in zip(self._files, self._writers, strict=True):
            writer.close()
            file.seek(0)
            with pa.ipc.open_stream(file) as reader:
                yield pl.Series(pl.from_arrow(reader.read_all().column("text"))).sort()

    def _open(self, ordered: pl.Series) -> None:
        places = [place * len(ordered) // RANGES for place in range(1, RANGES)]
        self._cuts = ordered.gather(places).unique().sort()
        for _ in range(len(self._cuts) + 1):
            self._files.append(self.enter_context(tempfile.TemporaryFile()))  # noqa: SIM115
            self._writers.append(pa.ipc.new_stream(self._files[-1], _SCHEMA))

    def _deal(self, texts: pl.Series) -> None:
        frame = pl.DataFrame({"text": texts, "range": self._cuts.search_sorted(texts, side="right")})
        for (place,), part in frame.partition_by("range", as_dict=True).items():
            self._writers[int(place)].write_table(part.select("text").to_arrow().cast(_SCHEMA))
