"""Levels that are numbers or ranges of whole numbers, and selections of neighbours among them in words."""

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import inf
from typing import NamedTuple

from holdfast.data.numeric import number

_DIGITS = r"(\d{1,18})"
_BETWEEN = re.compile(rf"{_DIGITS}\s*(?:-|\u2013|to)\s*{_DIGITS}(?: years)?", re.ASCII)
_OPEN = re.compile(rf"{_DIGITS}(?:\s*\+|(?: years)? (?:and|or) (?:over|older|more))", re.ASCII)
_UNDER = re.compile(rf"(?:under |<\s*){_DIGITS}(?: years)?", re.ASCII | re.IGNORECASE)


class Span(NamedTuple):
    """What a level covers, both ends included."""

    low: Fraction | float
    high: Fraction | float


def span(level: str) -> Span | None:
    """Return what a level covers, None where it is no number and no range.

    >>> span("18-24"), span("85+"), span("under 5"), span("unknown")
    (Span(low=Fraction(18, 1), high=Fraction(24, 1)), Span(low=Fraction(85, 1), high=inf), \
Span(low=-inf, high=Fraction(4, 1)), None)
    """
    value = number(level)
    if value is not None:
        return Span(value, value)
    if found := _BETWEEN.fullmatch(level):
        low, high = Fraction(found[1]), Fraction(found[2])
        return Span(low, high) if low <= high else None
    if found := _OPEN.fullmatch(level):
        return Span(Fraction(found[1]), inf)
    if found := _UNDER.fullmatch(level):
        return Span(-inf, Fraction(found[1]) - 1)
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
