"""What a release is to tell how exactly: [[accuracy]], from which its budget follows.

A target names counts (a marginal, a level of the geography, a selection, or the cells) and how far each of
them may be off with a probability. ``level`` is that probability where it is a number, and a level of the
geography where it is a name; ``probability`` stands beside a name.
"""

from fractions import Fraction
from math import isfinite
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, field_validator, model_validator

from holdfast.spec.part import Part
from holdfast.spec.values import DistinctNames, Where, parse_rational, positive, some_of_several

USUAL = Fraction(95, 100)
MOST_TARGETS = 32


def _number(value: object) -> Fraction:
    """Return a number of a file, where decimals mean what they say: 0.95 is 19/20."""
    if isinstance(value, float) and isfinite(value):
        return Fraction(str(value))
    return parse_rational(value)


def _level(value: object) -> Fraction | str:
    """Return a probability, or the name of a level."""
    if isinstance(value, str):
        try:
            return parse_rational(value)
        except ValueError:
            return value
    return _number(value)


def _within(value: object) -> str:
    """Return how far counts may be off: a number, or a share such as "2 %"."""
    if not isinstance(value, str):
        return str(_number(value))
    if not value.replace("%", "", 1).strip():
        raise ValueError(f'is {value!r}: write a number of records, such as 5, or a share such as "2 %"')
    _number(value.rstrip().removesuffix("%").strip())
    return value


class AccuracyTarget(Part):
    """How far counts may be off, and with which probability each of them is no farther off."""

    section: ClassVar = ("accuracy",)

    marginal: DistinctNames | None = None
    where: Where | None = None
    cells: bool = False
    level: Annotated[Fraction | str | None, BeforeValidator(_level)] = None
    probability: Annotated[Fraction | None, BeforeValidator(_number)] = None
    within: Annotated[str, BeforeValidator(_within)]
    of: Annotated[Fraction | None, BeforeValidator(_number)] = None
    """The public size that a share is of."""

    @field_validator("within")
    @classmethod
    def _above_zero(cls, within: str) -> str:
        if Fraction(within.rstrip().removesuffix("%").strip()) <= 0:
            raise ValueError(f"is {within}: counts that are exact are invariants; give a positive number")
        return within

    @field_validator("of")
    @classmethod
    def _some_size(cls, of: Fraction | None) -> Fraction | None:
        return None if of is None else positive(of)

    @field_validator("level", "probability")
    @classmethod
    def _a_chance(cls, level: Fraction | str | None) -> Fraction | str | None:
        if isinstance(level, Fraction) and not 0 < level < 1:
            raise ValueError(f"is {level}: give a probability between 0 and 1, such as 0.95")
        return level

    @model_validator(mode="after")
    def _asks_for_counts(self) -> Self:
        named = self.marginal is not None or self.where is not None or self.place is not None
        if self.cells and named:
            raise ValueError(
                "cells are all of them: leave out marginal, where and level, or write two targets"
            )
        if not (self.cells or named):
            raise ValueError("names no counts: give it marginal, level, where, or cells = true")
        if isinstance(self.level, Fraction) and self.probability is not None:
            raise ValueError(
                "probability stands beside a level of the geography: keep one of the two numbers"
            )
        if self.is_share != (self.of is not None):
            raise ValueError(
                "of is missing: a share is of a public size, such as of = 10000"
                if self.is_share
                else 'of goes with a share, as in within = "2 %": leave it out'
            )
        return self

    @property
    def is_share(self) -> bool:
        """Whether it is relative to a stated size."""
        return self.within.rstrip().endswith("%")

    @property
    def place(self) -> str | None:
        """The level of the geography."""
        return self.level if isinstance(self.level, str) else None

    @property
    def chance(self) -> Fraction:
        """The probability with which a count is no farther off."""
        return self.level if isinstance(self.level, Fraction) else self.probability or USUAL

    @property
    def most(self) -> Fraction:
        """How far a count may be off, in records."""
        number = Fraction(self.within.rstrip().removesuffix("%").strip())
        return number if self.of is None else number * self.of / 100


def targets(given: Any) -> Any:
    """Raise ValueError where what stands under [[accuracy]] is no list of targets, or a long one."""
    some_of_several(given, "accuracy")
    if isinstance(given, list | tuple) and len(given) > MOST_TARGETS:
        raise ValueError(f"has {len(given)} targets, and {MOST_TARGETS} are the most: ask for fewer")
    return given
