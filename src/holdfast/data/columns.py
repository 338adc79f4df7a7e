"""Columns of a source as levels, records and whole numbers; what is wrong is named by its row.

Missing codes become one level, and bins take numbers and levels. A level that a bin lists is of that bin,
be it a missing code or not. Other missing codes are "missing", which no range takes. What is left is a
number of a range. Where a recoding has a range, some bin must take every value; where it only lists levels,
those that it does not name stay as they are.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite

import polars as pl

from holdfast.data.files import Source
from holdfast.data.levels import number
from holdfast.data.schema import Attributes, Schema
from holdfast.data.table import LevelCodes, NotACellError, Records
from holdfast.lattice.arrays import IntArray
from holdfast.spec.data import MISSING
from holdfast.spec.values import Bins, Range, levels_or_range
from holdfast.system.errors import DataError
from holdfast.system.text import closest, in_quotes
from holdfast.system.ways import assigned, setting

_NO_LEVELS = (pl.Datetime, pl.Duration, pl.Binary, pl.Object)
_WHOLE = r"^([+-]?[0-9]+)\.0*$"
_HIDDEN = re.compile(r"[*†‡.xXcCsS-]{1,3}|[<>≤≥]=?\s*\d+|\(?suppressed\)?", re.IGNORECASE)
"""How offices write counts that they withhold."""
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:[ ,.'_\u00a0\u2009\u202f]\d{3})+")
"""Digits in groups of three."""
LONG, SEVERAL = 1 << 20, 2
"""Rows of a column from which on it is worth while to hold each text once, and how often it stands."""


@dataclass(frozen=True, eq=False, repr=False)
class Columns:
    """The columns of levels, as text, and of whole numbers that were asked for of a source."""

    source: Source
    frame: pl.DataFrame
    raw: pl.DataFrame
    """The columns as they were before any recoding."""

    @classmethod
    def of(
        cls,
        source: Source,
        levels: Sequence[str],
        numbers: Sequence[str] = (),
        *,
        missing: Sequence[str] = (),
        recode: Mapping[str, Bins] | None = None,
    ) -> "Columns":
        """Load some columns of a source, their levels recoded."""
        wanted, recode = (*levels, *numbers), recode or {}
        for name in wanted:
            if name not in source.header:
                said = f"{source.name} has no column {in_quotes(name)}: {closest(name, source.known)}"
                raise DataError(source.hint or said)
            if source.header.count(name) > 1:
                raise DataError(f"{source.name} has two columns {name!r}: rename one.")
        columns = {}
        places = [source.header.index(name) for name in wanted]
        # a database groups its rows by all that it is asked for at once; of a file one column comes after the
        # other, as texts take far more memory than their places
        together = source.load(places) if source.grouped else None
        for at, name in enumerate(wanted):
            column = source.load(places[at : at + 1])[0] if together is None else together[at]
            columns[name] = column.alias(name)
            if name in levels:
                text = as_text(source, columns[name], floats=closed(recode.get(name, {})))
                columns[name] = compact(text)
        for name in numbers:
            kind = columns[name].dtype
            if not (kind.is_numeric() or isinstance(kind, pl.String | pl.Null)):
                raise DataError(
                    f"{source.name}, column {name!r} holds {_in_words(kind)}: store whole numbers in it."
                )
        raw = pl.DataFrame(list(columns.values()))
        for name in levels:
            columns[name] = recoded(source, columns[name], recode.get(name, {}), missing)
        return cls(source, pl.DataFrame(list(columns.values())), raw)

    def levels(self, column: str) -> tuple[str, ...]:
        """Return the distinct levels of a column in order of first appearance."""
        self._no_gaps(column)
        return tuple(self.frame[column].unique(maintain_order=True).to_list())

    def codes(self, column: str, levels: Sequence[str]) -> LevelCodes:
        """Return the place among `levels` of each record's level."""
        self._no_gaps(column)
        coded = _coded(self.frame[column], levels)
        unknown = _first(coded.is_null())
        if unknown is not None:
            level = self.frame[column][unknown]
            raise DataError(
                f"{self.source.place(unknown, column)} has the level {in_quotes(level)}, which is not"
                f" declared: {closest(level, levels)}"
            )
        return coded.to_numpy()

    def numbers(self, names: Sequence[str]) -> "Columns":
        """Return some of the columns alone: levels take room, and records have them as well."""
        return replace(self, frame=self.frame.select(names), raw=self.raw.select(names))

    def records(self, attributes: Attributes) -> Records:
        """Return the records with the levels of some of the columns."""
        return Records(attributes, tuple(self.codes(each.name, each.levels) for each in attributes))

    def cells(self, schema: Schema) -> IntArray:
        """Return the cell of each row; raises DataError where its levels do not lie in each other."""
        try:
            return self.records(schema.attributes).cells(schema)
        except NotACellError as error:
            raise DataError(
                f"{self.source.name}, {self.source.row(error.record)} is in no cell: {error.why}, so correct"
                " one of the two."
            ) from None

    def integers(self, column: str) -> IntArray:
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

    def _no_gaps(self, column: str) -> None:
        values = self.frame[column]
        gap = _first(values.is_null() | (values == ""))
        if gap is not None:
            raise DataError(
                f"{self.source.place(gap, column)} has no level: fill it in, delete the row, or set"
                f" {assigned('missing', [''])} in {setting('data')}."
            )


