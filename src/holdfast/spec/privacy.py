"""The target of a spec: who is protected, by which standard, and how strongly.

Whom a release protects is one noun, of which every sentence of a guarantee is made. A table counts records.
Where each stands for one unit, a record is called by the name of the unit; where a unit may have several,
records are records, and the unit is who has them. The unit "record" is the person behind one record.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self, get_args

from pydantic import StrictInt, field_validator, model_validator

from holdfast.spec.part import Part, PlacedError, Text
from holdfast.spec.values import SMALLEST, Rational, short
from holdfast.system.errors import SpecError

MOST_LETTERS = 40
MOST_RECORDS = 10**6
JOINTS = " -'\u2019"
"""What may stand between the letters of a noun."""
Neighbours = Literal["replace", "add-remove"]
"""What makes two tables neighbours: one record is another, or one is there or not [theory, 14]."""
IRREGULAR = {"person": "people", "child": "children", "man": "men", "woman": "women"}


@dataclass(frozen=True)
class ProtectedUnit:
    """A unit by its noun, how many records it has at most, and what becomes of them between neighbours."""

    unit: str = "record"
    records: int = 1
    neighbours: Neighbours = "replace"

    @property
    def presence(self) -> bool:
        """Whether it is protected that records are there at all: they come and go."""
        return self.neighbours == "add-remove"

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

    def apart(self, count: int) -> str:
        """Return a distance of tables: "1 household", "3 households added or removed"."""
        return f"{self.amount(count)} added or removed" if self.presence else self.amount(count)


RECORD = ProtectedUnit()
"""The person behind one record."""


def plural(noun: str) -> str:
    """Return several of a noun, by the last of its words.

    >>> [plural(noun) for noun in ("household", "visit", "person", "family", "young child", "business")]
    ['households', 'visits', 'people', 'families', 'young children', 'businesses']
    """
    if " or " in noun:
        return " or ".join(map(plural, noun.split(" or ")))
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


TargetStandard = Literal["pure", "zcdp", "approximate", "gaussian"]


MODEL: Final = "model"
"""What laws of a model file are called in a certificate, which states their content."""


SecretLaws = Literal["pairs", "independent", "everything", "model"]
LawKind = Literal["everything", "pairs", "independent", "family", "listed"]
"""How a class of laws is made, which decides what its guarantee implies.

