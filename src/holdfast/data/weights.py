"""Reading invariants that are any integer combinations of cells."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.data.columns import Columns
from holdfast.data.files import PLAIN, Writing, open_file
from holdfast.data.repeats import first_repeat
from holdfast.data.schema import Schema
from holdfast.errors import DataError, SpecError

ROW, WEIGHT = "invariant", "weight"


@dataclass(frozen=True, eq=False)
class WeightEntries:
    """The listed entries of a matrix, and the name of each of its rows."""

    labels: tuple[str, ...]
    rows: NDArray[np.int64]
    cells: NDArray[np.int64]
    weights: NDArray[np.int64]


def read_weights(path: Path, schema: Schema, writing: Writing = PLAIN) -> WeightEntries:
    """Read a long file with the columns invariant, one for each attribute, and weight."""
    for name in (ROW, WEIGHT):
        if name in schema.names:
            raise SpecError(
                f"[data] cells names {name!r}, which is a column of its own in {path}: rename the attribute."
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
