"""What readers are told of a publication: who published what, and where."""

import unicodedata
from typing import ClassVar
from urllib.parse import urlsplit

from pydantic import field_validator

from holdfast.spec.part import Part

MOST_LETTERS = 300


class Publication(Part):
    """Texts for the page of a release, all of them optional; nothing is worked out from them."""

    section: ClassVar = ("publication",)

    title: str | None = None
    publisher: str | None = None
    contact: str | None = None
    period: str | None = None
    url: str | None = None
    licence: str | None = None

    @field_validator("*", mode="before")
    @classmethod
    def _one_line(cls, text: object) -> object:
        if text is None:
            return None
        if not isinstance(text, str):
            raise ValueError("must be text in quotes")  # noqa: TRY004
        if flaw := line_flaw(text):
            raise ValueError(f"{flaw}: give one line of at most {MOST_LETTERS} letters, or leave it out")
        return text

    @field_validator("url")
    @classmethod
    def _address(cls, url: str | None) -> str | None:
        if url is not None and not is_address(url):
            raise ValueError("is no address of the web: begin it with https:// or http://")
        return url

    @property
    def said(self) -> dict[str, str]:
        """What was given, by name."""
        return {name: value for name in type(self).model_fields if (value := getattr(self, name)) is not None}


def line_flaw(text: str) -> str:
    """Return what keeps a text from being one line, "" where nothing does."""
    if not text.strip():
        return "is empty"
    if len(text) > MOST_LETTERS:
        return f"has {len(text):,} letters"
    if any(unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") for letter in text):
        return "has a line break or a control character"
    return ""


def is_address(url: str) -> bool:
    """Whether a text is an address of a page: http or https, a host, and no space."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and not any(map(str.isspace, url))
    except ValueError:
        return False
