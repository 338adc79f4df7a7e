"""Attributes with their levels in order, and the cells of a table: combinations of these, in row-major order.

Where attributes are nested, a tract in one county, only combinations that can be are cells: see `Grid`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import Any, Self

import numpy as np

from holdfast.data.grid import Grid, Nesting, count, tree_and_areas
from holdfast.data.levels import quoted
from holdfast.data.runs import NONE, Runs
from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.system.errors import SpecError
from holdfast.system.text import closest
from holdfast.system.ways import setting


@dataclass(frozen=True)
class Attribute:
    """A classification, and its levels in order."""

    name: str
    levels: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.levels:
            raise SpecError(f"attribute {self.name!r} has no levels: give it at least one.")
        if len(set(self.levels)) < len(self.levels):
            raise SpecError(f"attribute {self.name!r} has a level twice: keep one of them.")

    @cached_property
    def _codes(self) -> Mapping[str, int]:
        return {level: code for code, level in enumerate(self.levels)}

    def code(self, level: str) -> int:
        """Return the place of a level in the order."""
        try:
            return self._codes[level]
        except KeyError:
            raise SpecError(f"{self.name} has no level {level!r}: {closest(level, self.levels)}") from None


@dataclass(frozen=True)
class Attributes:
    """Attributes in order, any number of them and of their levels."""

    each: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        if not self.each:
            raise SpecError(f"a table needs at least one attribute: name one in {setting('data', 'cells')}.")
        if len(set(self.names)) < len(self.names):
            raise SpecError(f"the attributes {list(self.names)} are not distinct: keep each once.")

    @classmethod
    def of(cls, levels: Mapping[str, Iterable[str]]) -> Self:
        """Return the attributes with these levels by their names.

        >>> Attributes.of({"sex": ("f", "m"), "age": ("0", "18", "65")}).axis("age")
        1
        """
        return cls(tuple(Attribute(name, tuple(each)) for name, each in levels.items()))

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.each)

    def __len__(self) -> int:
        return len(self.each)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes."""
        return tuple(attribute.name for attribute in self.each)

    @property
    def in_words(self) -> str:
        """The names, with the number of levels of each, and no level."""
        return ", ".join(f"{attribute.name} ({len(attribute.levels)})" for attribute in self.each)

    def attribute(self, name: str) -> Attribute:
        """Return the attribute of that name."""
        return self.each[self.axis(name)]

    def axis(self, name: str) -> int:
        """Return the place of an attribute among the attributes."""
        try:
            return self.names.index(name)
        except ValueError:
            raise SpecError(f"there is no attribute {name!r}: {closest(name, self.names)}") from None

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as JSON-able values."""
        return {
            "attributes": [{"name": attribute.name, "levels": list(attribute.levels)} for attribute in self]
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the attributes that `to_dict` described."""
        try:
            each = tuple(
                Attribute(str(item["name"]), tuple(str(level) for level in item["levels"]))
                for item in data["attributes"]
            )
        except (KeyError, TypeError):
            raise SpecError(
                "the description of the attributes is damaged: each needs a name and levels."
            ) from None
        return cls(each)


MOST_CELLS = 200_000_000


