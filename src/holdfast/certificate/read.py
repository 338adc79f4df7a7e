"""Reading certificates: of one table, of several, and of records."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from holdfast.certificate.model import Certificate
from holdfast.certificate.records.model import RecordsCertificate
from holdfast.certificate.several.model import TablesCertificate
from holdfast.certificate.text import CERTIFICATE, RECORDS, SEVERAL, parse, read_text
from holdfast.errors import ReleaseError

AnyCertificate = Certificate | TablesCertificate | RecordsCertificate
"""The certificate of any release."""


def certificate_of(content: dict[str, Any], place: str) -> Certificate:
    """Return the certificate that JSON describes; raises ReleaseError where it is damaged."""
    with _damaged(place):
        return Certificate.model_validate_json(json.dumps(content))


def tables_certificate_of(content: dict[str, Any], place: str) -> TablesCertificate:
    """Return the certificate of several tables; raises ReleaseError where it is damaged."""
    with _damaged(place):
        return TablesCertificate.model_validate_json(json.dumps(content))


def records_certificate_of(content: dict[str, Any], place: str) -> RecordsCertificate:
    """Return the certificate of records; raises ReleaseError where it is damaged."""
    with _damaged(place):
        return RecordsCertificate.model_validate_json(json.dumps(content))


@contextmanager
def _damaged(place: str) -> Iterator[None]:
    try:
        yield
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


def read_any_certificate(folder: Path) -> AnyCertificate:
    """Return the certificate of a release of one table, of several, or of records."""
    place = str(folder / CERTIFICATE)
    content = parse(read_text(folder), place, several=True)
    readers: dict[str, Callable[[dict[str, Any], str], AnyCertificate]] = {
        SEVERAL: tables_certificate_of,
        RECORDS: records_certificate_of,
    }
    return readers.get(content["format"], certificate_of)(content, place)
