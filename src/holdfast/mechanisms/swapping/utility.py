"""What swaps do to a file: for the curator's eyes only, as it compares releases with the data.

One tabulation is counted under many seeded swaps: a swap moves a part of each record's place in the table and
leaves the rest. Both are worked out once, and where records stand by strata; a draw is then a permutation
and a count. With the same seed it is the table of the file that `embedded.py` gives.

Of the one swap that is released two-way tables are compared, of a swapped and a held column, as these change.
The mean absolute percentage error of a table is the mean of |swapped - true| / true over its cells that are
not empty in the data [swapping-slides].
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from holdfast.data.fingerprint import row_digests
from holdfast.data.microdata import Microdata, holds_levels
from holdfast.data.schema import Schema
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.records import ColumnRoles
from holdfast.mechanisms.swapping.embedded import Arranged, Swap, Swapped, composed, own_words
from holdfast.mechanisms.swapping.tallies import RECORDS, Tally
from holdfast.spec.data import MISSING
from holdfast.system.progress import steps


@dataclass(frozen=True, eq=False, repr=False)
class Tabulated:
    """Records, each by the two parts of its place in a table."""

    arranged: tuple[Arranged, ...]
    """By the strata of each round."""
    stays: IntArray
    """For each record, what its key and held columns add to its place in the table."""
    moves: IntArray
    """What its swapped columns add."""
    cells: int

    @classmethod
    def of(cls, records: Microdata, swap: Swap, schema: Schema) -> "Tabulated":
        """Find the place of every record; the levels of the schema are all that occur."""
        columns, rounds = swap.columns, swap.every
        parts = [
            (
                own_words(batch, columns),
                *_places(batch, columns, schema),
                *(found for one in rounds for found in (row_digests(batch, one.stratify), one.fits(batch))),
            )
            for batch in steps(records.batches(), "tabulating the records", records.number)
        ]
        own, stays, moves, *found = (np.concatenate(part) for part in zip(*parts, strict=True))
        each = zip(rounds, found[::2], found[1::2], strict=True)
        arranged = tuple(Arranged.of(one, strata, bits, own) for one, strata, bits in each)
        return cls(arranged, stays, moves, schema.size)

    @property
    def counts(self) -> IntArray:
        """The tabulation of the confidential records."""
        return np.bincount(self.stays + self.moves, minlength=self.cells)

    def drawn(self, seed: int) -> IntArray:
        """Return the tabulation of a seeded swap."""
        source, _ = composed(self.arranged, None, seed)
        return np.bincount(self.stays + self.moves[source], minlength=self.cells)


def _places(batch: pa.Table, columns: ColumnRoles, schema: Schema) -> tuple[IntArray, IntArray]:
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


FOR_WHOM = (
    "For the curator's eyes only: this file compares a release with the confidential data, and is covered by"
    " no guarantee. Keep it out of the release, and do not publish it."
)
AFTER = "\0after"
"""The column of counts of what was swapped, beside those of any other names."""
MOST_LEVELS = 100
MOST_COLUMNS = 8
"""Held columns with few levels are compared, so many at most."""
MOST_CELLS = 1 << 21
"""Cells of all tables that are compared; the largest are left out before there are more."""
CLASSES = (1, 2, 3, 5, 10, 20, 50, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
"""Sizes of strata at which a class begins."""


@dataclass(frozen=True)
class TwoWay:
    """The error of one table."""

    columns: tuple[str, ...]
    cells: int
    mape: float
    """In percent."""
    changed: int


@dataclass(frozen=True)
class DerangedShare:
    """Strata of some sizes: how many records they have, and the share that was deranged."""

    smallest: int
    largest: int | None
    strata: int
    records: int
    share: float


@dataclass(frozen=True)
class Utility:
    """What a swap did."""

    rate: str
    records: int
    moved: int
    tables: tuple[TwoWay, ...]
    left_out: tuple[tuple[str, ...], ...]
    """Tables of too many cells to be compared."""
    by_size: tuple[DerangedShare, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name, the warning first."""
        return {
            "for": FOR_WHOM,
            "rate": self.rate,
            "records": self.records,
            "moved": self.moved,
            "share_moved": self.moved / self.records,
            "two_way_tables": [
                {
                    "columns": list(one.columns),
                    "cells": one.cells,
                    "mean_absolute_percentage_error": one.mape,
                    "cells_changed": one.changed,
                }
                for one in self.tables
            ],
            "two_way_tables_left_out": [list(one) for one in self.left_out],
            "moved_by_stratum_size": [vars(one) for one in self.by_size],
        }


