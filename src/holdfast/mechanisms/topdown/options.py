"""The keys of [mechanism] of a top-down release."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from holdfast.spec.mechanism import MechanismOptions
from holdfast.spec.part import Part, Text
from holdfast.spec.values import (
    DistinctNames,
    PositiveRational,
    Rational,
    Recode,
    Where,
    parse_rational,
    short,
    some_of_several,
)
from holdfast.system.errors import SpecError
from holdfast.system.text import closest
from holdfast.system.ways import assigned, setting, valued

ONE = 1


def _shares(value: object) -> object:
    """Return shares by level, exact and summing to 1, or a word."""
    if not isinstance(value, Mapping):
        if value in ("equal", "optimise"):
            return value
        raise ValueError(
            f'is {short(str(value))!r}: write "equal", "optimise", or shares by level, as in'
            f" {valued({'state': '1/4', 'county': '3/4'})}"
        )
    found = {}
    for level, share in value.items():
        try:
            found[str(level)] = parse_rational(share)
        except ValueError as error:
            raise ValueError(f"{level} {error}") from None
        if found[str(level)] < 0:
            raise ValueError(f"{level} is {short(str(share))}: a share is not below 0")
    total = sum(found.values())
    if total != ONE:
        raise ValueError(f"sums to {short(str(total))}: shares of the budget sum to 1, exactly")
    return found


Shares = Annotated[Mapping[str, Rational] | Literal["equal", "optimise"], BeforeValidator(_shares)]


def _weights(value: object) -> object:
    """Return a weight, or weights by level, none below zero."""
    each = value if isinstance(value, Mapping) else {"": value}
    found = {}
    for level, weight in each.items():
        try:
            found[str(level)] = parse_rational(weight)
        except ValueError as error:
            raise ValueError(f"{level} {error}".strip()) from None
        if found[str(level)] < 0:
            raise ValueError(f"{level} is {short(str(weight))}: a weight is not below 0".strip())
    if not any(found.values()):
        raise ValueError("is 0 everywhere: give some level a weight above 0, or leave the query out")
    return found if isinstance(value, Mapping) else found[""]


class QueryChoice(Part):
    """A marginal of the table of every node, and its share of each level's budget relative to the others.

    A marginal of no attributes is the total, one of all of them the detailed query. ``recode`` puts levels of
    an attribute together, and leaves out those that it does not name; ``where`` counts some cells alone. So a
    row of a query is any union of cells, and no cell is in two of its rows.
    """

    section: ClassVar = ("mechanism", "queries")

    name: Text | None = None
    """What it is called; its attributes where nothing is said."""
    marginal: DistinctNames
    recode: Recode = Field(default_factory=dict)
    """New levels of attributes, each with the levels that it puts together: names, or a range of numbers."""
    where: Where | None = None
    weight: Annotated[Rational | Mapping[str, Rational], BeforeValidator(_weights)] = Field(
        default=ONE, validate_default=True
    )
    """Its weight on every level, or by level; on a level that is not named it has none."""

    @field_validator("name")
    @classmethod
    def _some_name(cls, name: str | None) -> str | None:
        if name == "":
            raise ValueError("is empty: name the query, or leave the name out")
        return name

    @model_validator(mode="after")
    def _recoded(self) -> Self:
        for name, levels in self.recode.items():
            if name not in self.marginal:
                raise ValueError(f"recodes {name!r}, which is not in its marginal: add it there")
            if not levels:
                raise ValueError(f"recodes {name!r} to nothing: name its new levels, each with those it has")
        return self

    @property
    def named_levels(self) -> tuple[str, ...]:
        """The levels, and areas, that its weights name."""
        return tuple(self.weight) if isinstance(self.weight, Mapping) else ()

    def on(self, levels: Sequence[str]) -> tuple[Fraction, ...]:
        """Return its weight on each level; raises SpecError where it names another one."""
        if not isinstance(self.weight, Mapping):
            return (Fraction(self.weight),) * len(levels)
        for name in self.weight:
            if name not in levels:
                raise SpecError(
                    f"{setting('mechanism.queries', 'weight')} names {name!r}, which is no level of the"
                    f" geography: {closest(name, levels)}"
                )
        return tuple(Fraction(self.weight.get(level, 0)) for level in levels)


class Aim(Part):
    """A marginal on a level whose error is to be small; a weight makes it count more."""

    section: ClassVar = ("mechanism", "optimise_for")

    level: Text
    marginal: tuple[Text, ...] = ()
    weight: PositiveRational = Field(default=ONE, validate_default=True)


class TopDownOptions(MechanismOptions):
    """What is measured, and with which part of the budget.

    >>> hf.TopDown(allocation="optimise").allocation
    'optimise'
    """

    name: Literal["topdown"] = "topdown"
    allocation: Shares = "equal"
    """Shares of the budget by level, "equal", or "optimise" for the queries of ``optimise_for``."""
    queries: tuple[QueryChoice, ...] = ()
    """Marginals of every node; the detailed query and the total where none is named."""
    optimise_for: tuple[Aim, ...] = ()
    passes: tuple[tuple[Text, ...], ...] = ()
    """Names of queries, estimated one group after another; those that none names come with the last."""

    @field_validator("queries", "optimise_for", mode="before")
    @classmethod
    def _double_brackets(cls, given: Any, info: ValidationInfo) -> Any:
        return some_of_several(given, f"mechanism.{info.field_name}")

    @field_validator("passes")
    @classmethod
    def _each_once(cls, passes: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
        named = [name for each in passes for name in each]
        for name in named:
            if named.count(name) > 1:
                raise ValueError(
                    f"names the query {name!r} twice: what a pass found stays as it is, keep one"
                )
        if not all(passes):
            raise ValueError("has a pass without a query: name one, or leave the pass out")
        return passes

    @model_validator(mode="after")
    def _aims_are_used(self) -> Self:
        if self.optimise_for and self.allocation != "optimise":
            raise ValueError(
                f"optimise_for goes with {assigned('allocation', 'optimise')}: set that, or leave it out"
            )
        return self

    def measured_queries(self, names: tuple[str, ...]) -> tuple[QueryChoice, ...]:
        """Return the queries over cells of these attributes: the detailed one and the total by default."""
        if self.queries:
            return self.queries
        both = (QueryChoice(marginal=names), QueryChoice(marginal=()))
        return both if names else both[1:]
