"""The chains: what makes a changed row show, and the judgement of a ledger.

hash = SHA-256(canonical JSON of the row, which holds the hash before it): a change shows in every later row.
seal = HMAC-SHA256(salt, hash): who has no salt cannot make the rows anew. Completions are a second chain of
the same kind. The head holds the length and the last hash of both, and the checkpoint, sealed as well: none
can go missing at the end. `judge` reads everything; `judge_tip`, for a charge, reads the opening, the head
and the last of each chain, whatever their length. What no file can show by itself is that it was replaced by
an older copy of itself: for that, hold the releases against it, or the hash of a row as ``known``.

**The salt** is the secret beside a ledger: it seals the chain, and hides the data behind a fingerprint.
Whoever has the ledger and not the salt can read the account, but can neither rewrite it unnoticed nor test
a guess of the confidential data against their fingerprint. Lost, the account stays readable but is closed.
"""

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from reprlib import repr as brief
from typing import TypeVar

from holdfast.ledger import checkpoint as tree
from holdfast.ledger.rows import FORMAT, Charge, Completion, Head, Opening, Row, StoredRecord
from holdfast.system.errors import LedgerError
from holdfast.system.files import special, write_new_text
from holdfast.system.text import plain_text

FIRST = 1  # row 0 is the opening

Sealed = TypeVar("Sealed", Opening, Row, Completion)


@dataclass(frozen=True)
class StoredLedger:
    """What a file holds, not yet judged. ``odd`` says what is wrong with the file around the rows.

    ``entries`` are the values of the checkpoint by key, ``nodes`` the digests of their tree.
    """

    openings: tuple[StoredRecord, ...]
    rows: tuple[StoredRecord, ...]
    heads: tuple[StoredRecord, ...]
    completions: tuple[StoredRecord, ...] = ()
    odd: tuple[str, ...] = ()
    entries: Mapping[str, str] | None = None
    nodes: Mapping[tuple[str, str], str] | None = None


@dataclass(frozen=True)
class Judged:
    """What of a file can be read, and everything that is wrong with it."""

    opening: Opening | None
    rows: tuple[Row, ...]
    problems: tuple[str, ...]
    completions: tuple[Completion, ...] = ()
    head: Head | None = None


def sealed(record: Sealed, salt: bytes) -> Sealed:
    """Complete row 0, a row or a completion."""
    digest = _digest(record)
    return replace(record, hash=digest, seal=_seal(record, digest, salt))


def sealed_head(head: Head, salt: bytes) -> Head:
    """Complete a head."""
    digest = _digest(head)
    return replace(head, digest=digest, seal=_hmac(salt, f"{FORMAT} head {digest}"))


def first_head(opening: Opening, salt: bytes) -> Head:
    """Return the head of a ledger without rows."""
    return sealed_head(Head(0, opening.hash, 0, opening.hash, "", tree.EMPTY), salt)


def alone(charge: Charge, opening: Opening, first: Charge | None) -> Fraction:
    """Return the least that a total is with a charge: what it costs alone, where that is of the same kind.

    A ledger adds up in one standard, and for the adjacency of its first row.
    """
    first = first or charge
    same = charge.unit.get("adjacency") == first.unit.get("adjacency")
    return charge.intensity if same and charge.standard == opening.standard else Fraction(0)


def unsound(record: Opening | Row | Completion, salt: bytes | None) -> Iterator[str]:
    """Say what is wrong with a record by itself."""
    if _digest(record) != record.hash:
        yield "its content does not have its hash"
    if salt is not None and not _same(record.seal, _seal(record, record.hash, salt)):
        yield "its seal was not made with this salt"


def judge(stored: StoredLedger, salt: bytes | None, known: Mapping[int, str] | None = None) -> Judged:
    """Recompute everything; with a salt, the seals too."""
    problems = list(stored.odd)
    opening = _opening(stored, salt, problems)
    start = str(stored.openings[0].get("hash")) if stored.openings else ""
    rows = _chain(Row, "row", stored.rows, start, salt, problems)
    total = Fraction(0)
    for row in rows:
        first = None if row is rows[0] else rows[0].charge
        problems += [f"row {row.index}: {problem}" for problem in _unaccounted(row, total, opening, first)]
        total = row.total
    completions = _chain(Completion, "completion", stored.completions, start, salt, problems)
    problems += _incomplete(completions, len(stored.rows))
    head = _head(stored, salt, problems)
    if head is not None:
        problems += _beheaded(head, stored, start)
        problems += _uprooted(head, stored)
    hashes = {row.index: row.hash for row in rows} | ({0: opening.hash} if opening else {})
    problems += [
        f"row {index} is not the one that was known: its hash was {digest}"
        for index, digest in (known or {}).items()
        if hashes.get(index) != digest
    ]
    return Judged(opening, tuple(rows), tuple(problems), tuple(completions), head)


