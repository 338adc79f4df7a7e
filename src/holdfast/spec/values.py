"""Values of a spec: selections of cells, exact numbers, and levels made of others.

A selection has for each attribute some levels by name, or a range of numbers. Budgets are written in quotes
and never rounded. Bins take ranges of numbers, or lists of levels together.
"""

import re
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import isfinite
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, PlainValidator, WithJsonSchema

from holdfast.system.ways import in_a_list


class Range(NamedTuple):
    """The levels from low to high, both included."""

    low: int | float
    high: int | float


Choice = str | Sequence[str] | Sequence[int | float]


def levels_or_range(value: object) -> tuple[str, ...] | Range:
    """Return level names as a tuple, or two numbers as a range.

    >>> levels_or_range("female"), levels_or_range(["Low", "High"]), levels_or_range([18, 120])
    (('female',), ('Low', 'High'), Range(low=18, high=120))
    """
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Sequence):
        raise ValueError(f"is {value!r}: write a level in quotes, a list of levels, or [low, high]")  # noqa: TRY004
    if not value:
        raise ValueError("is an empty list: name at least one level")
    if all(isinstance(item, str) for item in value):
        return tuple(str(item) for item in value)
    if len(value) == 2 and all(_is_number(item) for item in value):
        low, high = value
        if low > high:
            raise ValueError(f"is [{low}, {high}], an empty range: write the lower number first")
        return Range(low, high)
    raise ValueError(f"is {list(value)!r}: write levels in quotes, or two numbers [low, high] for a range")


def parse_where(value: object) -> dict[str, tuple[str, ...] | Range]:
    """Return a selection as a mapping from attribute to levels or range."""
    if not isinstance(value, Mapping):
        raise ValueError(f'is {value!r}: write it as {{ attribute = "level" }}')  # noqa: TRY004
    if not value:
        raise ValueError("selects nothing: name at least one attribute and its levels")
    selection = {}
    for attribute, levels in value.items():
        try:
            selection[str(attribute)] = levels_or_range(levels)
        except ValueError as error:
            raise ValueError(f"{attribute} {error}") from None
    return selection


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _plain(where: Mapping[str, Choice]) -> dict[str, list[str | int | float]]:
    return {attribute: list(levels_or_range(levels)) for attribute, levels in where.items()}


Where = Annotated[
    Mapping[str, Choice],
    PlainValidator(parse_where),
    PlainSerializer(_plain),
    WithJsonSchema({"type": "object"}),
]
"""A selection of cells: { sex = "female", age = [18, 120] }."""


# Few digits of exponent: "1e999999999" would fill the memory. What follows from a budget has more digits.
_NUMBER = re.compile(
    r"[+-]?(\d{1,4000}/\d{1,4000}|(\d{1,100}(\.\d{0,100})?|\.\d{1,100})([eE][+-]?\d{1,3})?)", re.ASCII
)

SMALLEST, LARGEST = Fraction(1, 10**300), Fraction(10**300)
"""Floats, which serve for bounds and pictures, have such numbers."""


