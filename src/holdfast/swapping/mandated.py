"""Invariants that were asked for of a swapped file, and whether every swap keeps them.

A swap keeps the joint counts of key and swapped columns, and those of key and held columns. A count that
depends on columns of one of the two is a sum of those; a count of both, swapped and held, would change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import polars as pl
import pyarrow as pa

from holdfast.data.numeric import number
from holdfast.data.read import ordered_levels
from holdfast.errors import InvariantError, SpecError
from holdfast.spec.choice import Range, levels_or_range
from holdfast.spec.closest import closest
from holdfast.spec.model import MISSING, Invariant, InvariantKind
from holdfast.swapping.design import Columns

Levels = tuple[str | None, ...]
RECORDS = "\0records"
"""The column of counts, beside columns of any other names."""
_COUNT = pl.len().cast(pl.Int64).alias(RECORDS)
MERGED = 1 << 18
"""Rows of partial counts that are merged at once."""


@dataclass(frozen=True, eq=False, repr=False)
class Tally:
    """The number of records by the levels of some columns, among those that a selection picks."""

    name: str
    attributes: tuple[str, ...]
    where: Mapping[str, tuple[str, ...] | Range] = field(default_factory=dict)
    equals: int | None = None
    rows: int = 0
    """All records that were looked at."""
    parts: tuple[pl.DataFrame, ...] = ()

    @property
    def involved(self) -> frozenset[str]:
        """The columns that it depends on."""
        return frozenset(self.attributes) | frozenset(self.where)

    @property
    def kind(self) -> InvariantKind:
        """What it is in a spec."""
        return "margin" if self.attributes else "where" if self.where else "total"

    def with_rows(self, batch: pa.Table) -> "Tally":
        """Return the tally with some more records."""
        names, rows = sorted(self.involved), self.rows + batch.num_rows
        if not names:
            return replace(self, rows=rows)
        frame = pl.DataFrame({name: pl.Series(pl.from_arrow(batch.column(name))) for name in names})
        counted = frame.group_by(names).agg(_COUNT)
        parts = (*self.parts, counted.with_columns(pl.col(names).cast(pl.String)))
        if sum(map(len, parts)) > MERGED + 2 * len(parts[0]):
            parts = (_merged(parts, names),)
        return replace(self, rows=rows, parts=parts)

    @property
    def cells(self) -> int:
        """How many combinations of levels there are, at least."""
        return max(map(len, self.parts), default=0)

    @cached_property
    def counts(self) -> pl.DataFrame:
        """The counts other than 0: a column for each attribute in order, then the counts."""
        found = _merged(self.parts, sorted(self.involved))
        for name, choice in self.where.items():
            levels = found[name].unique().to_list()
            found = found.filter(pl.col(name).is_in([one for one in levels if _picks(choice, one)]))
        total = pl.col(RECORDS).sum()
        if not self.attributes:
            return found.select(total)
        return found.group_by(self.attributes).agg(total).sort(self.attributes)

    @cached_property
    def values(self) -> tuple[tuple[Levels, int], ...]:
        """The counts other than 0 by levels, in order; the one number where there are no attributes."""
        if not self.involved:
            return (((), self.rows),)
        if not self.attributes:
            picked = self.counts if self.parts else None
            return (((), 0 if picked is None else int(picked[RECORDS].sum())),)
        return tuple((tuple(levels), count) for *levels, count in self.counts.iter_rows())

    def levels(self, attribute: str) -> tuple[str, ...]:
        """Return the levels of an attribute that some record has, in order."""
        found = _merged(self.parts, sorted(self.involved))[attribute].unique().to_list()
        return ordered_levels([MISSING if level is None else level for level in found])

    def checked(self) -> "Tally":
        """Return it; raises InvariantError where it is not what the spec says it equals."""
        if self.equals is not None and any(count != self.equals for _, count in self.values):
            raise InvariantError(
                f"{self.name} is not {self.equals:,} in the data: correct equals, or leave it out."
            )
        return self


def _merged(parts: Sequence[pl.DataFrame], names: Sequence[str]) -> pl.DataFrame:
    return pl.concat(parts).group_by(names).agg(pl.col(RECORDS).sum())


def tallies(invariants: tuple[Invariant, ...], columns: Columns) -> tuple[Tally, ...]:
    """Return what was asked for, with nothing counted yet; raises where a swap would break it."""
    found = []
    for place_, invariant in enumerate(invariants, start=1):
        place = f"[[invariants]] {place_}"
        if invariant.weights is not None:
            raise SpecError(
                f"{place} has weights of cells, and records that are swapped have none: give a margin, a"
                " total or a selection."
            )
        where = {name: levels_or_range(choice) for name, choice in (invariant.where or {}).items()}
        attributes = tuple(invariant.margin or ())
        tally = Tally(invariant.name or _name(attributes, where), attributes, where, invariant.equals)
        for column in sorted(tally.involved):
            if column not in columns.all:
                raise SpecError(
                    f"{place} has {column!r}, which is no column of the records:"
                    f" {closest(column, list(columns.all))}"
                )
        keeper(tally, columns, place)
        found.append(tally)
    return tuple(found)


def keeper(tally: Tally, columns: Columns, place: str) -> str:
    """Return which of the two joint counts a tally is a sum of; raises where it is of neither."""
    if new := sorted(tally.involved & set(columns.renumber)):
        raise InvariantError(
            f"{place} ({tally.name}) counts {_list(new)}, which is renumbered: nothing of it is kept; leave"
            " it out of one."
        )
    swapped = sorted(tally.involved & set(columns.swap))
    held = sorted(tally.involved & set(columns.held))
    if swapped and held:
        raise InvariantError(
            f"{place} ({tally.name}) counts {_list(swapped)}, which is swapped, by {_list(held)}, which is"
            f" held: the swap would change it; put {_list(held)} into stratify or swap in [mechanism], or"
            " leave the invariant out."
        )
    return "stratum by swap" if swapped else "stratum by held"


def _picks(choice: tuple[str, ...] | Range, level: str | None) -> bool:
    if not isinstance(choice, Range):
        return level in choice
    value = None if level is None else number(level)
    return value is not None and choice.low <= value <= choice.high


def _name(attributes: tuple[str, ...], where: Mapping[str, Any]) -> str:
    what = " by ".join(attributes) or ("selection" if where else "total")
    return what + (f" where {' and '.join(sorted(where))}" if where else "")


def _list(names: list[str]) -> str:
    return " and ".join(map(repr, names))
