"""Frames in memory as sources of rows: Polars, pandas, Arrow and all others that Narwhals knows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from holdfast.data.source import Source
from holdfast.errors import DataError

if TYPE_CHECKING:
    import narwhals as nw

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
