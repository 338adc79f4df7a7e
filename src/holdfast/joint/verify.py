"""Verifying a release of one table or of several: every chapter, and what joins them, derived again."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.certificate.checks import Check, Verification, ViolatedError
from holdfast.certificate.derive import DERIVED, FAILURES, SHA256, Derivation
from holdfast.certificate.model import Certificate
from holdfast.certificate.public import Published
from holdfast.certificate.quick import PAGE
from holdfast.certificate.read import tables_certificate_of
from holdfast.certificate.several.model import TablesCertificate
from holdfast.certificate.several.page import render_tables
from holdfast.certificate.several.quick import quick_checks, verify_quick, warnings_of_all
from holdfast.certificate.sign import read_public_key, signed_by
from holdfast.certificate.strangers import strangers
from holdfast.certificate.text import CERTIFICATE, RECORDS, SEVERAL, parse, read_text
from holdfast.certificate.verify import verified as verified_one
from holdfast.certificate.verify import verify as verify_one
from holdfast.data.read import read_release
from holdfast.errors import HoldfastError, ReleaseError
from holdfast.joint.certify import certify_tables
from holdfast.joint.divide import fractions
from holdfast.joint.guarantee import joint_guarantee, joint_intensity
from holdfast.joint.prepare import table_privacy
from holdfast.joint.scope import TablesScope
from holdfast.machine import require_memory
from holdfast.mechanisms.catalogue import NAMED, target_of
from holdfast.public import Public
from holdfast.spec.closest import closest
from holdfast.spec.model import Privacy
from holdfast.swapping.verify import verify_records

JOINT = ("software", "created", "target", "budget", "guarantee", "shared", "randomness", "verdict", "caveats")
"""The sections of all tables together that must equal what follows."""


def verify(folder: str | Path, *, quick: bool = False, public_key: str | Path | None = None) -> Verification:
    """Check a release folder, of one table or of several, and all that its certificate claims.

    A ``quick`` one looks at files and invariants only; with the file of a ``public_key`` the signature is
    checked too. Raises ReleaseError where there is no release to check.
    """
    folder = Path(folder)
    form = _content(folder)["format"]
    if form == RECORDS:
        return verify_records(folder, quick=quick, public_key=public_key)
    if form != SEVERAL:
        return verify_one(folder, quick=quick, public_key=public_key)
    key = None if public_key is None else read_public_key(public_key)
    found = verify_quick(folder) if quick else _verification(folder, whole=True)[0]
    return found if key is None else signed_by(key, found)


def verified(folder: str | Path, table: str | None = None) -> Published:
    """Return a released table that was verified; of several tables, the one that is named."""
    folder = Path(folder)
    form = _content(folder)["format"]
    if form == RECORDS:
        raise ReleaseError(
            f"{folder} holds swapped records, whose law depends on the data: intervals and processed tables"
            " are made of tables with noise."
        )
    if form != SEVERAL:
        if table is not None:
            raise ReleaseError(f"{folder} holds one table: leave out --table.")
        return verified_one(folder)
    verification, derivations = _verification(folder, whole=False)
    if not verification.kept:
        raise ViolatedError(verification)
    if table is None:
        names = ", ".join(derivations)
        raise ReleaseError(f"{folder} holds several tables: name one with --table, of {names}.")
    if table not in derivations:
        raise ReleaseError(f"{folder} has no table {table!r}: {closest(table, list(derivations))}")
    content = tables_certificate_of(_content(folder), CERTIFICATE)
    return PublishedTable(folder, table, content, derivations[table].public)


class PublishedTable(Published):
    """One of several released tables, as its readers have it."""

    def __init__(self, folder: Path, name: str, record: TablesCertificate, public: Public) -> None:
        self.certificate = next(one.certificate for one in record.tables if one.name == name)
        self.public = replace(public, quoted_formulas=record.quoted_formulas)
        file = next(file for file in record.files if file in (f"{name}.csv", f"{name}.parquet"))
        self.table = read_release(
            folder / file, public.schema, public.count, quoted_formulas=record.quoted_formulas
        )


def _content(folder: Path) -> dict[str, Any]:
    return parse(read_text(folder), str(folder / CERTIFICATE), several=True)


def _verification(folder: Path, *, whole: bool) -> tuple[Verification, dict[str, Derivation]]:
    text = read_text(folder)
    content = parse(text, str(folder / CERTIFICATE), several=True)
    page = whole or (folder / PAGE).exists()
    checks = [*quick_checks(folder, text, content, page=page)]
    warnings = (*warnings_of_all(content), *strangers(folder, content))
    try:
        claimed = tables_certificate_of(content, CERTIFICATE)
        same = claimed.to_json() == text
        checks += (
            [] if same else [Check("certificate text", holds=False, detail="a field is written otherwise")]
        )
    except HoldfastError as error:
        checks.append(Check("certificate", holds=False, detail=str(error).rstrip(".")))
    if not all(check.holds for check in checks):
        return Verification(folder, tuple(checks), warnings), {}
    derivations = {one.name: Derivation(one.certificate) for one in claimed.tables}
    for name, derivation in derivations.items():
        found = [*_alone(claimed, derivation.claimed), *derivation.checks(simulate=whole)]
        checks += [replace(check, name=f"{name}: {check.name}") for check in found]
    if all(check.holds for check in checks):
        checks += _joined(claimed, derivations)
    if whole and all(check.holds for check in checks):
        checks.append(_page_check(folder / PAGE, claimed))
    derived = (*DERIVED, *JOINT, *(("expected error", "page") if whole else ()))
    once = tuple(dict.fromkeys(derived))
    return Verification(folder, tuple(checks), warnings, derived=once), derivations


def _alone(record: TablesCertificate, chapter: Certificate) -> Iterator[Check]:
    """Check that a chapter is one: no seal of its own, made when and as the others were, a table."""
    same = (chapter.created, chapter.software, chapter.randomness, chapter.publication) == (
        record.created,
        record.software,
        record.randomness,
        record.tables[0].certificate.publication,
    )
    table = NAMED[chapter.mechanism.name].output == "table"
    yield Check.that(
        "chapter", chapter == chapter.unsealed and same and table, "it is not a chapter of this certificate"
    )


def _joined(record: TablesCertificate, derivations: dict[str, Derivation]) -> Iterator[Check]:
    """Derive what holds of all tables together, and compare every section of it."""
    try:
        follows = _derived(record, derivations)
    except FAILURES as error:
        require_memory(error)
        detail = str(error).rstrip(".") if isinstance(error, HoldfastError) else "it cannot be derived"
        yield Check("joint guarantee", holds=False, detail=detail)
        return
    ledger = record.ledger
    row = ledger is None or (ledger.row >= 1 and SHA256.fullmatch(ledger.hash) is not None)
    yield Check.that("certificate", row, "ledger is not a row and its hash")
    claimed, derived = record.to_dict(), follows.to_dict()
    for name in JOINT:
        same = claimed[name] == derived[name]
        yield Check.that(f"all tables: {name}", same, f"the certificate claims another {name} than follows")


def _derived(record: TablesCertificate, derivations: dict[str, Derivation]) -> TablesCertificate:
    """Return the record that follows from chapters, target and weights; raises where none does."""
    privacy = Privacy(**dict(record.target))
    publics = {name: one.public for name, one in derivations.items()}
    scope = TablesScope(publics, privacy.adjacency, privacy.distance).checked()
    weights = [share.weight for share in record.budget.shares]
    if len(weights) != len(publics) or not all(weight > 0 for weight in weights):
        raise ReleaseError("the shares of the budget are not those of the tables.")
    if record.budget.division == "equal" and set(weights) != {1}:
        raise ReleaseError("an equal division has no weights.")
    premises = [public.premises(scope.adjacency, scope.distance) for public in publics.values()]
    parts = fractions(record.budget.division, privacy.standard, weights, premises)
    asked = []
    for part, (name, derivation) in zip(parts, derivations.items(), strict=True):
        target = table_privacy(privacy, part, scope)
        if target != derivation.privacy:
            raise ReleaseError(f"{name} was not asked for its part of the budget.")
        intensity = target_of(target).intensity
        if intensity is None:
            raise ReleaseError("nothing was asked for.")
        asked.append(intensity)
    guarantees = {name: one.mechanism.guarantee for name, one in derivations.items()}
    return certify_tables(
        privacy,
        record.budget.division,
        weights,
        parts,
        scope,
        joint_guarantee(scope, guarantees, joint_intensity(list(guarantees.values()), asked)),
        {name: one.claimed for name, one in derivations.items()},
        created=record.created,
    )


def _page_check(path: Path, record: TablesCertificate) -> Check:
    try:
        parquet = any(name.endswith(".parquet") for name in record.files)
        same = render_tables(record, parquet=parquet).encode("utf-8") == path.read_bytes()
    except (OSError, ValueError, ArithmeticError, LookupError, TypeError) as error:
        require_memory(error)
        same = False
    return Check.that("page", same, "the page is not the page of this certificate")
