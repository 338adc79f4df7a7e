"""One text for one value: canonical JSON and exact rationals.

A hash speaks of a text, so a value must have exactly one. JSON is written in ASCII with sorted keys and no
spaces; a rational is in lowest terms, "1/2" or "3".
"""

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from math import isfinite

from holdfast.system.text import TOO_DEEP, read_json

MOST_DIGITS = 2000  # Python writes whole numbers of up to 4300 digits, and sums have twice as many
_RATIONAL = re.compile(rf"[0-9]{{1,{MOST_DIGITS}}}(/[0-9]{{1,{MOST_DIGITS}}})?")


def canonical(value: object) -> str:
    """Return the one JSON text of a value; ValueError where it has none.

    >>> canonical({"b": (1, None), "a": "x"})
    '{"a":"x","b":[1,null]}'
    """
    try:
        return plain_text(_plain(value))
    except RecursionError:
        raise ValueError(TOO_DEEP) from None


def plain_text(value: object) -> str:
    """Return the canonical text of a value that is made of JSON's own kinds, as one read from JSON."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def parse_canonical(text: str) -> object:
    """Return the value of a canonical text; ValueError where it is another text for the same value."""
    value: object = read_json(text)
    if plain_text(value) != text:
        raise ValueError("is not canonical JSON")
    return value


def rational_text(value: Fraction) -> str:
    """Return a rational in lowest terms, "1/2" or "3"; ValueError where it is too long or negative."""
    longest = max(abs(value.numerator), value.denominator)
    if value < 0 or longest >= 10**MOST_DIGITS:
        raise ValueError("is negative" if value < 0 else f"has more than {MOST_DIGITS} digits")
    return str(value)


def parse_rational_text(text: str) -> Fraction:
    """Return the value of a text in lowest terms; ValueError for any other text."""
    if not _RATIONAL.fullmatch(text):
        raise ValueError("is not a rational")
    try:
        value = Fraction(text)
    except ZeroDivisionError:
        raise ValueError("is a division by zero") from None
    if str(value) != text:
        raise ValueError("is not in lowest terms")
    return value


def _plain(value: object) -> object:
    """Copy a value made of JSON's own kinds; a number of another library is refused, not guessed at."""
    if value is None or type(value) in (str, bool, int):
        return value
    if type(value) is float and isfinite(value):
        return value
    if isinstance(value, Mapping) and all(type(key) is str for key in value):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    raise ValueError(f"holds a {type(value).__name__} that JSON cannot hold")
