"""Reading tables: the confidential one that a spec names, and released ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import DataError
from holdfast.spec.model import Spec
from holdfast.tables.columns import Columns
from holdfast.tables.declare import schema_of
from holdfast.tables.files import open_columns
from holdfast.tables.numeric import number
from holdfast.tables.repeats import first_repeat
from holdfast.tables.schema import Schema
from holdfast.tables.table import Table

MOST_RECORDS = 2**53
"""The solver's numbers hold every count up to here exactly, and a release stays far from 64 bits."""


@dataclass(frozen=True)
class Reading:
    """A table from a file, and the attributes whose levels were taken from the data."""

    table: Table
    inferred: tuple[str, ...]


def read_table(spec: Spec) -> Reading:
    """Read the confidential table of a spec, from counts or from records."""
    data = spec.data
    numbers = () if data.count is None else (data.count,)
    columns = open_columns(spec.data_path, data.cells, numbers)
    inferred = tuple(name for name in data.cells if name not in data.levels)
    if inferred and columns.frame.is_empty():
        raise DataError(
            f"{columns.path} has no rows: declare the levels of {inferred[0]!r} in [data.levels]."
        )
    levels = {
        name: data.levels[name] if name in data.levels else _inferred(columns, name, numbers)
        for name in data.cells
    }
    schema = schema_of(spec, levels)
    cells = columns.cells(schema)
    if data.count is None:
        counts = np.bincount(cells, minlength=schema.size)
        _no_structural_zeros(columns, schema, cells, np.ones_like(cells), data.cells[0])
    else:
        values = columns.integers(data.count)
        _nonnegative(columns, data.count, values)
        counts = _spread(columns, schema, cells, values, data.count)
        if counts.sum() > MOST_RECORDS:
            raise DataError(
                f"{columns.path}, column {data.count!r} sums to more than the {MOST_RECORDS:,} records that"
                " are handled: check the counts."
            )
    return Reading(Table(schema, counts), inferred)


def read_release(path: str | Path, schema: Schema, count: str) -> Table:
    """Read a released table: every cell exactly once, with a whole number that may be negative."""
    columns = open_columns(Path(path), schema.names, (count,))
    cells = columns.cells(schema)
    counts = _spread(columns, schema, cells, columns.integers(count), count)
    if len(cells) < schema.size:
        listed = np.zeros(schema.size, dtype=np.bool_)
        listed[cells] = True
        absent = _in_words(schema, int(np.argmin(listed)))
        raise DataError(f"{columns.path} does not list the cell {absent}: list every cell once.")
    return Table(schema, counts)


def _inferred(columns: Columns, name: str, numbers: Sequence[str]) -> tuple[str, ...]:
    levels = columns.levels(name)
    if numbers:
        return levels
    # The order of confidential records must not show: sort, as numbers if all are.
    values = {level: number(level) for level in levels}
    if None in values.values():
        return tuple(sorted(levels))
    return tuple(sorted(levels, key=lambda level: (values[level], level)))


def _spread(
    columns: Columns,
    schema: Schema,
    cells: NDArray[np.int64],
    values: NDArray[np.int64],
    count: str,
) -> NDArray[np.int64]:
    """Return the values over all cells, each cell listed once at most."""
    repeated = first_repeat(cells)
    if repeated is not None:
        first, second = repeated
        raise DataError(
            f"{columns.path}, row {second + columns.first_row} repeats the cell "
            f"{_in_words(schema, int(cells[first]))} of row {first + columns.first_row}: "
            "list each cell once, or leave out count if rows are records."
        )
    _no_structural_zeros(columns, schema, cells, values, count)
    if sum(abs(value) for value in values.tolist()) >= 2**63:
        raise DataError(f"{columns.path}, column {count!r} sums to more than fits 64 bits: check the counts.")
    counts = np.zeros(schema.size, dtype=np.int64)
    counts[cells] = values
    return counts


def _nonnegative(columns: Columns, count: str, values: NDArray[np.int64]) -> None:
    if (values < 0).any():
        record = int(np.argmax(values < 0))
        raise DataError(
            f"{columns.place(record, count)} is {values[record]}: a count is never below zero, so correct it."
        )


def _no_structural_zeros(
    columns: Columns,
    schema: Schema,
    cells: NDArray[np.int64],
    values: NDArray[np.int64],
    column: str,
) -> None:
    wrong = (values != 0) & ~schema.possible[cells]
    if wrong.any():
        record = int(np.argmax(wrong))
        raise DataError(
            f"{columns.place(record, column)} counts in the cell "
            f"{_in_words(schema, int(cells[record]))}, a structural zero: "
            "correct the row, or take the cell out of [constraints] structural_zeros."
        )


def _in_words(schema: Schema, cell: int) -> str:
    return ", ".join(
        f"{name} = {level!r}" for name, level in zip(schema.names, schema.cell(cell), strict=True)
    )
