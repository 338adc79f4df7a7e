"""Reading certificates, of this version and of the one before."""

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from holdfast.certificate import version_1
from holdfast.certificate.model import FORMAT, Certificate
from holdfast.errors import ReleaseError

CERTIFICATE = "certificate.json"


def read_text(folder: Path) -> str:
    """Return the text of the certificate in a folder."""
    if not folder.is_dir():
        raise ReleaseError(f"{folder} is not a folder: name the folder of a release.")
    path = folder / CERTIFICATE
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise ReleaseError(f"{path} cannot be read: name the folder of a release.") from None


def parse(text: str, place: str) -> dict[str, Any]:
    """Return the JSON of a certificate as it stands; raises ReleaseError where it is none."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ReleaseError(f"{place} is not JSON ({error}): restore it from the release.") from None
    if not isinstance(content, dict) or content.get("format") not in (FORMAT, version_1.FORMAT):
        raise ReleaseError(f"{place} is not a certificate of the form {FORMAT}: restore it from the release.")
    return content


def certificate_of(content: dict[str, Any], place: str) -> Certificate:
    """Return the certificate that JSON describes; raises ReleaseError where it is damaged."""
    try:
        if content["format"] == version_1.FORMAT:
            content = version_1.upgraded(content)
        return Certificate.model_validate_json(json.dumps(content))
    except ValidationError as error:
        first = error.errors()[0]
        where = " ".join(str(step) for step in first["loc"]) or "the whole"
        raise ReleaseError(f"{place} is damaged ({where}: {first['msg']}): restore it.") from None
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
        raise ReleaseError(f"{place} is damaged: restore it from the release.") from None


def read_certificate(folder: Path) -> Certificate:
    """Return the certificate of a release."""
    place = str(folder / CERTIFICATE)
    return certificate_of(parse(read_text(folder), place), place)
