"""The account itself: opened once, charged once a release, and told when the release is handed over."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor
from pathlib import Path
from sqlite3 import Connection
from typing import Self, TypeVar

from holdfast.ledger import store
from holdfast.ledger.chain import (
    FIRST,
    Judged,
    alone,
    fingerprint,
    judge,
    judge_tip,
    read_salt,
    salt_path,
    sealed,
    sealed_head,
    stream_key,
    unsound,
)
from holdfast.ledger.checkpoint import CheckpointState, History, Spend, Spent
from holdfast.ledger.opening import create_ledger
from holdfast.ledger.rows import (
    STANDARDS,
    Charge,
    ChargeStandard,
    Completion,
    Head,
    Opening,
    Row,
    StoredRecord,
    exact,
    now,
    repeated,
)
from holdfast.system.errors import BudgetError, DamagedLedgerError, LedgerError
from holdfast.system.text import LONG, canonical, parse_canonical, rational
from holdfast.system.ways import command, option, setting

_MOST = 2**63 - 1  # the largest index that SQLite can hold
_COMPARED = ("dataset", "scope", "standard", "intensity", "guarantee", "detail")
"""What a row and a release that takes its place must share: all of a charge but the certificate."""


@dataclass(frozen=True)
class Ledger:
    """An account of privacy budget in one file; it holds no connection and may be shared by threads.

    >>> ledger = hf.Ledger.create("people.ledger", standard="pure", budget=2)
    >>> _ = hf.prepare(spec, people).release(ledger=ledger)
    >>> ledger.left()
    Fraction(1, 1)
    """

    path: Path
    opening: Opening

    @classmethod
    def create(cls, path: str | Path, *, standard: ChargeStandard, budget: Fraction) -> Self:
        """Open a new account: the file appears whole, with its salt beside it, or not at all."""
        path = Path(path)
        if standard not in STANDARDS:
            raise LedgerError(f"the standard {standard!r} is not known: use one of {', '.join(STANDARDS)}.")
        if (amount := exact("the budget", budget)) == 0:
            raise LedgerError("the budget is 0: give a positive one.")
        try:
            return cls(path, create_ledger(path, standard, amount))
        except OSError as error:
            raise LedgerError(f"{path} cannot be written ({error.strerror}): name another place.") from None

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open an account that exists, after judging where it begins and ends; `rows` judges all of it."""
        path = Path(path)
        with store.connected(path) as connection, store.reading(connection):
            tip = store.read_tip(connection)
        return cls(path, _sound(path, judge_tip(tip, _salt(path)))[0])

    @property
    def standard(self) -> ChargeStandard:
        """What the budget is measured in: epsilon (pure), rho (zcdp) or mu (gaussian)."""
        return self.opening.standard

    @property
    def budget(self) -> Fraction:
        """The most that all releases together may cost."""
        return self.opening.budget

    def rows(self) -> tuple[Row, ...]:
        """Return the rows as they are now, judged again."""
        return self.judged().rows

    def judged(self) -> Judged:
        """Return all there is in the account, without a problem; LedgerError where there is one."""
        with store.connected(self.path) as connection, store.reading(connection):
            stored = store.read(connection)
        judged = judge(stored, _salt(self.path))
        self._same(_sound(self.path, judged)[0])
        return judged

    def spent(self) -> Fraction:
        """Return the composed total of all rows."""
        with store.connected(self.path) as connection, store.reading(connection):
            judged = judge_tip(store.read_tip(connection), _salt(self.path))
        self._same(_sound(self.path, judged)[0])
        return spent(judged.rows)

    def left(self) -> Fraction:
        """Return what is not spent."""
        return self.budget - self.spent()

    def row(self, index: int) -> Row:
        """Return a row, judged by itself; LedgerError where there is none."""
        with store.connected(self.path) as connection, store.reading(connection):
            return _row(connection, self.path, index, _salt(self.path))

    def completion(self, index: int) -> Completion | None:
        """Return the completion of a row: None where its release was not handed over."""
        with store.connected(self.path) as connection, store.reading(connection):
            return _completion(connection, self.path, index, _salt(self.path))

    def draft(self, index: int) -> Path | None:
        """Return where the last draft of a row was made, if it was told."""
        with store.connected(self.path) as connection, store.reading(connection):
            return store.read_draft(connection, index)

    def fingerprint(self, identity: bytes) -> str:
        """Name a confidential file, by the SHA-256 of its content, with the salt of this ledger."""
        return fingerprint(read_salt(self.path), identity)

    def stream_key(self, identity: bytes) -> tuple[bytes, str]:
        """Return the secret key of the noise of a release with an identity, and its mark, from the salt."""
        return stream_key(read_salt(self.path), identity)

    def repeats(self, row: Row) -> int | None:
        """Return the first row whose noise a row has once more; None where its noise is its own."""
        return None if row.charge.repeatable is None else repeated(self.rows(), row)

    def charge(self, charge: Charge, spend: Spend, *, draft: Path | None = None) -> Row:
        """Take a release's cost from the budget, durably, or raise and take nothing.

        ``spend`` composes: it is called once, with the history and the new charge, while no other process can
        write; it must be quick and must not charge. The check and the insert are one transaction, and what
        was inserted is read back and judged before the commit. The row is returned after the commit has
        reached the disk: draw only then, and whatever crashes later, the charge stands. ``draft`` notes where
        the release of this row is going to be drafted.
        """
        row = None
        try:
            with self._writing() as (connection, head, salt, last):
                composed, total = self._composed(connection, head, salt, last, charge, spend)
                row = sealed(Row(head.length + 1, now(), charge, total, head.hash), salt)
                entries = {key: canonical(entry) for key, entry in composed.entries.items()}
                root = store.write_entries(connection, head.root, entries)
                state = canonical(composed.state)
                after = replace(head, length=row.index, hash=row.hash, state=state, root=root)
                self._append(connection, row, after, salt)
                if draft is not None:
                    store.note_draft(connection, row.index, draft)
        except LedgerError as error:
            if row is None or not self._stands(row):
                raise
            raise LedgerError(
                f"{str(error).partition(':')[0]}, and row {row.index} is charged all the same: when that is"
                f" mended, do the same again with {option('resume', row.index)}, which charges nothing more."
            ) from None
        return row

    def foreseen(self, charge: Charge, spend: Spend) -> tuple[Fraction, Fraction]:
        """Return what is spent, and what would be after a charge; raise as `charge` does, take nothing."""
        with store.connected(self.path) as connection, store.reading(connection):
            salt = read_salt(self.path)
            judged = judge_tip(store.read_tip(connection), salt)
            opening, head = _sound(self.path, judged)
            self._same(opening)
            _, total = self._composed(connection, head, salt, judged.rows, charge, spend)
        return spent(judged.rows), total

    def _composed(
        self,
        connection: Connection,
        head: Head,
        salt: bytes,
        last: tuple[Row, ...],
        charge: Charge,
        spend: Spend,
    ) -> tuple[Spent, Fraction]:
        """Compose a charge with all before it, and see that the budget is enough for the total."""
        history = _LedgerHistory(connection, self, head, salt, spent(last))
        composed = spend(history, charge)
        total = exact("the composed total", composed.total)
        first = _row(connection, self.path, FIRST, salt).charge if last else None
        self._afford(charge, first, history.total, total, composed.own)
        return composed, total

    def _stands(self, row: Row) -> bool:
        """Whether a row is there although its commit failed: the disk may refuse when it is done already."""
        try:
            return self.row(row.index).hash == row.hash
        except LedgerError:
            return False

    def complete(
        self, index: int, *, certificate: str, release: str | None, drawn: str | None = None
    ) -> Completion:
        """Record, durably, that the release of a row is handed over: call it before anybody can see it.

        ``certificate`` is the digest of the settled certificate and ``release`` that of the sealed one, None
        where outputs are handed over in memory. ``drawn`` is that of counts whose noise is the same each
        time. LedgerError for a row that has a completion, and for such counts that are others than before.
        """
        with self._writing() as (connection, head, salt, _):
            row = _row(connection, self.path, index, salt)
            if _completion(connection, self.path, index, salt) is not None:
                raise LedgerError(
                    f"row {index} of {self.path} is completed already: its release was handed over."
                )
            if drawn is not None:
                self._require_the_same(connection, salt, row, drawn)
            last = head.completions + 1
            completion = sealed(
                Completion(last, row.index, now(), certificate, release, drawn, head.completed), salt
            )
            self._append(
                connection, completion, replace(head, completions=last, completed=completion.hash), salt
            )
        return completion

    def open_row(self, charge: Charge, draft: Path) -> int | None:
        """Return the last row that was charged for this very release, in a draft, and never completed."""
        for row in reversed(self.rows()):
            same = all(getattr(row.charge, name) == getattr(charge, name) for name in _COMPARED)
            if same and self.draft(row.index) == draft and self.completion(row.index) is None:
                return row.index
        return None

    def resume(self, index: int, charge: Charge, *, draft: Path) -> Row:
        """Let a release be drawn for a row whose release was never handed over; it is not charged again.

        The whole ledger is judged first: a completion that somebody took away would show. LedgerError where
        the row has one, or where the release is not the one that was charged.
        """
        with self._writing() as (connection, _, salt, _):
            _sound(self.path, judge(store.read(connection), salt))
            row = _row(connection, self.path, index, salt)
            if _completion(connection, self.path, index, salt) is not None:
                raise LedgerError(
                    f"row {index} of {self.path} is completed: its release was handed over, so another one"
                    f" must be charged; leave out {option('resume')}."
                )
            if differ := [name for name in _COMPARED if getattr(row.charge, name) != getattr(charge, name)]:
                raise LedgerError(
                    f"row {index} of {self.path} was charged for another release (its {', '.join(differ)}"
                    f" {'differs' if len(differ) == 1 else 'differ'}): resume it with the same spec, data and"
                    " version of Holdfast."
                )
            store.note_draft(connection, index, draft)
        return row

    def _require_the_same(self, connection: Connection, salt: bytes, row: Row, drawn: str) -> None:
        """Raise LedgerError where the same words gave other counts before: two draws cost more than one."""
        judged = judge(store.read(connection), salt)
        _sound(self.path, judged)
        same = {one.index for one in judged.rows if one.charge.repeatable == row.charge.repeatable}
        for one in judged.completions:
            if one.row in same and one.drawn != drawn:
                raise LedgerError(
                    f"the counts of row {row.index} are not those of row {one.row}, whose noise has the same"
                    " words: draw it with the packages that drew it then, or state another period in"
                    f" {setting('publication')}, which is charged as a release of its own."
                )

    @contextmanager
    def _writing(self) -> Iterator[tuple[Connection, Head, bytes, tuple[Row, ...]]]:
        """Hold the right to write: give the head, the salt and the last row, if there is one."""
        salt = read_salt(self.path)
        with store.connected(self.path) as connection, store.writing(connection, self.path):
            judged = judge_tip(store.read_tip(connection), salt)
            opening, head = _sound(self.path, judged)
            self._same(opening)
            yield connection, head, salt, judged.rows

    def _append(self, connection: Connection, link: Row | Completion, head: Head, salt: bytes) -> None:
        """Add to a chain, and judge it as it is stored."""
        store.append(connection, link, sealed_head(head, salt))
        judged = judge_tip(store.read_tip(connection), salt)
        _sound(self.path, judged)
        if link not in (*judged.rows, *judged.completions) or judged.head != sealed_head(head, salt):
            raise DamagedLedgerError("a row was not stored as it was written")

    def _afford(
        self, charge: Charge, first: Charge | None, before: Fraction, total: Fraction, own: Fraction | None
    ) -> None:
        if total < (least := max(before, alone(charge, self.opening, first))):
            raise LedgerError(
                f"the composed total {rational(total)} is below {rational(least)}, which is spent or asked"
                " for already: composition must never lower a total."
            )
        if total > self.budget:
            asked = alone(charge, self.opening, first)
            raise BudgetError(
                f"the budget of {self.path} is not enough: {rational(before)} of {rational(self.budget)} is"
                f" spent, {_dear(self.budget - before, total - before, asked, own)}."
            )

    def _same(self, opening: Opening) -> None:
        if opening != self.opening:
            raise LedgerError(f"{self.path} is another ledger than the one that was opened: open it again.")


