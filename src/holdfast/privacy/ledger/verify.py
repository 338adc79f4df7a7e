"""Checking a ledger from the file alone, trusting neither its triggers nor who kept it."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.privacy.ledger import store
from holdfast.privacy.ledger.canonical import canonical
from holdfast.privacy.ledger.chain import Judged, Stored, judge
from holdfast.privacy.ledger.entry import Row
from holdfast.privacy.ledger.errors import DamagedError, LedgerError
from holdfast.privacy.ledger.past import Replay, Spend, Spent
from holdfast.privacy.ledger.salt import loose, read_salt, salt_path
from holdfast.words import rational


@dataclass(frozen=True)
class LedgerCheck:
    """The verdict: ``sealed`` says whether the seals were checked, with the salt.

    Without it, only who did not recompute the chain is found out.
    """

    kept: bool
    problems: tuple[str, ...]
    rows: int
    sealed: bool
    completions: int = 0
    warnings: tuple[str, ...] = ()
    releases: tuple[Mapping[str, Any], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        lists = {name: list(getattr(self, name)) for name in ("problems", "warnings", "releases")}
        return {**asdict(self), **lists}


def verify_ledger(
    path: str | Path,
    *,
    known: Mapping[int, str] | None = None,
    spend: Spend | None = None,
    without_salt: bool = False,
) -> LedgerCheck:
    """Recompute hashes, chains, head, budget and seals; with ``spend``, all totals and the checkpoint too.

    ``known`` maps indices to hashes of rows that were seen before, say beside a release: an older copy of the
    file, which is a sound ledger by itself, is found with them. LedgerError where there is no ledger, or no
    salt unless ``without_salt`` leaves the seals unchecked.
    """
    return examine(path, known=known, spend=spend, without_salt=without_salt)[0]


def examine(
    path: str | Path,
    *,
    known: Mapping[int, str] | None = None,
    spend: Spend | None = None,
    without_salt: bool = False,
) -> tuple[LedgerCheck, Judged | None]:
    """Verify a ledger, and return with the verdict what of it could be read."""
    path = Path(path)
    try:
        with store.connected(path) as connection:
            pages = () if store.pages_intact(connection) else ("SQLite finds its pages damaged",)
            with store.reading(connection):
                stored = store.read(connection)
    except DamagedError as error:
        return LedgerCheck(kept=False, problems=(str(error).rstrip("."),), rows=0, sealed=False), None
    salt = None if without_salt else _required_salt(path)
    judged = judge(stored, salt, known)
    again: tuple[str, ...] = ()
    warnings = tuple(exposed(path))
    if spend is not None and not judged.problems:
        again, doubts = _composed_again(judged, stored, spend)
        warnings += doubts
    problems = (*pages, *judged.problems, *again)
    check = LedgerCheck(
        not problems, problems, len(stored.rows), salt is not None, len(stored.completions), warnings
    )
    return check, judged


def exposed(path: Path) -> Iterator[str]:
    """Say which of the two files others than their owner can open."""
    for file in (path, salt_path(path)):
        if loose(file):
            mode = f"{file.stat().st_mode & 0o777:o}"
            yield f"{file} is open to others than its owner (mode {mode}): set mode 600"


def _required_salt(path: Path) -> bytes:
    if not os.path.lexists(salt_path(path)):
        raise LedgerError(
            f"{salt_path(path)} is missing, so that the seals of {path} cannot be checked: restore it, or"
            " check the rest with --without-salt."
        )
    return read_salt(path)


def _composed_again(judged: Judged, stored: Stored, spend: Spend) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Compose every total again, and return problems and warnings.

    Rows before the checkpoint were composed by another rule, or by an earlier version: their totals stand as
    they are, and where this version would charge more, that is a warning. Later rows have the total that
    follows from all before them, and the checkpoint is the one that they leave.
    """
    opening, head = judged.opening, judged.head
    if opening is None or head is None:
        return (), ()
    before = head.since - 1 if head.since else head.length
    early = judged.rows[:before]
    warnings = tuple(_differences(Replay(opening.standard), early, spend, exactly=False))
    if not head.since:
        return (), warnings
    start = early[-1].total if early else Fraction(0)
    past = Replay(opening.standard, start, charged=list(early))
    problems = list(_differences(past, judged.rows[before:], spend, exactly=True))
    entries = {key: canonical(entry) for key, entry in past.entries.items()}
    if not problems and (canonical(past.state), entries) != (head.state, stored.entries or {}):
        problems.append("the checkpoint is not what the rows come to")
    return tuple(problems), warnings


def _differences(past: Replay, rows: Sequence[Row], spend: Spend, *, exactly: bool) -> Iterator[str]:
    """Charge rows again, and say where the totals are others, or below what follows."""
    for row in rows:
        try:
            composed = spend(past, row.charge)
        except (HoldfastError, LookupError, TypeError, ValueError) as error:
            why = str(error).rstrip(".") if isinstance(error, HoldfastError) else "its detail cannot be read"
            yield f"row {row.index}: its total cannot be composed again ({why})"
            return
        if not isinstance(composed, Spent):
            raise TypeError("a composition without a checkpoint cannot be repeated")
        if row.total < composed.total or (exactly and row.total != composed.total):
            again = rational(composed.total)
            yield f"row {row.index}: its total is {rational(row.total)}, and composed again it is {again}"
        past.add(row, composed)