* ``everything``: every law on the data that agree with the public facts.
* ``pairs``: even chances of two datasets that agree with them and are at most ``distance`` records apart.
* ``independent``: records independent of each other, given that the data agree with the public facts.
* ``family``: the laws of a named family with parameters.
* ``listed``: the laws that the data list, and no other.
"""


NEEDS: Mapping[str, tuple[str, ...]] = {
    "pure": ("epsilon",),
    "approximate": ("epsilon", "delta"),
    "zcdp": ("rho",),
    "gaussian": ("mu",),
}
"""What each standard takes."""


LEAST, MOST = Fraction(1, 10**30), Fraction(10**6)
"""Beyond these no noise can be drawn, or nothing is protected."""


class Privacy(Part):
    """The target: who is protected, by which standard, and how strongly.

    >>> hf.Privacy(epsilon="1/2", unit="household").epsilon
    Fraction(1, 2)
    """

    section: ClassVar = ("privacy",)

    unit: Text = "record"
    records_per_unit: StrictInt = 1
    standard: TargetStandard = "pure"
    epsilon: Rational | None = None
    delta: Rational | None = None
    rho: Rational | None = None
    mu: Rational | None = None
    adjacency: Literal["semi", "unit"] = "semi"
    neighbours: Neighbours = "replace"
    distance: StrictInt | None = None
    laws: Text | None = None
    """For which laws of the data, given what is public, the guarantee is stated in terms of secrets, too: a
    word, or the name of a model file."""

    if TYPE_CHECKING:  # numbers may be given as text

        def __init__(self, **values: Any) -> None: ...

    def _follows(self, key: str) -> bool:  # noqa: ARG002 - of a target whose budget is given
        """Whether a number of the budget is worked out, and need not be given."""
        return False

    @property
    def budget(self) -> str:
        """The name of the number that accuracy is bought with."""
        return next(name for name in NEEDS[self.standard] if name != "delta")

    def spending(self, budget: Fraction) -> "Privacy":
        """Return the same target with a budget."""
        return Privacy(**{**dict(self), self.budget: budget})

    @field_validator("unit")
    @classmethod
    def _a_noun(cls, unit: str) -> str:
        if flaw := noun_flaw(unit):
            raise ValueError(
                f"{flaw}: name whom one protects by a noun of at most {MOST_LETTERS} letters, such as"
                ' "household"'
            )
        return unit

    @field_validator("records_per_unit")
    @classmethod
    def _some_records(cls, records: int) -> int:
        if not 1 <= records <= MOST_RECORDS:
            raise ValueError(
                f"is {short(str(records))}: give the most records that one unit has, from 1 to"
                f" {MOST_RECORDS:,}"
            )
        return records

    @property
    def whom(self) -> ProtectedUnit:
        """Whom it protects, in words."""
        return ProtectedUnit(self.unit, self.records_per_unit, self.neighbours)

    @field_validator("laws")
    @classmethod
    def _words_or_a_file(cls, laws: str | None) -> str | None:
        words = get_args(SecretLaws)
        if laws is not None and laws not in words and not laws.endswith(".toml"):
            known = ", ".join(f'"{word}"' for word in words if word != MODEL)
            raise ValueError(f"is {laws!r}: it must be one of {known}, or name a .toml file with a model")
        return laws

    @property
    def laws_kind(self) -> SecretLaws | None:
        """The word for the laws, "model" for those of a file."""
        return next(
            (word for word in get_args(SecretLaws) if word == self.laws), MODEL if self.laws else None
        )

    @field_validator("epsilon", "rho", "mu")
    @classmethod
    def _positive(cls, value: Rational | None) -> Rational | None:
        if value is not None and value <= 0:
            raise ValueError(
                f'is {short(str(value))}: nothing could be released; give a positive budget such as "1"'
            )
        if value is not None and not LEAST <= value <= MOST:
            raise ValueError('is out of reach: give a budget from "1e-30" to "1e6"')
        return value

    @field_validator("delta")
    @classmethod
    def _probability(cls, delta: Rational | None) -> Rational | None:
        if delta is not None and not SMALLEST <= delta < 1:
            raise ValueError(f'is {short(str(delta))}: give a small probability above 0, such as "1e-10"')
        return delta

    @model_validator(mode="after")
    def _records_apart(self) -> Self:
        if self.distance is not None and self.distance < 1:
            raise ValueError(f"distance is {self.distance}: give a number of records of at least 1")
        if self.distance is not None and self.adjacency == "unit":
            raise ValueError('distance goes with adjacency = "semi": leave it out, or change the adjacency')
        return self

    @model_validator(mode="after")
    def _laws_of_secrets(self) -> Self:
        if self.laws is None:
            return self
        if self.standard not in ("pure", "zcdp"):
            raise ValueError(
                f'laws goes with the standards "pure" and "zcdp", and not with "{self.standard}": leave it'
                " out, or change the standard"
            )
        if self.records_per_unit > 1:
            raise ValueError(
                "laws speaks of the secrets of single records: leave it out, or records_per_unit"
            )
        if self.neighbours != "replace":
            raise ValueError(
                "laws speaks of the values of records, and not of who is there: leave it out, or set"
                ' neighbours = "replace"'
            )
        if self.laws == "pairs" and self.adjacency == "unit":
            raise ValueError('laws = "pairs" goes with adjacency = "semi": choose other laws, or change it')
        return self

    @model_validator(mode="after")
    def _what_the_standard_needs(self) -> Self:
        needed = NEEDS[self.standard]
        for key in ("epsilon", "delta", "rho", "mu"):
            if getattr(self, key) is not None and key not in needed:
                lacking = [one for one in needed if getattr(self, one) is None]
                own = " or ".join(f'"{standard}"' for standard, keys in NEEDS.items() if key in keys)
                raise ValueError(
                    f'{key} does not belong to the standard "{self.standard}", which takes'
                    f" {' and '.join(needed)}, but to {own}: change the standard, or"
                    + (f" give {' and '.join(lacking)} in its place" if lacking else " leave it out")
                )
        missing = [key for key in needed if getattr(self, key) is None and not self._follows(key)]
        # A pure epsilon may follow from the mechanism's own parameter: the mechanism decides.
        if missing and self.standard != "pure":
            raise ValueError(
                f'{missing[0]} is missing: the standard "{self.standard}" needs {" and ".join(needed)}'
            )
        return self


class OpenPrivacy(Privacy):
    """A target whose budget follows from how accurate a release has to be."""

    def _follows(self, key: str) -> bool:
        return key == self.budget

    @model_validator(mode="after")
    def _has_no_budget(self) -> Self:
        if getattr(self, self.budget) is not None:
            raise ValueError(
                f"{self.budget} is given, and so is the accuracy that it would follow from: leave out one of"
                " the two"
            )
        return self


def without_budget(given: object) -> object:
    """Return what a section says of a target whose budget follows; what is none is left as it is."""
    values = dict(given) if isinstance(given, Privacy) else given
    if not isinstance(values, Mapping):
        return given
    try:
        return OpenPrivacy(**values)
    except SpecError as error:
        raise PlacedError(str(error)) from None
