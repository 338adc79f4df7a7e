"""Writing a table as a long file that is the same, byte for byte, for the same table."""

from pathlib import Path

import polars as pl

from holdfast.errors import ReleaseError, SpecError
from holdfast.tables.table import Table


def write_table(table: Table, path: str | Path, count: str) -> None:
    """Write all cells in row-major order: a column for each attribute, then the counts."""
    path = Path(path)
    if count in table.schema.names:
        raise SpecError(f"the count column {count!r} is also an attribute: give it another name.")
    columns = {
        attribute.name: pl.Series(attribute.levels, dtype=pl.String).gather(
            table.schema.codes(attribute.name)
        )
        for attribute in table.schema.attributes
    }
    frame = pl.DataFrame({**columns, count: table.counts})
    try:
        if path.suffix.lower() == ".csv":
            frame.write_csv(path, line_terminator="\n", quote_style="necessary")
        elif path.suffix.lower() == ".parquet":
            frame.write_parquet(path, compression="zstd", statistics=False)
        else:
            raise ReleaseError(f"{path} is neither CSV nor Parquet: name a .csv or .parquet file.")
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = getattr(error, "strerror", None) or "no access"
        raise ReleaseError(f"{path} cannot be written ({reason}): check its folder.") from None
