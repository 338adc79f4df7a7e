"""Reading data: the confidential table or records of a spec, from a file or a frame, and released tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from holdfast.data.attributes import Attributes
from holdfast.data.columns import Columns
from holdfast.data.declare import schema_of
from holdfast.data.files import MOST_ROWS, open_file
from holdfast.data.formulas import quoted
from holdfast.data.frames import open_frame
from holdfast.data.identity import column_identity, identity
from holdfast.data.numeric import number
from holdfast.data.public_table import PublicTable
from holdfast.data.records import Records
from holdfast.data.repeats import first_repeat
from holdfast.data.schema import MOST_CELLS, Schema
from holdfast.data.source import Source
from holdfast.data.table import Table
from holdfast.data.write import quoted_schema
from holdfast.errors import DataError
from holdfast.spec.model import Spec

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

MOST_RECORDS = 2**53
"""The solver's numbers hold every count up to here exactly, and a release stays far from 64 bits."""


@dataclass(frozen=True, eq=False)
class Reading:
    """A confidential table, and the attributes whose levels were taken from the data."""

    table: Table
    inferred: tuple[str, ...]
    columns: Columns = field(repr=False)

    @cached_property
    def identity(self) -> bytes:
        """The identity of all that the source holds, not only of what the table counts: confidential."""
        return identity([*self.columns.frame, *self.columns.rest()])

    @property
    def header(self) -> tuple[str, ...]:
        """The names of all columns of the source."""
        return tuple(self.columns.source.header)

    @property
    def marks(self) -> dict[str, bytes]:
        """The identity of the column of each attribute: confidential."""
        names = self.table.schema.names
        return {name: column_identity(self.columns.frame[name]) for name in names}


def read_table(spec: Spec, data: "str | Path | IntoFrame | None" = None) -> Reading:
    """Read the confidential table of a spec, from counts or from records.

    The data are a file or a frame; without any, the file that the spec names.
    """
    asked = spec.data
    rows = MOST_ROWS if asked.count is None else MOST_CELLS  # each cell once
    source = open_source(spec.data_path if data is None else data, most_rows=rows)
    columns = Columns.of(source, asked.cells, () if asked.count is None else (asked.count,))
    attributes = _attributes(columns, asked.cells, asked.levels, ordered=asked.count is not None)
    schema = schema_of(spec, attributes)
    records = columns.records(attributes)
    inferred = tuple(name for name in asked.cells if name not in asked.levels)
    if asked.count is None:
        _no_structural_zeros(columns, schema, records, np.ones(records.size, dtype=np.int64), asked.cells[0])
        return Reading(records.table(schema), inferred, columns)
    values = columns.integers(asked.count)
    _nonnegative(columns, asked.count, values)
    counts = _spread(columns, schema, records, values, asked.count)
    if counts.sum() > MOST_RECORDS:
        raise DataError(
            f"{source.name}, column {asked.count!r} sums to more than the {MOST_RECORDS:,} records that"
            " are handled: check the counts."
        )
    return Reading(Table(schema, counts), inferred, columns)


def read_records(
    data: "str | Path | IntoFrame", keys: Sequence[str], levels: Mapping[str, Sequence[str]] | None = None
) -> Records:
    """Read records: the keys as codes, with their levels sorted unless declared, all else carried along."""
    columns = Columns.of(open_source(data), keys)
    found = columns.records(_attributes(columns, keys, levels or {}, ordered=False))
    try:
        return Records(found.attributes, found.codes, pl.DataFrame(columns.rest()))
    except pl.exceptions.DuplicateError:
        raise DataError(f"{columns.source.name} has two columns of one name: rename one.") from None


def read_release(
    path: str | Path, schema: Schema, count: str, *, quoted_formulas: bool = False
) -> PublicTable:
    """Read a released table: every cell exactly once, with a whole number that may be negative."""
    if quoted_formulas:
        written = read_release(path, quoted_schema(schema), quoted(count))
        return PublicTable(schema, written.counts, count)
    source = open_file(Path(path), most_rows=schema.size, released=True)
    columns = Columns.of(source, schema.names, (count,))
    records = columns.records(schema.attributes)
    counts = _spread(columns, schema, records, columns.integers(count), count)
    if records.size < schema.size:
        listed = np.zeros(schema.size, dtype=np.bool_)
        listed[records.cells(schema)] = True
        absent = schema.in_words(int(np.argmin(listed)))
        raise DataError(f"{path} does not list the cell {absent}: list every cell once.")
    return PublicTable(schema, counts, count)


def open_source(data: "str | Path | IntoFrame", *, most_rows: int = MOST_ROWS) -> Source:
    """Return a file or a frame as a source of rows."""
    return open_file(Path(data), most_rows=most_rows) if isinstance(data, str | Path) else open_frame(data)


def _attributes(
    columns: Columns, names: Sequence[str], levels: Mapping[str, Sequence[str]], *, ordered: bool
) -> Attributes:
    """Return the attributes with their levels as declared or, where they are not, as they occur."""
    for name in names:
        if name not in levels and columns.frame.is_empty():
            raise DataError(
                f"{columns.source.name} has no rows: declare the levels of {name!r} in [data.levels]."
            )
    return Attributes.of(
        {
            name: levels[name] if name in levels else _inferred(columns.levels(name), ordered=ordered)
            for name in names
        }
    )


def _inferred(levels: tuple[str, ...], *, ordered: bool) -> tuple[str, ...]:
    if ordered:
        return levels
    # The order of confidential records must not show: sort, as numbers if all are.
    values = {level: number(level) for level in levels}
    if None in values.values():
        return tuple(sorted(levels))
    return tuple(sorted(levels, key=lambda level: (values[level], level)))


def _spread(
    columns: Columns,
    schema: Schema,
    records: Records,
    values: NDArray[np.int64],
    count: str,
) -> NDArray[np.int64]:
    """Return the values over all cells, each cell listed once at most."""
    cells = records.cells(schema)
    repeated = first_repeat(cells)
    if repeated is not None:
        first, second = repeated
        raise DataError(
            f"{columns.source.name}, {columns.source.row(second)} repeats the cell "
            f"{schema.in_words(int(cells[first]))} of {columns.source.row(first)}: "
            "list each cell once, or leave out count if rows are records."
        )
    _no_structural_zeros(columns, schema, records, values, count)
    if sum(abs(value) for value in values.tolist()) >= 2**63:
        raise DataError(
            f"{columns.source.name}, column {count!r} sums to more than fits 64 bits: check the counts."
        )
    counts = np.zeros(schema.size, dtype=np.int64)
    counts[cells] = values
    return counts


def _nonnegative(columns: Columns, count: str, values: NDArray[np.int64]) -> None:
    if (values < 0).any():
        record = int(np.argmax(values < 0))
        raise DataError(
            f"{columns.source.place(record, count)} is {values[record]}: "
            "a count is never below zero, so correct it."
        )


def _no_structural_zeros(
    columns: Columns,
    schema: Schema,
    records: Records,
    values: NDArray[np.int64],
    column: str,
) -> None:
    if not schema.impossible:
        return
    cells = records.cells(schema)
    wrong = (values != 0) & ~schema.possible[cells]
    if wrong.any():
        record = int(np.argmax(wrong))
        raise DataError(
            f"{columns.source.place(record, column)} counts in the cell "
            f"{schema.in_words(int(cells[record]))}, a structural zero: "
            "correct the row, or take the cell out of [constraints] structural_zeros."
        )
