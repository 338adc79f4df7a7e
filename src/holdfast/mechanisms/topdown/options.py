"""The keys of [mechanism] of a top-down release."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from holdfast.spec.mechanism import MechanismOptions
from holdfast.spec.part import Part, Text
from holdfast.spec.values import PositiveRational, Rational, parse_rational, short
from holdfast.system.ways import assigned, valued

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


class QueryChoice(Part):
    """A marginal of the table of every node, and its share of each level's budget relative to the others.

    A marginal of no attributes is the total, one of all of them the detailed query.
    """

    section: ClassVar = ("mechanism", "queries")

    marginal: tuple[Text, ...]
    weight: PositiveRational = Field(default=ONE, validate_default=True)

    @field_validator("marginal")
    @classmethod
    def _distinct(cls, marginal: tuple[str, ...]) -> tuple[str, ...]:
        for name in marginal:
            if marginal.count(name) > 1:
                raise ValueError(f"names {name!r} twice: keep one")
        return marginal


class Aim(Part):
    """A marginal on a level whose error is to be small; a weight makes it count more."""

    section: ClassVar = ("mechanism", "optimise_for")

    level: Text
    marginal: tuple[Text, ...] = ()
    weight: PositiveRational = Field(default=ONE, validate_default=True)


class TopDownOptions(MechanismOptions):
    """What is measured, and with which part of the budget."""

    name: Literal["topdown"] = "topdown"
    allocation: Shares = "equal"
    """Shares of the budget by level, "equal", or "optimise" for the queries of ``optimise_for``."""
    queries: tuple[QueryChoice, ...] = ()
    """Marginals of every node; the detailed query and the total where none is named."""
    optimise_for: tuple[Aim, ...] = ()

    @field_validator("queries", "optimise_for", mode="before")
    @classmethod
    def _double_brackets(cls, given: Any) -> Any:
        if isinstance(given, Mapping):
            raise ValueError("is one table: write each under its own double brackets, [[...]]")  # noqa: TRY004
        return given

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
