"""What composition sees of the rows so far, and what it leaves for the next charge.

A composition that keeps a checkpoint reads its state, the entries it needs, and the rows that these name:
the same few things at row 10,000 as at row 10. One that keeps none reads the rows, all of them.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, overload

from holdfast.privacy.ledger.entry import Charge, Row, Standard

State = Mapping[str, Any]


@dataclass(frozen=True)
class Spent:
    """A composed total, with the checkpoint after it: its state, and the entries that changed."""

    total: Fraction
    state: State
    entries: Mapping[str, State]
    own: Fraction | None = None
    """What the new release costs of it; the rest is what earlier ones cost more beside it, if anything."""


class Past(Sequence[Row]):
    """The rows so far. They are read when they are asked for; the rest is there without them."""

    standard: Standard
    total: Fraction
    """The composed total of all rows."""
    state: State | None
    """The state of the checkpoint; None where there is none, as in a ledger that was charged without."""

    @abstractmethod
    def entry(self, key: str) -> State | None:
        """Return an entry of the checkpoint."""

    @abstractmethod
    def row(self, index: int) -> Row:
        """Return a row, judged by itself."""

    @abstractmethod
    def rows(self) -> Sequence[Row]:
        """Return all rows, judged."""

    @abstractmethod
    def __len__(self) -> int: ...

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | Sequence[Row]:
        """Return rows by place, from 0."""
        return self.rows()[place]


Spend = Callable[[Past, Charge], Fraction | Spent]
"""Composition: the total of the past and a new charge, in the standard of the ledger."""


@dataclass(eq=False)
class Replay(Past):
    """A past in memory, to compose rows from the start."""

    standard: Standard
    total: Fraction = Fraction(0)
    state: State | None = None
    entries: dict[str, State] = field(default_factory=dict)
    charged: list[Row] = field(default_factory=list)

    def entry(self, key: str) -> State | None:
        """Return an entry of the checkpoint."""
        return self.entries.get(key)

    def row(self, index: int) -> Row:
        """Return a row."""
        return self.charged[index - 1]

    def rows(self) -> Sequence[Row]:
        """Return all rows."""
        return self.charged

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.charged)

    def add(self, row: Row, spent: Spent) -> None:
        """Append a row with the checkpoint after it."""
        self.charged.append(row)
        self.total, self.state = row.total, spent.state
        self.entries.update(spent.entries)
