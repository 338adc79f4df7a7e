"""Contingency tables: whole-number counts over the cells of a schema."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.data.schema import Schema
from holdfast.errors import DataError


@dataclass(frozen=True, eq=False, repr=False)
class Counts:
    """Counts, one a cell in row-major order, none in a structural zero."""

    schema: Schema
    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        given = np.asarray(self.counts)
        if not np.issubdtype(given.dtype, np.integer):
            raise TypeError(f"counts must be integers, not {given.dtype}")
        if given.shape != (self.schema.size,):
            raise ValueError(f"counts must have shape ({self.schema.size},), not {given.shape}")
        counts = given.astype(np.int64, copy=True)
        if not np.array_equal(counts, given):
            raise ValueError("counts must fit 64-bit integers")
        if self.schema.impossible:
            wrong = np.flatnonzero((counts != 0) & ~self.schema.possible)
            if wrong.size:
                raise DataError(
                    f"the cell {self.schema.in_words(int(wrong[0]))} holds a count and is a structural zero: "
                    "correct the data, or take the cell out of [constraints] structural_zeros."
                )
        counts.setflags(write=False)
        object.__setattr__(self, "counts", counts)

    @property
    def total(self) -> int:
        """The sum of all counts."""
        return int(self.counts.sum())

    def margin(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Return the sums over all other attributes, flat, in row-major order of `names`.

        Of nested attributes only real combinations are summed, as in the grid of the margin.
        """
        if len(set(names)) < len(names):
            raise ValueError(f"the attributes of a margin must be distinct, not {list(names)}")
        for name in names:
            self.schema.axis(name)
        margin = self.schema.grid.over(names)
        sums = np.zeros(margin.size, dtype=np.int64)
        np.add.at(sums, self.schema.grid.rows(margin), self.counts)
        return sums

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts) or type(other) is not type(self):
            return NotImplemented
        return self.schema == other.schema and np.array_equal(self.counts, other.counts)

    def __hash__(self) -> int:
        return hash((self.schema, self.counts.tobytes()))


class Table(Counts):
    """A confidential table: it shows its attributes, and never a count."""

    def __repr__(self) -> str:
        return f"<confidential table: {self.schema.attributes.in_words}; {self.schema.size:,} cells>"
