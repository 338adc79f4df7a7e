"""The whole spec, and what readers are told of a publication: one class a section of the TOML file."""

import unicodedata
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self
from urllib.parse import urlsplit

from pydantic import Field, SerializeAsAny, StrictBool, ValidationInfo, field_validator, model_validator

from holdfast.spec.accuracy import AccuracyTarget, targets
from holdfast.spec.constraints import Constraints, Inequality, Invariant
from holdfast.spec.data import Data
from holdfast.spec.mechanism import MechanismChoice, MechanismOptions, options_of, suitable
from holdfast.spec.part import Part, PlacedError
from holdfast.spec.privacy import Privacy, without_budget
from holdfast.spec.published import PublishedBefore
from holdfast.spec.values import some_of_several
from holdfast.system.errors import SpecError
from holdfast.system.text import closest
from holdfast.system.ways import of_a_file, setting

LINE_LETTERS = 300
FORMATS = ("csv", "parquet", "xlsx", "csvw", "json-stat", "sdmx-csv", "rocrate", "registry", "assessment")
OF_TABLES = FORMATS[:6]
"""Those of the formats that a table is written in."""
TEXTS = ("title", "publisher", "contact", "period", "url", "licence")


class Publication(Part):
    """What readers are told, all of it optional: texts, from which nothing follows, and kinds of files."""

    section: ClassVar = ("publication",)

    title: str | None = None
    publisher: str | None = None
    contact: str | None = None
    period: str | None = None
    url: str | None = None
    licence: str | None = None
    status: StrictBool = False
    """Whether tables have a column with the status of each cell."""
    formats: tuple[str, ...] = ()
    """In which formats the release is written beside its own."""

    @field_validator("formats")
    @classmethod
    def _known(cls, formats: tuple[str, ...]) -> tuple[str, ...]:
        for name in formats:
            if name == "in-toto":
                raise ValueError("has 'in-toto', which is signed when a release is whole: export it then")
            if name not in FORMATS:
                raise ValueError(f"has {name!r}, which is no format: {closest(name, FORMATS)}")
            if formats.count(name) > 1:
                raise ValueError(f"has {name!r} twice: keep one")
        return formats

    @field_validator(*TEXTS, mode="before")
    @classmethod
    def _one_line(cls, text: object) -> object:
        if text is None:
            return None
        if not isinstance(text, str):
            raise ValueError("must be text in quotes")  # noqa: TRY004
        if flaw := line_flaw(text):
            raise ValueError(f"{flaw}: give one line of at most {LINE_LETTERS} letters, or leave it out")
        return text

    @field_validator("url")
    @classmethod
    def _address(cls, url: str | None) -> str | None:
        if url is not None and not is_address(url):
            raise ValueError("is no address of the web: begin it with https:// or http://")
        return url

    @property
    def said(self) -> dict[str, str]:
        """The texts that were given, by name."""
        return {name: value for name in TEXTS if (value := getattr(self, name)) is not None}


def line_flaw(text: str) -> str:
    """Return what keeps a text from being one line, "" where nothing does."""
    if not text.strip():
        return "is empty"
    if len(text) > LINE_LETTERS:
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


