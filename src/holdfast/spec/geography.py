"""The geography of a spec: the levels of a hierarchy, root first, and where a file says them."""

from collections.abc import Mapping
from itertools import pairwise
from typing import ClassVar, Self

from pydantic import Field, StrictInt, field_validator, model_validator

from holdfast.spec.part import Part, Text


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

    @field_validator("prefixes")
    @classmethod
    def _rise(cls, prefixes: Mapping[str, int]) -> Mapping[str, int]:
        if "" in prefixes:
            raise ValueError("has a level without a name: name it")
        for (above, short), (below, long) in pairwise([("", -1), *prefixes.items()]):
            if long <= short:
                said = f"no more than {above!r}" if above else "less than 0"
                raise ValueError(
                    f"gives {below!r} {long} characters, {said}: list the root first, and longer prefixes"
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
