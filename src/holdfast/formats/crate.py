"""An RO-Crate: what archives read of a folder, its files with their hashes, beside the files themselves."""

import json
from collections.abc import Mapping
from pathlib import Path

from holdfast.certificate.metadata import described
from holdfast.certificate.model import Certificate

CRATE = "ro-crate-metadata.json"
MEDIA = {
    ".csv": "text/csv",
    ".parquet": "application/vnd.apache.parquet",
    ".html": "text/html",
    ".json": "application/json",
    ".sig": "application/octet-stream",
}


def crate(certificate: Certificate, sizes: Mapping[str, int | None]) -> bytes:
    """Return the metadata of an RO-Crate 1.1 of a folder, whose files have these sizes, known or not."""
    facts = described(certificate)
    publisher = facts.pop("publisher", None)
    facts.pop("@context")
    facts.pop("creator", None)
    people = [] if publisher is None else [{"@id": "#publisher", **publisher}]
    files = [
        {
            "@id": name,
            "@type": "File",
            "name": name,
            "encodingFormat": MEDIA.get(Path(name).suffix, "application/octet-stream"),
            **({} if size is None else {"contentSize": str(size)}),
            **({"sha256": certificate.files[name]} if name in certificate.files else {}),
        }
        for name, size in sizes.items()
    ]
    root = {
        "@id": "./",
        **facts,
        **({"identifier": f"sha256:{certificate.digest}"} if certificate.digest else {}),
        "@type": "Dataset",
        "license": facts.get("license", "not stated by the publisher"),
        **({"publisher": {"@id": "#publisher"}} if people else {}),
        "hasPart": [{"@id": name} for name in sizes],
    }
    about = {
        "@id": CRATE,
        "@type": "CreativeWork",
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        "about": {"@id": "./"},
    }
    content = {
        "@context": "https://w3id.org/ro/crate/1.1/context",
        "@graph": [about, root, *people, *files],
    }
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode("utf-8")
