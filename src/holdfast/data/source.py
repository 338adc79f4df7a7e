"""Where rows come from, and the words for a place in it: a file, or a frame in memory.

Frames are those of Polars, pandas, Arrow and all others that Narwhals knows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from holdfast.system.errors import DataError

if TYPE_CHECKING:
    import narwhals as nw


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


FRAME = "the data frame"


def open_frame(data: object) -> Source:
    """Return a frame as a source; its rows count from 0, as its own library counts them."""
    import narwhals as nw  # noqa: PLC0415 - a tenth of a second that files need not wait for

    try:
        frame: nw.DataFrame[Any] | nw.LazyFrame[Any] = nw.from_native(data)
    except nw.exceptions.DuplicateError:
        raise DataError(f"{FRAME} has two columns of one name: rename one.") from None
    except TypeError:
        raise DataError(
            f"the data are a {type(data).__name__}: give the path of a file, or a frame of Polars, pandas, "
            "Arrow or another library that Narwhals knows."
        ) from None
    eager = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    names = eager.columns

    def load(places: Sequence[int]) -> list[pl.Series]:
        return [_column(eager.get_column(names[place])) for place in places]

    return Source(FRAME, tuple(str(name) for name in names), load, first_row=0)


def _column(series: "nw.Series[Any]") -> pl.Series:
    """Return a column in Polars' types; one with values of several types becomes a column of objects."""
    try:
        return series.to_polars()
    except (AttributeError, ImportError, NotImplementedError, TypeError, ValueError):
        # Values of several types; or pandas without pyarrow, through which its texts go otherwise.
        gaps = series.is_null().to_list()
        values = [None if gap else value for value, gap in zip(series.to_list(), gaps, strict=True)]
        kinds = {type(value) for value in values} - {type(None)}
        return pl.Series(values, dtype=pl.Object) if len(kinds) > 1 else pl.Series(values)
