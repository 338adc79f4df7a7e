"""Citations resolved: who wrote what, when, and where it is, from the bibliography that is shipped.

`references.bib` is a copy of `docs/references.bib`; a test holds one against the other.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_ENTRY = re.compile(r"@\w+\{(?P<key>[^,\s]+),(?P<body>.*?)\n\}", re.DOTALL)
_FIELD = re.compile(r"^\s*(\w+)\s*=\s*(?:\{(.*?)\}|(\w+)),?\s*$", re.MULTILINE)
_ACCENT = re.compile(r"""\{\\(['"])(\w)\}""")
_MARKS = {"'": "\u0301", '"': "\u0308"}
_ARXIV = re.compile(r"arXiv:(\d{4}\.\d{4,5})")
WHERE = ("journal", "booktitle", "howpublished", "publisher", "institution", "note")
OWN = ("theory", "holdfast")


@dataclass(frozen=True)
class Reference:
    """One work."""

    key: str
    author: str
    title: str
    year: str
    published: str
    address: str

    @property
    def short(self) -> str:
        """Return the authors' last names and the year."""
        names = [one.partition(",")[0].strip() for one in self.author.split(" and ")]
        people = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
        return f"{people} ({self.year})"

    @property
    def authors(self) -> str:
        """Return all authors, first names first."""
        names = [" ".join(reversed(one.split(", "))) for one in self.author.split(" and ")]
        return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


@cache
def references() -> dict[str, Reference]:
    """Return every work of the bibliography by its key."""
    return parse(files(__package__).joinpath("references.bib").read_text(encoding="utf-8"))


def parse(text: str) -> dict[str, Reference]:
    """Return the works of a BibTeX file."""
    found = {}
    for entry in _ENTRY.finditer(text):
        fields = {name: _plain(value or word) for name, value, word in _FIELD.findall(entry["body"] + "\n")}
        author, title, year = (fields.get(name, "") for name in ("author", "title", "year"))
        published = next((fields[name] for name in WHERE if name in fields), "")
        found[entry["key"]] = Reference(entry["key"], author, title, year, published, _address(fields))
    return found


def cited(citations: Iterable[str]) -> tuple[Reference, ...]:
    """Return the works that citations name, each once, in the order of the bibliography."""
    keys = {part.partition(",")[0] for citation in citations for part in citation.split("; ")}
    return tuple(work for key, work in references().items() if key in keys and key not in OWN)


def in_words(citation: str) -> str:
    """Return a citation as readers know it.

    >>> in_words("integer-subspace-dp, Theorem 10; theory, 4")
    'Dharangutte et al. (2022), Theorem 10; Holdfast, docs/theory.md, section 4'
    """
    return "; ".join(_part(part) for part in citation.split("; "))


def _part(part: str) -> str:
    key, comma, place = part.partition(", ")
    if key == "theory" and comma:
        return f"Holdfast, docs/theory.md, section {place}"
    if key == "holdfast" and comma:
        return f"Holdfast, {place}"
    work = references().get(key)
    return part if work is None else f"{work.short}{comma}{place}"


def _address(fields: dict[str, str]) -> str:
    if "doi" in fields:
        return f"https://doi.org/{fields['doi']}"
    arxiv = _ARXIV.search(" ".join(fields.values()))
    return f"https://arxiv.org/abs/{arxiv[1]}" if arxiv else fields.get("url", "")


def _plain(text: str) -> str:
    """Return a field without its TeX: acute accents and umlauts are all that the bibliography has."""
    accented = _ACCENT.sub(lambda found: unicodedata.normalize("NFC", found[2] + _MARKS[found[1]]), text)
    return accented.replace("{", "").replace("}", "").replace("--", "\u2013").strip()
