"""The form of certificates of processed tables, `holdfast-postprocessed/1`: names, words, and the release."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.certificate.text import CERTIFICATE
from holdfast.plain import special

FORMAT = "holdfast-postprocessed/1"
TABLE, RELEASE = "table.csv", "release.json"
KEYS = (
    "format",
    "software",
    "created",
    "release",
    "method",
    "solver",
    "statement",
    "guarantee",
    "places",
    "bias",
    "files",
    "digest",
)
STATEMENT = (
    "This table was computed from the release and its invariants alone, so it has the guarantee of the"
    " release, among tables with the same invariants, and costs no budget [semi-dp, Proposition 23]. It is"
    " biased, which the release is not: taking negative counts away tends to push small counts up, and so"
    " others down."
)


EVEN = "a public table fitted to the invariants; the confidential table was not used"
ROUGH = "the whole table nearest to the release; the confidential table was not used"
NOT_ASKED, NOT_SIMULATED = (
    "it was not asked for.",
    "the noise cannot be simulated from public values soon enough.",
)
"""Why there is no bias: nothing else is said of it."""


def release_section(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a release is named, from its certificate."""
    publication = content.get("publication")
    title = publication.get("title") if isinstance(publication, dict) else None
    return {
        "certificate_digest": content.get("digest"),
        "title": title,
        "created": content.get("created"),
    }


def is_processed(folder: Path) -> bool:
    """Whether a folder holds a certificate of this form, as far as its beginning tells."""
    path = folder / CERTIFICATE
    try:
        if special(path, links=False) is not None:
            return False
        with path.open("rb") as file:
            begin = file.read(200).decode("utf-8", errors="replace")
    except OSError:
        return False
    return json.dumps(FORMAT) in begin
