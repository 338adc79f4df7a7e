"""The secret beside a ledger: it seals the chain, and hides the data behind a fingerprint.

Whoever has the ledger and not the salt can read the account, but can neither rewrite it unnoticed nor test a
guess of the confidential data against their fingerprint. Lost, the account stays readable but is closed.
"""

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from holdfast.system.errors import LedgerError
from holdfast.system.files import special, write_new_text

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


def exposed(path: Path) -> Iterator[str]:
    """Say which of the two files others than their owner can open."""
    for file in (path, salt_path(path)):
        if loose(file):
            mode = f"{file.stat().st_mode & 0o777:o}"
            yield f"{file} is open to others than its owner (mode {mode}): set mode 600"
