"""Checking a ledger from the file alone, trusting neither its triggers nor who kept it."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from holdfast.privacy.ledger import store
from holdfast.privacy.ledger.chain import judge
from holdfast.privacy.ledger.errors import DamagedError, LedgerError
from holdfast.privacy.ledger.salt import read_salt, salt_path


@dataclass(frozen=True)
class LedgerCheck:
    """The verdict: ``sealed`` says whether the salt was there, so that the seals were checked too.

    Without it, only who did not recompute the chain is found out.
    """

    kept: bool
    problems: tuple[str, ...]
    rows: int
    sealed: bool

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {**asdict(self), "problems": list(self.problems)}


def verify_ledger(path: str | Path, *, known: Mapping[int, str] | None = None) -> LedgerCheck:
    """Recompute hashes, chain, head, totals, budget and seals.

    ``known`` maps indices to hashes of rows that were seen before, say beside a release: an older copy of the
    file, which is a sound ledger by itself, is found with them. LedgerError where there is no ledger.
    """
    path = Path(path)
    try:
        with store.connected(path) as connection:
            pages = () if store.pages_intact(connection) else ("SQLite finds its pages damaged",)
            with store.reading(connection):
                stored = store.read(connection)
    except DamagedError as error:
        return LedgerCheck(kept=False, problems=(str(error).rstrip("."),), rows=0, sealed=False)
    salt: bytes | None = None
    unsalted: tuple[str, ...] = ()
    if os.path.lexists(salt_path(path)):
        try:
            salt = read_salt(path)
        except LedgerError as error:
            unsalted = (str(error).rstrip("."),)
    problems = (*pages, *unsalted, *judge(stored, salt, known).problems)
    return LedgerCheck(not problems, problems, len(stored.rows), salt is not None)
