"""Public numbers of cells from a file: exposures, or the counts of an earlier publication."""

from pathlib import Path

import numpy as np
import polars as pl

from holdfast.data.columns import Columns
from holdfast.data.files import open_file
from holdfast.data.repeats import first_repeat
from holdfast.data.schema import Schema
from holdfast.errors import DataError
from holdfast.inference.posterior.asked import LEAST, MOST
from holdfast.lattice.arrays import FloatArray


def read_numbers(path: Path, column: str, schema: Schema) -> FloatArray:
    """Return a number for each cell, from a long file with some of the attributes as columns.

    It has one row for each combination of their levels; cells that agree in these have the same number.
    """
    source = open_file(path)
    names = [name for name in schema.names if name in source.header and name != column]
    if not names:
        raise DataError(
            f"{path} has no column of an attribute of the table: let it have one or more of"
            f" {', '.join(schema.names)}."
        )
    columns = Columns.of(source, names, (column,))
    levels = [schema.attribute(name).levels for name in names]
    shape = tuple(map(len, levels))
    codes = [columns.codes(name, each) for name, each in zip(names, levels, strict=True)]
    rows = np.ravel_multi_index([code.astype(np.int64) for code in codes], shape)
    if (repeated := first_repeat(rows)) is not None:
        first, second = repeated
        raise DataError(
            f"{path}, {source.row(second)} has the levels of {source.row(first)}: list each combination once."
        )
    numbers, order = _numbers(columns, column), np.argsort(rows)
    of_cell = np.ravel_multi_index([schema.codes(name) for name in names], shape)
    place = np.minimum(np.searchsorted(rows[order], of_cell), max(rows.size - 1, 0))
    told = rows[order][place] == of_cell if rows.size else np.zeros(of_cell.size, dtype=np.bool_)
    missing = np.flatnonzero(~told & schema.possible)
    if missing.size:
        raise DataError(
            f"{path} has no {column!r} for the cell {schema.in_words(int(missing[0]))}: list every"
            " combination of levels."
        )
    return np.where(schema.possible, numbers[order][place], 0.0)


def _numbers(columns: Columns, name: str) -> FloatArray:
    values = columns.frame[name].cast(pl.Float64, strict=False)
    usual = (values == 0) | ((values >= LEAST) & (values <= MOST))
    bad = (~usual.fill_null(value=False)).arg_true()
    if bad.len():
        place = int(bad[0])
        value = columns.frame[name][place]
        told = "empty" if value is None else repr(str(value))
        raise DataError(
            f"{columns.source.place(place, name)} is {told}: give 0, or a number from {LEAST:g} to {MOST:g}."
        )
    return values.to_numpy()
