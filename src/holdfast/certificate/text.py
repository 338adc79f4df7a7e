"""The text of a certificate: read as it stands, in the one form that certificates are written in.

Nothing else can hide in it: a key that stands twice, a number that is none, spaces and other bytes all make
it another text. Nothing heavy is loaded here.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

from holdfast.data.nmf.folder import is_opened
from holdfast.system.errors import ReleaseError
from holdfast.system.files import special
from holdfast.system.text import read_json

CERTIFICATE = "certificate.json"
FORMAT: Final = "holdfast-certificate/4"
AT_ONCE = 1 << 16
"""Names and numbers that are put together at once, of which some certificates have millions."""
LONG = 1 << 24
"""Characters that are made bytes at once."""
MOST_DIGITS = 400
"""Longer integers stand in no certificate, and are not read."""


def read_text(folder: Path) -> str:
    """Return the text of the certificate in a folder, every byte of it."""
    require_release(folder)
    path = folder / CERTIFICATE
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        raise ReleaseError(f"{path} cannot be read: name the folder of a release.") from None


def require_release(folder: Path) -> None:
    """Raise ReleaseError unless there is a folder with a certificate, which nobody need be able to read."""
    if not folder.is_dir():
        raise ReleaseError(f"{folder} is not a folder: name the folder of a release.")
    if is_opened(folder):
        raise ReleaseError(
            f"{folder} holds measurements that were opened, and no release: intervals, infer and"
            " estimate work on"
            " it."
        )
    path = folder / CERTIFICATE
    try:
        kind = special(path, links=False)
    except OSError:
        raise ReleaseError(f"{path} cannot be read: name the folder of a release.") from None
    if kind is not None:
        raise ReleaseError(f"{path} is {kind}: a release is made of plain files, restore it.")


def parse(text: str, place: str) -> dict[str, Any]:
    """Return the JSON of a certificate as it stands; raises ReleaseError where it is none.

    What JSON has no word for, NaN or an endless integer, is read as null: `flaw` finds it.
    """
    try:
        content = read_json(text, parse_constant=lambda _: None, parse_int=_whole)
    except json.JSONDecodeError as error:
        raise ReleaseError(f"{place} is not JSON ({error}): restore it from the release.") from None
    except ValueError as error:
        raise ReleaseError(f"{place} {error}: restore it from the release.") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ReleaseError(f"{place} is not a certificate of the form {FORMAT}: restore it from the release.")
    return content


def canonical(content: Mapping[str, Any]) -> str:
    """Return the text in which certificates are written."""
    return "".join(in_parts(content))


def in_parts(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield the text in which certificates are written, some of it at a time."""
    encoded = json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(content)
    while some := "".join(islice(encoded, AT_ONCE)):
        yield some
    yield "\n"


def is_canonical(text: str, content: Mapping[str, Any]) -> bool:
    """Whether a text is the one in which a content is written."""
    at = 0
    for part in json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(content):
        if not text.startswith(part, at):
            return False
        at += len(part)
    return text[at:] == "\n"


def flaw(text: str, content: Mapping[str, Any]) -> str:
    """Return what is wrong with a text that was read as a content, "" where it is as it would be written."""
    if is_canonical(text, content):
        return ""
    twice = _repeated(text)
    if twice is not None:
        return f"the key {twice!r} stands twice in one place"
    return "it is not in the one form that certificates are written in"


def digest(body: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a record in a canonical form."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    found = hashlib.sha256()
    for begin in range(0, len(text), LONG):
        found.update(text[begin : begin + LONG].encode(errors="surrogatepass"))
    return found.hexdigest()


def _whole(digits: str) -> int | None:
    return int(digits) if len(digits) <= MOST_DIGITS else None


def _repeated(text: str) -> str | None:
    """Return a key that stands twice in one object."""
    found: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> None:
        keys = [key for key, _ in items]
        found.extend(key for place, key in enumerate(keys) if key in keys[:place])

    read_json(text, object_pairs_hook=pairs, parse_int=_whole)
    return found[0] if found else None
