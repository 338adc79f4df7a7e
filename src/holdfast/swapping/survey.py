"""One pass over a file of records: its strata, and fingerprints of all that swapping leaves as it is.

A stratum is known by a word of its values [holdfast, data/fingerprint.py]; that no two strata share a word is
checked. Whatever is returned is the same for a file and for any swap of it: `verify` surveys what was
released, and compares.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl
import pyarrow as pa

from holdfast.data.fingerprint import OTHER, Fingerprint, Words, mixed, row_words
from holdfast.data.microdata import Microdata, holds_levels
from holdfast.errors import DataError
from holdfast.lattice.arrays import IntArray
from holdfast.progress import steps
from holdfast.swapping.design import Columns
from holdfast.swapping.mandated import Tally
from holdfast.words import counted

MERGED = 1 << 21
"""Rows of partial counts that are merged at once."""
_VARIES = ("other", "swapped", "held")
_EXTREMES = [
    part
    for name in _VARIES
    for part in (pl.col(name).min().alias(f"{name}-low"), pl.col(name).max().alias(f"{name}-high"))
]
_MERGED = [
    pl.col("size").sum(),
    *(part for name in _VARIES for part in (pl.col(f"{name}-low").min(), pl.col(f"{name}-high").max())),
]


@dataclass(frozen=True, eq=False, repr=False)
class Survey:
    """The strata of a file in the order of their words, and what a swap keeps."""

    words: Words
    sizes: IntArray
    varied: IntArray
    """1 for each stratum in which swapped and held values both vary: others stay as they are."""
    by_swap: Fingerprint
    by_held: Fingerprint
    counts: tuple[Tally, ...]

    @property
    def rows(self) -> int:
        """The number of records."""
        return int(self.sizes.sum())

    @cached_property
    def largest(self) -> int:
        """The number of records of the largest stratum."""
        return int(self.sizes.max(initial=0))

    @property
    def histogram(self) -> tuple[tuple[int, int], ...]:
        """How many strata there are of each size."""
        sizes, strata = np.unique(self.sizes, return_counts=True)
        return tuple(zip(sizes.tolist(), strata.tolist(), strict=True))


@dataclass(eq=False)
class _Growing:
    """Partial counts of strata, merged from time to time."""

    parts: list[pl.DataFrame] = field(default_factory=list)

    def add(self, part: pl.DataFrame) -> None:
        self.parts.append(part)
        if sum(len(one) for one in self.parts) > MERGED + 2 * len(self.parts[0]):
            self.parts = [self.merged()]

    def merged(self) -> pl.DataFrame:
        return pl.concat(self.parts).group_by("stratum").agg(_MERGED)


def survey(records: Microdata, columns: Columns, tallies: Iterable[Tally] = (), *, nulls: bool) -> Survey:
    """Look through a file once; ``nulls`` says that a missing value of a key is a level of its own."""
    strata, counts = _Growing(), tuple(tallies)
    by_swap = by_held = Fingerprint()
    missing = dict.fromkeys(columns.keys, 0)
    for batch in steps(records.batches(), "looking through the records", records.number):
        for name in missing:
            missing[name] += batch.column(name).null_count
        stratum, swapped, held = (row_words(batch, part) for part in parts(columns))
        by_swap += Fingerprint.of(stratum + swapped)
        by_held += Fingerprint.of(stratum + held)
        words = {"stratum": mixed(stratum), "other": mixed(stratum ^ OTHER), "swapped": swapped, "held": held}
        strata.add(
            pl.DataFrame(words).group_by("stratum").agg(pl.len().cast(pl.Int64).alias("size"), *_EXTREMES)
        )
        counts = tuple(tally.with_rows(batch) for tally in counts)
    if not by_swap.rows:
        raise DataError(f"{records.name} has no records: there is nothing to swap.")
    if not nulls:
        _refuse_missing(missing, records)
    found = strata.merged().sort("stratum")
    if (found["other-low"] != found["other-high"]).any():
        raise DataError(
            f"{records.name} has two strata that cannot be told apart by 64 bits: respell a level of one."
        )
    varied = (found["swapped-low"] != found["swapped-high"]) & (found["held-low"] != found["held-high"])
    return Survey(
        found["stratum"].to_numpy(),
        found["size"].to_numpy(),
        varied.cast(pl.Int64).to_numpy(),
        by_swap,
        by_held,
        counts,
    )


def parts(columns: Columns) -> Iterator[tuple[str, ...]]:
    """Yield the columns of the key, the swapped ones, and those that are held."""
    yield columns.stratify
    yield columns.swap
    yield columns.held


def require_levels(schema: pa.Schema, names: Iterable[str], file: str, *, floats: bool = False) -> None:
    """Raise DataError where a column that is counted by holds what is no level: rounded numbers, or lists."""
    for name in names:
        kind = schema.field(name).type
        if not holds_levels(kind, floats=floats):
            raise DataError(
                f"{file}, column {name!r} holds {kind} values: store its levels as text, whole numbers or"
                " days, or name another column."
            )


def _refuse_missing(missing: dict[str, int], records: Microdata) -> None:
    for name, count in missing.items():
        if count:
            raise DataError(
                f"{records.name}, column {name!r} has no value in {counted(count, 'record')}: fill them in,"
                ' or set nulls = "level" in [mechanism] to take them as a level of their own.'
            )
