"""Verifying a release: its files, the table against every exact claim, and all that is claimed of it.

First the quick part [holdfast, certificate/quick.py]; where all of that holds, the certificate is derived
again [holdfast, certificate/derive.py], and the page must be the page of this certificate.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast.certificate.checks import Check, Verification, ViolatedError
from holdfast.certificate.derive import Derivation
from holdfast.certificate.measured import measured_checks
from holdfast.certificate.model import Certificate
from holdfast.certificate.page import render
from holdfast.certificate.public import Published
from holdfast.certificate.quick import PAGE, kept_checks, output_of, seal_checks, verify_quick, warnings_of
from holdfast.certificate.read import certificate_of
from holdfast.certificate.sign import read_public_key, signed_by
from holdfast.certificate.strangers import strangers
from holdfast.certificate.text import CERTIFICATE, canonical, parse, read_text
from holdfast.errors import HoldfastError
from holdfast.machine import require_memory
from holdfast.mechanisms.catalogue import NAMED
from holdfast.mechanisms.topdown.mechanism import TopDown

__all__ = ["Verification", "ViolatedError", "verified", "verify"]


def verify(folder: str | Path, *, quick: bool = False, public_key: str | Path | None = None) -> Verification:
    """Check a release folder against its certificate, and the certificate against what follows.

    A ``quick`` one looks at files and invariants only; with the file of a ``public_key`` the signature is
    checked too. Raises ReleaseError where there is no release to check; everything else is a check that
    fails.
    """
    key = None if public_key is None else read_public_key(public_key)
    found = verify_quick(folder) if quick else _verification(Path(folder), whole=True)[0]
    return found if key is None else signed_by(key, found)


def verified(folder: str | Path) -> Published:
    """Return a release of a table that was verified; raises ViolatedError where it is not kept.

    What is worked out from a release rests on its table and the law of its noise: its expected error is not
    simulated again, nor its page drawn, which may be missing.
    """
    verification, derivation = _verification(Path(folder), whole=False)
    if derivation is None or not verification.kept:
        raise ViolatedError(verification)
    return Published(folder, derivation.public)


def _verification(folder: Path, *, whole: bool) -> tuple[Verification, Derivation | None]:
    """Return what is found, and what was derived if it came to that."""
    text = read_text(folder)
    content = parse(text, str(folder / CERTIFICATE))
    warnings = (*warnings_of(content), *strangers(folder, content))
    page = whole or (folder / PAGE).exists()
    checks = [*seal_checks(folder, text, content, page=page), *_typed_checks(text, content)]
    if all(check.name != "certificate" or check.holds for check in checks):
        checks += kept_checks(folder, content)
    if not all(check.holds for check in checks):
        return Verification(folder, tuple(checks), warnings), None
    derivation = Derivation(certificate_of(content, CERTIFICATE))
    checks += _derived_checks(folder, derivation, whole=whole)
    derived = (*derivation.derived, *(("expected error", "page") if whole else ()))
    return Verification(folder, tuple(checks), warnings, derived=derived), derivation


def _typed_checks(text: str, content: dict[str, Any]) -> Iterator[Check]:
    """Check that the certificate is one, every field of it, and written as it would be."""
    try:
        certificate = certificate_of(content, CERTIFICATE)
    except HoldfastError as error:
        yield Check("certificate", holds=False, detail=str(error).rstrip("."))
        return
    if canonical(certificate.to_dict()) != text:
        yield Check("certificate text", holds=False, detail="a field is not written as certificates write it")
    kind = NAMED[certificate.mechanism.name]
    name = output_of(content)
    if name is not None and name.partition(".")[0] not in (kind.output, *kind.estimated):
        yield Check("files", holds=False, detail=f"{certificate.mechanism.name} has no output {name}")


def _derived_checks(folder: Path, derivation: Derivation, *, whole: bool) -> Iterator[Check]:
    found = list(derivation.checks(simulate=whole))
    mechanism = derivation.mechanism if all(check.holds for check in found) else None
    if isinstance(mechanism, TopDown):
        found += measured_checks(folder, derivation.claimed, mechanism, derivation.public, whole=whole)
    yield from found
    if whole and all(check.holds for check in found):  # absurd numbers have no picture
        yield _page_check(folder / PAGE, derivation.claimed)


def _page_check(path: Path, certificate: Certificate) -> Check:
    """Check that the page says what the certificate says; its hash was compared before."""
    parquet = "table.parquet" in certificate.files
    try:
        same = render(certificate.unsealed, parquet=parquet).encode("utf-8") == path.read_bytes()
    except (OSError, ValueError, ArithmeticError, LookupError, TypeError) as error:
        require_memory(error)
        same = False
    return Check.that("page", same, "the page is not the page of this certificate")
