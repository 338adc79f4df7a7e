"""Whom a release protects, in words: one noun, of which every sentence of a guarantee is made.

A table counts records. Where each stands for one unit, a record is called by the name of the unit; where a
unit may have several, records are records, and the unit is who has them. The unit "record" is the person
behind one record.
"""

import unicodedata
from dataclasses import dataclass

MOST_LETTERS = 40
MOST_RECORDS = 10**6
JOINTS = " -'\u2019"
"""What may stand between the letters of a noun."""
IRREGULAR = {"person": "people", "child": "children", "man": "men", "woman": "women"}


@dataclass(frozen=True)
class Whom:
    """A unit by its noun, and how many records it has at most."""

    unit: str = "record"
    records: int = 1

    @property
    def one(self) -> str:
        """Who is protected: "person", "household"."""
        return "person" if self.unit == "record" else self.unit

    @property
    def many(self) -> str:
        """Several of them: "people", "households"."""
        return plural(self.one)

    @property
    def record(self) -> str:
        """What a table counts: units where each is one record, else records."""
        return self.unit if self.records == 1 else "record"

    @property
    def counted(self) -> str:
        """Several of what a table counts."""
        return plural(self.record)

    def amount(self, count: int) -> str:
        """Return a number of what a table counts: "1 household", "3 households"."""
        return f"{count:,} {self.record if count == 1 else self.counted}"


RECORD = Whom()
"""The person behind one record."""


def plural(noun: str) -> str:
    """Return several of a noun, by the last of its words.

    >>> [plural(noun) for noun in ("household", "visit", "person", "family", "young child", "business")]
    ['households', 'visits', 'people', 'families', 'young children', 'businesses']
    """
    for one, many in IRREGULAR.items():
        if noun == one or noun.endswith((f" {one}", f"-{one}")):
            return noun.removesuffix(one) + many
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2:-1] not in ("", *"aeiou"):
        return f"{noun[:-1]}ies"
    return f"{noun}s"


def noun_flaw(noun: str) -> str:
    """Return what keeps a text from being a noun in a sentence, "" where nothing does."""
    if not noun.strip():
        return "is empty"
    if len(noun) > MOST_LETTERS:
        return f"has {len(noun):,} letters"
    letters = [unicodedata.category(letter)[0] in "LM" for letter in noun]
    whole = all(is_letter or letter in JOINTS for is_letter, letter in zip(letters, noun, strict=True))
    if not whole or not letters[0] or not letters[-1] or "  " in noun:
        return "has more than words in it"
    return ""
