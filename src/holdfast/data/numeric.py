"""Levels that are numbers."""

import re
from fractions import Fraction

_NUMBER = re.compile(r"[+-]?\d{1,300}(\.\d{1,300})?", re.ASCII)


def number(text: str) -> Fraction | None:
    """Return the exact number that a text writes in digits, or None.

    >>> number("18"), number("0.5"), number("18-24")
    (Fraction(18, 1), Fraction(1, 2), None)
    """
    return Fraction(text) if _NUMBER.fullmatch(text) else None
