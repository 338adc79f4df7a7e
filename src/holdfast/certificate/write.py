"""Writing a release: a new folder that appears whole or not at all."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from holdfast.certificate.model import Certificate, LedgerSection
from holdfast.certificate.page import render
from holdfast.certificate.read import CERTIFICATE
from holdfast.errors import ReleaseError
from holdfast.outputs import Output

PAGE = "certificate.html"


def refuse_to_overwrite(folder: Path) -> None:
    """Raise ReleaseError where a folder cannot become a new release; called before anything is drawn."""
    try:
        taken = os.path.lexists(folder) and not (folder.is_dir() and not any(folder.iterdir()))
    except OSError as error:
        raise ReleaseError(f"{folder} cannot be read ({error.strerror}): name a new folder.") from None
    if taken:
        raise ReleaseError(f"{folder} exists already: name a new folder, a release is never overwritten.")
    parent = folder.absolute().parent
    if not parent.is_dir():
        raise ReleaseError(f"the folder {parent} does not exist: create it first.")
    if not os.access(parent, os.W_OK):
        raise ReleaseError(f"the folder {parent} cannot be written to: name another.")


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Give a draft that becomes a new folder in one step at the end, or leaves no trace."""
    refuse_to_overwrite(folder)
    try:
        draft = Path(tempfile.mkdtemp(prefix=".holdfast-", dir=folder.absolute().parent))
    except OSError as error:
        raise ReleaseError(f"{folder} cannot be written ({error.strerror}): name another place.") from None
    try:
        yield draft
        draft.chmod(0o755)
        draft.rename(folder)
    except OSError as error:
        raise ReleaseError(f"{folder} cannot be written ({error.strerror}): name another place.") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def write_release(
    outputs: Mapping[str, Output],
    certificate: Certificate,
    folder: Path,
    *,
    parquet: bool,
    ledger: LedgerSection | None = None,
) -> Path:
    """Write the outputs, the page and the certificate into a new folder, in one step for everyone else."""
    with new_folder(folder) as draft:
        names = [output.write(draft, name, parquet=parquet) for name, output in outputs.items()]
        (draft / PAGE).write_text(render(certificate), encoding="utf-8")
        files = {file: sha256(draft / file) for file in (*names, PAGE)}
        (draft / CERTIFICATE).write_text(certificate.sealed(files, ledger).to_json(), encoding="utf-8")
    return folder


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
