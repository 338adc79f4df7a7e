"""What looks wrong in records that are to be swapped: held columns that give the swap away.

A held column tells where a record was if it tells the swapped value: each tract lies in one county. And it
shows that a record moved if the swapped value tells it: a block lies in one tract, and a record with a block
of another tract was moved there. Both are looked for without exception and nearly so, and so are numbers that
were given out place by place: those who stand next to each other share a place.

How well one column tells another is the share of records that the others of the same value foretell, by what
most of them have; records without company tell nothing. What counts is how much of the error that is left
after a swap of everybody the column takes away [goodman1954], by one swap of a generator with a seed.

What is found depends on the confidential records beyond what a swap keeps, so it is for the curator alone:
nothing of it goes into a certificate.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pyarrow as pa

from holdfast.data.arrow import arrow_numbers
from holdfast.data.fingerprint import row_codes
from holdfast.data.microdata import holds_levels
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.records import ColumnRoles
from holdfast.system.ways import assigned, setting

LEAST = 2
"""Records that share a value, on average, before it can be said to tell anything without exception."""
COMPANY = 50
"""Records with company before others can foretell them."""
TELLING = 0.5
"""The share of errors that a column that nearly tells another takes away."""
LOOKED_AT = 100_000
"""Records that are looked at."""
RUN = 1_000
"""Records that stay next to each other if there are more."""


def telling_columns(records: pa.Table, columns: ColumnRoles) -> Iterator[str]:
    """Yield a sentence for each held column that gives a swapped one away, in some records of a file."""
    yield from _numbering(records, columns)
    some = _some(records)
    rng, key = np.random.default_rng(0), row_codes(some, columns.stratify)
    within = f" within {' and '.join(columns.stratify)}" if columns.stratify else ""
    for swapped in columns.swap:
        pair, places = _SwappedColumn(key, row_codes(some, [swapped]), rng), ranks(some.column(swapped), rng)
        for name in columns.held:
            found = pair.warning(row_codes(some, [name]), name, swapped, within)
            if found is None and pair.follows(ranks(some.column(name), rng), places):
                found = (
                    f"records next to each other in the order of {name!r} share their {swapped!r}, or stand"
                    f" in its order: it is held, so it tells the {swapped!r} that a record had before the"
                    f" swap; set {assigned('renumber', [name])} in {setting('mechanism')}, or drop it."
                )
            if found is not None:
                yield found


@dataclass(eq=False)
class _SwappedColumn:
    """One swapped column in strata, as it is and after a swap of everybody."""

    key: IntArray
    before: IntArray
    rng: np.random.Generator
    order: IntArray = field(init=False)
    after: IntArray = field(init=False)

    def __post_init__(self) -> None:
        by_key = np.argsort(self.key, kind="stable")
        self.order = np.empty_like(by_key)
        self.order[by_key] = np.lexsort((self.rng.random(by_key.size), self.key))
        self.after = self.before[self.order]

    def warning(self, held: IntArray, name: str, swapped: str, within: str) -> str | None:
        """Return a sentence if a held column tells the swapped one, or the swapped one it; else nothing."""
        both = joint(self.key, held)
        here, there = joint(self.key, self.before), joint(self.key, self.after)
        if _implies(held, self.before, self.after) or _implies(both, self.before, self.after):
            return (
                f"each value of {name!r} comes with one {swapped!r}{within}: it is held, so it tells the"
                f" {swapped!r} that a record had before the swap; name it in swap as well, or drop it."
            )
        if _implies(self.before, held, self.after, turned=True) or _implies(here, held, there, turned=True):
            return (
                f"each {swapped!r} comes with one value of {name!r}{within}: it is held, so a record whose"
                " two do not fit is seen to have moved; name it in swap as well, or in stratify, or drop it."
            )
        if (
            max(
                _gain((held, self.before), (held, self.after)), _gain((both, self.before), (both, self.after))
            )
            >= TELLING
        ):
            return (
                f"{name!r} nearly tells {swapped!r}{within}: it is held, so it tells most of those who know"
                f" it the {swapped!r} that a record had before the swap; name it in swap as well, or in"
                " stratify, or drop it."
            )
        if max(_gain((self.before, held), (self.after, held)), _gain((here, held), (there, held))) >= TELLING:
            return (
                f"{swapped!r} nearly tells {name!r}{within}: it is held, so most records that moved are seen"
                " not to fit; name it in stratify, or in swap as well, or drop it."
            )
        return None

    def follows(self, held: IntArray | None, swapped: IntArray | None) -> bool:
        """Whether the order of a held column follows the swapped one: by neighbours, or by rank."""
        if held is None or held.size < COMPANY:
            return False
        order = np.argsort(held)
        gains = [_less(_alike(self.before[order]), _alike(self.after[order]))]
        if swapped is not None and np.unique(held).size == held.size:
            gains.append(_less(_correlation(held, swapped), _correlation(held, swapped[self.order])))
        return max(gains) >= TELLING


def foretold(cells: IntArray, values: IntArray) -> float:
    """Return the share of records in company whose value is that of most others in their cell, and no tie.

    Of a cell with m records of its most frequent value and n of the next, all m are foretold if m - 1 > n,
    and no other is.

    >>> foretold(np.array([0] * 60 + [1] * 60 + [2]), np.array([5] * 50 + [6] * 10 + [6, 7] * 30 + [8]))
    0.4166666666666667
    """
    _, first, counts = np.unique(joint(cells, values), return_index=True, return_counts=True)
    cell = cells[first]
    order = np.lexsort((counts, cell))
    cell, counts = cell[order], counts[order]
    last = np.flatnonzero(np.append(cell[1:] != cell[:-1], True))
    start = np.append(0, last[:-1] + 1)
    most, second = counts[last], np.where(last > start, counts[np.maximum(last - 1, 0)], 0)
    size = np.add.reduceat(counts, start)
    company = int(size[size > 1].sum())
    return int(most[most - 1 > second].sum()) / company if company >= COMPANY else 0.0


def joint(one: IntArray, other: IntArray) -> IntArray:
    """Return a number for each pair of numbers."""
    return one * (int(other.max(initial=0)) + 1) + other


def ranks(column: pa.ChunkedArray, rng: np.random.Generator) -> IntArray | None:
    """Return the place of each value in order, in any order among equals; nothing where there is no order.

    Texts that are all numbers come in the order of these.
    """
    if not holds_levels(column.type, floats=True):
        return None
    values = pl.Series(pl.from_arrow(column))
    if values.dtype in (pl.Categorical, pl.Enum):
        values = values.cast(pl.String)
    if values.dtype == pl.String:
        numbers = values.cast(pl.Float64, strict=False)
        values = numbers if numbers.null_count() == values.null_count() else values
    dense = values.rank("dense").fill_null(0).to_numpy()
    found: IntArray = np.empty(len(dense), dtype=np.int64)
    found[np.lexsort((rng.random(len(dense)), dense))] = np.arange(len(dense))
    return found


def _numbering(records: pa.Table, columns: ColumnRoles) -> Iterator[str]:
    """Yield a sentence for each held column that numbers the rows of the file in their order."""
    for name in columns.held if records.num_rows >= COMPANY else ():
        if len(records.column(name).unique()) < records.num_rows:
            continue
        found = ranks(records.column(name), np.random.default_rng(0))
        if found is not None and abs(int(np.sign(np.diff(found)).sum())) == found.size - 1:
            yield (
                f"{name!r} numbers the records in the order of the file: whoever knows that order finds each"
                f" record again; set {assigned('renumber', [name])} in {setting('mechanism')}, or drop it."
            )


def _some(records: pa.Table) -> pa.Table:
    """Return the records, or runs of them from all parts."""
    if records.num_rows <= LOOKED_AT:
        return records
    runs = np.linspace(0, records.num_rows - RUN, LOOKED_AT // RUN).astype(np.int64)
    return records.take(arrow_numbers((runs[:, None] + np.arange(RUN)).ravel()))


def _implies(cells: IntArray, values: IntArray, after: IntArray, *, turned: bool = False) -> bool:
    """Whether each cell has one value, and would not after a swap, with records enough to say so."""
    number = np.unique(cells).size
    if LEAST * number > cells.size or np.unique(joint(cells, values)).size > number:
        return False
    swapped = joint(after, values) if turned else joint(cells, after)
    return bool(np.unique(swapped).size > number)


def _gain(before: tuple[IntArray, IntArray], after: tuple[IntArray, IntArray]) -> float:
    return _less(foretold(*before), foretold(*after))


def _less(before: float, after: float) -> float:
    """Return which share of errors is less before than after."""
    return (before - after) / (1 - after) if after < 1 else 0.0


def _alike(values: IntArray) -> float:
    return float((values[1:] == values[:-1]).mean())


def _correlation(one: IntArray, other: IntArray) -> float:
    return abs(float(np.corrcoef(one, other)[0, 1]))
