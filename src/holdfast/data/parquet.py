"""Parquet files, read in batches by Arrow, for tables and for files of records alike.

Arrow refuses what is damaged by an exception. Polars panics there, in a thread of its own, and may never
answer the same process again.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from holdfast.system.errors import DataError

BATCH = 1 << 20
"""Rows that are read at once, at most."""
BATCH_BYTES = 1 << 26
"""Bytes that are read at once, more or less."""


def parquet_schema(path: Path) -> tuple[pa.Schema, int]:
    """Return the columns of a Parquet file and how many rows it says it has, from its last bytes."""
    with _sound(path), pyarrow.parquet.ParquetFile(path) as file:
        return file.schema_arrow, file.metadata.num_rows


def parquet_row_groups(path: Path) -> list[int]:
    """Return the number of records of each row group of a Parquet file."""
    with _sound(path), pyarrow.parquet.ParquetFile(path) as file:
        return [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]


def parquet_batches(
    path: Path, columns: Sequence[str] | None = None, row_groups: Sequence[int] | None = None
) -> Iterator[pa.Table]:
    """Yield the records of a Parquet file, or of some of its row groups, batch by batch."""
    with _sound(path), pyarrow.parquet.ParquetFile(path) as file:
        names = None if columns is None else list(columns)
        size = batch_rows(file.schema_arrow)
        for batch in file.iter_batches(size, row_groups=row_groups, columns=names, use_threads=True):
            batch.validate(full=True)  # text that is no UTF-8 is read without a word
            table = pa.Table.from_batches([batch])
            yield table if names is None else table.select(names)


def batch_rows(schema: pa.Schema) -> int:
    """Return how many rows are read at once: fewer of wide records."""
    return max(1, min(BATCH, BATCH_BYTES // width(schema)))


def width(schema: pa.Schema) -> int:
    """Return about how many bytes a record takes."""
    total = 0
    for column in schema:
        try:
            total += max(1, column.type.bit_width // 8)
        except ValueError:  # of any length
            total += 24
    return max(1, total)


def decoded(table: pa.Table, *, ordered: bool = True) -> pa.Table:
    """Return a table with plain values in place of dictionaries, of all or of those without an order.

    Dictionaries may have missing values in them, and differ between batches.
    """
    kinds = [
        field.with_type(field.type.value_type)
        if pa.types.is_dictionary(field.type) and (ordered or not field.type.ordered)
        else field
        for field in table.schema
    ]
    return table.cast(pa.schema(kinds))


@contextmanager
def _sound(path: Path) -> Iterator[None]:
    """Say in one sentence that a Parquet file is none, or cannot be read."""
    try:
        yield
    except MemoryError:  # one of Arrow's is of both kinds
        raise
    except (pa.ArrowException, UnicodeError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            reason = error.strerror or "no access"
            raise DataError(f"{path} cannot be read ({reason}): check its permissions.") from None
        raise DataError(f"{path} is not a Parquet file, or it is damaged: write it anew.") from None
