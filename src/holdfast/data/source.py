"""Where rows come from: a file or a frame in memory, and the words for a place in it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True, eq=False, repr=False)
class Source:
    """Columns that are loaded when they are asked for, in the types that the source has for them."""

    name: str
    header: tuple[str, ...]
    load: Callable[[Sequence[int]], list[pl.Series]]
    """The columns at some places of the header."""
    first_row: int
    """The number that the first record has for a reader: 2 in CSV, below the header, 1 in Parquet, 0 in a
    frame."""
    hint: str = ""
    """What to do where a column is missing, if the header lets one guess: it has another separator."""

    def row(self, record: int) -> str:
        """Return the words for a row; frames count theirs from 0, so that is said."""
        return f"row {record + self.first_row}" + ("" if self.first_row else " (from 0)")

    def place(self, record: int, column: str) -> str:
        """Return where a value stands."""
        return f"{self.name}, {self.row(record)}, column {column!r}"
