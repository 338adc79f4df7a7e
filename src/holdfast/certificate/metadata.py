"""What a release is, for search engines and catalogues: a schema.org Dataset that is a DCAT one, too.

It stands in the page as JSON-LD, which no browser runs, and in what leaves in other formats.
"""

import json
from typing import Any

from holdfast.certificate.model import Certificate
from holdfast.certificate.parts import ProcessedPart, RecordsPart
from holdfast.certificate.text import CERTIFICATE


def described(certificate: Certificate) -> dict[str, Any]:
    """Return a release as a schema.org Dataset that is a DCAT one, too; it follows from the certificate.

    What the curator did not say is left out.
    """
    publication = certificate.publication
    said = {} if publication is None else publication.model_dump(exclude_none=True)
    publisher = {"@type": "Organization", "name": said["publisher"]} if "publisher" in said else None
    facts = {
        "@context": {"@vocab": "https://schema.org/", "dcat": "http://www.w3.org/ns/dcat#"},
        "@type": ["Dataset", "dcat:Dataset"],
        "name": said.get("title") or _name(certificate),
        "description": f"{_guaranteed(certificate)} {_kept(certificate)}".strip(),
        "datePublished": certificate.created[:10],
        "publisher": publisher,
        "creator": publisher,
        "temporalCoverage": said.get("period"),
        "url": said.get("url"),
        "license": said.get("licence"),
        "variableMeasured": _variables(certificate),
        "measurementTechnique": f"differential privacy subject to invariants, {_mechanisms(certificate)}",
    }
    return {name: value for name, value in facts.items() if value not in (None, [])}


def sealed_as(certificate: Certificate) -> str:
    """Return how a certificate is found: by its digest, or beside a file that it names, which came first."""
    return f"SHA-256 {certificate.digest}" if certificate.digest else f"{CERTIFICATE}, beside this file"


def embedded(certificate: Certificate) -> str:
    """Return the same as a page holds it: no letter of it can end the element that it stands in."""
    text = json.dumps(described(certificate), ensure_ascii=True)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _name(certificate: Certificate) -> str:
    part = certificate.parts[0]
    if isinstance(part, RecordsPart):
        return "Records, swapped"
    if isinstance(part, ProcessedPart):
        return "Counts, processed after their release"
    return "; ".join(f"counts by {', '.join(names)}" for names in _attributes(certificate)).capitalize()


def _attributes(certificate: Certificate) -> list[list[str]]:
    tables = [table for part in certificate.parts if (table := getattr(part, "table", None)) is not None]
    return [[_short(attribute.name) for attribute in table.cells.attributes] for table in tables]


def _variables(certificate: Certificate) -> list[str]:
    return list(dict.fromkeys(name for names in _attributes(certificate) for name in names))


def _mechanisms(certificate: Certificate) -> str:
    names = [part.mechanism.name for part in certificate.parts if not isinstance(part, ProcessedPart)]
    return ", ".join(dict.fromkeys(names)) or "processed after its release"


def _guaranteed(certificate: Certificate) -> str:
    """Return the guarantee in a few words, whatever stands in the certificate."""
    guarantee = certificate.guarantee
    strength = ", ".join(f"{name} {value}" for name, value in guarantee.intensity.items())
    apart = f"{_short(guarantee.unit.name)}, distance {guarantee.unit.distance}"
    return f"Differential privacy subject to invariants: {guarantee.standard}, {strength} ({apart})."


def _kept(certificate: Certificate) -> str:
    names = [_short(name) for name in certificate.guarantee.scope.invariants]
    return f"Published exactly: {', '.join(names)}." if names else ""


def _short(name: str) -> str:
    """Return a name without its middle where it is very long."""
    return name if len(name) <= 100 else f"{name[:60]}...{name[-20:]}"
