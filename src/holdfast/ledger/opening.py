"""Opening a new account: the ledger appears whole, beside its salt, or not at all.

The salt comes first, under its own name, whole. Then the ledger is written under a hidden name and linked to
its own, which succeeds for one process only. A process that is killed leaves a salt that no ledger uses, and
the next takes that one: nothing is overwritten, and whoever wins a race, the salt beside the ledger is the
one that sealed it. A mark beside the ledger says that its opening was not reported yet; where its process is
dead, which its lock tells, and nothing was charged, the same command completes the opening.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

from holdfast.ledger import store
from holdfast.ledger.chain import claim_salt, first_head, judge_tip, salt_path, sealed
from holdfast.ledger.rows import FORMAT, ChargeStandard, Opening, now
from holdfast.system.errors import LedgerError
from holdfast.system.files import sweep, sync_folder, write_new


def create_ledger(path: Path, standard: ChargeStandard, budget: Fraction) -> Opening:
    """Write a new ledger with its salt, and return row 0; raises OSError and LedgerError."""
    mark = path.with_name(f".{path.name}.opening")
    if os.path.lexists(path) and not (os.path.lexists(mark) and os.path.lexists(salt_path(path))):
        raise _taken(path)
    sweep(path.absolute().parent)
    salt = claim_salt(path)
    with _alone(salt_path(path)):
        if os.path.lexists(path):
            opening = _abandoned(path, salt, (standard, budget)) if os.path.lexists(mark) else None
            if opening is None:
                raise _taken(path)
        else:
            opening = sealed(Opening(now(), FORMAT, secrets.token_hex(16), standard, budget), salt)
            mark.touch(0o600)
            try:
                head = first_head(opening, salt)
                write_new(path, lambda draft: store.create(draft, opening, head), mode=0o600)
            except FileExistsError:
                mark.unlink(missing_ok=True)
                raise _taken(path) from None
            except BaseException:
                if not os.path.lexists(path):  # else the same command completes what was not reported
                    mark.unlink(missing_ok=True)
                raise
        sync_folder(path.absolute().parent)
        mark.unlink(missing_ok=True)
    return opening


def _abandoned(path: Path, salt: bytes, asked: tuple[ChargeStandard, Fraction]) -> Opening | None:
    """Return row 0 of a ledger whose opening was never reported, if it is the one that is asked for."""
    with store.connected(path) as connection, store.reading(connection):
        judged = judge_tip(store.read_tip(connection), salt)
    opening = judged.opening
    if opening is None or judged.problems or judged.rows or (opening.standard, opening.budget) != asked:
        return None
    return opening


@contextmanager
def _alone(salt: Path) -> Iterator[None]:
    """Let one process at a time open a ledger; where files have no locks the link alone decides."""
    try:
        import fcntl  # noqa: PLC0415
    except ImportError:
        yield
        return
    handle = os.open(salt, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _taken(path: Path) -> LedgerError:
    return LedgerError(f"{path} exists already: a ledger is never overwritten, name a new file.")