def _dear(left: Fraction, more: Fraction, asked: Fraction, own: Fraction | None) -> str:
    """Say what a release takes, why that is more than it states, and what is still within the budget.

    What it states is in proportion to what it loses among all releases, ``own``; that earlier ones count for
    more beside it depends on its invariants alone [theory, 10].
    """
    again = Fraction(0) if own is None else max(more - own, Fraction(0))
    if own is None or not asked or (again == 0 and own <= asked):
        way = "ask for no more than that" if left else "nothing more can be released"
        return f"this release asks for {rational(more)} more and {rational(left)} is left: {way}"
    why = (
        f"this release asks for {rational(asked)} and takes {rational(more)}, as under the invariants of all"
        f" releases of this file one change takes more records: {rational(own)} of it is its own"
    )
    if again:
        why += f", and {rational(again)} is what earlier releases count for again"
    free = (left - again) * asked / own
    if free > 0:
        most = rational(_down(free))
        return f"{why}; {rational(left)} is left: ask for no more than {most}, or keep no further invariants"
    way = (
        "keep no invariants beyond those of the earlier releases" if left else "nothing more can be released"
    )
    return f"{why}; {rational(left)} is left: {way}"


def _down(value: Fraction) -> Fraction:
    """Return a rational that is not more, and that can be written: who asks for it is within the budget."""
    return value if max(value.numerator, value.denominator) < LONG else Fraction(floor(value * 10**9), 10**9)


