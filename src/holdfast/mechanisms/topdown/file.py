"""The file of measurements: one row for each, with its level, node, query, value and variance.

The cell of a marginal stands in a column for each attribute, which is empty where the query sums over it.
Rows are in the order of levels and queries, then nodes, then cells: the same measurements give the same
bytes. The head of a certificate has the SHA-256 of the values in this order, each as 64 bits with the lowest
byte first: the same in whatever form the rows are kept.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from holdfast.data.files import open_file
from holdfast.data.invariants import margin_levels
from holdfast.data.write import write_frame
from holdfast.errors import DataError
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.topdown.design import Design
from holdfast.mechanisms.topdown.law import Measurement
from holdfast.outputs import Output
from holdfast.private import Private

NAME = "measurements"
FILE = f"{NAME}.parquet"
VALUE = "value"
OWN = ("level", "geocode", "query", VALUE, "variance")

Values = tuple[IntArray, ...]
"""The values of all measurements: nodes by rows for each query and level."""


def column_of(attribute: str) -> str:
    """Return the column of an attribute: its name, unless that is taken."""
    return f"cell_{attribute}" if attribute in OWN else attribute


def long_form(design: Design, measurements: Sequence[Measurement], values: Values) -> pl.DataFrame:
    """Return measurements as a frame, a row for each."""
    return pl.concat([_part(design, *pair) for pair in zip(measurements, values, strict=True)], rechunk=True)


def _part(design: Design, measurement: Measurement, values: IntArray) -> pl.DataFrame:
    regions, query = design.regions, design.queries[measurement.of.query]
    level = regions.levels[measurement.of.level]
    nodes, rows = values.shape
    columns = {
        "level": pl.repeat(level, values.size, dtype=pl.String, eager=True),
        "geocode": pl.Series(regions.spine.codes(level), dtype=pl.String).gather(
            np.repeat(np.arange(nodes), rows)
        ),
        "query": pl.repeat(query.name, values.size, dtype=pl.String, eager=True),
    }
    cells = (
        ((),) * rows
        if regions.cells is None
        else margin_levels(regions.cells, query.marginal, np.arange(rows))
    )
    for name in regions.names:
        if name in query.marginal:
            place = query.marginal.index(name)
            levels = pl.Series([cell[place] for cell in cells], dtype=pl.String)
            columns[column_of(name)] = levels.gather(np.tile(np.arange(rows), nodes))
        else:
            columns[column_of(name)] = pl.repeat(None, values.size, dtype=pl.String, eager=True)
    columns[VALUE] = pl.Series(values.ravel(), dtype=pl.Int64)
    columns["variance"] = pl.repeat(measurement.variance, values.size, dtype=pl.Float64, eager=True)
    return pl.DataFrame(columns)


def read_measurements(path: Path, design: Design, measurements: Sequence[Measurement]) -> Values:
    """Read what was measured; raises DataError where the file is not one of these measurements."""
    sizes = [
        (design.regions.sizes[each.of.level], int(design.queries[each.of.query].rows.shape[0]))
        for each in measurements
    ]
    try:
        ends = np.cumsum([nodes * rows for nodes, rows in sizes])
        source = open_file(path, most_rows=int(ends[-1]), released=True)
        frame = pl.DataFrame(source.load(range(len(source.header))))
        if frame.height != ends[-1] or frame.schema[VALUE] != pl.Int64 or frame[VALUE].null_count():
            raise ValueError  # noqa: TRY301 - caught with the other damage below
        every = frame[VALUE].to_numpy()
        values = tuple(
            part.reshape(size) for part, size in zip(np.split(every, ends[:-1]), sizes, strict=True)
        )
        if not _same(frame, long_form(design, measurements, values)):
            raise ValueError  # noqa: TRY301
    except (DataError, OSError, ValueError, LookupError, TypeError, pl.exceptions.PolarsError):
        raise DataError(
            f"{path} does not hold the measurements that the certificate tells: restore it from the release."
        ) from None
    return values


def _same(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Whether two frames are alike, in every value."""
    return one.schema == other.schema and one.equals(other)


def digest_of(values: Values) -> str:
    """Return the SHA-256 of what was measured."""
    found = hashlib.sha256()
    for part in values:
        found.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
    return found.hexdigest()


@dataclass(frozen=True, eq=False, repr=False)
class MeasurementsOutput(Output):
    """Noisy answers, which may be seen."""

    design: Design
    measurements: Sequence[Measurement]
    values: Values

    def __repr__(self) -> str:
        return f"<{sum(part.size for part in self.values):,} measurements>"

    def __eq__(self, other: object) -> bool:
        return self.to_frame().equals(other.to_frame()) if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(part.tobytes() for part in self.values))

    @property
    def measured(self) -> str:
        """The digest of all values."""
        return digest_of(self.values)

    def to_frame(self) -> pl.DataFrame:
        """Return them as a frame, a row for each."""
        return long_form(self.design, self.measurements, self.values)

    def write(self, folder: Private, name: str, *, parquet: bool, quote_formulas: bool = False) -> str:  # noqa: ARG002 - Parquet in any case
        """Write all of them as Parquet."""
        file = f"{name}.parquet"
        with folder.create(file) as opened:
            write_frame(self.to_frame(), file, opened)
        return file