class Spec(Part):
    """All that was asked of a release.

    >>> spec.model_copy(update={"privacy": hf.Privacy(epsilon="1/2")}).privacy.epsilon
    Fraction(1, 2)
    """

    data: Data
    invariants: tuple[Invariant, ...] = ()
    constraints: Constraints = Constraints()
    published: tuple[PublishedBefore, ...] = ()
    """What was published before, which the counts keep."""
    accuracy: tuple[AccuracyTarget, ...] = ()
    """What the release is to tell how exactly, where the budget follows from that."""
    privacy: Privacy = Privacy()
    mechanism: SerializeAsAny[MechanismOptions] = Field(default_factory=MechanismChoice)
    """The options of a mechanism, such as `LatticeLaplace(norm="l2")`, or a mapping with its name."""
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
            raise SpecError(
                f"{setting('data', 'path')} is missing: name a .csv or .parquet file or a database,"
                " or give a frame."
            )
        return self.resolve(self.data.path)

    def resolve(self, path: str) -> Path:
        """Return a path in the spec, relative to the spec's folder."""
        return self.folder / path

    @field_validator("invariants", "published", mode="before")
    @classmethod
    def _double_brackets(cls, given: object, info: ValidationInfo) -> object:
        return some_of_several(given, str(info.field_name))

    _targets = field_validator("accuracy", mode="before")(targets)

    @field_validator("privacy", mode="before")
    @classmethod
    def _budget(cls, given: object, info: ValidationInfo) -> object:
        """Let the budget be open where accuracy settles it."""
        return without_budget(given) if info.data.get("accuracy") else given

    @field_validator("mechanism", mode="before")
    @classmethod
    def _options(cls, given: object, info: ValidationInfo) -> object:
        """Let the mechanism check its own keys; where its name is not known, those that suit are offered."""
        if not isinstance(given, Mapping):
            return given
        data, privacy, constraints = (info.data.get(key) for key in ("data", "privacy", "constraints"))
        if data is None or privacy is None or constraints is None:
            return None  # what is wrong with these is said first
        bounds = constraints.bounds is not None
        records = data.count is None and not bounds
        try:
            return options_of(given, partial(suitable, privacy.standard, bounds=bounds, records=records))
        except SpecError as error:
            raise PlacedError(str(error)) from None

    @property
    def of_records(self) -> bool:
        """Whether records are released, and not a table of counts."""
        return self.mechanism.of_records

    @model_validator(mode="after")
    def _says_what_is_counted(self) -> Self:
        if self.of_records:
            if self.accuracy or self.published:
                key = "accuracy" if self.accuracy else "published"
                raise SpecError(
                    f"{setting(key)} is for tables of counts, and {self.mechanism.name!r} releases"
                    " records: leave it out."
                )
            told = self.publication
            of_tables = ["status"] if told.status else ["formats"] if set(told.formats) & {*OF_TABLES} else []
            if of_tables:
                raise SpecError(
                    f"{setting('publication', of_tables[0])} asks for what tables with noise have, and"
                    f" {self.mechanism.name!r} releases records: leave it out."
                )
            return self
        if not self.data.attributes:
            given = "cells" in self.data.model_fields_set
            what = "is empty: name at least one column" if given else "is missing: add it to the spec"
            raise SpecError(f"{setting('data', 'cells')} {what}.")
        for key in ("id", "persons"):
            if getattr(self.data, key) is not None:
                raise SpecError(
                    f"{setting('data', key)} goes with records that are swapped: leave it out, or set name ="
                    f' "permutation-swapping" in {setting("mechanism")}.'
                )
        return self

    @model_validator(mode="after")
    def _names_attributes(self) -> Self:
        if self.of_records:
            return self  # any column of the file may be named
        for number, invariant in enumerate(self.invariants, start=1):
            self._among_its_cells(invariant, "invariants", number)
        for number, inequality in enumerate(self.constraints.inequalities, start=1):
            self._among_its_cells(inequality, "constraints.inequalities", number)
        for number, zero in enumerate(self.constraints.structural_zeros, start=1):
            self._among_cells(tuple(zero), setting("constraints", "structural_zeros", number))
        return self

    def _among_its_cells(self, asked: Invariant | Inequality, section: str, number: int) -> None:
        self._among_cells(asked.margin or (), setting(section, number, "margin"))
        self._among_cells(tuple(asked.where or ()), setting(section, number, "where"))
        level, known = asked.level, (*self.data.regions, *self.data.areas)
        if level is not None and level not in known:
            said = closest(level, known) if known else f"add {setting('data.geography')}, or leave it out."
            raise SpecError(
                f"{setting(section, number, 'level')} is {level!r}, which is no level of"
                f" {setting('data.geography')}: {said}"
            )

    def _among_cells(self, attributes: Sequence[str], place: str) -> None:
        known = self.data.attributes
        for attribute in attributes:
            if attribute not in known:
                raise SpecError(
                    f"{place} names {attribute!r}, which is not among the cells of {setting('data')}: "
                    f"{closest(attribute, known)}"
                )
