"""Verifying a swapped release: its files, the records against all that is kept, and what is claimed of them.

The released file is surveyed as the confidential one was. Whatever a swap keeps must come out the same; the
certificate must be what follows from that and the design; and the page must be its page.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from holdfast.certificate.checks import Check, Verification
from holdfast.certificate.derive import CLAIMS_NOTHING as UNCLAIMED
from holdfast.certificate.derive import Unclaimed, making_flaw
from holdfast.certificate.model import TableSection
from holdfast.certificate.quick import PAGE, Cells, file_check, read_counts, warnings_of
from holdfast.certificate.read import records_certificate_of
from holdfast.certificate.records.model import RecordsCertificate
from holdfast.certificate.records.page import render_records
from holdfast.certificate.sign import read_public_key, signed_by
from holdfast.certificate.strangers import strangers
from holdfast.certificate.text import CERTIFICATE, digest, flaw, parse, read_text
from holdfast.data.files import Writing
from holdfast.data.microdata import Microdata, open_microdata
from holdfast.errors import HoldfastError
from holdfast.machine import require_memory
from holdfast.mechanisms.catalogue import target_of
from holdfast.mechanisms.permutation_swapping import PermutationSwapping, Strata
from holdfast.spec.model import Privacy
from holdfast.spec.publication import Publication
from holdfast.swapping.asked import Asked, schema_of
from holdfast.swapping.certify import certify_records
from holdfast.swapping.design import Columns
from holdfast.swapping.facts import Facts, tally_of
from holdfast.swapping.households import Persons, agree
from holdfast.swapping.mandated import Tally
from holdfast.swapping.outputs import cell_counts
from holdfast.swapping.renumber import are_numbers
from holdfast.swapping.survey import survey
from holdfast.swapping.units import Units

DERIVED = (
    "records",
    "invariants",
    "induced",
    "strata",
    "swapping",
    "mechanism",
    "guarantee",
    "verdict",
    "caveats",
    "page",
)
CLAIMS_NOTHING: tuple[Unclaimed, ...] = (
    *(
        item
        for item in UNCLAIMED
        if item.place.split(".")[0] in ("created", "publication", "software", "ledger")
    ),
    Unclaimed("target.epsilon", "what was asked for, which may be more than is spent"),
    Unclaimed("mechanism.nulls", "whether missing values would have been taken, where there are none"),
    Unclaimed("table.inferred", "whether levels that all occur were declared"),
)
"""What may be changed without a false claim, and why: nothing else may."""
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


def verify_records(
    folder: Path, *, quick: bool = False, public_key: str | Path | None = None
) -> Verification:
    """Check a folder of swapped records; a ``quick`` one looks at files and invariants only."""
    key = None if public_key is None else read_public_key(public_key)
    found = _verification(folder, quick=quick)
    return found if key is None else signed_by(key, found)


def _verification(folder: Path, *, quick: bool) -> Verification:
    text = read_text(folder)
    content = parse(text, str(folder / CERTIFICATE), several=True)
    warnings = (*warnings_of(content), *strangers(folder, content))
    checks = [*_seal_checks(folder, text, content)]
    try:
        claimed = records_certificate_of(content, CERTIFICATE)
        if claimed.to_json() != text:
            checks.append(Check("certificate text", holds=False, detail="a field is written otherwise"))
        checks += _file_names(claimed)
    except HoldfastError as error:
        checks.append(Check("certificate", holds=False, detail=str(error).rstrip(".")))
    if not all(check.holds for check in checks):
        return Verification(folder, tuple(checks), warnings, quick=quick)
    checks += _kept_checks(folder, claimed)
    if not quick and all(check.holds for check in checks):
        checks += _derived_checks(folder, claimed)
    return Verification(folder, tuple(checks), warnings, quick=quick, derived=() if quick else DERIVED)


def _seal_checks(folder: Path, text: str, content: dict[str, Any]) -> Iterator[Check]:
    body = {key: value for key, value in content.items() if key != "digest"}
    yield Check.that("certificate unchanged", digest(body) == content.get("digest"), "its digest differs")
    wrong = flaw(text, content)
    yield Check.that("certificate text", not wrong, wrong)
    files = content.get("files")
    if not isinstance(files, dict) or PAGE not in files:
        yield Check("files", holds=False, detail="the certificate names no files")
        return
    for name, expected in files.items():
        yield file_check(folder, name, expected, KNOWN)


KNOWN = (
    "microdata.csv",
    "microdata.parquet",
    "persons.csv",
    "persons.parquet",
    "table.csv",
    "table.parquet",
    PAGE,
)


def _file_names(claimed: RecordsCertificate) -> Iterator[Check]:
    """Check that there is a file for each output, and no other."""
    records = claimed.records
    wanted = {PAGE, f"microdata.{records.kind}"}
    if records.persons is not None:
        wanted.add(f"persons.{records.persons.kind}")
    if claimed.table is not None:
        wanted.add("table.parquet" if "table.parquet" in claimed.files else "table.csv")
    yield Check.that("files", wanted == set(claimed.files), "the files are not those of the records")


def _kept_checks(folder: Path, claimed: RecordsCertificate) -> Iterator[Check]:
    """Survey what was released, and compare it with all that is claimed to be kept."""
    try:
        released = _Released(folder, claimed)
        found = released.facts
    except FAILURES as error:
        require_memory(error)
        yield Check("records", holds=False, detail=_words(error))
        return
    yield Check.that(
        "columns and types",
        found.records == claimed.records and released.units.columns.held == claimed.mechanism.held,
        "the file has other columns, types or rows",
    )
    stated = Strata(tuple((one.size, one.strata) for one in claimed.strata.sizes), claimed.strata.alike)
    yield Check.that("strata", found.strata == stated, "the strata are not of the sizes that are stated")
    for mine, theirs in zip(found.induced, claimed.induced, strict=False):
        yield Check.that(
            f"induced invariant {theirs.name}", mine == theirs, "the released records have other joint counts"
        )
    same = len(found.induced) == len(claimed.induced) and len(found.invariants) == len(claimed.invariants)
    yield Check.that("invariants", same, "the certificate lists others than the records have")
    for own, asked in zip(found.invariants, claimed.invariants, strict=False):
        yield Check.that(
            f"invariant {asked.name}: {len(asked.values)} kept",
            own == asked,
            "the records give other numbers",
        )
    for name in claimed.mechanism.renumber:
        numbered = are_numbers(released.units.source, name, found.strata.records)
        yield Check.that(f"{name} renumbered", numbered, "it has others than the numbers of the records")
    if claimed.table is not None:
        yield _table_check(folder, claimed, claimed.table, released)
    if released.units.persons is not None:
        yield _persons_check(released.units.source, released.units.persons)


class _Released:
    """What was released, as files of records."""

    def __init__(self, folder: Path, claimed: RecordsCertificate) -> None:
        section, mechanism = claimed.records, claimed.mechanism
        writing = Writing(section.separator, section.encoding)
        source = open_microdata(folder / f"microdata.{section.kind}", writing)
        columns = Columns.of(
            mechanism.stratify, mechanism.swap, source.columns, "the file", mechanism.renumber
        )
        persons = None
        if section.persons is not None:
            theirs = Writing(section.persons.separator, section.persons.encoding)
            persons = open_microdata(folder / f"persons.{section.persons.kind}", theirs)
        self.units = Units.of(source, columns, section.id, persons)
        kept = tuple(tally_of(one) for one in claimed.invariants)
        cells = None if claimed.table is None else Tally("cells", schema_of(claimed.table).names)
        asked = Asked(kept, cells).checked(self.units.records)
        found = survey(self.units.records, self.units.columns, asked.all, nulls=mechanism.nulls == "level")
        self.cells = None if cells is None else found.counts[-1]
        self.facts = self.units.facts(found, found.counts[: len(kept)])


def _table_check(
    folder: Path, claimed: RecordsCertificate, table: TableSection, released: _Released
) -> Check:
    file = next(name for name in claimed.files if name.startswith("table."))
    try:
        schema = schema_of(table)
        if released.cells is None or not _inferred(table, released.cells):
            return Check("table", holds=False, detail="it has other levels than the released records")
        counts = read_counts(folder / file, Cells.of(table.model_dump(mode="json", by_alias=True)))
        same = np.array_equal(counts, cell_counts(released.cells, schema))
    except FAILURES as error:
        require_memory(error)
        return Check("table", holds=False, detail=_words(error))
    return Check.that("table", same, f"{file} is not what the released records count")


def _inferred(table: TableSection, counted: Tally) -> bool:
    """Whether levels that were taken from the data are those of the data, and in their order."""
    levels = {one.name: one.levels for one in table.cells.attributes}
    named = tuple(name for name in levels if name in table.inferred)
    return table.inferred == named and all(counted.levels(name) == levels[name] for name in named)


def _persons_check(households: Microdata, persons: Persons) -> Check:
    names = [persons.id, *persons.swap]
    try:
        same = agree(persons.records.whole(names), households.whole(names), persons.id, persons.swap)
    except FAILURES as error:
        require_memory(error)
        return Check("persons", holds=False, detail=_words(error))
    return Check.that("persons", same, "persons are not where their household is")


def _derived_checks(folder: Path, claimed: RecordsCertificate) -> Iterator[Check]:
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
    for name in theirs:
        if mine.get(name) != theirs[name]:
            yield Check(name, holds=False, detail=f"the certificate claims another {name} than follows")
    yield Check.that("guarantee", mine == theirs, "it is not what follows from the records and the design")
    if mine == theirs:
        yield _page_check(folder / PAGE, claimed)


def _follows(claimed: RecordsCertificate) -> RecordsCertificate:
    privacy = Privacy(**dict(claimed.target))
    strata = Strata(tuple((one.size, one.strata) for one in claimed.strata.sizes), claimed.strata.alike)
    facts = Facts(claimed.records, strata, claimed.invariants, claimed.induced)
    mechanism = PermutationSwapping.of(claimed.mechanism, strata, facts.scope, privacy.whom)
    target = target_of(privacy)
    if target.adjacency != "unit" or not mechanism.guarantee.meets(target):
        raise ValueError("the guarantee does not meet the target")
    said = None if claimed.publication is None else Publication(**dict(claimed.publication))
    follows = certify_records(
        privacy,
        facts,
        mechanism,
        secure=claimed.randomness.secure,
        table=claimed.table,
        publication=said,
        created=claimed.created,
    )
    return follows.model_copy(update={"software": claimed.software})


def _page_check(path: Path, claimed: RecordsCertificate) -> Check:
    parquet = "table.parquet" in claimed.files
    try:
        same = render_records(claimed.unsealed, parquet=parquet).encode("utf-8") == path.read_bytes()
    except FAILURES as error:
        require_memory(error)
        same = False
    return Check.that("page", same, "the page is not the page of this certificate")


def _words(error: BaseException) -> str:
    told = isinstance(error, HoldfastError) or type(error) is ValueError
    return str(error).rstrip(".") if told else "the certificate is damaged: restore it from the release"
