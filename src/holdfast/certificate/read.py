"""Reading certificates, of this form and of those before."""

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from holdfast.certificate import version_1, version_2
from holdfast.certificate.model import Certificate
from holdfast.certificate.text import CERTIFICATE, FORMAT, parse, read_text
from holdfast.errors import ReleaseError


def certificate_of(content: dict[str, Any], place: str) -> Certificate:
    """Return the certificate that JSON describes; raises ReleaseError where it is damaged."""
    try:
        if content["format"] == version_1.FORMAT:
            content = version_1.upgraded(content)
        if content["format"] == version_2.FORMAT:
            content = version_2.upgraded(content, FORMAT)
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
