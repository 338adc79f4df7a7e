"""One tabulation of a file under many seeded swaps, for the curator's eyes.

A swap moves a part of each record's place in the table and leaves the rest. Both are worked out once, with
the records in the order of their strata; a draw is then a permutation and a count. With the same seed it is
the table that `group.py` gives.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
import pyarrow as pa

from holdfast.data.fingerprint import Words
from holdfast.data.microdata import Microdata
from holdfast.data.schema import Schema
from holdfast.lattice.arrays import IntArray
from holdfast.progress import steps
from holdfast.sampling.permute import permute
from holdfast.spec.model import MISSING
from holdfast.swapping.design import Columns
from holdfast.swapping.group import first_places, own_words, seeded_keys, strata_digests


@dataclass(frozen=True, eq=False, repr=False)
class Tabulated:
    """Records in the order of their strata, each by the two parts of its place in a table."""

    words: Words
    """One for each stratum."""
    sizes: IntArray
    stays: IntArray
    """For each record, what its key and held columns add to its place in the table."""
    moves: IntArray
    """What its swapped columns add."""
    cells: int

    @classmethod
    def of(cls, records: Microdata, columns: Columns, schema: Schema) -> "Tabulated":
        """Find the place of every record; the levels of the schema are all that occur."""
        parts = [
            (strata_digests(batch, columns), own_words(batch, columns), *_places(batch, columns, schema))
            for batch in steps(records.batches(), "tabulating the records", records.number)
        ]
        strata, own, stays, moves = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.lexsort((own, strata[:, 0]))
        firsts = first_places(strata[order])
        sizes = np.diff(np.append(firsts, order.size))
        return cls(strata[order[firsts], 0], sizes, stays[order], moves[order], schema.size)

    @property
    def counts(self) -> IntArray:
        """The tabulation of the confidential records."""
        return np.bincount(self.stays + self.moves, minlength=self.cells)

    def swapped(self, rate: Fraction, seed: int) -> IntArray:
        """Return the tabulation of a seeded swap."""
        drawn = permute(self.sizes, rate, None, seeded_keys(self.words, seed))
        return np.bincount(self.stays + self.moves[drawn.source], minlength=self.cells)


def _places(batch: pa.Table, columns: Columns, schema: Schema) -> tuple[IntArray, IntArray]:
    """Return the two parts of each record's cell: cells are in row-major order, so they add up."""
    codes = {one.name: _codes(batch.column(one.name), one.levels) for one in schema.attributes}
    none = np.zeros(batch.num_rows, dtype=np.int64)
    stays = {name: none if name in columns.swap else code for name, code in codes.items()}
    moves = {name: code if name in columns.swap else none for name, code in codes.items()}
    return schema.grid.place(stays), schema.grid.place(moves)


def _codes(column: pa.ChunkedArray, levels: tuple[str, ...]) -> IntArray:
    """Return the place of each value among the levels, spelled as tallies spell them."""
    texts = pl.Series(pl.from_arrow(column)).cast(pl.String).fill_null(MISSING)
    return texts.cast(pl.Enum(levels)).to_physical().to_numpy().astype(np.int64)
