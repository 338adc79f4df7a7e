"""The cells of a table: every combination of the levels of its attributes, in row-major order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from operator import index
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from holdfast.data.attributes import Attribute, Attributes
from holdfast.errors import SpecError

MOST_CELLS = 100_000_000


@dataclass(frozen=True)
class Schema:
    """The attributes of a table, and the cells that cannot occur (its structural zeros)."""

    attributes: Attributes
    impossible: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        if self.size > MOST_CELLS:
            raise SpecError(
                f"[data] cells makes a table of {self.size:,} cells, and {MOST_CELLS:,} are the "
                "most that are handled: name fewer columns or merge levels."
            )
        if self.impossible and not (min(self.impossible) >= 0 and max(self.impossible) < self.size):
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
        """The number of levels of each attribute."""
        return tuple(len(attribute.levels) for attribute in self.attributes)

    @property
    def size(self) -> int:
        """The number of cells, structural zeros included."""
        return prod(self.shape)

    @cached_property
    def possible(self) -> NDArray[np.bool_]:
        """For each cell, whether it can occur."""
        mask = np.ones(self.size, dtype=np.bool_)
        mask[np.fromiter(self.impossible, dtype=np.int64, count=len(self.impossible))] = False
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
        cell = 0
        for attribute, level in zip(self.attributes, levels, strict=True):
            cell = cell * len(attribute.levels) + attribute.code(level)
        return cell

    def cell(self, index: int) -> tuple[str, ...]:
        """Return the levels of a cell."""
        if not 0 <= index < self.size:
            raise SpecError(f"the table has no cell {index}: number them from 0 to {self.size - 1}.")
        codes = np.unravel_index(index, self.shape)
        return tuple(attribute.levels[code] for attribute, code in zip(self.attributes, codes, strict=True))

    def in_words(self, index: int) -> str:
        """Return the levels of a cell by their attributes: "sex = 'f', age = '1'"."""
        named = zip(self.names, self.cell(index), strict=True)
        return ", ".join(f"{name} = {level!r}" for name, level in named)

    def codes(self, name: str) -> NDArray[np.int64]:
        """Return, for each cell, the place of its level of an attribute."""
        axis = self.axis(name)
        inner, outer = prod(self.shape[axis + 1 :]), prod(self.shape[:axis])
        levels = np.arange(self.shape[axis], dtype=np.int64)
        return np.tile(np.repeat(levels, inner), outer)

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as JSON-able values."""
        return {**self.attributes.to_dict(), "structural_zeros": sorted(self.impossible)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the schema that `to_dict` described."""
        attributes = Attributes.from_dict(data)
        try:
            return cls(attributes, frozenset(index(cell) for cell in data["structural_zeros"]))
        except (KeyError, TypeError):
            raise SpecError(
                "the description of the schema is damaged: it needs a list of structural_zeros."
            ) from None
