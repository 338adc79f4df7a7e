"""Microdata: a row for each record, its levels as codes, everything else carried along as it is."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from holdfast.data.attributes import Attribute, Attributes
from holdfast.data.schema import Schema
from holdfast.data.table import Table
from holdfast.errors import DataError, SpecError

Codes = NDArray[np.unsignedinteger[Any]]


class NotACellError(DataError):
    """A record has levels that do not lie in each other."""

    def __init__(self, record: int, why: str) -> None:
        super().__init__(f"record {record} (from 0) is in no cell: {why}, so correct one of the two.")
        self.record, self.why = record, why


@dataclass(frozen=True, eq=False, repr=False)
class Records:
    """Confidential records in the order of their source: they show their attributes, and never a value."""

    attributes: Attributes
    codes: tuple[Codes, ...]
    """For each attribute, the place of each record's level, in the smallest unsigned type that holds it."""
    carried: pl.DataFrame = field(default_factory=pl.DataFrame)
    """The columns that are no attributes, of any type and without levels, row by row."""

    def __post_init__(self) -> None:
        if len(self.codes) != len(self.attributes):
            raise ValueError(f"{len(self.attributes)} attributes need as many columns, not {len(self.codes)}")
        if any(len(codes) != self.size for codes in self.codes):
            raise ValueError("columns must have one code for each record")
        if self.carried.width and self.carried.height != self.size:
            raise ValueError("columns that are carried must have one value for each record")
        for attribute, codes in zip(self.attributes, self.codes, strict=True):
            if self.size and not 0 <= codes.min() <= codes.max() < len(attribute.levels):
                raise ValueError(f"codes of {attribute.name!r} must be places among its levels")
        object.__setattr__(self, "codes", tuple(map(_compact, self.attributes, self.codes)))

    def __repr__(self) -> str:
        return f"<confidential records: {self.attributes.in_words}; {self.carried.width} columns carried>"

    @property
    def size(self) -> int:
        """The number of records."""
        return len(self.codes[0])

    def column(self, name: str) -> Codes:
        """Return the codes of an attribute."""
        return self.codes[self.attributes.axis(name)]

    def cells(self, schema: Schema) -> NDArray[np.int64]:
        """Return the cell of each record among those of a schema over some of the attributes."""
        for attribute in schema.attributes:
            if self.attributes.attribute(attribute.name) != attribute:
                raise SpecError(
                    f"the levels of {attribute.name!r} are not those of the records: take the same, in order."
                )
        codes = {name: self.column(name).astype(np.int64) for name in schema.names}
        cells = schema.grid.place(codes)
        if schema.nestings and self.size and cells.min() < 0:
            record = int(np.argmin(cells))
            raise NotACellError(record, schema.apart(codes, record))
        return cells

    def table(self, schema: Schema) -> Table:
        """Return the number of records in each cell of a schema over some of the attributes."""
        return Table(schema, np.bincount(self.cells(schema), minlength=schema.size))


def _compact(attribute: Attribute, codes: Codes) -> Codes:
    compact = codes.astype(np.min_scalar_type(len(attribute.levels) - 1), copy=True)
    compact.setflags(write=False)
    return compact