def judge_tip(stored: StoredLedger, salt: bytes | None) -> Judged:
    """Judge the opening, the head, and the last row and completion, which are all that ``stored`` holds."""
    problems = list(stored.odd)
    opening = _opening(stored, salt, problems)
    rows = _parsed(Row, "row", stored.rows, salt, problems)
    completions = _parsed(Completion, "completion", stored.completions, salt, problems)
    head = _head(stored, salt, problems)
    if head is not None:
        for what, length, digest, last in (
            ("row", head.length, head.hash, rows),
            ("completion", head.completions, head.completed, completions),
        ):
            index, found = (last[-1].index, last[-1].hash) if last else (0, opening.hash if opening else "")
            if length != index:
                problems.append(f"the head counts {length} {what}s and the last is {what} {index}")
            elif digest != found:
                problems.append(f"the head does not hold the hash of the last {what}")
    if opening is not None and rows and rows[-1].total > opening.budget:
        problems.append(f"row {rows[-1].index}: its total is above the budget")
    return Judged(opening, tuple(rows), tuple(problems), tuple(completions), head)


def _opening(stored: StoredLedger, salt: bytes | None, problems: list[str]) -> Opening | None:
    if len(stored.openings) != 1:
        problems.append(f"there are {len(stored.openings)} openings, not one")
        return None
    try:
        opening = Opening.parse(stored.openings[0])
    except ValueError as error:
        problems.append(f"row 0: {error}")
        return None
    problems += [f"row 0: {problem}" for problem in unsound(opening, salt)]
    return opening


LinkT = TypeVar("LinkT", Row, Completion)


def _chain(
    kind: type[LinkT],
    what: str,
    records: Sequence[StoredRecord],
    previous: str,
    salt: bytes | None,
    problems: list[str],
) -> list[LinkT]:
    """Return what can be read of a chain, each with what is wrong with it and its place."""
    links: list[LinkT] = []
    index = FIRST
    for record in records:
        found = record.get("index")
        if found != index:
            problems.append(f"{what} {index} is missing: {what} {brief(found)} stands in its place")
        for link in _parsed(kind, what, (record,), salt, problems):
            if link.previous != previous:
                problems.append(f"{what} {link.index}: it does not follow the {what} before it")
            links.append(link)
        previous, index = str(record.get("hash")), (found if type(found) is int else index) + 1
    return links


def _parsed(
    kind: type[LinkT], what: str, records: Sequence[StoredRecord], salt: bytes | None, problems: list[str]
) -> list[LinkT]:
    """Return the records that can be read, and what is wrong with each by itself."""
    links = []
    for record in records:
        try:
            link = kind.parse(record)
        except ValueError as error:
            problems.append(f"{what} {brief(record.get('index'))}: {error}")
        else:
            problems += [f"{what} {link.index}: {problem}" for problem in unsound(link, salt)]
            links.append(link)
    return links


def _unaccounted(row: Row, before: Fraction, opening: Opening | None, first: Charge | None) -> Iterator[str]:
    if row.total < before:
        yield "its total is below the one before it"
    if opening is not None and row.total < alone(row.charge, opening, first):
        yield "its total is below what it costs alone"
    if opening is not None and row.total > opening.budget:
        yield "its total is above the budget"


def _incomplete(completions: Sequence[Completion], rows: int) -> Iterator[str]:
    seen: set[int] = set()
    for completion in completions:
        if not FIRST <= completion.row <= rows:
            yield f"completion {completion.index}: there is no row {completion.row}"
        if completion.row in seen:
            yield f"completion {completion.index}: row {completion.row} is completed twice"
        seen.add(completion.row)


def _head(stored: StoredLedger, salt: bytes | None, problems: list[str]) -> Head | None:
    if len(stored.heads) != 1:
        problems.append(f"there are {len(stored.heads)} heads, not one")
        return None
    try:
        head = Head.parse(stored.heads[0])
    except ValueError:
        problems.append("the head is not one")
        return None
    if _digest(head) != head.digest:
        problems.append("the content of the head does not have its digest")
    if salt is not None and not _same(head.seal, _hmac(salt, f"{FORMAT} head {head.digest}")):
        problems.append("the seal of the head was not made with this salt")
    return head


def _beheaded(head: Head, stored: StoredLedger, start: str) -> Iterator[str]:
    for what, records, length, digest in (
        ("row", stored.rows, head.length, head.hash),
        ("completion", stored.completions, head.completions, head.completed),
    ):
        if length != len(records):
            yield f"the head counts {length} {what}s and there are {len(records)}"
        if digest != (str(records[-1].get("hash")) if records else start):
            yield f"the head does not hold the hash of the last {what}"


