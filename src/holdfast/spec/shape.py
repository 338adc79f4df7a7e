"""Columns as a spec wants them: counts of several columns one below the other, parts of dates."""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from holdfast.spec.part import Part, Text

DatePart = Literal["year", "quarter", "month", "day", "weekday", "year-quarter", "year-month"]
DateOrder = Literal["year-month-day", "day-month-year", "month-day-year"]
_DIFFERENCE = re.compile(r"\s*(.+?)\s+-\s+(.+?)\s*")


class Derived(Part):
    """An attribute that is a part of the dates in a column."""

    section: ClassVar = ("data", "derive")

    source: Text
    part: DatePart
    order: DateOrder | None = None
    """How dates are written; as ISO 8601 has them where it is left out."""


class Wide(Part):
    """Columns that each count the records of some levels, read as one column of counts.

    ``columns`` names the levels of each; a pattern such as "{measure}_{race}" takes them from the names.
    "pop - vap" is the difference of two columns, and of two levels of a pattern.
    """

    section: ClassVar = ("data", "wide")

    columns: Mapping[str, Mapping[str, Text]] = {}
    pattern: Text | None = None
    differences: Mapping[str, Text] = {}
    """Levels of a pattern that are one level less another, which stands in both; the first gives way."""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, values: Any) -> Any:
        """Take minor = "pop - vap" beside the pattern for a difference of that name."""
        if not isinstance(values, Mapping):
            return values
        own = {
            name: value
            for name, value in values.items()
            if name not in cls.model_fields and isinstance(value, str) and two(value) is not None
        }
        if not own or not isinstance(values.get("differences", {}), Mapping):
            return values
        rest = {name: value for name, value in values.items() if name not in own}
        return {**rest, "differences": {**values.get("differences", {}), **own}}

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if bool(self.columns) == (self.pattern is not None):
            raise ValueError(
                'needs one of two: columns = { pop_white = { race = "white" } }, or pattern ='
                ' "{measure}_{race}"'
            )
        if self.differences and self.pattern is None:
            raise ValueError('has differences without a pattern: name a column "pop - vap" in columns')
        for name, difference in self.differences.items():
            if two(difference) is None:
                raise ValueError(f'differences {name} is {difference!r}: write two levels, "pop - vap"')
        if not self.attributes:
            raise ValueError('pattern names no attribute: write one in braces, "{measure}_{race}"')
        first = set(next(iter(self.columns.values()), ()))
        for column, levels in self.columns.items():
            if set(levels) != first:
                raise ValueError(f"columns {column} names other attributes than the first: name the same")
        return self

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that the columns have the levels of."""
        if self.pattern is None:
            return tuple(next(iter(self.columns.values())))
        return tuple(re.findall(r"\{([^{}]+)\}", self.pattern))

    def match(self, name: str) -> tuple[str, ...] | None:
        """Return the levels that the pattern finds in a column's name, None where it does not follow it.

        >>> Wide(pattern="{measure}_{race}").match("pop_two_or_more")
        ('pop', 'two_or_more')
        """
        found = self._pattern.fullmatch(name)
        return None if found is None else found.groups()

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        parts = re.split(r"\{([^{}]+)\}", self.pattern or "")
        last = len(parts) - 2
        return re.compile(
            "".join(
                (r"(.+)" if at == last else r"(.+?)") if at % 2 else re.escape(part)
                for at, part in enumerate(parts)
            )
        )


def two(expression: str) -> tuple[str, str] | None:
    """Return the names in a difference, None where a text is none.

    >>> two("pop - vap"), two("pop")
    (('pop', 'vap'), None)
    """
    found = _DIFFERENCE.fullmatch(expression)
    return None if found is None else (found[1], found[2])
