"""The table of a release as it leaves: every cell with its count and what is to be known of that."""

from dataclasses import dataclass, replace
from functools import cached_property

import polars as pl

from holdfast.certificate.model import Certificate
from holdfast.data.cell_status import STATUS
from holdfast.data.levels import quoted
from holdfast.data.schema import Schema, quoted_schema
from holdfast.data.table import long_frame
from holdfast.system.errors import SpecError


@dataclass(frozen=True, eq=False)
class PublishedCells:
    """A released or processed table: its cells in row-major order, as their readers have them."""

    certificate: Certificate
    """That of this table alone."""
    schema: Schema
    count: str
    texts: tuple[str, ...]
    """The counts as they are written: whole, or with the decimals of a processed table."""
    status: pl.Series
    """The status of each cell, in words."""

    @cached_property
    def numbers(self) -> list[int] | list[float]:
        """The counts as numbers: whole where all are."""
        whole = not any("." in text for text in self.texts)
        return [int(text) for text in self.texts] if whole else [float(text) for text in self.texts]

    @property
    def title(self) -> str:
        """What the curator calls it."""
        publication = self.certificate.publication
        return (publication.title if publication else None) or f"Counts by {', '.join(self.schema.names)}"

    @property
    def in_csv(self) -> "PublishedCells":
        """The same with names as CSV files of the release have them: quoted where formulas are."""
        if not self.certificate.quoted_formulas:
            return self
        return replace(self, schema=quoted_schema(self.schema), count=quoted(self.count))

    def to_frame(self) -> pl.DataFrame:
        """Return a row for each cell: its levels, its count and its status."""
        if STATUS in (*self.schema.names, self.count):
            raise SpecError(f"the column {STATUS!r} of an export is also one of the table: rename that.")
        frame = long_frame(self.schema, pl.Series(self.count, self.numbers))
        return frame.with_columns(self.status.alias(STATUS))
