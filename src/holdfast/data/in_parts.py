"""Long forms that are written and read some rows at a time: a table of any size takes little beside itself.

Texts without gaps stand as places in a dictionary until they are on the disk, where they are plain texts, as
in any file. Arrow writes bytes of memory that was never set where a dictionary has gaps: no column of a
release has both.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import IO

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet

from holdfast.data.arrow import arrow_numbers, arrow_texts
from holdfast.data.files import require_plain
from holdfast.data.parquet import decoded, parquet_batches, parquet_schema
from holdfast.data.schema import Schema
from holdfast.lattice.arrays import IntArray
from holdfast.system.errors import DataError, ReleaseError

AT_ONCE = 1 << 20
"""Rows that are made at once."""


def ranges(end: int, begin: int = 0) -> Iterator[tuple[int, int]]:
    """Yield where parts of some rows begin and end; no rows are one part without any.

    >>> list(ranges(2_000_000))
    [(0, 1048576), (1048576, 2000000)]
    """
    for start in range(begin, max(end, begin + 1), AT_ONCE):
        yield start, min(start + AT_ONCE, end)


def levels_at(levels: Sequence[str], places: IntArray) -> pa.DictionaryArray:
    """Return levels by their places; of places near to each other few levels are looked at."""
    low, high = (0, 0) if not places.size else (int(places.min()), int(places.max()) + 1)
    index = arrow_numbers((places - low).astype(np.int32))
    return pa.DictionaryArray.from_arrays(index, arrow_texts(levels[low:high]))


def always(level: str, rows: int) -> pa.DictionaryArray:
    """Return one level for all of some rows."""
    index = arrow_numbers(np.zeros(rows, dtype=np.int32))
    return pa.DictionaryArray.from_arrays(index, arrow_texts([level]))


def texts(part: pa.Table) -> pl.DataFrame:
    """Return rows with plain texts."""
    return pl.DataFrame(decoded(part))


def released_parts(path: Path, *, most_rows: int) -> Iterator[pl.DataFrame]:
    """Yield the rows of a Parquet file that somebody else released, some at a time.

    Raises DataError where it is no plain file, where it says that it has more rows than it can have, or where
    it has not as many as it says.
    """
    require_plain(path, links=False)
    schema, rows = parquet_schema(path)
    if rows > most_rows:
        raise DataError(
            f"{path} says that it has {rows:,} rows, more than the {most_rows:,} that it can have."
        )
    seen = 0
    if rows == 0:
        yield texts(schema.empty_table())
    for part in parquet_batches(path):
        seen += part.num_rows
        yield texts(part)
    if seen != rows:
        raise DataError(f"{path} says that it has {rows:,} rows and has {seen:,}: write it anew.")


def cells_in_parts(schema: Schema, begin: int = 0, end: int | None = None) -> Iterator[tuple[int, pa.Table]]:
    """Yield the levels of cells in row-major order, of those in a range, and the first of each part."""
    for first, last in ranges(schema.size if end is None else end, begin):
        codes = schema.grid.cells(np.arange(first, last))
        yield (
            first,
            pa.table({each.name: levels_at(each.levels, codes[each.name]) for each in schema.attributes}),
        )


def write_parts(parts: Iterable[pa.Table], path: str | Path, file: IO[bytes] | None = None) -> None:
    """Write parts one below the other as Parquet: into a file if it is open."""
    writer: pa.parquet.ParquetWriter | None = None
    try:
        with Path(path).open("wb") if file is None else nullcontext(file) as out:
            for part in parts:
                if writer is None:  # readers need not know of the dictionaries: their schema is not kept
                    writer = pa.parquet.ParquetWriter(
                        out, part.schema, compression="zstd", write_statistics=False, store_schema=False
                    )
                writer.write_table(part)
            if writer is not None:
                writer.close()
    except (OSError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or "no access"
        raise ReleaseError(f"{path} cannot be written ({reason}): check its folder.") from error
