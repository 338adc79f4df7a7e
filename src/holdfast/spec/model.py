"""The spec as values: one class a section of the TOML file."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self, get_args

from pydantic import ConfigDict, Field, StrictBool, StrictInt, field_validator, model_validator

from holdfast.errors import SpecError
from holdfast.spec.choice import Where
from holdfast.spec.closest import closest
from holdfast.spec.geography import Geography
from holdfast.spec.part import Part, Text, of_a_file
from holdfast.spec.publication import Publication
from holdfast.spec.rational import SMALLEST, Rational, short
from holdfast.spec.recode import Recode
from holdfast.spec.whom import MOST_LETTERS, MOST_RECORDS, Whom, noun_flaw

InvariantKind = Literal["margin", "total", "where", "weights"]
Standard = Literal["pure", "zcdp", "approximate", "gaussian"]
MODEL: Final = "model"
"""What laws of a model file are called in a certificate, which states their content."""
Laws = Literal["pairs", "independent", "everything", "model"]

OF_RECORDS = ("permutation-swapping",)
"""The mechanisms that release records."""
MISSING = "missing"
"""The level of all missing values."""


class Data(Part):
    """The confidential table: its file, the attributes that make its cells, and its count column.

    Without a count column every row of the file is one record. Data given in memory need no file.
    """

    section: ClassVar = ("data",)

    path: Text | None = None
    cells: tuple[Text, ...] = ()
    """The columns whose levels make the cells; where records are swapped, those of the table to count."""
    count: Text | None = None
    levels: Mapping[str, tuple[Text, ...]] = {}
    within: Mapping[str, Text] = {}
    """For each nested attribute, the one that each of its levels lies in one level of."""
    geography: Geography | None = None
    """A hierarchy whose levels are attributes before the cells."""
    separator: Text = ","
    encoding: Text = "utf-8"
    missing: tuple[Text, ...] = ()
    """Codes of a missing value, which becomes the level "missing"."""
    aggregate: StrictBool = False
    """Whether counts of a cell that is listed several times are summed."""
    recode: Recode = Field(default_factory=dict)
    id: Text | None = None
    """Where records are swapped: the column that tells which unit a row belongs to."""
    persons: Text | None = None
    """Where records are swapped: a file of persons who follow the unit with their id."""

    @property
    def regions(self) -> tuple[str, ...]:
        """The levels of the geography, root first; none where there is no geography."""
        return () if self.geography is None else self.geography.levels

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of the table: the levels of its geography, then the cells."""
        return (*self.regions, *self.cells)

    @property
    def nested(self) -> dict[str, str]:
        """What each nested attribute lies in, levels of the geography included."""
        return {**({} if self.geography is None else self.geography.within), **self.within}

    @field_validator("separator")
    @classmethod
    def _one_sign(cls, separator: str) -> str:
        if len(separator) != 1 or not separator.isascii() or separator.isalnum() or separator in '"\r\n':
            raise ValueError(f'is {separator!r}: give one sign, such as ";" or "\\t" for a tab')
        return separator

    @field_validator("encoding")
    @classmethod
    def _known_encoding(cls, encoding: str) -> str:
        try:
            "".encode(encoding)
        except (LookupError, ValueError):
            raise ValueError(
                f'is {short(encoding)!r}, which is not known: name one such as "utf-8", "latin-1" or "cp1252"'
            ) from None
        return encoding

    @field_validator("path", "persons")
    @classmethod
    def _named(cls, path: str | None) -> str | None:
        if path == "":
            raise ValueError("is empty: name a .csv or .parquet file")
        return path

    @field_validator("cells")
    @classmethod
    def _some_distinct_cells(cls, cells: tuple[str, ...]) -> tuple[str, ...]:
        if "" in cells:
            raise ValueError("has an empty name: name a column")
        _distinct(cells)
        return cells

    @field_validator("levels")
    @classmethod
    def _some_distinct_levels(cls, levels: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
        for attribute, names in levels.items():
            if not names:
                raise ValueError(f"{attribute} is empty: name its levels, or leave it out")
            if "" in names:
                raise ValueError(f"{attribute} has an empty level: give every level a name")
            _distinct(names, f"{attribute} ")
        return levels

    @model_validator(mode="after")
    def _columns_agree(self) -> Self:
        if self.count is not None and self.count in self.cells:
            raise ValueError(f"count is {self.count!r}, which is also among cells: take it out of one")
        for level in self.regions:
            if level in self.cells or level == self.count:
                other = "count" if level == self.count else "cells"
                raise ValueError(
                    f"geography has a level {level!r}, which is also in {other}: take it out of {other}, as"
                    " levels are attributes of the table by themselves"
                )
        if self.count == "":
            raise ValueError("count is empty: name a column, or leave it out to count records")
        for attribute in self.levels:
            if attribute not in self.attributes:
                raise ValueError(
                    f"levels names {attribute!r}, which is not among cells:"
                    f" {closest(attribute, self.attributes)}"
                )
        for attribute in self.recode:
            if attribute not in self.cells:
                raise ValueError(
                    f"recode names {attribute!r}, which is not among cells: {closest(attribute, self.cells)}"
                )
        for attribute, names in self.levels.items():
            for code in self.missing:
                if code in names and code != MISSING:
                    raise ValueError(
                        f"levels {attribute} names {code!r}, which is a code of missing: write {MISSING!r}"
                        " there, the level of all missing values"
                    )
        return self

    @model_validator(mode="after")
    def _nested(self) -> Self:
        for inner, outer in self.within.items():
            for name in (inner, outer):
                if name not in self.cells:
                    raise ValueError(
                        f"within names {name!r}, which is not among cells: {closest(name, self.cells)}"
                    )
            name = outer
            for _ in self.within:
                if name == inner:
                    raise ValueError(f"within puts {inner!r} in itself: begin with an attribute in no other")
                name = self.within.get(name, name)
        return self


class Weights(Part):
    """Any integer combinations of cells, read from a file."""

    section: ClassVar = ("invariants", "weights")

    file: Text


class Invariant(Part):
    """A statistic released exactly: a margin, the total, a selection's count, or weights.

    With a ``level`` of the geography it is one for each node of that level.
    """

    section: ClassVar[tuple[str, ...]] = ("invariants",)

    name: Text | None = None
    margin: tuple[Text, ...] | None = None
    total: StrictBool = False
    where: Where | None = None
    weights: Weights | None = None
    equals: StrictInt | None = None
    level: Text | None = None

    @field_validator("margin")
    @classmethod
    def _some_distinct_attributes(cls, margin: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if margin is not None:
            if not margin:
                raise ValueError("is empty: name its attributes, or write total = true")
            _distinct(margin)
        return margin

    @field_validator("name")
    @classmethod
    def _some_name(cls, name: str | None) -> str | None:
        if name == "":
            raise ValueError("is empty: name the invariant, or leave the name out")
        return name

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        given = [
            kind
            for kind, present in (
                ("margin", self.margin is not None),
                ("total", self.total),
                ("where", self.where is not None),
                ("weights", self.weights is not None),
            )
            if present
        ]
        if not given:
            raise ValueError("says nothing: give it one of margin, total = true, where or weights")
        if len(given) > 1 and given != ["margin", "where"]:
            raise ValueError(
                f"has {' and '.join(given)} together: keep one (only margin and where can be combined)"
            )
        if self.equals is not None and (self.margin is not None or self.weights is not None):
            raise ValueError("has equals, which is for a total or a where: leave it out")
        if self.equals is not None and self.level is not None:
            raise ValueError("has equals, and a level has one value for each node: leave it out")
        return self

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of its margin: the level of the geography, if any, comes first."""
        own = self.margin or ()
        return own if self.level is None or self.level in own else (self.level, *own)

    @property
    def kind(self) -> InvariantKind:
        """Which of the four it is; a margin within a selection is a margin, and so is a total by level."""
        if self.weights is None and self.attributes:
            return "margin"
        if self.total:
            return "total"
        return "where" if self.weights is None else "weights"


class Inequality(Invariant):
    """Counts that a release keeps within bounds: an invariant's definition, ``at_least`` or ``at_most``."""

    section: ClassVar[tuple[str, ...]] = ("constraints", "inequalities")

    at_least: StrictInt | None = None
    at_most: StrictInt | None = None

    @model_validator(mode="after")
    def _some_bound(self) -> Self:
        if self.equals is not None:
            raise ValueError("has equals, which is for an invariant: leave it out")
        if self.at_least is None and self.at_most is None:
            raise ValueError("has no bound: give it at_least or at_most")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError(
                f"has at_least = {self.at_least} above at_most = {self.at_most}: nothing is between them"
            )
        return self


class Floors(Part):
    """The least count of each cell of a release, in a public file with a column for each attribute.

    ``count`` names the column of these numbers, by default that of the data. Cells without one have none.
    """

    section: ClassVar = ("constraints", "floors")

    file: Text
    count: Text | None = None


class Constraints(Part):
    """What the public knows of every table, whatever the data."""

    section: ClassVar = ("constraints",)

    nonnegative: StrictBool = False
    inequalities: tuple[Inequality, ...] = ()
    floors: Floors | None = None
    structural_zeros: tuple[Where, ...] = ()

    @property
    def bounds(self) -> str | None:
        """What bounds a release, in words with a verb; None where nothing does."""
        if self.nonnegative:
            return "nonnegative = true bounds"
        if self.inequalities:
            return "inequalities bound"
        return None if self.floors is None else "floors bound"


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
    """The target: who is protected, by which standard, and how strongly."""

    section: ClassVar = ("privacy",)

    unit: Text = "record"
    records_per_unit: StrictInt = 1
    standard: Standard = "pure"
    epsilon: Rational | None = None
    delta: Rational | None = None
    rho: Rational | None = None
    mu: Rational | None = None
    adjacency: Literal["semi", "unit"] = "semi"
    distance: StrictInt | None = None
    laws: Text | None = None
    """For which laws of the data, given what is public, the guarantee is stated in terms of secrets, too: a
    word, or the name of a model file."""

    if TYPE_CHECKING:  # numbers may be given as text

        def __init__(self, **values: Any) -> None: ...

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
    def whom(self) -> Whom:
        """Whom it protects, in words."""
        return Whom(self.unit, self.records_per_unit)

    @field_validator("laws")
    @classmethod
    def _words_or_a_file(cls, laws: str | None) -> str | None:
        words = get_args(Laws)
        if laws is not None and laws not in words and not laws.endswith(".toml"):
            known = ", ".join(f'"{word}"' for word in words if word != MODEL)
            raise ValueError(f"is {laws!r}: it must be one of {known}, or name a .toml file with a model")
        return laws

    @property
    def laws_kind(self) -> Laws | None:
        """The word for the laws, "model" for those of a file."""
        return next((word for word in get_args(Laws) if word == self.laws), MODEL if self.laws else None)

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
        missing = [key for key in needed if getattr(self, key) is None]
        # A pure epsilon may follow from the mechanism's own parameter: the mechanism decides.
        if missing and self.standard != "pure":
            raise ValueError(
                f'{missing[0]} is missing: the standard "{self.standard}" needs {" and ".join(needed)}'
            )
        return self


class MechanismChoice(Part):
    """How the table is protected: a name, and keys that the mechanism of that name reads for itself."""

    model_config = ConfigDict(extra="allow")
    section: ClassVar = ("mechanism",)
    any_key: ClassVar = True

    name: Text = "lattice-laplace"

    if TYPE_CHECKING:  # each mechanism has its own keys

        def __init__(self, **values: Any) -> None: ...

    @property
    def keys(self) -> dict[str, Any]:
        """All keys as they were given, and the name."""
        return {"name": self.name, **(self.model_extra or {})}


class Spec(Part):
    """All that was asked of a release."""

    data: Data
    invariants: tuple[Invariant, ...] = ()
    constraints: Constraints = Constraints()
    privacy: Privacy = Privacy()
    mechanism: MechanismChoice = MechanismChoice()
    publication: Publication = Publication()
    folder: Path = Field(default=Path(), exclude=True)
    """What relative paths are relative to: the folder of the spec file."""
    file: str = Field(default="", exclude=True)
    """The spec file, for messages; empty where the spec was made in Python."""

    @classmethod
    def of(cls, values: Mapping[str, Any], *, folder: Path = Path(), file: str = "") -> Self:
        """Return the spec that a mapping, such as parsed TOML, describes."""
        known = [key for key in cls.model_fields if key not in ("folder", "file")]
        for key in values:
            if key not in known:
                raise SpecError(f"the spec has an unknown section {key!r}: {closest(key, known)}")
        with of_a_file():
            return cls(**values, folder=folder, file=file)

    @property
    def data_path(self) -> Path:
        """Where the confidential table is."""
        if self.data.path is None:
            raise SpecError("[data] path is missing: name a .csv or .parquet file, or give a frame.")
        return self.resolve(self.data.path)

    def resolve(self, path: str) -> Path:
        """Return a path in the spec, relative to the spec's folder."""
        return self.folder / path

    @field_validator("invariants", mode="before")
    @classmethod
    def _double_brackets(cls, invariants: object) -> object:
        if isinstance(invariants, Mapping):
            raise ValueError("is one table: write each invariant under its own [[invariants]]")  # noqa: TRY004
        return invariants

    @property
    def of_records(self) -> bool:
        """Whether records are released, and not a table of counts."""
        return self.mechanism.name in OF_RECORDS

    @model_validator(mode="after")
    def _says_what_is_counted(self) -> Self:
        if self.of_records:
            return self
        if not self.data.attributes:
            name = self.mechanism.name
            if (advice := closest(name, OF_RECORDS)).startswith("did you mean"):
                raise SpecError(f"[mechanism] name = {name!r} is not known: {advice}")
            given = "cells" in self.data.model_fields_set
            what = "is empty: name at least one column" if given else "is missing: add it to the spec"
            raise SpecError(f"[data] cells {what}.")
        for key in ("id", "persons"):
            if getattr(self.data, key) is not None:
                raise SpecError(
                    f"[data] {key} goes with records that are swapped: leave it out, or set name ="
                    ' "permutation-swapping" in [mechanism].'
                )
        return self

    @model_validator(mode="after")
    def _names_attributes(self) -> Self:
        if self.of_records:
            return self  # any column of the file may be named
        for number, invariant in enumerate(self.invariants, start=1):
            place = f"[[invariants]] {number}"
            self._among_cells(invariant.margin or (), f"{place} margin")
            self._among_cells(tuple(invariant.where or ()), f"{place} where")
            self._a_level(invariant.level, place)
        for number, inequality in enumerate(self.constraints.inequalities, start=1):
            place = f"[[constraints.inequalities]] {number}"
            self._among_cells(inequality.margin or (), f"{place} margin")
            self._among_cells(tuple(inequality.where or ()), f"{place} where")
            self._a_level(inequality.level, place)
        for number, zero in enumerate(self.constraints.structural_zeros, start=1):
            self._among_cells(tuple(zero), f"[constraints] structural_zeros {number}")
        return self

    def _a_level(self, level: str | None, place: str) -> None:
        known = self.data.regions
        if level is not None and level not in known:
            said = closest(level, known) if known else "add [data.geography], or leave it out."
            raise SpecError(f"{place} level is {level!r}, which is no level of [data.geography]: {said}")

    def _among_cells(self, attributes: Sequence[str], place: str) -> None:
        known = self.data.attributes
        for attribute in attributes:
            if attribute not in known:
                raise SpecError(
                    f"{place} names {attribute!r}, which is not among the cells of [data]: "
                    f"{closest(attribute, known)}"
                )


def _distinct(names: Sequence[str], place: str = "") -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{place}names {name!r} twice: keep one")
        seen.add(name)
