"""The secret beside a ledger: it seals the chain, and hides the data behind a fingerprint.

Whoever has the ledger and not the salt can read the account, but can neither rewrite it unnoticed nor test a
guess of the confidential data against their fingerprint. Lost, the account stays readable but is closed.
"""

import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.privacy.ledger.canonical import canonical
from holdfast.privacy.ledger.errors import LedgerError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BYTES = 32
_IDENTITY = 32


def salt_path(ledger: str | Path) -> Path:
    """Return where the salt of a ledger is: beside it, with ".salt" after its name."""
    return Path(f"{ledger}.salt")


def write_salt(ledger: Path) -> bytes:
    """Make a salt that only its owner can read; refuses to overwrite."""
    path, salt = salt_path(ledger), secrets.token_bytes(_BYTES)
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise LedgerError(f"{path} exists already: a salt is never overwritten, name a new ledger.") from None
    try:
        with os.fdopen(file, "w", encoding="ascii") as stream:
            stream.write(salt.hex() + "\n")
            stream.flush()
            os.fsync(stream.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return salt


def read_salt(ledger: str | Path) -> bytes:
    """Return the salt of a ledger; LedgerError where there is none."""
    path = salt_path(ledger)
    try:
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


def fingerprint(salt: bytes, identity: bytes) -> str:
    """Return a name for a confidential file, by the SHA-256 of its content: noise without the salt."""
    if len(identity) != _IDENTITY:
        raise LedgerError(f"an identity has {_IDENTITY} bytes: give the SHA-256 of the content of the file.")
    return hmac.new(salt, b"holdfast-fingerprint/2\n" + identity, hashlib.sha256).hexdigest()


def table_fingerprint(
    salt: bytes,
    schema: Mapping[str, Any],
    counts: "bytes | bytearray | memoryview | Sequence[int] | NDArray[np.integer[Any]]",
) -> str:
    """Return the name that a confidential table had in ledgers before files were named.

    Counts are flattened to 64-bit little-endian, whatever their kind of integer; bytes are taken as that.
    """
    try:
        described = canonical(schema).encode()
    except ValueError as error:
        raise LedgerError(f"the schema {error}: give plain JSON values.") from None
    plain = bytes(counts) if isinstance(counts, bytes | bytearray | memoryview) else _little_endian(counts)
    message = b"holdfast-fingerprint/1\n%d\n%b\n%b" % (len(described), described, plain)
    return hmac.new(salt, message, hashlib.sha256).hexdigest()


def _little_endian(counts: "Sequence[int] | NDArray[np.integer[Any]]") -> bytes:
    import numpy as np  # noqa: PLC0415  (the ledger itself must stay light)

    array = np.asarray(counts)
    if array.size and (array.dtype.kind not in "iu" or int(array.max()) > np.iinfo(np.int64).max):
        raise LedgerError("a fingerprint needs whole counts of at most 64 bits.")
    return array.astype("<i8").tobytes()
