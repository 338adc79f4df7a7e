"""Estimated counts as records: one row for each, in the order of the cells."""

from dataclasses import dataclass
from typing import IO

import numpy as np
import polars as pl

from holdfast.data.schema import quoted_schema
from holdfast.data.table import PublicTable, long_frame
from holdfast.outputs import Output
from holdfast.system.errors import ReleaseError
from holdfast.system.private import Private

AT_ONCE = 1 << 20
"""Records that are written together."""


@dataclass(frozen=True, eq=False)
class MicrodataOutput(Output):
    """One record for each count of a table whose counts are not negative."""

    table: PublicTable

    def to_frame(self) -> pl.DataFrame:
        """Return the records, a row for each."""
        return self._levels()[self._places()]

    def write(self, folder: Private, name: str, *, parquet: bool, quote_formulas: bool = False) -> str:
        """Write the records, as CSV or as Parquet."""
        file = f"{name}.parquet" if parquet else f"{name}.csv"
        try:
            with folder.create(file) as out:
                if parquet:
                    self._to_parquet(out)
                else:
                    self._to_csv(out, quote_formulas=quote_formulas)
        except (OSError, pl.exceptions.PolarsError) as error:
            reason = getattr(error, "strerror", None) or "no access"
            raise ReleaseError(f"{file} cannot be written ({reason}): check its folder.") from error
        return file

    def _to_csv(self, out: IO[bytes], *, quote_formulas: bool) -> None:
        levels, places = self._levels(quote_formulas=quote_formulas), self._places()
        for begin in range(0, max(places.size, 1), AT_ONCE):
            part = levels[places[begin : begin + AT_ONCE]]
            part.write_csv(out, include_header=begin == 0, line_terminator="\n", quote_style="necessary")

    def _to_parquet(self, out: IO[bytes]) -> None:
        import pyarrow.parquet as pq  # noqa: PLC0415 - loaded late

        levels, places = self._levels(), self._places()
        schema = levels[:0].to_arrow().schema
        with pq.ParquetWriter(out, schema, compression="zstd") as writer:
            for begin in range(0, places.size, AT_ONCE):
                writer.write_table(levels[places[begin : begin + AT_ONCE]].to_arrow().cast(schema))

    def _levels(self, *, quote_formulas: bool = False) -> pl.DataFrame:
        schema = quoted_schema(self.table.schema) if quote_formulas else self.table.schema
        return long_frame(schema, pl.Series("", np.zeros(schema.size, dtype=np.int8)))[:, :-1]

    def _places(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.repeat(np.arange(self.table.counts.size), self.table.counts)
