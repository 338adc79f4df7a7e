"""Names that a spreadsheet would run: a cell of a CSV file that begins with = + - or @ is a formula to it.

The way out is an apostrophe before such a name, which spreadsheets take as "this is text". So that it can be
taken off again, a name that begins with an apostrophe gets one more. Numbers, -3, are no formulas.
"""

from collections.abc import Iterable

from holdfast.data.numeric import number

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
