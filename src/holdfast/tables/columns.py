"""Columns of a file as level codes, cells and whole numbers; what is wrong is named by its row."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from holdfast.errors import DataError
from holdfast.spec.closest import closest
from holdfast.tables.numeric import number
from holdfast.tables.schema import Schema

_WHOLE = r"^([+-]?[0-9]+)\.0*$"


@dataclass(frozen=True)
class Columns:
    """Some columns of a file, and the row number that its first record has for a reader."""

    path: Path
    frame: pl.DataFrame
    first_row: int

    def place(self, record: int, column: str) -> str:
        """Return where in the file a value stands."""
        return f"{self.path}, row {record + self.first_row}, column {column!r}"

    def levels(self, column: str) -> tuple[str, ...]:
        """Return the distinct levels of a column in order of first appearance."""
        self._no_gaps(column)
        return tuple(self.frame[column].unique(maintain_order=True).to_list())

    def codes(self, column: str, levels: Sequence[str]) -> NDArray[np.int64]:
        """Return the place among `levels` of each record's level."""
        self._no_gaps(column)
        coded = self.frame[column].cast(pl.Enum(levels), strict=False)
        unknown = _first(coded.is_null())
        if unknown is not None:
            level = self.frame[column][unknown]
            raise DataError(
                f"{self.place(unknown, column)} has the level {level!r}, which is not declared: "
                f"{closest(level, levels)}"
            )
        return coded.to_physical().cast(pl.Int64).to_numpy()

    def cells(self, schema: Schema) -> NDArray[np.int64]:
        """Return the cell of each record."""
        cells = np.zeros(self.frame.height, dtype=np.int64)
        for attribute in schema.attributes:
            cells *= len(attribute.levels)
            cells += self.codes(attribute.name, attribute.levels)
        return cells

    def integers(self, column: str) -> NDArray[np.int64]:
        """Return a column of whole numbers."""
        values = self.frame[column]
        if values.dtype.is_float():
            fits = values.is_finite() & (values == values.floor()) & (values.abs() < 2.0**63)
            whole = values.set(~fits.fill_null(value=False), None).cast(pl.Int64, strict=False)
        elif values.dtype.is_integer():
            whole = values.cast(pl.Int64, strict=False)
        else:  # text and decimals: a cast of decimals would cut off their fractions
            text = values.cast(pl.String)
            whole = text.str.replace(_WHOLE, "${1}").cast(pl.Int64, strict=False)
        bad = _first(whole.is_null())
        if bad is not None:
            raise DataError(f"{self.place(bad, column)} {_complaint(values[bad])}")
        return whole.to_numpy()

    def _no_gaps(self, column: str) -> None:
        values = self.frame[column]
        gap = _first(values.is_null() | (values == ""))
        if gap is not None:
            raise DataError(f"{self.place(gap, column)} has no level: fill it in, or delete the row.")


def _first(flags: pl.Series) -> int | None:
    """Return the place of the first true flag."""
    return int(flags.arg_true()[0]) if flags.any() else None


def _complaint(value: object) -> str:
    if value is None or value == "":
        return "has no number: fill it in, or delete the row."
    text = str(value)
    finite = isinstance(value, float) and isfinite(value)
    exact = Fraction(text) if finite else number(text)
    if exact is None:
        return f"is {text!r}, which is not a whole number: write it in digits."
    if exact.denominator != 1:
        return f"is {text}, which is not a whole number: round it, or correct the row."
    return f"is {text}, which does not fit 64 bits: check the number."