def parse_rational(value: object) -> Fraction:
    """Return the exact value of a Fraction, an int, or text such as "1", "1/2", "0.25" or "1e-10".

    >>> parse_rational("0.25")
    Fraction(1, 4)
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool):
        raise ValueError(f'is {str(value).lower()}: write a number in quotes, such as "1/2"')  # noqa: TRY004
    if isinstance(value, int):
        if abs(value) > LARGEST:
            raise ValueError('is out of reach: give a number below "1e300"')
        return Fraction(value)
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(f'is {value}, which is no budget: write it in quotes and finite, as in "1/2"')
    if isinstance(value, float):
        raise ValueError(  # noqa: TRY004
            f'is the rounded number {value}: write it in quotes, as in "{value}", to keep it exact'
        )
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        try:
            return Fraction(value.strip())
        except ZeroDivisionError:
            raise ValueError(
                f'is {short(value)!r}, a division by zero: write a number such as "1/2"'
            ) from None
    given = repr(short(value)) if isinstance(value, str) else reprlib.repr(value)
    raise ValueError(f'is {given}, which is not a number: write one in quotes, such as "1/2" or "0.25"')


def short(text: str) -> str:
    """Return a text that fits a sentence: a long number without its middle."""
    return text if len(text) <= 40 else f"{text[:18]}...{text[-18:]}"


def positive(value: Fraction) -> Fraction:
    """Return a positive number that floats have, too; raises ValueError for others."""
    if value <= 0:
        raise ValueError(f'is {short(str(value))}: give a positive number such as "1/4"')
    if not SMALLEST <= value <= LARGEST:
        raise ValueError('is out of reach: give a number from "1e-300" to "1e300"')
    return value


Rational = Annotated[
    Fraction,
    BeforeValidator(parse_rational),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string"}),
]
"""A Fraction that a spec writes as text, "1/2", and that no float may become."""

PositiveRational = Annotated[Rational, AfterValidator(positive)]


_DIGITS = re.compile(r"[+-]?\d{1,300}(\.\d{1,300})?", re.ASCII)

Bins = Mapping[str, Choice]
"""For each new level, the levels it takes, or the range of numbers."""


def parse_recode(value: object) -> dict[str, dict[str, tuple[str, ...] | Range]]:
    """Return a recoding as a mapping from attribute to bins, no two of which take the same value."""
    if not isinstance(value, Mapping):
        raise ValueError('must be a table of keys: write age = { "0-17" = [0, 17], "18+" = [18, 120] }')  # noqa: TRY004
    found = {}
    for attribute, bins in value.items():
        if not isinstance(bins, Mapping) or not bins:
            raise ValueError(
                f'{attribute} has no bins: write them as {{ "0-17" = [0, 17], "18+" = [18, 120] }}'
            )
        found[str(attribute)] = dict(_bins(str(attribute), bins))
        _apart(str(attribute), found[str(attribute)])
    return found


def _bins(attribute: str, bins: Mapping[str, object]) -> Iterator[tuple[str, tuple[str, ...] | Range]]:
    for level, taken in bins.items():
        if level == "":
            raise ValueError(f"{attribute} has a level without a name: give it one")
        try:
            yield str(level), levels_or_range(taken)
        except ValueError as error:
            raise ValueError(f"{attribute} {level!r} {error}") from None


def _apart(attribute: str, bins: Mapping[str, tuple[str, ...] | Range]) -> None:
    """Raise where two bins take the same value."""
    listed: dict[str, str] = {}
    ranges: list[tuple[Fraction, Fraction, str]] = []
    for level, taken in bins.items():
        if isinstance(taken, Range):
            low, high = (Fraction(str(end)) for end in taken)
            for other_low, other_high, other in ranges:
                if low <= other_high and other_low <= high:
                    raise ValueError(
                        f"{attribute} has bins {other!r} and {level!r} that overlap: put each number in one"
                    )
            ranges.append((low, high, level))
            continue
        for name in taken:
            if listed.setdefault(name, level) != level:
                raise ValueError(
                    f"{attribute} puts {name!r} in {listed[name]!r} and in {level!r}: keep it in one of them"
                )

    for name, level in listed.items():
        value = Fraction(name) if _DIGITS.fullmatch(name) else None
        for low, high, other in ranges:
            if value is not None and low <= value <= high and other != level:
                raise ValueError(
                    f"{attribute} has {name!r} in {level!r} and in the range of {other!r}, which overlap: let"
                    " each number be in one"
                )


def _plain_bins(recode: Mapping[str, Bins]) -> dict[str, dict[str, list[str | int | float]]]:
    return {
        name: {level: list(levels_or_range(taken)) for level, taken in bins.items()}
        for name, bins in recode.items()
    }


Recode = Annotated[
    Mapping[str, Bins],
    PlainValidator(parse_recode),
    PlainSerializer(_plain_bins),
    WithJsonSchema({"type": "object"}),
]
"""New levels of attributes: { age = { "0-17" = [0, 17], "18+" = [18, 120] } }."""


def require_distinct(names: Sequence[str], place: str = "") -> None:
    """Raise ValueError where a name is there twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{place}names {name!r} twice: keep one")
        seen.add(name)


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    require_distinct(names)
    return names


DistinctNames = Annotated[tuple[Annotated[str, Field(strict=True)], ...], AfterValidator(_distinct)]


def some_of_several(given: object, section: str) -> object:
    """Return a list of tables as it is; raises ValueError for one that stands alone."""
    if isinstance(given, Mapping):
        raise ValueError(f"is one table: {in_a_list(section)}")  # noqa: TRY004
    return given