@dataclass(eq=False, repr=False)
class SwapMonitor:
    """Counts two-way tables before and after a swap, and who moved."""

    pairs: tuple[tuple[str, str], ...]
    before: tuple[Tally, ...] = ()
    after: tuple[Tally, ...] = ()
    moved: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    strata: dict[int, int] = field(default_factory=lambda: defaultdict(int))

    @classmethod
    def of(cls, columns: ColumnRoles, first: pa.Table, unit_id: str | None = None) -> "SwapMonitor":
        """Choose the held columns to compare from a first batch: those with few levels, and no id."""
        held = [name for name in columns.held if name != unit_id]
        chosen = [name for name in held if _few(first.column(name))][:MOST_COLUMNS]
        pairs = tuple((swapped, name) for swapped in columns.swap for name in chosen)
        tallies = tuple(Tally("", pair) for pair in pairs)
        return cls(pairs, tallies, tallies)

    def anew(self) -> "SwapMonitor":
        """Return one that counts after another swap of the same records."""
        return SwapMonitor(self.pairs, self.before, tuple(Tally("", pair) for pair in self.pairs))

    def saw(self, swapped: Swapped) -> None:
        """Take in a group that was swapped."""
        left = {tally.attributes for tally in self.before}
        self.after = _counted((tally for tally in self.after if tally.attributes in left), swapped.records)
        sizes, place, strata = np.unique(swapped.sizes, return_inverse=True, return_counts=True)
        moved = np.zeros_like(sizes)
        np.add.at(moved, place, swapped.moved)
        for size, number, records in zip(sizes.tolist(), strata.tolist(), moved.tolist(), strict=True):
            self.strata[size] += number
            self.moved[size] += records

    def report(self, rate: str) -> Utility:
        """Return what was seen."""
        records = sum(size * count for size, count in self.strata.items())
        before = {tally.attributes: tally for tally in self.before}
        tables = tuple(_compared(before[tally.attributes], tally) for tally in self.after)
        compared = {table.columns for table in tables}
        return Utility(
            rate,
            records,
            sum(self.moved.values()),
            tables,
            tuple(pair for pair in self.pairs if pair not in compared),
            tuple(self._classes()),
        )

    def _classes(self) -> Iterator[DerangedShare]:
        for low, high in zip(CLASSES, (*CLASSES[1:], None), strict=True):
            sizes = [size for size in self.strata if size >= low and (high is None or size < high)]
            records = sum(size * self.strata[size] for size in sizes)
            if records:
                moved = sum(self.moved[size] for size in sizes)
                strata = sum(self.strata[size] for size in sizes)
                yield DerangedShare(min(sizes), max(sizes), strata, records, moved / records)


def counted_before(watch: SwapMonitor, batches: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield batches of the data, and count the two-way tables on the way."""
    for batch in batches:
        watch.before = _counted(watch.before, batch)
        yield batch


def _counted(tallies: Iterable[Tally], records: pa.Table) -> tuple[Tally, ...]:
    """Return the tallies with some more records, without the largest if they become too many cells."""
    found = [tally.with_rows(records) for tally in tallies]
    while sum(tally.cells for tally in found) > MOST_CELLS:
        found.remove(max(found, key=lambda tally: tally.cells))
    return tuple(found)


def _few(column: pa.ChunkedArray) -> bool:
    return holds_levels(column.type) and 1 < len(column.slice(0, 100_000).unique()) <= MOST_LEVELS


def _compared(before: Tally, after: Tally) -> TwoWay:
    names = list(before.attributes)
    both = before.counts.join(
        after.counts.rename({RECORDS: AFTER}), on=names, how="left", nulls_equal=True
    ).with_columns(pl.col(AFTER).fill_null(0))
    error = (both[AFTER] - both[RECORDS]).abs()
    mape = float((error / both[RECORDS]).mean() or 0.0)  # type: ignore[arg-type]
    return TwoWay(before.attributes, both.height, 100 * mape, int((error > 0).sum()))
