"""A table that may be seen: what a release publishes, as a frame, as a file, on a screen."""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, overload

import polars as pl

from holdfast.data.formulas import formulas, quoted
from holdfast.data.table import Counts
from holdfast.data.write import long_frame, quoted_schema, write_frame
from holdfast.errors import DataError, SpecError
from holdfast.visible import visible

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class PublicTable(Counts):
    """A released table, whose counts may fall below zero, and the name of the column of its counts."""

    count: str

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.count in self.schema.names:
            raise SpecError(f"the count column {self.count!r} is also an attribute: give it another name.")

    @overload
    def to_frame(self, kind: Literal["polars"] = "polars") -> pl.DataFrame: ...
    @overload
    def to_frame(self, kind: Literal["pandas"]) -> "pd.DataFrame": ...
    @overload
    def to_frame(self, kind: Literal["pyarrow"]) -> "pa.Table": ...
    def to_frame(self, kind: Literal["polars", "pandas", "pyarrow"] = "polars") -> object:
        """Return all cells in row-major order: a column for each attribute, then the counts."""
        frame = long_frame(self.schema, pl.Series(self.count, self.counts))
        match kind:
            case "polars":
                return frame
            case "pandas":  # not frame.to_pandas(), which needs pyarrow as well
                return _library("pandas").DataFrame({name: frame[name].to_numpy() for name in frame.columns})
            case "pyarrow":
                _library("pyarrow")
                return frame.to_arrow()
        raise DataError(f"there are no frames of the kind {kind!r}: choose polars, pandas or pyarrow.")

    def write(self, path: str | Path, *, quote_formulas: bool = False, file: IO[bytes] | None = None) -> None:
        """Write all cells as CSV or Parquet, into an open file if there is one.

        The same table gives the same bytes. In CSV, names that a spreadsheet would run can be quoted, with an
        apostrophe before each.
        """
        written = self
        if quote_formulas and Path(path).suffix.lower() == ".csv":
            written = PublicTable(quoted_schema(self.schema), self.counts, quoted(self.count))
        write_frame(written.to_frame(), path, file)

    @property
    def formulas(self) -> list[str]:
        """The names and levels that a spreadsheet would run."""
        levels = (level for attribute in self.schema.attributes for level in attribute.levels)
        return formulas((*self.schema.names, self.count, *levels))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PublicTable):
            return NotImplemented
        return self.count == other.count and super().__eq__(other)

    def __hash__(self) -> int:
        return hash((super().__hash__(), self.count))

    def __repr__(self) -> str:
        rows = [(*self.schema.names, self.count), *self._first_rows()]
        rows = [tuple(map(visible, row)) for row in rows]
        width = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([*map(str.ljust, levels, width[:-1]), count.rjust(width[-1])])
            for *levels, count in rows
        ]
        return "\n".join([*lines, *self._left_out()])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(visible(name))}</th>" for name in (*self.schema.names, self.count))
        rows = (
            "".join(f"<td>{escape(visible(text))}</td>" for text in row[:-1])
            + f'<td style="text-align: right">{row[-1]}</td>'
            for row in self._first_rows()
        )
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        more = "".join(f"<p>{line}</p>" for line in self._left_out())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    def _first_rows(self) -> Iterator[tuple[str, ...]]:
        for cell, count in enumerate(self.counts[:_SHOWN].tolist()):
            yield (*self.schema.cell(cell), str(count))

    def _left_out(self) -> list[str]:
        more = self.schema.size - _SHOWN
        return [f"and {more:,} more {'cell' if more == 1 else 'cells'}"] if more > 0 else []


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise DataError(
            f"{name} is not installed: install it, or take the Polars frame that to_frame() gives."
        ) from None
