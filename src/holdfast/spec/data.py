"""The confidential table as a spec describes it: its file, its attributes, the levels of its geography."""

from collections.abc import Mapping
from itertools import pairwise
from typing import ClassVar, Self

from pydantic import Field, StrictBool, StrictInt, field_validator, model_validator

from holdfast.spec.databases import require_no_password, require_select
from holdfast.spec.part import Part, Text
from holdfast.spec.shape import Derived, Wide
from holdfast.spec.values import Recode, require_distinct, short
from holdfast.system.text import closest


class Geography(Part):
    """Levels from the root down: prefixes of one code, or a column for each.

    Each level becomes an attribute of the table, nested in the one before it.
    """

    section: ClassVar = ("data", "geography")

    column: Text | None = None
    """The column of codes, whose first characters name the node on each level."""
    prefixes: Mapping[str, StrictInt] = Field(default_factory=dict)
    """How many characters name a level; 0 is a root that has all."""
    columns: tuple[Text, ...] = ()
    areas: Mapping[str, Text] = Field(default_factory=dict)
    """Areas off the spine by kind, each with the public file that says which nodes are in which of them."""
    regroup: tuple[Text, ...] = ()
    """Levels whose nodes are parts of their parents by area, wherever areas cut these."""

    @field_validator("prefixes")
    @classmethod
    def _rise(cls, prefixes: Mapping[str, int]) -> Mapping[str, int]:
        if "" in prefixes:
            raise ValueError("has a level without a name: name it")
        for (above, fewer), (below, length) in pairwise([("", -1), *prefixes.items()]):
            if length <= fewer:
                said = f"no more than {above!r}" if above else "less than 0"
                raise ValueError(
                    f"gives {below!r} {length} characters, {said}: list the root first, and longer prefixes"
                    " below it"
                )
        return prefixes

    @field_validator("columns")
    @classmethod
    def _distinct(cls, columns: tuple[str, ...]) -> tuple[str, ...]:
        for name in columns:
            if not name or columns.count(name) > 1:
                raise ValueError(f"names {name!r} twice: keep one" if name else "has an empty name")
        return columns

    @model_validator(mode="after")
    def _areas_beside(self) -> Self:
        for name in self.areas:
            if not name or name in self.levels or name == self.column:
                said = f"has the areas {name!r}, which is a level" if name else "has areas without a name"
                raise ValueError(f"{said}: give them a name of their own")
        if self.regroup and not self.areas:
            raise ValueError("regroup is for areas, and there are none: name them, or leave it out")
        for name in self.regroup:
            if name not in self.levels[1:-1]:
                raise ValueError(
                    f"regroup names {name!r}, and nodes are put together between the root and the leaves:"
                    f" {closest(name, self.levels[1:-1])}"
                )
        return self

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if bool(self.columns) == (self.column is not None or bool(self.prefixes)):
            raise ValueError(
                'needs one of two: column = "block" with prefixes = { state = 2, county = 5 }, or columns ='
                ' ["state", "county"]'
            )
        if not self.columns and (self.column is None or not self.prefixes):
            missing = "column" if self.column is None else "prefixes"
            raise ValueError(f"has no {missing}: codes need a column and the prefixes that name each level")
        return self

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels, root first."""
        return self.columns or tuple(self.prefixes)

    @property
    def within(self) -> dict[str, str]:
        """The level above each level but the root."""
        return {below: above for above, below in pairwise(self.levels)}


MISSING = "missing"
"""The level of all missing values."""


class Data(Part):
    """The confidential table: its file or database, the attributes that make its cells, its count column.

    Without a count column every row is one record. Data given in memory need no file.

    >>> hf.Data(cells=["county", "sex"], count="n").cells
    ('county', 'sex')
    """

    section: ClassVar = ("data",)

    path: Text | None = None
    database: Text | None = None
    """In place of a path: the address of a PostgreSQL database, or a file of DuckDB or SQLite."""
    table: Text | None = None
    """The table or view of the database, perhaps with its schema: ``people`` or ``registry.people``."""
    query: Text | None = None
    """In place of a table: one SELECT."""
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
    omit: Mapping[str, tuple[Text, ...]] = {}
    """Rows that are sums of others and left out, by columns and the levels that tell."""
    wide: Wide | None = None
    """Columns that each count the records of some levels."""
    derive: Mapping[str, Derived] = {}
    """Attributes that are parts of dates."""
    fold: StrictBool = False
    """Whether levels that differ in case and spaces around them are one."""
    thousands: Text = ""
    """The sign between the thousands of counts."""
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
        """The attributes of the table: the levels of its geography, its areas, then the cells."""
        return (*self.regions, *self.areas, *self.cells)

    @property
    def areas(self) -> tuple[str, ...]:
        """The kinds of areas off the spine of the geography."""
        return () if self.geography is None else tuple(self.geography.areas)

    @property
    def nested(self) -> dict[str, str]:
        """What each nested attribute lies in, levels of the geography included."""
        return {**({} if self.geography is None else self.geography.within), **self.within}

    @property
    def nestings(self) -> tuple[tuple[str, str], ...]:
        """The same in pairs, with those of the leaves in areas after them."""
        return (*self.nested.items(), *((self.regions[-1], name) for name in self.areas))

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
        if path is not None and ":" in path.partition("://")[2].partition("/")[0].rpartition("@")[0]:
            raise ValueError(
                "has a password: leave it out, and set it where the library of the store finds it"
            )
        return path

    @field_validator("database", mode="before")
    @classmethod
    def _no_password(cls, database: object) -> object:
        if database is not None:
            require_no_password(database)
        return database

    @field_validator("query")
    @classmethod
    def _one_select(cls, query: str | None) -> str | None:
        if query is not None:
            require_select(query)
        return query

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.database is None:
            for key in ("table", "query"):
                if getattr(self, key) is not None:
                    raise ValueError(f"{key} is of a database, and none is named: set database beside it")
        elif self.path is not None:
            raise ValueError("path and database are two sources of one table: take one out")
        elif (self.table is None) == (self.query is None):
            both = "both are set" if self.table is not None else "neither is set"
            raise ValueError(f"database needs a table or a query, and {both}: set one of them")
        elif self.table == "":
            raise ValueError("table is empty: name a table or a view of the database")
        return self

    @field_validator("cells")
    @classmethod
    def _some_distinct_cells(cls, cells: tuple[str, ...]) -> tuple[str, ...]:
        if "" in cells:
            raise ValueError("has an empty name: name a column")
        require_distinct(cells)
        return cells

    @field_validator("levels")
    @classmethod
    def _some_distinct_levels(cls, levels: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
        for attribute, names in levels.items():
            if not names:
                raise ValueError(f"{attribute} is empty: name its levels, or leave it out")
            if "" in names:
                raise ValueError(f"{attribute} has an empty level: give every level a name")
            require_distinct(names, f"{attribute} ")
        return levels

    @field_validator("omit")
    @classmethod
    def _some_levels(cls, omit: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
        for column, levels in omit.items():
            if not levels:
                raise ValueError(f"{column} is empty: name the levels of rows that are sums, or leave it out")
        return omit

    @model_validator(mode="after")
    def _columns_agree(self) -> Self:
        if self.count is not None and self.count in self.cells:
            raise ValueError(f"count is {self.count!r}, which is also among cells: take it out of one")
        for level in (*self.regions, *self.areas):
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

    @field_validator("derive", mode="before")
    @classmethod
    def _from(cls, derive: object) -> object:
        if not isinstance(derive, Mapping):
            return derive
        return {
            name: {("source" if key == "from" else key): value for key, value in one.items()}
            if isinstance(one, Mapping)
            else one
            for name, one in derive.items()
        }

    @field_validator("thousands")
    @classmethod
    def _one_mark(cls, thousands: str) -> str:
        if thousands not in ("", ",", ".", " ", "'", "\u2019", "_", "\u00a0", "\u2009", "\u202f"):
            raise ValueError(f'is {short(thousands)!r}: give the sign between thousands, such as "," or "."')
        return thousands

    @model_validator(mode="after")
    def _wide_counts(self) -> Self:
        if self.database is not None and (self.wide is not None or self.derive or self.thousands):
            raise ValueError(
                "wide, derive and thousands are for files: ask a database in query for such columns"
            )
        if self.wide is None:
            return self
        if self.count is None:
            raise ValueError('wide makes a column of counts: name it, count = "n"')
        for name in self.wide.attributes:
            if name not in self.cells:
                raise ValueError(f"wide names {name!r}, which is not among cells: add it there")
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
