"""Signatures speak for a whole folder, and only for the key that made them."""

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.small_releases import released

from holdfast.certificate.sign import (
    SIGNATURE,
    exposed,
    generate_keys,
    read_public_key,
    read_signing_key,
    signature_check,
    signed_by,
)
from holdfast.system.errors import ReleaseError
from holdfast.verification.verify import verify


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    return generate_keys(tmp_path / "agency.key")


@pytest.fixture
def folder(tmp_path: Path, keys: tuple[Path, Path]) -> Path:
    return released("lattice-laplace").write(tmp_path / "out", key=read_signing_key(keys[0]))


def test_a_pair_of_keys(keys: tuple[Path, Path]) -> None:
    private, public = keys
    assert private.read_text().startswith("-----BEGIN PRIVATE KEY-----")
    assert public.read_text().startswith("-----BEGIN PUBLIC KEY-----")
    assert private.stat().st_mode & 0o777 == 0o600
    assert public.name == "agency.key.pub"
    assert exposed(private) is None
    private.chmod(0o640)
    assert "chmod 600" in str(exposed(private))


def test_a_signature_holds_for_its_key_and_its_bytes(
    folder: Path, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    text, key = (folder / "certificate.json").read_bytes(), read_public_key(keys[1])
    assert signature_check(folder, text, key).holds
    assert not signature_check(folder, text + b" ", key).holds
    _, other = generate_keys(tmp_path / "other.key")
    assert not signature_check(folder, text, read_public_key(other)).holds
    (folder / SIGNATURE).write_bytes(b"short")
    assert not signature_check(folder, text, key).holds
    (folder / SIGNATURE).unlink()
    assert "missing" in signature_check(folder, text, key).detail


def test_a_verification_says_so_first(folder: Path, keys: tuple[Path, Path], tmp_path: Path) -> None:
    found = verify(folder, public_key=keys[1])
    assert found.kept
    assert found.checks[0].name == "signature"
    _, other = generate_keys(tmp_path / "other.key")
    assert not signed_by(read_public_key(other), verify(folder)).kept


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_other_tools_read_it(folder: Path, keys: tuple[Path, Path]) -> None:
    command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", str(keys[1]), "-rawin"]
    command += ["-in", str(folder / "certificate.json"), "-sigfile", str(folder / SIGNATURE)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    (folder / "certificate.json").write_text("{}")
    assert subprocess.run(command, capture_output=True, check=False).returncode != 0


def test_keys_are_never_overwritten(keys: tuple[Path, Path]) -> None:
    private, public = keys
    before = [path.read_text() for path in keys]
    with pytest.raises(ReleaseError, match="exists already"):
        generate_keys(private)
    assert [path.read_text() for path in keys] == before
    private.unlink()
    with pytest.raises(ReleaseError, match=r"agency.key.pub exists already"):
        generate_keys(private)
    assert not private.exists()
    assert public.read_text() == before[1]


def test_what_is_no_key_is_told(keys: tuple[Path, Path], tmp_path: Path) -> None:
    private, public = keys
    with pytest.raises(ReleaseError, match="is not a private Ed25519 key"):
        read_signing_key(public)
    with pytest.raises(ReleaseError, match="is not a public Ed25519 key"):
        read_public_key(private)
    (tmp_path / "noise").write_bytes(b"\xff\x00")
    for read in (read_signing_key, read_public_key):
        with pytest.raises(ReleaseError, match="is not a p"):
            read(tmp_path / "noise")
        with pytest.raises(ReleaseError, match="does not exist"):
            read(tmp_path / "none")
        with pytest.raises(ReleaseError, match="is not a file"):
            read(tmp_path)


def test_a_key_behind_a_passphrase_is_told(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        PrivateFormat,
    )

    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"word"))
    (tmp_path / "closed").write_bytes(pem)
    with pytest.raises(ReleaseError, match="behind a passphrase"):
        read_signing_key(tmp_path / "closed")
