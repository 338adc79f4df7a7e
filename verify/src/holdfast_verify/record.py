"""The text of a certificate, which has one form and one digest, and values of it by their types.

A certificate is JSON with two spaces for each level and its keys in order. A key that stands twice, a number
that JSON has no word for, another space: each makes it another text, so the text is compared with the one
that its values have.
"""

import hashlib
import json
import re
import stat
from pathlib import Path
from typing import Any

CERTIFICATE, PAGE, SIGNATURE = "certificate.json", "certificate.html", "certificate.sig"
FORMAT = "holdfast-certificate/4"
MOST_DIGITS = 400
DEEPEST = 64
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Controls, marks of direction, breaks of lines, and what has no width."""


class NoReleaseError(Exception):
    """There is nothing to check: no folder, no certificate, no key."""


class DamagedError(ValueError):
    """A value is not as a release writes it; says what and where."""


class NotCheckedError(Exception):
    """Something cannot be checked here; says what it takes."""


def visible(text: str) -> str:
    """Return a text in which everything can be seen, on one line."""
    return _UNSEEN.sub(lambda sign: sign[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text)


def plain_bytes(path: Path) -> bytes:
    """Return the bytes of a plain file; links, pipes and folders are not opened, and raise OSError."""
    try:
        mode = path.lstat().st_mode
    except ValueError:  # no name that a file can have
        raise FileNotFoundError from None
    if not stat.S_ISREG(mode):
        raise IsADirectoryError
    return path.read_bytes()


def read(text: str, place: str) -> dict[str, Any]:
    """Return the values of a certificate; raises NoReleaseError where a text is none."""
    try:
        content = json.loads(text, parse_int=_whole, parse_constant=lambda _: None)
        _require_shallow(content)
    except (ValueError, RecursionError):
        raise NoReleaseError(f"{place} is not JSON: restore it from the release.") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise NoReleaseError(f"{place} is not a certificate of the form {FORMAT}: restore it.")
    return content


def flaw(text: str, content: dict[str, Any]) -> str:
    """Return what is wrong with a text that was read as these values, "" where nothing is."""
    if text == json.dumps(content, indent=2, ensure_ascii=False) + "\n":
        return ""
    twice: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> None:
        keys = [key for key, _ in items]
        twice.extend(key for at, key in enumerate(keys) if key in keys[:at])

    json.loads(text, object_pairs_hook=pairs, parse_int=_whole)
    if twice:
        return f"the key '{visible(twice[0])}' stands twice in one place"
    return "it is not in the one form that certificates are written in"


def digest(content: dict[str, Any]) -> str:
    """Return the SHA-256 of all but the digest: sorted keys, no spaces, UTF-8."""
    body = {key: value for key, value in content.items() if key != "digest"}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _whole(digits: str) -> int | None:
    return int(digits) if len(digits) <= MOST_DIGITS else None


def _require_shallow(value: Any, left: int = DEEPEST) -> None:
    held = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    if held is None:
        return
    if not left:
        raise ValueError
    for inner in held:
        _require_shallow(inner, left - 1)


# values by their types


def field(holder: Any, name: str) -> Any:
    """Return a field of an object."""
    if not isinstance(holder, dict) or name not in holder:
        raise DamagedError(f"the certificate has no {name!r} where one belongs")
    return holder[name]


def objects(holder: Any, name: str) -> list[Any]:
    """Return a field that is a list."""
    found = field(holder, name)
    if not isinstance(found, list):
        raise DamagedError(f"{name!r} in the certificate is no list")
    return found


def texts(holder: Any, name: str) -> list[str]:
    """Return a field that is a list of texts."""
    found = objects(holder, name)
    if not all(isinstance(one, str) for one in found):
        raise DamagedError(f"{name!r} in the certificate is no list of texts")
    return found


def wholes(holder: Any, name: str) -> list[int]:
    """Return a field that is a list of whole numbers."""
    found = objects(holder, name)
    if not all(type(one) is int for one in found):
        raise DamagedError(f"{name!r} in the certificate is no list of whole numbers")
    return found


def text_of(holder: Any, name: str) -> str:
    """Return a field that is a text."""
    found = field(holder, name)
    if not isinstance(found, str):
        raise DamagedError(f"{name!r} in the certificate is no text")
    return found


def object_of(holder: Any, name: str) -> dict[str, Any]:
    """Return a field that is an object."""
    found = field(holder, name)
    if not isinstance(found, dict):
        raise DamagedError(f"{name!r} in the certificate is no object")
    return found
