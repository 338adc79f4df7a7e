"""Whole numbers given as options: digits, and nothing that Python reads as a number beside."""

import re
from collections.abc import Callable

import typer

_DIGITS = re.compile(r"-?[0-9]{1,19}", re.ASCII)


def whole(least: int, most: int) -> Callable[[str | int], int]:
    """Return the parser of an option that takes whole numbers within bounds.

    >>> whole(0, 100)("12")
    12
    """

    def parse(given: str | int) -> int:
        text = str(given)
        if not _DIGITS.fullmatch(text):
            shown = text if len(text) <= 40 else f"{text[:18]}...{text[-18:]}"
            raise typer.BadParameter(f"{shown!r} is not a whole number in digits.")
        if not least <= int(text) <= most:
            raise typer.BadParameter(f"{text} is not in the range from {least:,} to {most:,}.")
        return int(text)

    return parse
