"""The page of a swapped file: what moved within what, what is kept, and what that protects."""

from datetime import datetime

from holdfast.certificate.model import ProvedSection
from holdfast.certificate.page import (
    MOST_ITEMS,
    STANDARDS,
    environment,
    strength_of,
    style_of,
)
from holdfast.certificate.records.model import RecordsCertificate, SizeSection
from holdfast.certificate.references import cited
from holdfast.certificate.verdict import LEVELS
from holdfast.privacy.guarantee import times
from holdfast.spec.whom import Whom

FEW = 10
"""Sizes of strata that the page lists, the largest first."""


def render_records(certificate: RecordsCertificate, *, parquet: bool = False) -> str:
    """Return the page of a certificate of records, beside a table in CSV or Parquet if there is one."""
    guarantee, unit = certificate.guarantee, certificate.guarantee.unit
    epsilon = guarantee.intensity["epsilon"]
    references = [item.reference for item in guarantee.evidence if isinstance(item, ProvedSection)]
    sizes: list[SizeSection] = sorted(certificate.strata.sizes, key=lambda one: -one.size)
    return (
        environment()
        .get_template("records/page.html.j2")
        .render(
            {name: getattr(certificate, name) for name in RecordsCertificate.model_fields},
            style=style_of(),
            created_at=datetime.fromisoformat(certificate.created),
            whom=Whom(unit.name, unit.records_per_unit),
            files=_files(certificate, parquet=parquet),
            largest=sizes[:FEW],
            more=max(0, len(sizes) - FEW),
            numbers=sum(len(item.values) for item in certificate.invariants),
            times=times(epsilon),
            closest=times(2 * epsilon / unit.records_per_unit),
            strength=strength_of(guarantee.intensity),
            asked=strength_of(certificate.target.intensity),
            standard=STANDARDS.get(guarantee.standard, guarantee.standard),
            works=cited(references),
            LEVELS=LEVELS,
            MOST_ITEMS=MOST_ITEMS,
        )
    )


def _files(certificate: RecordsCertificate, *, parquet: bool) -> list[str]:
    records = certificate.records
    found = [f"microdata.{records.kind}"]
    if records.persons is not None:
        found.append(f"persons.{records.persons.kind}")
    if certificate.table is not None:
        found.append(f"table.{'parquet' if parquet else 'csv'}")
    return found
