"""Signatures: who made a release, as far as a key tells it.

A signature is Ed25519 [rfc8032] over the bytes of `certificate.json`, which holds the hashes of all other
files, so it speaks for the whole folder. It stands beside the certificate as 64 raw bytes, in the form that
other tools read: openssl pkeyutl -verify -pubin -inkey KEY.pub -rawin -in certificate.json -sigfile
certificate.sig. Keys are PEM files.
"""

import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.certificate.text import read_text
from holdfast.system.checks import Check, Verification
from holdfast.system.errors import ReleaseError
from holdfast.system.files import write_new_text
from holdfast.system.ways import command

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

    SigningKey = Ed25519PrivateKey
    PublicKey = Ed25519PublicKey
else:
    SigningKey = PublicKey = object

SIGNATURE = "certificate.sig"
MOST_BYTES = 1 << 16
"""A key in PEM takes 200 bytes."""


def generate_keys(path: str | Path) -> tuple[Path, Path]:
    """Write a new private key that only its owner can read, and its public key with ".pub" after the name.

    >>> [path.name for path in hf.generate_keys("agency.key")]
    ['agency.key', 'agency.key.pub']
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    private, public = Path(path), Path(f"{path}.pub")
    for taken in (private, public):
        if os.path.lexists(taken):
            raise ReleaseError(f"{taken} exists already: a key is never overwritten, name a new file.")
    key = Ed25519PrivateKey.generate()
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode("ascii")
    shared = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode("ascii")
    try:
        write_new_text(private, secret, mode=0o600)
        write_new_text(public, shared)
    except FileExistsError as error:
        raise ReleaseError(
            f"{error.filename2 or path} exists already: a key is never overwritten, name a new file."
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "such a name cannot be"
        raise ReleaseError(f"{path} cannot be written ({reason}): name another place.") from None
    return private, public


def signing_key(given: "SigningKey | str | Path | None") -> "SigningKey | None":
    """Return a private key, read from its file where that is given."""
    return read_signing_key(given) if isinstance(given, str | Path) else given


def read_signing_key(path: str | Path) -> SigningKey:
    """Read a private key; raises ReleaseError where a file is none."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    try:
        key = load_pem_private_key(_read(path), password=None)
    except TypeError:
        raise ReleaseError(f"{path} is a key behind a passphrase: give one without.") from None
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise ReleaseError(
            f"{path} is not a private Ed25519 key in PEM: make one with {command('keygen')}, and name the"
            " file without .pub."
        )
    return key


def read_public_key(path: str | Path) -> PublicKey:
    """Read a public key; raises ReleaseError where a file is none."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_public_key  # noqa: PLC0415

    try:
        key = load_pem_public_key(_read(path))
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise ReleaseError(
            f"{path} is not a public Ed25519 key in PEM: name the file of the publisher's public key, which"
            f" {command('keygen')} writes with .pub at its end."
        )
    return key


def exposed(path: str | Path) -> str | None:
    """Say that others can read a private key; None where they cannot."""
    mode = Path(path).stat().st_mode
    if os.name != "posix" or not mode & (stat.S_IRWXG | stat.S_IRWXO):
        return None
    return f"{path} can be read by others on this machine, who could sign in your name: chmod 600 it."


def risks_of(key: SigningKey | str | Path | None) -> tuple[str, ...]:
    """Return what is to be told of the file of a private key, if it is one."""
    risk = exposed(key) if isinstance(key, str | Path) else None
    return () if risk is None else (risk,)


def sign(text: bytes, key: SigningKey) -> bytes:
    """Return the signature of a certificate's bytes."""
    return key.sign(text)


def signed_by(key: PublicKey, verification: Verification) -> Verification:
    """Return a verification with the check of the signature before all others."""
    text = read_text(verification.folder).encode("utf-8")
    check = signature_check(verification.folder, text, key)
    return replace(verification, checks=(check, *verification.checks))


def signature_check(folder: Path, text: bytes, key: PublicKey) -> Check:
    """Hold the signature in a folder against the bytes of its certificate."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415

    try:
        key.verify(_read(folder / SIGNATURE), text)
    except ReleaseError:
        return Check("signature", holds=False, detail=f"{SIGNATURE} is missing or cannot be read")
    except InvalidSignature:
        return Check("signature", holds=False, detail="it was not made with this key for this certificate")
    return Check("signature", holds=True)


def _read(path: str | Path) -> bytes:
    """Return the bytes of a small plain file."""
    path = Path(path)
    try:
        if not path.is_file():
            state = "is not a file" if path.exists() else "does not exist"
            raise ReleaseError(f"{path} {state}: name the file of a key.")
        with path.open("rb") as file:
            return file.read(MOST_BYTES)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "such a name cannot be"
        raise ReleaseError(f"{path} cannot be read ({reason}): name the file of a key.") from None
