"""Values of a column as levels: missing codes become one level, and bins take numbers and levels.

A level that a bin lists is of that bin, be it a missing code or not. Other missing codes are "missing", which
no range takes. What is left is a number of a range. Where a recoding has a range, some bin must take every
value; where it only lists levels, those that it does not name stay as they are.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import polars as pl

from holdfast.data.numeric import number
from holdfast.data.source import Source
from holdfast.errors import DataError
from holdfast.spec.choice import Range, levels_or_range
from holdfast.spec.model import MISSING
from holdfast.spec.recode import Bins
from holdfast.visible import in_quotes


def recoded(source: Source, column: pl.Series, bins: Bins, missing: Sequence[str]) -> pl.Series:
    """Return a column of texts with new levels; raises DataError where no bin takes a value."""
    column = column.fill_null("") if missing else column
    distinct = column.drop_nulls().unique().to_list()
    new = {value: level for value in distinct if (level := _level(value, bins, missing)) != value}
    for value, level in new.items():
        if level is None:
            row = int((column == value).arg_true()[0])
            raise DataError(
                f"{source.place(row, column.name)} is {in_quotes(value)}, which no bin of [data.recode]"
                " takes: widen a bin, or list the value in one."
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
