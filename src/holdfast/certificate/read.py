"""Reading certificates."""

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from holdfast.certificate.model import Certificate
from holdfast.certificate.text import CERTIFICATE, parse, read_text
from holdfast.system.errors import ReleaseError


def certificate_of(content: dict[str, Any], place: str) -> Certificate:
    """Return the certificate that JSON describes; raises ReleaseError where it is damaged."""
    try:
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
