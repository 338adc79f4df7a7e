"""Tables in long form, a row for each cell: as a frame, and as a file that is the same for the same table."""

from pathlib import Path
from typing import IO

import polars as pl

from holdfast.data.attributes import Attributes
from holdfast.data.formulas import quoted
from holdfast.data.schema import Schema
from holdfast.errors import ReleaseError


def long_frame(schema: Schema, values: pl.Series) -> pl.DataFrame:
    """Return all cells in row-major order: a column for each attribute, then the values."""
    columns = [
        pl.Series(attribute.name, attribute.levels, dtype=pl.String).gather(schema.codes(attribute.name))
        for attribute in schema.attributes
    ]
    return pl.DataFrame([*columns, values])


def quoted_schema(schema: Schema) -> Schema:
    """Return the schema with its names and levels as they stand where formulas are quoted."""
    levels = {quoted(each.name): map(quoted, each.levels) for each in schema.attributes}
    nestings = tuple(one.renamed(quoted) for one in schema.nestings)
    return Schema(Attributes.of(levels), schema.impossible, nestings)


def write_frame(frame: pl.DataFrame, path: str | Path, file: IO[bytes] | None = None) -> None:
    """Write a frame as CSV or Parquet, by the name of the file: into that file if it is open."""
    path = Path(path)
    try:
        if path.suffix.lower() == ".csv":
            frame.write_csv(file or path, line_terminator="\n", quote_style="necessary")
        elif path.suffix.lower() == ".parquet":
            frame.write_parquet(file or path, compression="zstd", statistics=False)
        else:
            raise ReleaseError(f"{path} is neither CSV nor Parquet: name a .csv or .parquet file.")
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = getattr(error, "strerror", None) or "no access"
        raise ReleaseError(f"{path} cannot be written ({reason}): check its folder.") from error