@dataclass(frozen=True)
class Schema:
    """The attributes of a table, the cells that cannot occur (its structural zeros), what lies in what."""

    attributes: Attributes
    impossible: Runs = NONE
    nestings: tuple[Nesting, ...] = ()

    def __post_init__(self) -> None:
        order = {name: place for place, name in enumerate(self.names)}
        nestings = sorted(self.nestings, key=lambda one: order.get(one.attribute, -1))
        object.__setattr__(self, "nestings", tuple(nestings))
        try:
            size = count(self._levels, self.nestings)
        except ValueError as error:
            raise SpecError(f"attributes are not nested as it is said ({error}): correct it.") from None
        if not 0 < size <= MOST_CELLS:
            raise SpecError(
                f"{setting('data', 'cells')} makes a table of {size:,} cells, and {MOST_CELLS:,} are the "
                "most that are handled: name fewer columns or merge levels."
            )
        if not self.impossible.within(self.size):
            raise SpecError(
                f"a structural zero lies outside the {self.size:,} cells of the table: "
                "number the cells from 0."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes."""
        return self.attributes.names

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of levels of each attribute; their product are the cells where nothing is nested."""
        return tuple(self._levels.values())

    @property
    def size(self) -> int:
        """The number of cells, structural zeros included."""
        return self.grid.size

    @property
    def within(self) -> dict[str, str]:
        """What each nested attribute lies in; where that is several, the first."""
        return {nesting.attribute: nesting.within for nesting in tree_and_areas(self.nestings)[0]}

    @property
    def areas(self) -> tuple[Nesting, ...]:
        """What attributes lie in beside that: areas off the spine of a geography."""
        return tuple(tree_and_areas(self.nestings)[1])

    @property
    def _levels(self) -> dict[str, int]:
        return {attribute.name: len(attribute.levels) for attribute in self.attributes}

    @cached_property
    def grid(self) -> Grid:
        """The cells as a product of axes."""
        return Grid.of(self._levels, self.nestings)

    @cached_property
    def possible(self) -> BoolArray:
        """For each cell, whether it can occur."""
        mask = ~self.impossible.marks(self.size)
        mask.setflags(write=False)
        return mask

    def attribute(self, name: str) -> Attribute:
        """Return the attribute of that name."""
        return self.attributes.attribute(name)

    def axis(self, name: str) -> int:
        """Return the place of an attribute among the attributes."""
        return self.attributes.axis(name)

    def index(self, levels: Sequence[str]) -> int:
        """Return the number of the cell with these levels, one for each attribute."""
        if len(levels) != len(self.attributes):
            raise SpecError(
                f"a cell has one level of each of {', '.join(self.names)}: "
                f"give {len(self.attributes)} levels, not {len(levels)}."
            )
        codes = {
            attribute.name: np.array([attribute.code(level)], dtype=np.int64)
            for attribute, level in zip(self.attributes, levels, strict=True)
        }
        cell = int(self.grid.place(codes)[0])
        if cell < 0:
            raise SpecError(f"{self.apart(codes, 0)}: give the levels of a cell of the table.")
        return cell

    def apart(self, codes: Mapping[str, IntArray], row: int) -> str:
        """Return which levels of a row do not lie in each other: "tract '1' is not in county 'A'"."""
        for nesting in self.nestings:
            child, parent = (int(codes[name][row]) for name in (nesting.attribute, nesting.within))
            if nesting.parents[child] != parent:
                inner, outer = self.attribute(nesting.attribute), self.attribute(nesting.within)
                return f"{inner.name} {inner.levels[child]!r} is not in {outer.name} {outer.levels[parent]!r}"
        raise ValueError("these levels make a cell")

    def cell(self, index: int) -> tuple[str, ...]:
        """Return the levels of a cell."""
        if not 0 <= index < self.size:
            raise SpecError(f"the table has no cell {index}: number them from 0 to {self.size - 1}.")
        codes = self.grid.cell(index)
        return tuple(attribute.levels[codes[attribute.name]] for attribute in self.attributes)

    def in_words(self, index: int) -> str:
        """Return the levels of a cell by their attributes: "sex = 'f', age = '1'"."""
        named = zip(self.names, self.cell(index), strict=True)
        return ", ".join(f"{name} = {level!r}" for name, level in named)

    def codes(self, name: str) -> IntArray:
        """Return, for each cell, the place of its level of an attribute."""
        self.axis(name)
        return self.grid.codes(name)

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as JSON-able values."""
        plain = {**self.attributes.to_dict(), "structural_zeros": self.impossible.pairs}
        if self.nestings:
            plain["within"] = [
                {"attribute": one.attribute, "within": one.within, "parents": list(one.parents)}
                for one in self.nestings
            ]
        return plain

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the schema that `to_dict` described."""
        attributes = Attributes.from_dict(data)
        try:
            nestings = tuple(
                Nesting(str(one["attribute"]), str(one["within"]), tuple(map(index, one["parents"])))
                for one in data.get("within", ())
            )
            zeros = Runs.read(data["structural_zeros"])
        except (KeyError, TypeError, ValueError, OverflowError):
            raise SpecError(
                "the description of the schema is damaged: it needs a list of structural_zeros."
            ) from None
        return cls(attributes, zeros, nestings)


def quoted_schema(schema: Schema) -> Schema:
    """Return the schema with its names and levels as they stand where formulas are quoted."""
    levels = {quoted(each.name): map(quoted, each.levels) for each in schema.attributes}
    nestings = tuple(one.renamed(quoted) for one in schema.nestings)
    return Schema(Attributes.of(levels), schema.impossible, nestings)
