"""Verifying a release of records: its files, what is kept of them, and all that is claimed.

The released file is surveyed as the confidential one was, by the mechanism that the certificate names.
Whatever every release keeps must come out the same; the certificate must be what follows from that and the
design; and the page must be its page.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from holdfast.certificate.certified_cells import CertifiedCells
from holdfast.certificate.certify import certify_records
from holdfast.certificate.model import Certificate
from holdfast.certificate.released_counts import read_counts
from holdfast.data.sections import TableSection
from holdfast.derivation.derive import making_flaw
from holdfast.derivation.verifying import Verifying
from holdfast.mechanisms.catalogue import of_records, target_of
from holdfast.mechanisms.records import RecordsMechanism, ReleasedFile
from holdfast.spec.model import Publication
from holdfast.spec.privacy import Privacy
from holdfast.system.checks import Check
from holdfast.system.errors import HoldfastError
from holdfast.system.machine import require_memory

DERIVED = ("records", "invariants", "mechanism", "details", "guarantee", "verdict", "caveats")
FAILURES = (
    HoldfastError,
    LookupError,
    TypeError,
    ValueError,
    ArithmeticError,
    AttributeError,
    OSError,
    pa.ArrowException,
    pl.exceptions.PolarsError,
)
"""What absurd fields raise."""


class RecordsVerifier:
    """How files of records are verified."""

    def kept(self, verifying: Verifying, claimed: Certificate) -> Iterator[Check]:
        """Survey what was released, and compare it with all that is claimed to be kept."""
        return _kept(verifying.folder, claimed)

    def follows(self, verifying: Verifying, claimed: Certificate, *, whole: bool) -> Iterator[Check]:
        """Derive the certificate from what is kept and the design, and compare every section."""
        del whole  # nothing is simulated
        verifying.derived += DERIVED
        return _derived(claimed)


def _kept(folder: Path, claimed: Certificate) -> Iterator[Check]:
    """Survey what was released, and compare it with all that is claimed to be kept."""
    part = claimed.records
    try:
        kind, whom = of_records(part.mechanism.name), Privacy(**dict(claimed.target)).whom
        stated = kind.stated(part, whom)
        released = kind.survey_released(part, folder, whom)
        yield from released.checks(stated)
    except FAILURES as error:
        require_memory(error)
        yield Check("records", holds=False, detail=_words(error))
        return
    if part.table is not None:
        yield _table_check(folder, claimed, part.table, released)


def _table_check(folder: Path, claimed: Certificate, table: TableSection, released: ReleasedFile) -> Check:
    file = next(name for name in claimed.files if name.startswith("table."))
    try:
        counted = released.counts(table)
        if counted is None:
            return Check("table", holds=False, detail="it has other levels than the released records")
        counts = read_counts(folder / file, CertifiedCells.of(table.model_dump(mode="json", by_alias=True)))
        same = np.array_equal(counts, counted)
    except FAILURES as error:
        require_memory(error)
        return Check("table", holds=False, detail=_words(error))
    return Check.that("table", same, f"{file} is not what the released records count")


def _derived(claimed: Certificate) -> Iterator[Check]:
    """Derive the certificate from what is kept and the design, and compare every section."""
    try:
        follows = _follows(claimed)
    except FAILURES as error:
        require_memory(error)
        yield Check("guarantee", holds=False, detail=_words(error))
        return
    wrong = making_flaw(claimed) or ("formulas are said to be quoted" if claimed.quoted_formulas else "")
    yield Check.that("certificate", not wrong, wrong)
    mine, theirs = follows.to_dict(), claimed.unsealed.to_dict()
    mine, theirs = {**mine, **mine.pop("parts")[0]}, {**theirs, **theirs.pop("parts")[0]}
    for name in theirs:
        if mine.get(name) != theirs[name]:
            yield Check(name, holds=False, detail=f"the certificate claims another {name} than follows")
    yield Check.that("guarantee", mine == theirs, "it is not what follows from the records and the design")


def mechanism_of_records(claimed: Certificate) -> RecordsMechanism[Any, Any]:
    """Return the mechanism that a certificate of records states."""
    part = claimed.records
    kind = of_records(part.mechanism.name)
    return kind.of(part.mechanism, kind.stated(part, Privacy(**dict(claimed.target)).whom))


def _follows(claimed: Certificate) -> Certificate:
    privacy, mechanism = Privacy(**dict(claimed.target)), mechanism_of_records(claimed)
    target = target_of(privacy)
    if target.adjacency != "unit" or not mechanism.guarantee.meets(target):
        raise ValueError("the guarantee does not meet the target")
    said = None if claimed.publication is None else Publication(**dict(claimed.publication))
    follows = certify_records(
        privacy,
        mechanism,
        secure=claimed.randomness.secure,
        table=claimed.records.table,
        publication=said,
        created=claimed.created,
    )
    return follows.model_copy(update={"software": claimed.software})


def _words(error: BaseException) -> str:
    told = isinstance(error, HoldfastError) or type(error) is ValueError
    return str(error).rstrip(".") if told else "the certificate is damaged: restore it from the release"
