"""Verifying a release: its files, the table against every exact claim, and all that is claimed of it.

First the quick part [holdfast, certificate/quick.py]; where all of that holds, the certificate is derived
again [holdfast, certificate/derive.py], and the page must be the page of this certificate.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast.certificate import version_2
from holdfast.certificate.checks import Check, Verification, ViolatedError
from holdfast.certificate.derive import Derivation
from holdfast.certificate.measured import measured_checks
from holdfast.certificate.model import Certificate
from holdfast.certificate.page import WORDINGS, render
from holdfast.certificate.public import Published
from holdfast.certificate.quick import PAGE, kept_checks, output_of, seal_checks, verify_quick, warnings_of
from holdfast.certificate.read import certificate_of
from holdfast.certificate.sign import read_public_key, signed_by
from holdfast.certificate.text import CERTIFICATE, FORMS, canonical, parse, read_text
from holdfast.errors import HoldfastError
from holdfast.mechanisms.catalogue import NAMED
from holdfast.mechanisms.topdown.mechanism import TopDown

FIRST_FORM = (
    "THE PAGE IS NOT CHECKED: this certificate is of the first form, whose pages had other words. Rely on"
    " certificate.json, not on what the page says."
)

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
    page = whole or (folder / PAGE).exists()
    checks = [*seal_checks(folder, text, content, page=page), *_typed_checks(text, content)]
    if all(check.name != "certificate" or check.holds for check in checks):
        checks += kept_checks(folder, content)
    if not all(check.holds for check in checks):
        return Verification(folder, tuple(checks), warnings_of(content)), None
    form = FORMS[content["format"]]
    old, derivation = form == 1, Derivation(certificate_of(content, CERTIFICATE), form)
    checks += _derived_checks(folder, derivation, whole=whole)
    derived = (
        *derivation.derived,
        *(("expected error",) if whole else ()),
        *(("page",) if whole and not old else ()),
    )
    warnings = (*warnings_of(content), *((FIRST_FORM,) if old else ()))
    return Verification(folder, tuple(checks), warnings, derived=derived), derivation


def _typed_checks(text: str, content: dict[str, Any]) -> Iterator[Check]:
    """Check that the certificate is one, every field of it, and written as it would be."""
    try:
        certificate = certificate_of(content, CERTIFICATE)
    except HoldfastError as error:
        yield Check("certificate", holds=False, detail=str(error).rstrip("."))
        return
    form, own = FORMS[content["format"]], certificate.to_dict()
    if form > 1 and canonical(version_2.as_written(own) if form == 2 else own) != text:
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
        yield _page_check(folder / PAGE, derivation.claimed, derivation.form)


def _page_check(path: Path, certificate: Certificate, form: int) -> Check:
    """Check that the page says what the certificate says; its hash was compared before."""
    if form == 1:
        return Check("page", holds=True, detail="worded by an older version: its hash is right")
    unsealed = certificate.unsealed
    parquet = "table.parquet" in certificate.files
    try:
        page = path.read_bytes()
        pages = (render(unsealed, wording=wording, parquet=parquet) for wording in WORDINGS[form])
        same = any(one.encode("utf-8") == page for one in pages)
    except (OSError, ValueError, ArithmeticError, LookupError, TypeError):
        same = False
    return Check.that("page", same, "the page is not the page of this certificate")
