"""Columns of levels: their names, and the levels of each in order. No product is taken of them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from holdfast.errors import SpecError
from holdfast.spec.closest import closest


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
            raise SpecError("a table needs at least one attribute: name one in [data] cells.")
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
