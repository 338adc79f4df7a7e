"""What composition sees of the rows so far, and what it leaves for the next charge: the checkpoint.

Composition reads the state of the checkpoint, the entries it needs, and the rows that these name: the same
few things at row 10,000 as at row 10.

The checkpoint has an entry for each file of records. To read or change one of ten thousand, the others need
not be read: entries hang by the first digits of the SHA-256 of their key in a hash tree of fixed depth, each
node is the SHA-256 of its children, and the head of the ledger, which is sealed, holds the root. An entry
that was swapped for an older one, and one that was taken away, do not lead to that root.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

from holdfast.ledger.rows import Charge, ChargeStandard, Row
from holdfast.system.text import canonical

DEPTH = 3  # 16^3 leaves: three or so entries each at 10,000 entries
Children = Callable[[str], Mapping[str, str]]
"""The digests of the children of a node, by name; a node is named by the digits that lead to it."""
HashNodes = Mapping[tuple[str, str], str]
"""Digests by parent and name."""


def digest(children: Mapping[str, str]) -> str:
    """Return the digest of a node."""
    return _sha256(canonical(children))


def leaf(value: str) -> str:
    """Return the digest of an entry."""
    return _sha256(value)


def proved(children: Children, root: str, key: str) -> str | None:
    """Return the digest of an entry, None where there is none; ValueError where the tree is another."""
    expected: str | None = root
    for node, below in pairwise((*_path(key), key)):
        if expected is None:
            return None
        held = children(node)
        if digest(held) != expected:
            raise ValueError("the checkpoint does not hold together")
        expected = held.get(below)
    return expected


def changed(children: Children, key: str, entry: str) -> dict[tuple[str, str], str]:
    """Return the digests that change with an entry, the root under ("", "")."""
    found: dict[tuple[str, str], str] = {}
    name, value = key, entry
    for node in reversed(_path(key)):
        found[node, name] = value
        name, value = node, digest({**children(node), name: value})
    return {**found, ("", ""): value}


def grown(entries: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """Return the whole tree of entries, given by their digests, the root under ("", "")."""
    levels: dict[str, dict[str, str]] = {}
    for key, value in entries.items():
        levels.setdefault(_path(key)[-1], {})[key] = value
    found: dict[tuple[str, str], str] = {}
    for _ in range(DEPTH):
        above: dict[str, dict[str, str]] = {}
        for node, held in levels.items():
            found |= {(node, name): value for name, value in held.items()}
            above.setdefault(node[:-1], {})[node] = digest(held)
        levels = above
    top = levels.get("", {})
    return {**found, **{("", name): value for name, value in top.items()}, ("", ""): digest(top)}


def _path(key: str) -> tuple[str, ...]:
    """Return the nodes above an entry, the root first."""
    return tuple(_sha256(key)[:length] for length in range(DEPTH + 1))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


EMPTY = digest({})
"""The root of a tree without entries."""


CheckpointState = Mapping[str, Any]


@dataclass(frozen=True)
class Spent:
    """A composed total, with the checkpoint after it: its state, and the entries that changed."""

    total: Fraction
    state: CheckpointState
    entries: Mapping[str, CheckpointState]
    own: Fraction | None = None
    """What the new release costs of it; the rest is what earlier ones cost more beside it, if anything."""


class History(ABC):
    """The rows so far. They are read when they are asked for; the rest is there without them."""

    standard: ChargeStandard
    total: Fraction
    """The composed total of all rows."""
    state: CheckpointState | None
    """The state of the checkpoint; None before the first row."""

    @abstractmethod
    def entry(self, key: str) -> CheckpointState | None:
        """Return an entry of the checkpoint."""

    @abstractmethod
    def row(self, index: int) -> Row:
        """Return a row, judged by itself."""

    @abstractmethod
    def __len__(self) -> int: ...


Spend = Callable[[History, Charge], Spent]
"""Composition: the total of the history and a new charge, in the standard of the ledger."""


@dataclass(eq=False)
class Replay(History):
    """A history in memory, to compose rows from the start."""

    standard: ChargeStandard
    total: Fraction = Fraction(0)
    state: CheckpointState | None = None
    entries: dict[str, CheckpointState] = field(default_factory=dict)
    charged: list[Row] = field(default_factory=list)

    def entry(self, key: str) -> CheckpointState | None:
        """Return an entry of the checkpoint."""
        return self.entries.get(key)

    def row(self, index: int) -> Row:
        """Return a row."""
        return self.charged[index - 1]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.charged)

    def add(self, row: Row, spent: Spent) -> None:
        """Append a row with the checkpoint after it."""
        self.charged.append(row)
        self.total, self.state = row.total, spent.state
        self.entries.update(spent.entries)
