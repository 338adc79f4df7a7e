"""What a published number says of the true count: an interval for each rule.

exact       the count itself
rounded     to a base b: to nearest v - b/2 .. v + b/2, both ends in as nothing is said of ties; at random one
            of the two multiples around it, v - b + 1 .. v + b - 1; up v - b + 1 .. v; down v .. v + b - 1
drb         the rules of the Disclosure Review Board of the US census, whichever the numbers fit: 0 stays, 1
            to 7 are 4, others go to the nearest 5; or less than 15 is told as such, and others are rounded to
            10 below 100, 50 below 1,000, 100 below 10,000, 500 below 100,000, 1,000 below a million, then to
            four digits
suppressed  a symbol for 1 .. k - 1, or 0 .. k - 1 where zeros are hidden; a second one for k or more. One
            symbol for both says no more than whether zeros are hidden
coarsened   a count of merged levels, or a range in place of a count: "5-9", "<10", "100+"
top-coded   the top, with or without "+", for all counts from there on
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from holdfast.programs.solver import UNBOUNDED
from holdfast.publication.spec import COUNT, MOST, PublishedTable

Range = tuple[int, int]
_RANGE = re.compile(r"(\d{1,13})\s*(?:-|\u2013|to|\.\.)\s*(\d{1,13})", re.ASCII)
_MORE = re.compile(r"(?:(\d{1,13})\s*(?:\+|or more|and over)|>=\s*(\d{1,13}))", re.ASCII)
_LESS = re.compile(r"(?:N\s*)?<\s*(\d{1,13})|(?:under|less than)\s+(\d{1,13})", re.ASCII | re.I)


class RuleError(ValueError):
    """A published number that its rule cannot give; the text completes a sentence that begins with it."""


@dataclass(frozen=True)
class RuleReading:
    """How the numbers of one table are read."""

    table: PublishedTable
    tabulation: bool | None = None
    """Which of the two rules of the board, None for both."""
    told: bool = False
    """Whether whole numbers are true counts, which the rule is yet to be applied to."""

    @classmethod
    def of(cls, table: PublishedTable, tokens: Iterable[str], *, told: bool = False) -> "RuleReading":
        """Settle which rule of the board the numbers fit."""
        if table.method != "drb" or told:
            return cls(table, told=told)
        numbers = [int(float(token)) for token in tokens if COUNT.fullmatch(token)]
        below = any(_LESS.fullmatch(token) for token in tokens)
        few = not below and all(n in (0, 4) or (n >= 10 and n % 5 == 0) for n in numbers)
        many = all(_research(n) is not None for n in numbers)
        if few == many:
            return cls(table, None if few else False)
        return cls(table, few)

    def interval(self, token: str) -> Range:
        """Return the counts that a published token stands for; raises RuleError."""
        table = self.table
        if self.told and COUNT.fullmatch(token.strip()):
            number = _whole(token)
            return number, number
        if table.rule == "suppressed":
            return self._suppressed(token)
        if table.rule == "rounded":
            return self._rounded(token)
        if table.rule == "top-coded":
            return self._top_coded(token)
        if table.rule == "coarsened" and (found := spoken_range(token)) is not None:
            return found
        number = _whole(token)
        return number, number

    @property
    def absent(self) -> Range:
        """What is said of a cell that is not listed among others of its levels: a zero as it is published."""
        table = self.table
        if self.told:
            return 0, 0
        if table.rule == "suppressed":
            return (0, (table.below or 1) - 1) if table.zeros == "hidden" else (0, 0)
        if table.rule == "rounded" and table.method != "drb":
            return self._rounded("0")
        return (0, 14) if table.method == "drb" and self.tabulation is not True else (0, 0)

    def _suppressed(self, token: str) -> Range:
        table, below = self.table, self.table.below or 1
        least = 1 if table.zeros == "shown" else 0
        if token in (table.symbol, table.secondary):
            if table.symbol == table.secondary:
                return least, UNBOUNDED
            if token == table.secondary:
                return below, UNBOUNDED
            if below <= least:
                raise RuleError(f"hidden, and no count from 1 is below {below}: correct it, or the rule")
            return least, below - 1
        number = _whole(token)
        if 0 < number < below or (number == 0 and table.zeros == "hidden"):
            raise RuleError(
                f"{number}, which is below {below} and should be suppressed: correct it, or the rule"
            )
        return number, number

    def _rounded(self, token: str) -> Range:
        table = self.table
        if table.method == "drb":
            return self._drb(token)
        base, number = table.base or 1, _whole(token)
        if number % base:
            raise RuleError(f"{number}, which is no multiple of {base}: correct it, or the rule")
        ways = {
            "nearest": (number - base // 2, number + base // 2),
            "random": (number - base + 1, number + base - 1),
            "up": (number - base + 1, number),
            "down": (number, number + base - 1),
        }
        low, high = ways[table.method]
        return max(0, low), high

    def _drb(self, token: str) -> Range:
        if (less := _LESS.fullmatch(token)) and self.tabulation is not True:
            return 0, int(less[1] or less[2]) - 1
        number = _whole(token)
        found = []
        if self.tabulation is not False:
            found.append(_tabulation(number))
        if self.tabulation is not True:
            found.append(_research(number))
        known = [one for one in found if one is not None]
        if not known:
            raise RuleError(f"{number}, which the board's rounding never gives: correct it, or the rule")
        return min(low for low, _ in known), max(high for _, high in known)

    def _top_coded(self, token: str) -> Range:
        top = self.table.top or 1
        more = _MORE.fullmatch(token)
        number = int(more[1] or more[2]) if more else _whole(token)
        if number > top or (more and number != top):
            raise RuleError(f"{token}, and counts are cut off at {top}: correct it, or the rule")
        return (number, UNBOUNDED) if number == top else (number, number)


def spoken_range(token: str) -> Range | None:
    """Return a range that is written out, None where a text is none.

    >>> spoken_range("5-9"), spoken_range("<10"), spoken_range("18 to 64"), spoken_range("7")
    ((5, 9), (0, 9), (18, 64), None)
    """
    text = token.strip()
    if between := _RANGE.fullmatch(text):
        low, high = int(between[1]), int(between[2])
        return (low, high) if low <= high else None
    if more := _MORE.fullmatch(text):
        return int(more[1] or more[2]), UNBOUNDED
    if less := _LESS.fullmatch(text):
        return 0, max(0, int(less[1] or less[2]) - 1)
    return None


def _whole(token: str) -> int:
    text = token.strip()
    if not COUNT.fullmatch(text):
        raise RuleError(f"{text[:40]!r}, which is no count: write a whole number, or name the symbol")
    number = int(text.partition(".")[0])
    if number > MOST:
        raise RuleError(f"{number}, which is more than any table counts: correct it")
    return number


def _tabulation(number: int) -> Range | None:
    """Return what rounding to 0, 4 and multiples of 5 makes a number of."""
    if number in (0, 4):
        return (0, 0) if number == 0 else (1, 7)
    return (max(8, number - 2), number + 2) if number >= 10 and number % 5 == 0 else None


BANDS = ((15, 99, 10), (100, 999, 50), (1_000, 9_999, 100), (10_000, 99_999, 500), (100_000, 999_999, 1_000))
"""From, to, and the base of rounding in between."""


def _research(number: int) -> Range | None:
    """Return what rounding by size makes a number of; ties go either way, as nothing is said of them."""
    bands = list(BANDS)
    digits = 10**6
    while digits <= MOST:
        bands.append((digits, 10 * digits - 1, digits // 1000))
        digits *= 10
    found = [
        (max(low, number - base // 2), min(high, number + base // 2))
        for low, high, base in bands
        if number % base == 0 and max(low, number - base // 2) <= min(high, number + base // 2)
    ]
    return (min(low for low, _ in found), max(high for _, high in found)) if found else None