def _uprooted(head: Head, stored: StoredLedger) -> Iterator[str]:
    """Say whether the entries of the checkpoint are not those that the head holds the root of."""
    if stored.entries is None or stored.nodes is None:
        return
    nodes = tree.grown({key: tree.leaf(value) for key, value in stored.entries.items()})
    if nodes.pop(("", "")) != head.root or nodes != stored.nodes:
        yield "the checkpoint is not the one that the head holds"


def _digest(record: Opening | Row | Completion | Head) -> str:
    return hashlib.sha256(plain_text(record.content()).encode()).hexdigest()


def _seal(record: Opening | Row | Completion, digest: str, salt: bytes) -> str:
    """Return the seal of a record: none of one kind passes for another."""
    kind = "completion" if isinstance(record, Completion) else "row"
    return _hmac(salt, f"{FORMAT} {kind} {digest}")


def _hmac(salt: bytes, text: str) -> str:
    return hmac.new(salt, text.encode(errors="replace"), hashlib.sha256).hexdigest()


def _same(one: str, other: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(one.encode(errors="replace"), other.encode())


_BYTES = 32
_IDENTITY = 32


def salt_path(ledger: str | Path) -> Path:
    """Return where the salt of a ledger is: beside it, with ".salt" after its name."""
    return Path(f"{ledger}.salt")


def claim_salt(ledger: Path) -> bytes:
    """Return the salt for a new ledger: a new one that only its owner can read, or one that no ledger uses.

    Such a one is left where an opening was killed. It is never overwritten, and taken only if nobody else
    can have read it.
    """
    path = salt_path(ledger)
    with suppress(FileExistsError):
        write_new_text(path, secrets.token_bytes(_BYTES).hex() + "\n", mode=0o600)
    if loose(path) or not _owned(path):
        raise LedgerError(
            f"{path} exists already, and others than you can read it: a salt is never overwritten, name a new"
            " ledger, or remove it if it belongs to none."
        )
    try:
        return read_salt(ledger)
    except LedgerError:
        raise LedgerError(
            f"{path} exists already and is not a salt: it is never overwritten, name a new ledger."
        ) from None


def loose(path: Path) -> bool:
    """Whether others than its owner may do anything with a file."""
    try:
        return os.name == "posix" and bool(path.stat().st_mode & 0o077)
    except OSError:
        return False


def read_salt(ledger: str | Path) -> bytes:
    """Return the salt of a ledger; LedgerError where there is none."""
    path = salt_path(ledger)
    try:
        if (kind := special(path)) is not None:
            raise LedgerError(f"{path} is {kind}: it should be the salt of the ledger, a plain file.")
        text = path.read_text(encoding="ascii").strip()
        salt = bytes.fromhex(text)
    except FileNotFoundError:
        raise LedgerError(f"{path} is missing: without its salt a ledger cannot be charged.") from None
    except OSError as error:
        raise LedgerError(
            f"{path} cannot be read ({error.strerror}): it is the salt of the ledger."
        ) from None
    except ValueError:
        salt = b""
    if len(salt) != _BYTES or text != salt.hex():
        raise LedgerError(f"{path} does not hold a salt, {2 * _BYTES} hex digits: restore it from a backup.")
    return salt


def _owned(path: Path) -> bool:
    return os.name != "posix" or path.stat().st_uid == os.geteuid()


def fingerprint(salt: bytes, identity: bytes) -> str:
    """Return a name for a confidential file, by the SHA-256 of its content: noise without the salt."""
    if len(identity) != _IDENTITY:
        raise LedgerError(f"an identity has {_IDENTITY} bytes: give the SHA-256 of the content of the file.")
    return hmac.new(salt, b"holdfast-fingerprint/1\n" + identity, hashlib.sha256).hexdigest()


def stream_key(salt: bytes, identity: bytes) -> tuple[bytes, str]:
    """Return the key of the noise of a table that is to be the same each time, and what tells it from others.

    Either is noise without the salt, and tells nothing of the other: what is hashed begins otherwise.
    """
    if len(identity) != _IDENTITY:
        raise LedgerError(f"an identity has {_IDENTITY} bytes: give the SHA-256 of the release.")
    key, mark = (
        hmac.new(salt, b"holdfast-repeatable/1 %b\n" % what + identity, hashlib.sha256)
        for what in (b"key", b"mark")
    )
    return key.digest(), mark.hexdigest()


def exposed(path: Path) -> Iterator[str]:
    """Say which of the two files others than their owner can open."""
    for file in (path, salt_path(path)):
        if loose(file):
            mode = f"{file.stat().st_mode & 0o777:o}"
            yield f"{file} is open to others than its owner (mode {mode}): set mode 600"
