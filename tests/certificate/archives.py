"""Releases of older forms in archives, and how a forger would seal them again."""

import shutil
from pathlib import Path
from typing import Any

from tests.certificate.places import put

from holdfast.certificate.checks import Verification
from holdfast.certificate.text import digest
from holdfast.certificate.write import sha256


def unpacked(form: str, name: str, folder: Path) -> Path:
    """Unpack an archive of a form; return the folder of its release."""
    shutil.unpack_archive(Path(__file__).parent / form / f"{name}.zip", folder / name)
    return folder / name / "release"


def failed(verification: Verification) -> list[str]:
    """Return the names of the checks that do not hold."""
    return [check.name for check in verification.checks if not check.holds]


def seal(release: Path, content: dict[str, Any]) -> None:
    """Write a record with hashes and a digest that are right."""
    files = {name: sha256(release / name) for name in content["files"]}
    body = {**{name: value for name, value in content.items() if name != "digest"}, "files": files}
    put(release, {**body, "digest": digest(body)})
