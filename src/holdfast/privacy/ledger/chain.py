"""The chain: what makes a changed row show, and the judgement of a whole ledger.

hash = SHA-256(canonical JSON of the row, which holds the hash before it): a change shows in every later row.
seal = HMAC-SHA256(salt, hash): who has no salt cannot make the rows anew. The head holds the length and the
last hash, sealed as well: rows cannot go missing at the end. What no file can show by itself is that it
was replaced by an older copy of itself: for that, keep the hash of a row elsewhere and give it as ``known``.
"""

import hashlib
import hmac
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from reprlib import repr as brief

from holdfast.privacy.ledger.canonical import canonical
from holdfast.privacy.ledger.entry import FORMAT, HEAD_COLUMNS, Charge, Opening, Record, Row

FIRST = 1  # row 0 is the opening


@dataclass(frozen=True)
class Stored:
    """What a file holds, not yet judged. ``odd`` says what is wrong with the file around the rows."""

    openings: tuple[Record, ...]
    rows: tuple[Record, ...]
    heads: tuple[Record, ...]
    odd: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judged:
    """What of a file can be read, and everything that is wrong with it."""

    opening: Opening | None
    rows: tuple[Row, ...]
    problems: tuple[str, ...]


def sealed_opening(opening: Opening, salt: bytes) -> Opening:
    """Complete row 0."""
    digest = _digest(opening)
    return replace(opening, hash=digest, seal=seal(salt, digest))


def sealed_row(row: Row, salt: bytes) -> Row:
    """Complete a row."""
    digest = _digest(row)
    return replace(row, hash=digest, seal=seal(salt, digest))


def head(length: int, last: str, salt: bytes) -> dict[str, object]:
    """Return the record of a chain's length and last hash."""
    return {"index": 0, "length": length, "hash": last, "seal": seal(salt, last, length)}


def seal(salt: bytes, digest: str, length: int | None = None) -> str:
    """Return the seal of a row, or with a length that of a head: neither passes for the other."""
    what = f"{FORMAT} row {digest}" if length is None else f"{FORMAT} head {length} {digest}"
    return hmac.new(salt, what.encode(), hashlib.sha256).hexdigest()


def alone(charge: Charge, opening: Opening, rows: Sequence[Row]) -> Fraction:
    """Return the least that a total is with a charge: what it costs alone, where that is of the same kind.

    A ledger adds up in one standard, and for the adjacency of its first row.
    """
    first = rows[0].charge if rows else charge
    same = charge.unit.get("adjacency") == first.unit.get("adjacency")
    return charge.intensity if same and charge.standard == opening.standard else Fraction(0)


def judge(stored: Stored, salt: bytes | None, known: Mapping[int, str] | None = None) -> Judged:
    """Recompute everything; with a salt, the seals too."""
    problems = list(stored.odd)
    opening: Opening | None = None
    if len(stored.openings) != 1:
        problems.append(f"there are {len(stored.openings)} openings, not one")
    else:
        try:
            opening = Opening.parse(stored.openings[0])
        except ValueError as error:
            problems.append(f"row 0: {error}")
        else:
            problems += [f"row 0: {problem}" for problem in _unsound(opening, salt)]
    rows: list[Row] = []
    previous = str(stored.openings[0].get("hash")) if stored.openings else ""
    total, index = Fraction(0), FIRST
    for record in stored.rows:
        found = record.get("index")
        if found != index:
            problems.append(f"row {index} is missing: row {brief(found)} stands in its place")
        try:
            row = Row.parse(record)
        except ValueError as error:
            problems.append(f"row {brief(found)}: {error}")
        else:
            problems += [
                f"row {row.index}: {problem}"
                for problem in (
                    *_unsound(row, salt),
                    *_unchained(row, previous),
                    *_unaccounted(row, total, opening, rows),
                )
            ]
            total = row.total
            rows.append(row)
        previous, index = str(record.get("hash")), (found if type(found) is int else index) + 1
    problems += _beheaded(stored, previous, salt)
    hashes = {row.index: row.hash for row in rows} | ({0: opening.hash} if opening else {})
    problems += [
        f"row {index} is not the one that was known: its hash was {digest}"
        for index, digest in (known or {}).items()
        if hashes.get(index) != digest
    ]
    return Judged(opening, tuple(rows), tuple(problems))


def _digest(row: Opening | Row) -> str:
    return hashlib.sha256(canonical(row.content()).encode()).hexdigest()


def _same(one: str, other: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(one.encode(errors="replace"), other.encode())


def _unsound(row: Opening | Row, salt: bytes | None) -> Iterator[str]:
    if _digest(row) != row.hash:
        yield "its content does not have its hash"
    if salt is not None and not _same(row.seal, seal(salt, row.hash)):
        yield "its seal was not made with this salt"


def _unchained(row: Row, previous: str) -> Iterator[str]:
    if row.previous != previous:
        yield "it does not follow the row before it"


def _unaccounted(row: Row, before: Fraction, opening: Opening | None, rows: Sequence[Row]) -> Iterator[str]:
    if row.total < before:
        yield "its total is below the one before it"
    if opening is not None and row.total < alone(row.charge, opening, rows):
        yield "its total is below what it costs alone"
    if opening is not None and row.total > opening.budget:
        yield "its total is above the budget"


def _beheaded(stored: Stored, last: str, salt: bytes | None) -> Iterator[str]:
    if len(stored.heads) != 1:
        yield f"there are {len(stored.heads)} heads, not one"
        return
    record = stored.heads[0]
    length, digest, mark = (record.get(name) for name in HEAD_COLUMNS[1:])
    texts = type(digest) is str and type(mark) is str
    if set(record) != set(HEAD_COLUMNS) or record["index"] != 0 or type(length) is not int or not texts:
        yield "the head is not one"
        return
    if length != len(stored.rows):
        yield f"the head counts {length} rows and there are {len(stored.rows)}"
    if digest != last:
        yield "the head does not hold the hash of the last row"
    if salt is not None and not _same(str(mark), seal(salt, str(digest), length)):
        yield "the seal of the head was not made with this salt"