def _coded(column: pl.Series, levels: Sequence[str]) -> pl.Series:
    """Return the place among levels of each text, null of those that are none of them."""
    kind = column.dtype
    if isinstance(kind, pl.Enum) and kind.categories.equals(pl.Series(levels, dtype=pl.String)):
        return column.to_physical()  # as they come: many texts need not be looked up
    return column.cast(pl.Enum(levels), strict=False).to_physical()


def compact(column: pl.Series) -> pl.Series:
    """Return a long column of texts, each of which stands on several rows, by its distinct texts."""
    if column.dtype != pl.String or len(column) < LONG or column.null_count():
        return column
    levels = column.unique(maintain_order=True)
    return column.cast(pl.Enum(levels)) if SEVERAL * len(levels) < len(column) else column


def as_text(source: Source, column: pl.Series, *, floats: bool = False) -> pl.Series:
    """Return a column of levels as text: dates in ISO 8601, truth values as true and false.

    Floating-point numbers are refused, as 0.1 + 0.2 and 0.3 would be two levels, unless bins take them.
    """
    kind = column.dtype
    if isinstance(kind, pl.Enum) and not column.null_count():
        return column
    if floats and kind.is_float():
        return column.fill_nan(None).cast(pl.String)
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
    if exact is None and _HIDDEN.fullmatch(text.strip()):
        return (
            f"is {in_quotes(text)}, which withholds a count: a table is protected as a whole, so take the"
            " counts as they were before any was suppressed."
        )
    if exact is None and _GROUPED.fullmatch(text.strip()):
        digits = re.sub(r"\D", "", text)
        sign = re.sub(r"[+\-\d]", "", text.strip())[:1]
        return (
            f"is {in_quotes(text)}, which is not a whole number: write it without separators, as {digits}, or"
            f" set {assigned('thousands', words=in_quotes(sign))} in {setting('data')}."
        )
    if exact is None:
        return f"is {in_quotes(text)}, which is not a whole number: write it in digits."
    if exact.denominator != 1:
        return f"is {text}, which is not a whole number: round it, or correct the row."
    return f"is {text}, which does not fit 64 bits: check the number."


def recoded(source: Source, column: pl.Series, bins: Bins, missing: Sequence[str]) -> pl.Series:
    """Return a column of texts with new levels; raises DataError where no bin takes a value."""
    if not bins and not missing:
        return column
    column = column.cast(pl.String)
    column = column.fill_null("") if missing else column
    distinct = column.drop_nulls().unique().to_list()
    new = {value: level for value in distinct if (level := _level(value, bins, missing)) != value}
    for value, level in new.items():
        if level is None:
            row = int((column == value).arg_true()[0])
            raise DataError(
                f"{source.place(row, column.name)} is {in_quotes(value)}, which no bin of"
                f" {setting('data.recode')} takes: widen a bin, or list the value in one."
            )
    return column.replace(list(new), list(new.values())) if new else column


def closed(bins: Bins) -> bool:
    """Whether bins must take every value: some are ranges."""
    return any(isinstance(levels_or_range(taken), Range) for taken in bins.values())


def unmet(column: pl.Series, bins: Bins) -> list[str]:
    """Return the levels that bins list and no row has; a row without a value has the empty one."""
    known = set(column.fill_null("").unique().to_list())
    wanted = (levels_or_range(taken) for taken in bins.values())
    return [name for taken in wanted if not isinstance(taken, Range) for name in taken if name not in known]


def _level(value: str, bins: Bins, missing: Sequence[str]) -> str | None:
    """Return the level of a value, None where no bin takes it."""
    taken = {level: levels_or_range(wanted) for level, wanted in bins.items()}
    for level, wanted in taken.items():
        if not isinstance(wanted, Range) and value in wanted:
            return level
    if value in missing:
        return MISSING
    ranges: Mapping[str, Range] = {level: one for level, one in taken.items() if isinstance(one, Range)}
    if not ranges or value == "":  # an empty value is no number; it is refused by its own name
        return value
    known = number(value)
    for level, (low, high) in ranges.items():
        if known is not None and Fraction(str(low)) <= known <= Fraction(str(high)):
            return level
    return None
