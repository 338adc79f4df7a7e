"""Levels as texts: numbers, ranges of whole numbers, and names that a spreadsheet would run.

A cell of a CSV file that begins with = + - or @ is a formula to a spreadsheet. The way out is an apostrophe
before such a name, which spreadsheets take as "this is text". So that it can be taken off again, a name
that begins with an apostrophe gets one more. Numbers, -3, are no formulas.
"""

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import inf
from typing import NamedTuple

_NUMBER = re.compile(r"[+-]?\d{1,300}(\.\d{1,300})?", re.ASCII)


def number(text: str) -> Fraction | None:
    """Return the exact number that a text writes in digits, or None.

    >>> number("18"), number("0.5"), number("18-24")
    (Fraction(18, 1), Fraction(1, 2), None)
    """
    return Fraction(text) if _NUMBER.fullmatch(text) else None


_DIGITS = r"(\d{1,18})"
_BETWEEN = re.compile(rf"{_DIGITS}\s*(?:-|\u2013|to)\s*{_DIGITS}(?: years)?", re.ASCII)
_OPEN = re.compile(rf"{_DIGITS}(?:\s*\+|(?: years)? (?:and|or) (?:over|older|more))", re.ASCII)
_UNDER = re.compile(rf"(?:under |<\s*){_DIGITS}(?: years)?", re.ASCII | re.IGNORECASE)


class LevelRange(NamedTuple):
    """What a level covers, both ends included."""

    low: Fraction | float
    high: Fraction | float


def span(level: str) -> LevelRange | None:
    """Return what a level covers, None where it is no number and no range.

    >>> span("18-24"), span("85+"), span("under 5"), span("unknown")
    (LevelRange(low=Fraction(18, 1), high=Fraction(24, 1)), LevelRange(low=Fraction(85, 1), high=inf), \
LevelRange(low=-inf, high=Fraction(4, 1)), None)
    """
    value = number(level)
    if value is not None:
        return LevelRange(value, value)
    if found := _BETWEEN.fullmatch(level):
        low, high = Fraction(found[1]), Fraction(found[2])
        return LevelRange(low, high) if low <= high else None
    if found := _OPEN.fullmatch(level):
        return LevelRange(Fraction(found[1]), inf)
    if found := _UNDER.fullmatch(level):
        return LevelRange(-inf, Fraction(found[1]) - 1)
    return None


def range_words(chosen: Sequence[str], levels: Sequence[str]) -> str | None:
    """Return several neighbouring levels as a range, None where they are none.

    All levels that cover numbers are put in order; those chosen must follow each other, and none may overlap.

    >>> ages = ["0-17", "18-19", "20", "21-64", "65+", "unknown"]
    >>> range_words(ages[1:5], ages), range_words(ages[1:4], ages), range_words(ages[:2], ages)
    ('18 or over', '18 to 64', '19 or under')
    >>> range_words(["0-17", "20"], ages), range_words(["20", "unknown"], ages)
    (None, None)
    """
    known = sorted((covers, level) for level in levels if (covers := span(level)) is not None)
    apart = all(one.high < other.low for (one, _), (other, _) in pairwise(known))
    places = [place for place, (_, level) in enumerate(known) if level in set(chosen)]
    if len(chosen) < 2 or len(places) != len(set(chosen)) or len(places) != len(chosen) or not apart:
        return None
    first, last = places[0], places[-1]
    if last - first + 1 != len(places) or len(places) == len(known):
        return None
    if last == len(known) - 1:
        return f"{known[first][0].low} or over"
    if first == 0:
        return f"{known[last][0].high} or under"
    return f"{known[first][0].low} to {known[last][0].high}"


_SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""With tabs and line breaks, which are skipped, and the wide forms, which some locales read the same."""


def runs(text: str) -> bool:
    """Return whether a spreadsheet could run a text as a formula.

    >>> [runs(text) for text in ("=1+1", "@SUM(A1)", "-a", "-3", "+1.5", "18-24", "-")]
    [True, True, True, False, False, False, False]
    """
    return text.startswith(_SIGNS) and len(text) > 1 and number(text) is None


def formulas(texts: Iterable[str]) -> list[str]:
    """Return those of some texts that a spreadsheet could run."""
    return [text for text in texts if runs(text)]


def quoted(text: str) -> str:
    """Return a text as it stands in a file where formulas are quoted; another one for another text."""
    return f"'{text}" if runs(text) or text.startswith("'") else text
