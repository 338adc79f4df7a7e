"""Verifying a folder of whatever kind: one function for releases and for processed tables."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.derivation.verifying import Verifying
from holdfast.publication.place import facts_of
from holdfast.system.checks import Verification, ViolatedError
from holdfast.system.errors import ReleaseError
from holdfast.system.ways import option
from holdfast.verification.publications import verify_facts

if TYPE_CHECKING:
    from holdfast.derivation.verifying import PartVerifier

LOG = logging.getLogger(__name__)

__all__ = ["Verification", "ViolatedError", "verify"]


def verify(
    folder: str | Path,
    *,
    quick: bool = False,
    public_key: str | Path | None = None,
    release: str | Path | None = None,
) -> Verification:
    """Check a folder against its certificate, and the certificate against what follows.

    A ``quick`` one looks at files and invariants only; with the file of a ``public_key`` the signature is
    checked too. A processed table is made again from its ``release``, or from one that lies beside it. The
    facts of an audit of published tables, a .json file, are worked out again from these alone. Raises
    ReleaseError where there is nothing to check, and MissingMechanismError where a package with the mechanism
    is missing; everything else is a check that fails.

    >>> hf.verify(folder).kept
    True
    """
    from holdfast.certificate.sign import read_public_key, signed_by  # noqa: PLC0415 - loaded late

    if (facts := facts_of(Path(folder))) is not None:
        return _verified_facts(facts, public_key=public_key, release=release)
    verifying = Verifying.of(Path(folder))
    processed = verifying.kind == "processed"
    if processed and public_key is not None:
        raise ReleaseError(
            f"{option('public_key')} is for releases, and {folder} holds a processed table: verify its"
            " release."
        )
    if release is not None and verifying.kind in ("table", "records"):
        raise ReleaseError(
            f"{option('release')} is for processed tables, and {folder} holds none: leave it out."
        )
    key = None if public_key is None else read_public_key(public_key)
    kinds = {} if quick and verifying.kind == "table" else _kinds(None if release is None else Path(release))
    found = verifying.run(kinds, quick=quick)
    found = found if key is None else signed_by(key, found)
    LOG.info("%s is %s", folder, "kept" if found.kept else "violated")
    return found


def _verified_facts(
    facts: Path, *, public_key: str | Path | None, release: str | Path | None
) -> Verification:
    """Check what an audit of published tables found."""
    for name, given in (("public_key", public_key), ("release", release)):
        if given is not None:
            raise ReleaseError(f"{option(name)} is for releases, and {facts} holds facts: leave it out.")
    return verify_facts(facts)


def _kinds(release: Path | None) -> "dict[str, PartVerifier]":
    """Return how parts of each kind are verified: the one list of them."""
    from holdfast.derivation.records import RecordsVerifier  # noqa: PLC0415 - loaded late
    from holdfast.derivation.several import TablesVerifier  # noqa: PLC0415 - loaded late
    from holdfast.verification.processed import ProcessedVerifier  # noqa: PLC0415 - loaded late

    return {"table": TablesVerifier(), "records": RecordsVerifier(), "processed": ProcessedVerifier(release)}
