"""Public counts over the cells of a table, read from a file: past ones, or the least that are possible."""

from pathlib import Path

import numpy as np

from holdfast.data.columns import Columns
from holdfast.data.files import PLAIN, Writing, open_file
from holdfast.data.repeats import first_repeat
from holdfast.data.schema import Schema
from holdfast.errors import DataError
from holdfast.lattice.arrays import IntArray


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
