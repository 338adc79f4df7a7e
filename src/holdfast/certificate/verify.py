"""Verifying a release: hashes, the record, and every output against what is public."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from holdfast.certificate.model import digest
from holdfast.certificate.public import Published, public_of
from holdfast.certificate.read import CERTIFICATE, certificate_of, parse, read_text
from holdfast.certificate.write import sha256
from holdfast.errors import HoldfastError
from holdfast.outputs import KINDS, Check


@dataclass(frozen=True)
class Verification:
    """The outcome of all checks."""

    folder: Path
    checks: tuple[Check, ...]

    @property
    def kept(self) -> bool:
        """Whether every check holds."""
        return all(check.holds for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {"kept": self.kept, "checks": [asdict(check) for check in self.checks]}


class ViolatedError(HoldfastError):
    """A release that should be used is not as it was certified."""

    def __init__(self, verification: Verification) -> None:
        super().__init__(f"{verification.folder} is not the certified release: restore it, and verify it.")
        self.verification = verification


def verified(folder: str | Path) -> Published:
    """Return a release of a table that was verified; raises ViolatedError where it is not kept."""
    verification = verify(folder)
    if not verification.kept:
        raise ViolatedError(verification)
    return Published(folder)


def verify(folder: str | Path) -> Verification:
    """Check a release folder against its certificate.

    Raises ReleaseError where there is no release to check; everything else is a check that fails.
    """
    folder = Path(folder)
    content = parse(read_text(folder), str(folder / CERTIFICATE))
    return Verification(folder, tuple(_checks(folder, content)))


def _checks(folder: Path, content: dict[str, Any]) -> Iterator[Check]:
    body = {key: value for key, value in content.items() if key != "digest"}
    yield Check.that("certificate unchanged", digest(body) == content.get("digest"), "its digest differs")
    files = content.get("files")
    outputs = (
        {} if not isinstance(files, dict) else {_stem(name): name for name in files if _stem(name) in KINDS}
    )
    if not isinstance(files, dict) or not outputs:
        yield Check("files", holds=False, detail="the certificate names no output")
        return
    for name, expected in files.items():
        yield _file_check(folder / Path(name).name, name, expected)
    try:
        public = public_of(certificate_of(content, CERTIFICATE))
    except HoldfastError as error:
        yield Check("certificate", holds=False, detail=str(error).rstrip("."))
        return
    for kind, name in outputs.items():
        yield from KINDS[kind].checks(folder / Path(name).name, public)


def _stem(name: object) -> str:
    return str(name).partition(".")[0]


def _file_check(path: Path, name: str, expected: object) -> Check:
    try:
        return Check.that(f"{name} unchanged", sha256(path) == expected, "its SHA-256 differs")
    except FileNotFoundError:
        return Check(f"{name} unchanged", holds=False, detail="the file is missing")
    except (OSError, ValueError):  # no access, a folder, or a name that no file can have
        return Check(f"{name} unchanged", holds=False, detail="the file cannot be read")
