"""Microdata: a row for each record, its levels as codes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.data.schema import Attribute, Attributes, Schema
from holdfast.data.table import Table
from holdfast.lattice.arrays import IntArray
from holdfast.system.errors import DataError, SpecError

LevelCodes = NDArray[np.unsignedinteger[Any]]


class NotACellError(DataError):
    """A record has levels that do not lie in each other."""

    def __init__(self, record: int, why: str) -> None:
        super().__init__(f"record {record} (from 0) is in no cell: {why}, so correct one of the two.")
        self.record, self.why = record, why


@dataclass(frozen=True, eq=False, repr=False)
class Records:
    """Confidential records in the order of their source: they show their attributes, and never a value."""

    attributes: Attributes
    codes: tuple[LevelCodes, ...]
    """For each attribute, the place of each record's level, in the smallest unsigned type that holds it."""

    def __post_init__(self) -> None:
        if len(self.codes) != len(self.attributes):
            raise ValueError(f"{len(self.attributes)} attributes need as many columns, not {len(self.codes)}")
        if any(len(codes) != self.size for codes in self.codes):
            raise ValueError("columns must have one code for each record")
        for attribute, codes in zip(self.attributes, self.codes, strict=True):
            if self.size and not 0 <= codes.min() <= codes.max() < len(attribute.levels):
                raise ValueError(f"codes of {attribute.name!r} must be places among its levels")
        object.__setattr__(self, "codes", tuple(map(_compact, self.attributes, self.codes)))

    def __repr__(self) -> str:
        return f"<confidential records: {self.attributes.in_words}>"

    @property
    def size(self) -> int:
        """The number of records."""
        return len(self.codes[0])

    def column(self, name: str) -> LevelCodes:
        """Return the codes of an attribute."""
        return self.codes[self.attributes.axis(name)]

    def cells(self, schema: Schema) -> IntArray:
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


def _compact(attribute: Attribute, codes: LevelCodes) -> LevelCodes:
    compact = codes.astype(np.min_scalar_type(len(attribute.levels) - 1), copy=True)
    compact.setflags(write=False)
    return compact


def first_repeat(keys: IntArray) -> tuple[int, int] | None:
    """Return the places of the first key that comes a second time.

    >>> first_repeat(np.array([5, 7, 5]))
    (0, 2)
    """
    order = np.argsort(keys, kind="stable")
    same = keys[order][1:] == keys[order][:-1]
    if not same.any():
        return None
    second = int(order[1:][same].min())
    return int(np.argmax(keys == keys[second])), second
