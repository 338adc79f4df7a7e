"""Public numbers by cells, read from files: weights of invariants, past counts, least counts."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from holdfast.data.columns import Columns
from holdfast.data.files import PLAIN, Writing, open_file
from holdfast.data.schema import Schema
from holdfast.data.table import first_repeat
from holdfast.lattice.arrays import IntArray
from holdfast.system.errors import DataError, SpecError
from holdfast.system.ways import setting

ROW, WEIGHT = "invariant", "weight"


@dataclass(frozen=True, eq=False)
class WeightEntries:
    """The listed entries of a matrix, and the name of each of its rows."""

    labels: tuple[str, ...]
    rows: IntArray
    cells: IntArray
    weights: IntArray


def read_weights(path: Path, schema: Schema, writing: Writing = PLAIN) -> WeightEntries:
    """Read a long file with the columns invariant, one for each attribute, and weight."""
    for name in (ROW, WEIGHT):
        if name in schema.names:
            raise SpecError(
                f"{setting('data', 'cells')} names {name!r}, which is a column of its own in {path}: rename"
                " the attribute."
            )
    columns = Columns.of(open_file(path, writing=writing), (ROW, *schema.names), (WEIGHT,))
    if columns.frame.is_empty():
        raise DataError(f"{path} has no rows: list at least one weight.")
    labels = columns.levels(ROW)
    rows = columns.codes(ROW, labels).astype(np.int64)
    cells = columns.cells(schema)
    weights = columns.integers(WEIGHT)
    repeated = first_repeat(rows * schema.size + cells)
    if repeated is not None:
        first, second = repeated
        raise DataError(
            f"{path}, {columns.source.row(second)} repeats the invariant and cell of "
            f"{columns.source.row(first)}: list each cell once for each invariant."
        )
    return WeightEntries(labels, rows, cells, weights)


def read_counts(path: Path, schema: Schema, count: str, writing: Writing = PLAIN) -> IntArray:
    """Read counts that are not negative, each cell at most once; cells that are not listed are 0."""
    columns = Columns.of(open_file(path, writing=writing), schema.names, (count,))
    if columns.frame.is_empty():
        raise DataError(f"{path} has no rows: list at least one cell.")
    cells = columns.cells(schema)
    values = columns.integers(count)
    if (values < 0).any():
        row = int(np.argmax(values < 0))
        raise DataError(
            f"{columns.source.place(row, count)} is {values[row]}: a count is never below zero, so correct"
            " it."
        )
    if (repeated := first_repeat(cells)) is not None:
        first, second = repeated
        raise DataError(
            f"{path}, {columns.source.row(second)} repeats the cell {schema.in_words(int(cells[first]))} of"
            f" {columns.source.row(first)}: list each cell once."
        )
    found = np.zeros(schema.size, dtype=np.int64)
    found[cells] = values
    return found
