"""Levels made of others: bins of numbers, and lists of levels that are taken together."""

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Annotated

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from holdfast.spec.choice import Choice, Range, levels_or_range

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


def _plain(recode: Mapping[str, Bins]) -> dict[str, dict[str, list[str | int | float]]]:
    return {
        name: {level: list(levels_or_range(taken)) for level, taken in bins.items()}
        for name, bins in recode.items()
    }


Recode = Annotated[
    Mapping[str, Bins],
    PlainValidator(parse_recode),
    PlainSerializer(_plain),
    WithJsonSchema({"type": "object"}),
]
"""New levels of attributes: { age = { "0-17" = [0, 17], "18+" = [18, 120] } }."""
