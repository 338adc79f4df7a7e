"""All rows of a file or a database, asked without being listed: the first of them, and what occurs in all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Protocol

import numpy as np
import polars as pl

from holdfast.data.columns import Columns, as_text
from holdfast.data.files import Source
from holdfast.lattice.arrays import IntArray
from holdfast.system.errors import DataError

HEAD = 100_000
"""Rows that tell what a column is not; only what it may be needs all."""
DENSE = 1 << 27
"""Combinations that have a mark each; of more, those that occur are sorted."""


class Rows(Protocol):
    """What a survey asks of all rows."""

    @property
    def name(self) -> str:
        """What messages call them."""

    @property
    def size(self) -> int:
        """How many there are."""

    @property
    def head(self) -> pl.DataFrame:
        """The first of them as text, gaps as the empty text."""

    @property
    def unusable(self) -> Mapping[str, str]:
        """Columns whose values are no text, and of which type they are."""

    @property
    def listed(self) -> bool:
        """Whether their order means something, as in a file."""

    def number(self, names: Sequence[str]) -> int:
        """How many combinations of values of some columns there are."""

    def whole(self, name: str) -> IntArray:
        """All values of a column of whole numbers; raises DataError where one is none."""

    def groups(self, names: Sequence[str], count: str | None) -> "RowGroups":
        """Return each combination of values, with the sums of a column if one counts."""


@dataclass(frozen=True, eq=False, repr=False)
class RowGroups:
    """Combinations of values that occur, in the order of the rows where they are counts."""

    levels: pl.DataFrame
    sums: IntArray | None = None
    times: IntArray | None = None
    """How many rows each has, where they are counts."""

    def only(self, kept: pl.Series) -> "RowGroups":
        """Return some of them."""
        mask = kept.to_numpy()
        sums, times = (None if each is None else each[mask] for each in (self.sums, self.times))
        return RowGroups(self.levels.filter(kept), sums, times)


def file_rows(source: Source) -> Rows:
    """Return the rows of a file, all of which are held."""
    return _FileRows(source)


class _FileRows:
    listed = True

    def __init__(self, source: Source) -> None:
        self.source, self.name = source, source.name
        self.unusable: dict[str, str] = {}
        columns = []
        for name, column in zip(source.header, source.load(range(len(source.header))), strict=True):
            try:
                columns.append(as_text(source, column.alias(name), floats=True).fill_null(""))
            except DataError:
                self.unusable[name] = str(column.dtype)
        self.frame = pl.DataFrame(columns)
        self.size = self.frame.height
        self._codes: dict[str, tuple[IntArray, pl.Series]] = {}

    @cached_property
    def head(self) -> pl.DataFrame:
        return self.frame.head(HEAD)

    def number(self, names: Sequence[str]) -> int:
        if len(names) == 1:
            return self.frame[names[0]].n_unique()
        return self.groups(names, None).levels.height

    def whole(self, name: str) -> IntArray:
        return Columns.of(self.source, (), (name,)).integers(name)

    def groups(self, names: Sequence[str], count: str | None) -> RowGroups:
        coded = [self._coded(name) for name in names]
        sizes = [len(levels) for _, levels in coded]
        if prod(sizes) >= 2**62:
            return _sorted_groups(self.frame.select(names), names, count, self.whole)
        cells = np.zeros(self.size, dtype=np.int64)
        for (codes, _), size in zip(coded, sizes, strict=True):
            cells *= size
            cells += codes
        found = _sorted_groups(pl.DataFrame({"cell": cells}), ["cell"], count, self.whole, prod(sizes))
        places, columns = found.levels["cell"].to_numpy(), []
        for name, (_, levels), size in zip(reversed(names), reversed(coded), reversed(sizes), strict=True):
            places, at = np.divmod(places, size)
            columns.append(levels.gather(at).alias(name))
        return replace(found, levels=pl.DataFrame(columns[::-1]))

    def _coded(self, name: str) -> tuple[IntArray, pl.Series]:
        """Return the place of each value among those of its column, in order of first appearance."""
        if name not in self._codes:
            levels = self.frame[name].unique(maintain_order=True)
            codes = self.frame[name].cast(pl.Enum(levels)).to_physical().to_numpy()
            self._codes[name] = codes.astype(np.int64), levels
        return self._codes[name]


def _sorted_groups(
    frame: pl.DataFrame,
    names: Sequence[str],
    count: str | None,
    whole: Callable[[str], IntArray],
    most: int | None = None,
) -> RowGroups:
    """Return the combinations in a frame; of numbers below ``most`` by a mark for each."""
    if count is not None:
        frame = frame.with_columns(pl.Series("\0sum", whole(count)))
        frame = frame.group_by(names, maintain_order=True).agg(
            pl.col("\0sum").sum(), pl.len().cast(pl.Int64).alias("\0times")
        )
        return RowGroups(frame.select(names), frame["\0sum"].to_numpy(), frame["\0times"].to_numpy())
    if most is None or most > DENSE:
        return RowGroups(frame.unique())
    marks = np.zeros(most, dtype=np.bool_)
    marks[frame.to_series().to_numpy()] = True
    return RowGroups(pl.DataFrame({names[0]: np.flatnonzero(marks)}))
