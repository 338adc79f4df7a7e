"""Reading invariants that are any integer combinations of cells."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import DataError, SpecError
from holdfast.tables.files import open_columns
from holdfast.tables.repeats import first_repeat
from holdfast.tables.schema import Schema

ROW, WEIGHT = "invariant", "weight"


@dataclass(frozen=True, eq=False)
class WeightEntries:
    """The listed entries of a matrix, and the name of each of its rows."""

    labels: tuple[str, ...]
    rows: NDArray[np.int64]
    cells: NDArray[np.int64]
    weights: NDArray[np.int64]


def read_weights(path: Path, schema: Schema) -> WeightEntries:
    """Read a long file with the columns invariant, one for each attribute, and weight."""
    for name in (ROW, WEIGHT):
        if name in schema.names:
            raise SpecError(
                f"[data] cells names {name!r}, which is a column of its own in {path}: rename the attribute."
            )
    columns = open_columns(path, (ROW, *schema.names), (WEIGHT,))
    if columns.frame.is_empty():
        raise DataError(f"{path} has no rows: list at least one weight.")
    labels = columns.levels(ROW)
    rows = columns.codes(ROW, labels)
    cells = columns.cells(schema)
    weights = columns.integers(WEIGHT)
    repeated = first_repeat(rows * schema.size + cells)
    if repeated is not None:
        first, second = repeated
        raise DataError(
            f"{path}, row {second + columns.first_row} repeats the invariant and cell of row "
            f"{first + columns.first_row}: list each cell once for each invariant."
        )
    return WeightEntries(labels, rows, cells, weights)
