"""Which cells a selection picks: for each attribute some levels by name, or a range of numbers."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Annotated, NamedTuple

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema


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