@dataclass(eq=False)
class _LedgerHistory(History):
    """The history of a ledger within the transaction of a charge."""

    connection: Connection
    ledger: Ledger
    head: Head
    salt: bytes
    total: Fraction

    def __post_init__(self) -> None:
        self.standard = self.ledger.standard
        self.state = _mapping(self.head.state) if self.head.length else None

    def entry(self, key: str) -> CheckpointState | None:
        """Return an entry of the checkpoint, which leads to the root that the head holds."""
        try:
            text = store.read_entry(self.connection, self.head.root, key)
            return None if text is None else _mapping(text)
        except ValueError as error:
            raise _unsound(self.ledger.path, str(error)) from None

    def row(self, index: int) -> Row:
        """Return a row, judged by itself."""
        return _row(self.connection, self.ledger.path, index, self.salt)

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.head.length


def spent(rows: Sequence[Row]) -> Fraction:
    """Return the composed total after the last row."""
    return rows[-1].total if rows else Fraction(0)


def _salt(path: Path) -> bytes | None:
    return read_salt(path) if os.path.lexists(salt_path(path)) else None


def _row(connection: Connection, path: Path, index: int, salt: bytes | None) -> Row:
    record = store.read_row(connection, index) if FIRST <= index <= _MOST else None
    if record is None:
        raise LedgerError(f"{path} has no row {index}: `{command('ledger show')}` lists the rows.")
    return _link(Row, "row", record, path, salt)


