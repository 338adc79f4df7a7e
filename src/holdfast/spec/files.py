"""The spec of several files on one geography: people and the units they live in, each protected for itself.

`[[tables]]` are of files of their own, `[tables.data]`, and protect units of their own, `[tables.privacy]`;
what both say alike stands once, in `[data]` and `[privacy]`. They are measured apart and estimated together,
with `[[constraints.across]]` between them.
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from holdfast.spec.constraints import Across
from holdfast.spec.mechanism import options_of
from holdfast.spec.model import Spec
from holdfast.spec.part import Part
from holdfast.spec.privacy import NEEDS, OpenPrivacy, Privacy
from holdfast.spec.published import PublishedBefore
from holdfast.spec.tables import Budget, TableChoice
from holdfast.spec.values import Rational, parse_rational, short, some_of_several
from holdfast.system.errors import SpecError
from holdfast.system.text import closest
from holdfast.system.ways import of_a_file, setting

JOINTLY = "topdown"
"""The mechanism by which tables of several files are released together."""
ALIKE = ("standard", "adjacency", "neighbours", "records_per_unit")
"""What tables that are estimated together are asked for alike."""


def of_files(values: Mapping[str, Any]) -> bool:
    """Whether the values of a file are such a spec: some table is to be estimated with others."""
    tables = values.get("tables")
    each = tables if isinstance(tables, list) else []
    return any(
        isinstance(one, Mapping) and _name_of(one.get("mechanism", values.get("mechanism"))) == JOINTLY
        for one in each
    )


def _name_of(mechanism: object) -> object:
    return mechanism.get("name") if isinstance(mechanism, Mapping) else getattr(mechanism, "name", None)


class FileChoice(TableChoice):
    """One of the tables: what a spec of one table says, with a file and a target of its own."""

    data: Mapping[str, Any] = Field(default_factory=dict)
    privacy: Mapping[str, Any] = Field(default_factory=dict)
    published: tuple[PublishedBefore, ...] = ()

    def _require_cells(self) -> None:
        """Without cells a table has one count for each place."""


class FilesSpec(Part):
    """All that was asked of a release of several files on one geography."""

    section: ClassVar = ()

    data: Mapping[str, Any] = Field(default_factory=dict)
    privacy: Mapping[str, Any] = Field(default_factory=dict)
    budget: Budget = Budget()
    mechanism: Any = Field(default_factory=dict)
    tables: tuple[FileChoice, ...]
    across: tuple[Across, ...] = ()
    others: Mapping[str, Any] = Field(default_factory=dict)
    """Sections that all tables share as they are."""
    folder: Path = Field(default=Path(), exclude=True)
    file: str = Field(default="", exclude=True)

    if TYPE_CHECKING:

        def __init__(self, **values: Any) -> None: ...

    @classmethod
    def of(cls, values: Mapping[str, Any], *, folder: Path = Path(), file: str = "") -> Self:
        """Return the spec that a mapping, such as parsed TOML, describes."""
        known = ("data", "privacy", "budget", "mechanism", "tables", "constraints", "publication")
        with of_a_file():
            for key in values:
                if key not in known:
                    if key in ("cells", "invariants", "published"):
                        raise SpecError(
                            f"the spec has {key} beside {setting('tables')}: move them into the tables they"
                            f" are of, as {setting(f'tables.{key}')}."
                        )
                    raise SpecError(f"the spec has an unknown section {key!r}: {closest(key, known)}")
            constraints = values.get("constraints", {})
            beside = (
                [key for key in constraints if key != "across"] if isinstance(constraints, Mapping) else []
            )
            if beside:
                raise SpecError(
                    f"{setting('constraints', beside[0])} stands beside {setting('tables')}: move it into the"
                    f" table it is of, as {setting('tables.constraints', beside[0])}."
                )
            return cls(
                **{
                    key: values[key]
                    for key in known
                    if key in values and key not in ("constraints", "publication")
                },
                across=constraints.get("across", ()) if isinstance(constraints, Mapping) else constraints,
                others={key: values[key] for key in ("publication",) if key in values},
                folder=folder,
                file=file,
            )

    @field_validator("tables", "across", mode="before")
    @classmethod
    def _double_brackets(cls, given: object, info: ValidationInfo) -> object:
        return some_of_several(given, "tables" if info.field_name == "tables" else "constraints.across")

    @model_validator(mode="after")
    def _told_apart(self) -> Self:
        names = [table.name.lower() for table in self.tables]
        for name in names:
            if names.count(name) > 1:
                raise SpecError(
                    f"{setting('tables')} has two tables of the name {name!r}, and each is a file:"
                    f" rename one."
                )
            for ending in ("measurements", "microdata"):
                if f"{name}_{ending}" in names:
                    raise SpecError(
                        f"{setting('tables')} {f'{name}_{ending}'!r} has the name of what is released of"
                        f" {name!r}: rename it."
                    )
        for table in self.tables:
            kind = _name_of(self.mechanism if table.mechanism is None else table.mechanism)
            if kind != JOINTLY:
                raise SpecError(
                    f"{setting('tables')} {table.name!r} is released by"
                    f" {kind or 'lattice-laplace'}, and others"
                    f" by {JOINTLY}, which estimates its tables together: give all of them that, or"
                    f" this one a"
                    " spec of its own, and charge both to one ledger."
                )
        return self

    @model_validator(mode="after")
    def _budget_of_some(self) -> Self:
        """Raise where a budget is shared by nobody, as that of each table follows from its targets."""
        shared = [key for key in ("rho", "epsilon") if key in self.privacy]
        if shared and all(table.accuracy for table in self.tables):
            raise SpecError(
                f"{setting('privacy', shared[0])} is given, and that of each table follows from its"
                f" {setting('tables.accuracy')}: leave out one of the two."
            )
        return self

    @model_validator(mode="after")
    def _alike(self) -> Self:
        """Let the tables be asked for alike, but for their files, units and budgets."""
        first = self.specs[0].privacy
        for table, spec in zip(self.tables, self.specs, strict=True):
            for key in ALIKE:
                if getattr(spec.privacy, key) != getattr(first, key):
                    raise SpecError(
                        f"{setting('tables')} {table.name!r}: {setting('privacy', key)} is"
                        f" {getattr(spec.privacy, key)!r}, and of {self.tables[0].name!r} it is"
                        f" {getattr(first, key)!r}: tables that are estimated together have one."
                    )
            if spec.data.geography is None:
                raise SpecError(
                    f"{setting('tables')} {table.name!r} has no geography, by which tables are estimated"
                    f" together: add {setting('data.geography')}."
                )
            if spec.data.regions != self.specs[0].data.regions:
                raise SpecError(
                    f"{setting('tables')} {table.name!r} has the levels {', '.join(spec.data.regions)}, and"
                    f" {self.tables[0].name!r} has {', '.join(self.specs[0].data.regions)}: tables that are"
                    " estimated together have one geography."
                )
            one, other = spec.data.geography, self.specs[0].data.geography
            if other is not None and (one.areas, one.regroup) != (other.areas, other.regroup):
                raise SpecError(
                    f"{setting('tables')} {table.name!r} has other areas, or levels along them, than"
                    f" {self.tables[0].name!r}: write them once, in {setting('data.geography')} of the whole"
                    " spec."
                )
            if spec.privacy.laws is not None:
                raise SpecError(
                    f"{setting('privacy', 'laws')} speaks of one table, and the spec has {setting('tables')}:"
                    " leave it out."
                )
        if first.adjacency == "semi" and self.across:
            raise SpecError(
                f"{setting('privacy', 'adjacency')} is 'semi', and {setting('constraints.across')}"
                f" may make one"
                " person's change take more records along than any search knows: set adjacency ="
                ' "unit", which'
                " states the loss for one record."
            )
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tables in their order."""
        return tuple(table.name for table in self.tables)

    @cached_property
    def specs(self) -> tuple[Spec, ...]:
        """The spec of each table, with its own target."""
        return tuple(self._spec(table, part) for table, part in zip(self.tables, self.fractions, strict=True))

    @property
    def fractions(self) -> tuple[Fraction | None, ...]:
        """The part of the shared budget that each table gets; None where it has a budget of its own."""
        own = [bool(table.accuracy or {"rho", "epsilon"} & set(table.privacy)) for table in self.tables]
        weights = [
            Fraction(0) if mine else Fraction(1) if table.weight is None else Fraction(table.weight)
            for table, mine in zip(self.tables, own, strict=True)
        ]
        whole = sum(weights)
        return tuple(None if mine else weight / whole for weight, mine in zip(weights, own, strict=True))

    def _spec(self, table: FileChoice, part: Fraction | None) -> Spec:
        mechanism = self.mechanism if table.mechanism is None else table.mechanism
        asked = {**self.privacy, **table.privacy}
        asked.setdefault("standard", "zcdp" if "rho" in asked else "pure")
        asked.setdefault("adjacency", "unit")
        for key in ("rho", "epsilon"):
            if key not in NEEDS.get(str(asked["standard"]), (key,)):
                asked.pop(key, None)
        if table.accuracy:  # a budget that all tables share is not of this one
            asked = {
                key: value
                for key, value in asked.items()
                if key not in ("rho", "epsilon") or key in table.privacy
            }
        if part is not None and part != 1:
            for key in ("rho", "epsilon"):
                if key in asked:
                    asked[key] = _share(asked[key], part, key)
        try:
            if isinstance(mechanism, Mapping):
                mechanism = options_of(mechanism)
            return Spec(
                **self.others,
                data={**self.data, **table.data, "cells": tuple(table.cells)},  # type: ignore[arg-type]
                invariants=table.invariants,
                constraints=table.constraints,
                accuracy=table.accuracy,
                privacy=(OpenPrivacy if table.accuracy else Privacy)(**asked),
                mechanism=mechanism,
                folder=self.folder,
                file=self.file,
                published=table.published,
            )
        except SpecError as error:
            raise SpecError(f"{setting('tables')} {table.name!r}: {error}") from None


def _share(budget: object, part: Fraction, key: str) -> Rational:
    try:
        return parse_rational(budget) * part
    except ValueError:
        raise SpecError(
            f'{setting("privacy", key)} is {short(str(budget))}: give a positive budget such as "1/2".'
        ) from None
