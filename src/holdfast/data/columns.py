"""Columns of a source as levels, records and whole numbers; what is wrong is named by its row."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite

import numpy as np
import polars as pl
from numpy.typing import NDArray

from holdfast.data.attributes import Attributes
from holdfast.data.numeric import number
from holdfast.data.records import Codes, Records
from holdfast.data.source import Source
from holdfast.errors import DataError
from holdfast.spec.closest import closest

_NO_LEVELS = (pl.Datetime, pl.Duration, pl.Binary, pl.Object)
_WHOLE = r"^([+-]?[0-9]+)\.0*$"


@dataclass(frozen=True, eq=False, repr=False)
class Columns:
    """The columns of levels, as text, and of whole numbers that were asked for of a source."""

    source: Source
    frame: pl.DataFrame

    @classmethod
    def of(cls, source: Source, levels: Sequence[str], numbers: Sequence[str] = ()) -> "Columns":
        """Load some columns of a source."""
        wanted = (*levels, *numbers)
        for name in wanted:
            if name not in source.header:
                raise DataError(f"{source.name} has no column {name!r}: {closest(name, source.header)}")
            if source.header.count(name) > 1:
                raise DataError(f"{source.name} has two columns {name!r}: rename one.")
        loaded = source.load([source.header.index(name) for name in wanted])
        columns = {name: column.alias(name) for name, column in zip(wanted, loaded, strict=True)}
        for name in levels:
            columns[name] = _as_text(source, columns[name])
        for name in numbers:
            kind = columns[name].dtype
            if not (kind.is_numeric() or isinstance(kind, pl.String | pl.Null)):
                raise DataError(
                    f"{source.name}, column {name!r} holds {_in_words(kind)}: store whole numbers in it."
                )
        return cls(source, pl.DataFrame(list(columns.values())))

    def levels(self, column: str) -> tuple[str, ...]:
        """Return the distinct levels of a column in order of first appearance."""
        self._no_gaps(column)
        return tuple(self.frame[column].unique(maintain_order=True).to_list())

    def codes(self, column: str, levels: Sequence[str]) -> Codes:
        """Return the place among `levels` of each record's level."""
        self._no_gaps(column)
        coded = self.frame[column].cast(pl.Enum(levels), strict=False)
        unknown = _first(coded.is_null())
        if unknown is not None:
            level = self.frame[column][unknown]
            raise DataError(
                f"{self.source.place(unknown, column)} has the level {level!r}, which is not declared: "
                f"{closest(level, levels)}"
            )
        return coded.to_physical().to_numpy()

    def records(self, attributes: Attributes) -> Records:
        """Return the records with the levels of some of the columns."""
        return Records(attributes, tuple(self.codes(each.name, each.levels) for each in attributes))

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
            raise DataError(f"{self.source.place(bad, column)} {_complaint(values[bad])}")
        return whole.to_numpy()

    def rest(self) -> list[pl.Series]:
        """Load all the other columns of the source, as they are there."""
        header = self.source.header
        places = [place for place, name in enumerate(header) if name not in self.frame.columns]
        loaded = self.source.load(places)
        return [column.alias(header[place]) for place, column in zip(places, loaded, strict=True)]

    def _no_gaps(self, column: str) -> None:
        values = self.frame[column]
        gap = _first(values.is_null() | (values == ""))
        if gap is not None:
            raise DataError(f"{self.source.place(gap, column)} has no level: fill it in, or delete the row.")


def _as_text(source: Source, column: pl.Series) -> pl.Series:
    """Return a column of levels as text: dates in ISO 8601, truth values as true and false.

    Floating-point numbers are refused: 0.1 + 0.2 and 0.3 would be two levels.
    """
    kind = column.dtype
    if isinstance(kind, pl.Datetime) and (column.dt.truncate("1d") == column).all():
        column = column.dt.date()  # a day, in libraries that have no type for days
    elif kind.is_float() or kind.is_nested() or isinstance(kind, _NO_LEVELS):
        raise DataError(
            f"{source.name}, column {column.name!r} holds {_in_words(kind)}: "
            "store its levels as text, whole numbers or days."
        )
    return column.cast(pl.String)


def _in_words(kind: pl.DataType) -> str:
    return "values of several types" if kind == pl.Object else f"{kind} values"


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
