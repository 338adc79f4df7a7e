"""Dates in text: their parts as levels, and what a column of dates seems to be.

A date is a year, a month and a day, in the order that is said: 2026-11-18, 18.11.2026, 11/18/2026. Without
an order it is one of ISO 8601, perhaps with a time behind it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from holdfast.spec.shape import DateOrder, DatePart

PARTS: Mapping[DatePart, str] = {
    "year": "%Y",
    "month": "%-m",
    "day": "%-d",
    "weekday": "%A",
    "year-month": "%Y-%m",
}
_ORDERS: Mapping[DateOrder, str] = {
    "year-month-day": "%Y-%m-%d",
    "day-month-year": "%d-%m-%Y",
    "month-day-year": "%m-%d-%Y",
}
_WRITTEN = r"^\s*([0-9]{1,4}([-/.]|\. ?)[0-9]{1,2}([-/.]|\. ?)[0-9]{1,4})(?:[T ].*)?$"
FEW_MONTHS = 3
"""Dates of fewer months are levels themselves."""
MANY_YEARS = 5
"""Dates of more years are told by their year."""


def days(text: pl.Series, order: DateOrder | None) -> pl.Series:
    """Return the days that texts say, null where one is no date of that order."""
    if order is None:
        return text.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    plain = text.str.extract(_WRITTEN).str.replace_all(r"[-/.] ?", "-")
    year = r"^[0-9]{4}-" if order == "year-month-day" else r"-[0-9]{4}$"
    return plain.set(~plain.str.contains(year), None).str.to_date(_ORDERS[order], strict=False)


def part_of(found: pl.Series, part: DatePart) -> pl.Series:
    """Return a part of each day, in text."""
    if part in PARTS:
        return found.dt.strftime(PARTS[part])
    quarter = found.dt.quarter().cast(pl.String)
    return quarter if part == "quarter" else found.dt.strftime("%Y-Q") + quarter


@dataclass(frozen=True)
class SeemingDates:
    """What a column of dates seems to be."""

    order: DateOrder | None
    part: DatePart | None
    """None where they are few enough to be levels themselves."""
    also: DateOrder | None = None
    """Another order that they may be written in: no day says which."""


def seeming_dates(values: pl.Series) -> SeemingDates | None:
    """Return what texts are if all that are not empty are dates; `values` are distinct."""
    filled = values.filter(values != "")
    if not len(filled) or not filled.head(1).str.contains(r"[0-9]{4}").all():
        return None
    orders: list[DateOrder | None] = [None, "year-month-day", "day-month-year", "month-day-year"]
    fitting = [order for order in orders if days(filled, order).is_not_null().all()]
    if not fitting:
        return None
    found = days(filled, fitting[0])
    months = found.dt.strftime("%Y-%m").n_unique()
    years = found.dt.year().n_unique()
    part: DatePart | None = "year-month" if months >= FEW_MONTHS else None
    if years > MANY_YEARS:
        part = "year"
    timed = bool((filled.str.len_chars() > len("2026-11-18")).any())
    if part is None and (timed or fitting[0] is not None):
        part = "day" if months == 1 else "year-month"  # as they are written they do not sort
    also: DateOrder | None = "month-day-year" if fitting == ["day-month-year", "month-day-year"] else None
    return SeemingDates(fitting[0], part, also)