def _completion(connection: Connection, path: Path, row: int, salt: bytes | None) -> Completion | None:
    record = store.read_completion(connection, row) if FIRST <= row <= _MOST else None
    return None if record is None else _link(Completion, "completion", record, path, salt)


LinkT = TypeVar("LinkT", Row, Completion)


def _link(kind: type[LinkT], what: str, record: StoredRecord, path: Path, salt: bytes | None) -> LinkT:
    """Return a row or a completion that is sound by itself."""
    try:
        link = kind.parse(record)
    except ValueError as error:
        raise _unsound(path, f"{what} {record['index']}: {error}") from None
    for problem in unsound(link, salt):
        raise _unsound(path, f"{what} {link.index}: {problem}")
    return link


def _mapping(text: str) -> CheckpointState:
    value = parse_canonical(text)
    if not isinstance(value, dict):
        raise ValueError("the checkpoint is not one")  # noqa: TRY004
    return value


def _sound(path: Path, judged: Judged) -> tuple[Opening, Head]:
    """Return the opening and head of a ledger without problems, and raise at the first otherwise."""
    if judged.opening is None or judged.head is None or judged.problems:
        raise _unsound(path, judged.problems[0])
    return judged.opening, judged.head


def _unsound(path: Path, problem: str) -> LedgerError:
    return LedgerError(
        f"the ledger {path} is not as it was written ({problem}): verify it, and restore a copy that holds"
        " every release."
    )
