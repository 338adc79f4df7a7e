"""The spec of several tables of one file: each with its cells and invariants, all within one budget.

`[[tables]]` takes the place of the cells, invariants and constraints of a spec; what is left is shared.
Every table becomes the spec of one table, so that nothing else has to know of several.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from holdfast.spec.data import Data
from holdfast.spec.mechanism import options_of, suitable
from holdfast.spec.model import Spec
from holdfast.spec.part import Part, Text
from holdfast.spec.privacy import Privacy, without_budget
from holdfast.spec.values import Rational, positive, some_of_several
from holdfast.system.errors import SpecError
from holdfast.system.files import plain_name
from holdfast.system.text import closest
from holdfast.system.ways import of_a_file, setting

Division = Literal["equal", "weights", "least-error"]
PER_TABLE = ("cells", "invariants", "constraints", "accuracy")
"""What a spec of one table says at its top, and one of several in each of them."""
MOST_LETTERS = 80
_NO_FILE = re.compile(r'[<>:"|?*]|^[ .]|[ .]$')
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}
"""What some system refuses in the name of a file."""


class Budget(Part):
    """How the budget of [privacy] is divided among the tables."""

    section: ClassVar = ("budget",)

    division: Division = "equal"


class TableChoice(Part):
    """One of several tables: its name, which is that of its file, and what a spec says of one table."""

    section: ClassVar = ("tables",)

    name: Text
    cells: tuple[Text, ...] = ()
    weight: Rational | None = None
    invariants: Any = ()
    constraints: Any = Field(default_factory=dict)
    accuracy: Any = ()
    """What the table is to tell how exactly, where the budget follows from that."""
    mechanism: Any = None

    if TYPE_CHECKING:  # numbers may be given as text

        def __init__(self, **values: Any) -> None: ...

    @field_validator("name")
    @classmethod
    def _names_a_file(cls, name: str) -> str:
        plain = plain_name(name) and not _NO_FILE.search(name) and name == unicodedata.normalize("NFC", name)
        if not plain or len(name) > MOST_LETTERS or name.lower() in _DEVICES:
            raise ValueError(
                f"is {name[:MOST_LETTERS]!r}, which is no name for a file: use letters, digits, - and _"
            )
        if name.lower() in ("certificate", "statistic"):
            raise ValueError(f"is {name!r}, which is taken: give the table another name")
        return name

    @field_validator("weight")
    @classmethod
    def _some_weight(cls, weight: Rational | None) -> Rational | None:
        if weight is not None:
            try:
                positive(weight)
            except ValueError:
                raise ValueError(
                    f"is {str(weight)[:40]}: give a positive number, or leave the table out"
                ) from None
        return weight

    @model_validator(mode="after")
    def _has_cells(self) -> Self:
        self._require_cells()
        return self

    def _require_cells(self) -> None:
        if not self.cells:
            raise ValueError(f'{self.name!r} has no cells: name at least one column, as in cells = ["age"]')


class TablesSpec(Part):
    """All that was asked of a release of several tables.

    >>> tables = [{"name": "by_sex", "cells": ["sex"]}, {"name": "by_county", "cells": ["county"]}]
    >>> hf.TablesSpec(data={"count": "n"}, privacy={"epsilon": "1"}, tables=tables).names
    ('by_sex', 'by_county')
    """

    data: Mapping[str, Any]
    tables: tuple[TableChoice, ...]
    privacy: Privacy = Privacy()
    budget: Budget = Budget()
    mechanism: Any = Field(default_factory=dict)
    others: Mapping[str, Any] = Field(default_factory=dict)
    """Sections of a spec that all tables share as they are."""
    folder: Path = Field(default=Path(), exclude=True)
    file: str = Field(default="", exclude=True)

    if TYPE_CHECKING:

        def __init__(self, **values: Any) -> None: ...

    @classmethod
    def of(cls, values: Mapping[str, Any], *, folder: Path = Path(), file: str = "") -> Self:
        """Return the spec that a mapping, such as parsed TOML, describes."""
        own = [key for key in cls.model_fields if key not in ("others", "folder", "file")]
        shared = [key for key in Spec.model_fields if key not in (*own, *PER_TABLE, "folder", "file")]
        for key in values:
            if key in PER_TABLE:
                with of_a_file():
                    raise SpecError(
                        f"the spec has {key} beside {setting('tables')}: move them into the tables they are"
                        f" of, as {setting(f'tables.{key}')}."
                    )
            if key not in (*own, *shared):
                raise SpecError(f"the spec has an unknown section {key!r}: {closest(key, [*own, *shared])}")
        others = {key: value for key, value in values.items() if key in shared}
        mine = {key: value for key, value in values.items() if key in own}
        with of_a_file():
            return cls(**mine, others=others, folder=folder, file=file)

    @field_validator("tables", mode="before")
    @classmethod
    def _double_brackets(cls, tables: object) -> object:
        return some_of_several(tables, "tables")

    @field_validator("privacy", mode="before")
    @classmethod
    def _budget_that_follows(cls, given: object, info: ValidationInfo) -> object:
        """Let the budget be open where what some table is to tell settles it."""
        tables = info.data.get("tables", ())
        return without_budget(given) if any(table.accuracy for table in tables) else given

    @model_validator(mode="after")
    def _no_laws(self) -> Self:
        if self.privacy.laws is not None:
            raise SpecError(
                f"{setting('privacy', 'laws')} speaks of one table, and the spec has {setting('tables')}:"
                " leave it out."
            )
        return self

    @model_validator(mode="after")
    def _told_apart(self) -> Self:
        if not self.tables:
            raise SpecError(f"{setting('tables')} is empty: name at least one table.")
        seen: set[str] = set()
        for table in self.tables:
            if table.name.lower() in seen:
                raise SpecError(
                    f"{setting('tables')} has two tables of the name {table.name!r}, and each is a file:"
                    " rename one."
                )
            seen.add(table.name.lower())
            if table.weight is not None and self.budget.division == "equal":
                raise SpecError(
                    f"{setting('tables')} {table.name!r} has a weight, which an equal division does not use:"
                    f' write division = "weights" in {setting("budget")}, or leave it out.'
                )
        if "cells" in self.data:
            raise SpecError(
                f"{setting('data')} has cells and there are {setting('tables')}: move the cells into the"
                " tables."
            )
        for key, names in self._by_attribute():
            listed = sorted({cell for table in self.tables for cell in table.cells})
            for name in names:
                if name not in listed:
                    raise SpecError(
                        f"{setting('data', key)} names {name!r}, which is not among the cells of any table:"
                        f" {closest(name, listed)}"
                    )
        within = self.data.get("within")
        if isinstance(within, Mapping):
            known = {*(cell for table in self.tables for cell in table.cells), *within}
            for name in (*within, *within.values()):
                if name not in known or (name in within and not self._leads(name)):
                    raise SpecError(
                        f"{setting('data', 'within')} names {name!r}, which is not among the cells of any"
                        f" table: {closest(str(name), sorted(map(str, known - {name})))}"
                    )
        for table in self.tables:
            self.spec(table)
        return self

    def _leads(self, name: str) -> bool:
        """Whether an attribute is a cell of some table, or has one of those within it."""
        inner = (one for one, outer in self.data["within"].items() if outer == name and one != name)
        return any(name in table.cells for table in self.tables) or any(map(self._leads, inner))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tables in their order."""
        return tuple(table.name for table in self.tables)

    @property
    def specs(self) -> tuple[Spec, ...]:
        """The spec of each table, with the whole budget."""
        return tuple(self.spec(table) for table in self.tables)

    def spec(self, table: TableChoice, privacy: Privacy | None = None) -> Spec:
        """Return the spec of one table, with a part of the budget if that is given."""
        mechanism = self.mechanism if table.mechanism is None else table.mechanism
        said = table.constraints if isinstance(table.constraints, Mapping) else {}
        bounds = bool(said.get("nonnegative") or said.get("inequalities"))
        suits = partial(suitable, self.privacy.standard, bounds=bounds, records=False, among_others=True)
        try:
            if isinstance(mechanism, Mapping):
                mechanism = options_of(mechanism, suits)
            found = Spec(
                **self.others,
                data=self._data(table.cells),  # type: ignore[arg-type]
                invariants=table.invariants,
                constraints=table.constraints,
                accuracy=table.accuracy,
                privacy=self.privacy,
                mechanism=mechanism,
                folder=self.folder,
                file=self.file,
            )
        except SpecError as error:
            raise SpecError(f"{setting('tables')} {table.name!r}: {error}") from None
        return found if privacy is None else found.model_copy(update={"privacy": privacy})

    @property
    def by_accuracy(self) -> bool:
        """Whether the budget follows from how accurate tables have to be."""
        return any(table.accuracy for table in self.tables)

    def _data(self, cells: Sequence[str]) -> dict[str, Any]:
        """Return what [data] says of some attributes."""
        said = dict(self.data)
        for key, names in self._by_attribute():
            said[key] = {name: said[key][name] for name in names if name in cells}
        if "within" in said:
            said["within"] = dict(nested(said["within"], cells))
        if "aggregate" in Data.model_fields and "count" in said:
            said.setdefault("aggregate", True)  # a table of fewer attributes counts several rows as one cell
        return {**said, "cells": tuple(cells)}

    def _by_attribute(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield the keys of [data] that speak of attributes one by one."""
        for key, value in self.data.items():
            if isinstance(value, Mapping) and key not in ("within", "geography"):
                yield key, list(value)


def nested(within: Mapping[str, str], cells: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield which of some attributes lies in which other, past those that are not among them.

    >>> dict(nested({"block": "tract", "tract": "county"}, ["block", "county"]))
    {'block': 'county'}
    """
    for inner in within:
        outer, seen = within[inner], {inner}
        while outer not in cells and outer in within and outer not in seen:
            seen.add(outer)
            outer = within[outer]
        if inner in cells and outer in cells:
            yield inner, outer
