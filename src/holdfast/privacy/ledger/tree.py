"""A map whose entries can be checked one by one: a hash tree.

The checkpoint of a ledger has an entry for each file of records. To read or change one of ten thousand, the
others need not be read: entries hang by the first digits of the SHA-256 of their key in a tree of fixed
depth, each node is the SHA-256 of its children, and the head of the ledger, which is sealed, holds the root.
An entry that was swapped for an older one, and one that was taken away, do not lead to that root.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

from holdfast.privacy.ledger.canonical import canonical

DEPTH = 3  # 16^3 leaves: three or so entries each at 10,000 entries
Children = Callable[[str], Mapping[str, str]]
"""The digests of the children of a node, by name; a node is named by the digits that lead to it."""
Nodes = Mapping[tuple[str, str], str]
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
    return tuple(_prefixes(_sha256(key)))


def _prefixes(digits: str) -> Iterator[str]:
    return (digits[:length] for length in range(DEPTH + 1))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


EMPTY = digest({})
"""The root of a tree without entries."""
