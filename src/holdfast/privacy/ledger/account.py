"""The account itself: opened once, charged once a release."""

import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from holdfast.privacy.ledger import store
from holdfast.privacy.ledger.canonical import shown
from holdfast.privacy.ledger.chain import FIRST, Judged, alone, head, judge, sealed_opening, sealed_row
from holdfast.privacy.ledger.entry import FORMAT, STANDARDS, Charge, Opening, Row, Standard, exact, now
from holdfast.privacy.ledger.errors import BudgetError, DamagedError, LedgerError
from holdfast.privacy.ledger.salt import fingerprint, read_salt, salt_path, table_fingerprint, write_salt

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Spend = Callable[[Sequence[Row], Charge], Fraction]
"""Composition: the total of the rows and a new charge, in the standard of the ledger."""


@dataclass(frozen=True)
class Ledger:
    """An account of privacy budget in one file; it holds no connection and may be shared by threads."""

    path: Path
    opening: Opening

    @classmethod
    def create(cls, path: str | Path, *, standard: Standard, budget: Fraction) -> Self:
        """Open a new account: the file appears whole, with its salt beside it, or not at all."""
        path = Path(path)
        if standard not in STANDARDS:
            raise LedgerError(f"the standard {standard!r} is not known: use one of {', '.join(STANDARDS)}.")
        if (amount := exact("the budget", budget)) == 0:
            raise LedgerError("the budget is 0: give a positive one.")
        if os.path.lexists(path):
            raise LedgerError(f"{path} exists already: a ledger is never overwritten, name a new file.")
        try:
            salt = write_salt(path)
            try:
                opening = _found(path, salt, standard, amount)
            except BaseException:
                salt_path(path).unlink(missing_ok=True)
                raise
        except FileExistsError:
            raise LedgerError(
                f"{path} exists already: a ledger is never overwritten, name a new file."
            ) from None
        except OSError as error:
            raise LedgerError(f"{path} cannot be written ({error.strerror}): name another place.") from None
        return cls(path, opening)

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open an account that exists, after judging all of it; LedgerError where anything is wrong."""
        path = Path(path)
        opening, _ = _sound(path, _judge(path))
        return cls(path, opening)

    @property
    def standard(self) -> Standard:
        """What the budget is measured in: epsilon (pure), rho (zcdp) or mu (gaussian)."""
        return self.opening.standard

    @property
    def budget(self) -> Fraction:
        """The most that all releases together may cost."""
        return self.opening.budget

    def rows(self) -> tuple[Row, ...]:
        """Return the rows as they are now, judged again."""
        opening, rows = _sound(self.path, _judge(self.path))
        self._same(opening)
        return rows

    def spent(self) -> Fraction:
        """Return the composed total of all rows."""
        return spent(self.rows())

    def left(self) -> Fraction:
        """Return what is not spent."""
        return self.budget - self.spent()

    def fingerprint(self, identity: bytes) -> str:
        """Name a confidential file, by the SHA-256 of its content, with the salt of this ledger."""
        return fingerprint(read_salt(self.path), identity)

    def table_fingerprint(
        self,
        schema: Mapping[str, Any],
        counts: "bytes | bytearray | memoryview | Sequence[int] | NDArray[np.integer[Any]]",
    ) -> str:
        """Name a confidential table as rows did before files were named."""
        return table_fingerprint(read_salt(self.path), schema, counts)

    def charge(self, charge: Charge, spend: Spend) -> Row:
        """Take a release's cost from the budget, durably, or raise and take nothing.

        ``spend`` composes: it is called once, with all rows and the new charge, while no other process can
        write; it must be quick and must not charge. The check and the insert are one transaction, and what
        was inserted is read back and judged before the commit. The row is returned after the commit has
        reached the disk: draw only then, and whatever crashes later, the charge stands.
        """
        salt = read_salt(self.path)
        with store.connected(self.path) as connection, store.writing(connection, self.path):
            opening, rows = _sound(self.path, judge(store.read(connection), salt))
            self._same(opening)
            total = exact("the composed total", spend(rows, charge))
            self._afford(charge, rows, total)
            previous = rows[-1].hash if rows else opening.hash
            row = sealed_row(Row(len(rows) + FIRST, now(), charge, total, previous), salt)
            store.append(connection, row.record(), head(len(rows) + 1, row.hash, salt))
            if _sound(self.path, judge(store.read(connection), salt)) != (opening, (*rows, row)):
                raise DamagedError("a row was not stored as it was written")
        return row

    def _afford(self, charge: Charge, rows: Sequence[Row], total: Fraction) -> None:
        before = spent(rows)
        if total < (least := max(before, alone(charge, self.opening, rows))):
            raise LedgerError(
                f"the composed total {shown(total)} is below {shown(least)}, which is spent or asked for"
                " already: composition must never lower a total."
            )
        if total > self.budget:
            left = self.budget - before
            raise BudgetError(
                f"the budget of {self.path} is not enough: {shown(before)} of {shown(self.budget)} is spent,"
                f" this release asks for {shown(total - before)} more and {shown(left)} is left:"
                f" {'ask for no more than that' if left else 'nothing more can be released'}."
            )

    def _same(self, opening: Opening) -> None:
        if opening != self.opening:
            raise LedgerError(f"{self.path} is another ledger than the one that was opened: open it again.")


def spent(rows: Sequence[Row]) -> Fraction:
    """Return the composed total after the last row."""
    return rows[-1].total if rows else Fraction(0)


def _judge(path: Path) -> Judged:
    with store.connected(path) as connection, store.reading(connection):
        stored = store.read(connection)
    salt = read_salt(path) if os.path.lexists(salt_path(path)) else None
    return judge(stored, salt)


def _sound(path: Path, judged: Judged) -> tuple[Opening, tuple[Row, ...]]:
    """Return the rows of a ledger without problems, and raise at the first otherwise."""
    if judged.opening is None or judged.problems:
        raise LedgerError(
            f"the ledger {path} is not as it was written ({judged.problems[0]}): verify it, and"
            " restore a copy that holds every release."
        )
    return judged.opening, judged.rows


def _found(path: Path, salt: bytes, standard: Standard, budget: Fraction) -> Opening:
    """Write row 0 in a folder of its own, and move the finished file to a name reserved for it."""
    opening = sealed_opening(Opening(now(), FORMAT, secrets.token_hex(16), standard, budget), salt)
    folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.absolute().parent))
    try:
        store.create(folder / "draft", opening.record(), head(0, opening.hash, salt))
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            (folder / "draft").chmod(0o600)
            (folder / "draft").replace(path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    _sync_folder(path.absolute().parent)
    return opening


def _sync_folder(folder: Path) -> None:
    """Force the new names to the disk, where folders can be opened."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
