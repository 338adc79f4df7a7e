"""A record for the public registry of deployments of differential privacy, as a YAML file.

A guarantee subject to invariants has the name of its plain variant, with the scope in `data_domain` and the
invariants in `unprotected_quantities`; swapping and guarantees of secrets are "Custom". What only the agency
can say is left for it to fill in, by name.
"""

import json
from collections.abc import Mapping
from typing import Any

from holdfast.certificate.metadata import sealed_as
from holdfast.certificate.model import Certificate
from holdfast.certificate.parts import ProcessedPart, RecordsPart

VARIANTS = {"pure": "Pure DP", "approximate": "Approximate DP", "zcdp": "Zero-concentrated DP"}
ASK = "To be completed by the agency."


def registry_record(certificate: Certificate, name: str) -> dict[str, Any]:
    """Return the record, under a name for its address."""
    publication = certificate.publication
    said = {} if publication is None else publication.model_dump(exclude_none=True)
    guarantee, unit = certificate.guarantee, certificate.guarantee.unit
    apart = unit.value.whom.apart(unit.distance)
    records = isinstance(certificate.parts[0], RecordsPart)
    processed = isinstance(certificate.parts[0], ProcessedPart)
    custom = records or certificate.secrets is not None
    statement = certificate.secrets.statement if certificate.secrets else guarantee.statement
    scope = guarantee.scope
    domain = [f"{guarantee.domain}.", *(f"{claim.words}." for claim in scope.constraints)]
    if scope.invariants:
        domain.append(f"Compared are data that have the same {', '.join(scope.invariants)}.")
    induced = [f"Kept by the mechanism itself: {', '.join(scope.induced)}."] if scope.induced else []
    mechanisms = sorted({part.mechanism.name for part in certificate.parts if hasattr(part, "mechanism")})
    return {
        "url_slug": name.replace("_", "-"),
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": said.get("title", ASK),
                "data_curators": [said.get("publisher", ASK)],
                "description": f"{statement}",
                "intended_use": ASK,
                "data_product_type": "Dataset" if records else "Summary statistics",
                "data_product_region": ASK,
                "publication_date": certificate.created[:10],
            },
            "dp_variant": {
                "variant_name": "Custom" if custom else VARIANTS.get(guarantee.standard, "Custom"),
                "data_domain": "\n".join(line[:1].upper() + line[1:] for line in domain),
                "unprotected_quantities": "\n".join(
                    [*(f"Published exactly: {each}." for each in scope.invariants), *induced]
                )
                or "None.",
            },
            "privacy_loss": {
                "privacy_unit": unit.name,
                "privacy_unit_details": f"Data that differ in at most {apart}, of the same scope.",
                "privacy_parameters": {
                    key: float(value)
                    for key, value in guarantee.intensity.items()
                    if key in ("epsilon", "delta", "rho")
                },
                "privacy_parameters_details": "\n".join([statement, *_by_unit(certificate)]),
            },
            "deployment_model": {
                "model_name": "Central",
                "release_type": "One release",
                "data_source_type": "Static",
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": certificate.caveats[0].words if processed else "None.",
                "composition": (
                    f"Charged as row {certificate.ledger.row} of a ledger."
                    if certificate.ledger
                    else "This release alone; others of the same people are not counted."
                ),
            },
            "implementation": {
                "mechanisms": (
                    f"{', '.join(mechanisms) or 'processed after a release'}, by {certificate.software.name}"
                    f" {certificate.software.version}: exact draws in whole numbers, from"
                    f" {certificate.randomness.source}."
                ),
            },
            "administrative": {
                "sources": f"Certificate: {sealed_as(certificate)}."
                + (f" {said['url']}" if "url" in said else ""),
                "registry_authors": [said.get("contact", ASK)],
            },
        },
    }


def _by_unit(certificate: Certificate) -> list[str]:
    """Return what each unit loses by the tables of its own files, where units have tables apart."""
    units = (certificate.joined and certificate.joined.units) or ()
    return [
        f"Of each {one.unit}, by {' and '.join(one.tables)}:"
        f" {', '.join(f'{name} {float(value):g}' for name, value in one.intensity.items())}."
        for one in units
    ]


def yaml(record: Mapping[str, Any]) -> bytes:
    """Return a record as YAML: text in quotes, or in block style where it has several lines."""
    return ("\n".join(_lines(record, 0)) + "\n").encode("utf-8")


def _lines(value: Mapping[str, Any], depth: int) -> list[str]:
    found, indent = list[str](), "  " * depth
    for key, item in value.items():
        if isinstance(item, Mapping):
            found += [f"{indent}{key}:" if item else f"{indent}{key}: {{}}", *_lines(item, depth + 1)]
        elif isinstance(item, list):
            found += [f"{indent}{key}:", *(f"{indent}  - {_quoted(each)}" for each in item)]
        elif isinstance(item, str) and "\n" in item:
            found += [f"{indent}{key}: |", *(f"{indent}  {line}" for line in item.splitlines())]
        else:
            found.append(f"{indent}{key}: {_quoted(item)}")
    return found


def _quoted(value: object) -> str:
    """Return a value in JSON, which YAML reads alike."""
    return json.dumps(value, ensure_ascii=False)
