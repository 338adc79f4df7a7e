"""One pass over a file of records: its strata, and fingerprints of all that swapping leaves as it is.

A stratum is known by the SHA-256 of its values, and put in order by the first 64 bits of it; that no two
strata share these is checked against the rest [holdfast, data/fingerprint.py]. Whatever is returned is the
same for a file and for any swap of it: `verify` surveys what was released, and compares.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl

from holdfast.data.fingerprint import Digests, Fingerprint, Multiset, row_digests
from holdfast.data.microdata import Microdata
from holdfast.lattice.arrays import IntArray, WordArray
from holdfast.mechanisms.records import ColumnRoles
from holdfast.mechanisms.swapping.tallies import Tally
from holdfast.system.errors import DataError
from holdfast.system.progress import steps
from holdfast.system.text import counted
from holdfast.system.ways import setting

MERGED = 1 << 21
"""Rows of partial counts that are merged at once."""
_STRATUM, _SWAPPED, _HELD = (
    [f"{part}-{word}" for word in range(4)] for part in ("stratum", "swapped", "held")
)
_EXTREMES = [
    part
    for name in (*_SWAPPED, *_HELD)
    for part in (pl.col(name).min().alias(f"{name}-low"), pl.col(name).max().alias(f"{name}-high"))
]
_MERGED = [
    pl.col("size").sum(),
    *(
        part
        for name in (*_SWAPPED, *_HELD)
        for part in (pl.col(f"{name}-low").min(), pl.col(f"{name}-high").max())
    ),
]


@dataclass(frozen=True, eq=False, repr=False)
class Survey:
    """The strata of a file in the order of the first words of their digests, and what a swap keeps."""

    words: WordArray
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
        return pl.concat(self.parts).group_by(_STRATUM).agg(_MERGED)


def survey(records: Microdata, columns: ColumnRoles, tallies: Iterable[Tally] = (), *, nulls: bool) -> Survey:
    """Look through a file once; ``nulls`` says that a missing value of a key is a level of its own."""
    strata, counts = _Growing(), tuple(tallies)
    missing = dict.fromkeys(columns.keys, 0)
    with Multiset(columns.swap, columns.stratify) as swaps, Multiset(columns.held, columns.stratify) as holds:
        for batch in steps(records.batches(), "looking through the records", records.number):
            for name in missing:
                missing[name] += batch.column(name).null_count
            stratum, swapped, held = (row_digests(batch, part) for part in parts(columns))
            swaps.add(swapped, stratum)
            holds.add(held, stratum)
            words = {**_words(_STRATUM, stratum), **_words(_SWAPPED, swapped), **_words(_HELD, held)}
            size = pl.len().cast(pl.Int64).alias("size")
            strata.add(pl.DataFrame(words).group_by(_STRATUM).agg(size, *_EXTREMES))
            counts = tuple(tally.with_rows(batch) for tally in counts)
        by_swap, by_held = swaps.fingerprint(), holds.fingerprint()
    if not by_swap.rows:
        raise DataError(f"{records.name} has no records: there is nothing to swap.")
    if not nulls:
        _refuse_missing(missing, records)
    found = strata.merged().sort(_STRATUM[0])
    require_told_apart(not found[_STRATUM[0]].is_duplicated().any(), records.name)
    return Survey(
        found[_STRATUM[0]].to_numpy(),
        found["size"].to_numpy(),
        found.select(_varies(_SWAPPED) & _varies(_HELD)).to_series().cast(pl.Int64).to_numpy(),
        by_swap,
        by_held,
        counts,
    )


def _words(names: Iterable[str], digests: Digests) -> dict[str, WordArray]:
    return dict(zip(names, digests.T, strict=True))


def _varies(names: Iterable[str]) -> pl.Expr:
    """Whether two records of a stratum have another digest."""
    return pl.any_horizontal(pl.col(f"{name}-low") != pl.col(f"{name}-high") for name in names)


def parts(columns: ColumnRoles) -> Iterator[tuple[str, ...]]:
    """Yield the columns of the key, the swapped ones, and those that are held."""
    yield columns.stratify
    yield columns.swap
    yield columns.held


def _refuse_missing(missing: dict[str, int], records: Microdata) -> None:
    for name, count in missing.items():
        if count:
            raise DataError(
                f"{records.name}, column {name!r} has no value in {counted(count, 'record')}: fill them in,"
                f' or set nulls = "level" in {setting("mechanism")} to take them as a level of their own.'
            )


def require_told_apart(told: bool, file: str = "the file") -> None:
    """Raise DataError unless the words of strata tell them apart."""
    if not told:
        raise DataError(
            f"{file} has two strata whose digests begin with the same 64 bits: respell a level of one."
        )
