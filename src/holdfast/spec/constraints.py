"""What a release keeps: invariants, and what the public knows of every table."""

from typing import ClassVar, Literal, Self

from pydantic import StrictBool, StrictInt, field_validator, model_validator

from holdfast.spec.part import Part, Text
from holdfast.spec.values import DistinctNames, Where, require_distinct

MOST_TIMES = 10**6
"""What a side of a constraint is multiplied by at most: sums of counts then stay exact."""
InvariantKind = Literal["margin", "total", "where", "weights"]


class Weights(Part):
    """Any integer combinations of cells, read from a file.

    >>> hf.Invariant(weights=hf.Weights(file="weights.csv")).kind
    'weights'
    """

    section: ClassVar = ("invariants", "weights")

    file: Text


class Invariant(Part):
    """A statistic released exactly: a margin, the total, a selection's count, or weights.

    With a ``level`` of the geography it is one for each node of that level.

    >>> hf.Invariant(margin=["county"]).kind
    'margin'
    """

    section: ClassVar[tuple[str, ...]] = ("invariants",)

    name: Text | None = None
    margin: tuple[Text, ...] | None = None
    total: StrictBool = False
    where: Where | None = None
    weights: Weights | None = None
    equals: StrictInt | None = None
    level: Text | None = None

    @field_validator("margin")
    @classmethod
    def _some_distinct_attributes(cls, margin: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if margin is not None:
            if not margin:
                raise ValueError("is empty: name its attributes, or write total = true")
            require_distinct(margin)
        return margin

    @field_validator("name")
    @classmethod
    def _some_name(cls, name: str | None) -> str | None:
        if name == "":
            raise ValueError("is empty: name the invariant, or leave the name out")
        return name

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        given = [
            kind
            for kind, present in (
                ("margin", self.margin is not None),
                ("total", self.total),
                ("where", self.where is not None),
                ("weights", self.weights is not None),
            )
            if present
        ]
        if not given:
            raise ValueError("says nothing: give it one of margin, total = true, where or weights")
        if len(given) > 1 and given != ["margin", "where"]:
            raise ValueError(
                f"has {' and '.join(given)} together: keep one (only margin and where can be combined)"
            )
        if self.equals is not None and (self.margin is not None or self.weights is not None):
            raise ValueError("has equals, which is for a total or a where: leave it out")
        if self.equals is not None and self.level is not None:
            raise ValueError("has equals, and a level has one value for each node: leave it out")
        return self

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of its margin: the level of the geography, if any, comes first."""
        own = self.margin or ()
        return own if self.level is None or self.level in own else (self.level, *own)

    @property
    def kind(self) -> InvariantKind:
        """Which of the four it is; a margin within a selection is a margin, and so is a total by level."""
        if self.weights is None and self.attributes:
            return "margin"
        if self.total:
            return "total"
        return "where" if self.weights is None else "weights"


class Inequality(Invariant):
    """Counts that a release keeps within bounds: an invariant's definition, ``at_least`` or ``at_most``.

    >>> hf.Inequality(total=True, at_most=5000).at_most
    5000
    """

    section: ClassVar[tuple[str, ...]] = ("constraints", "inequalities")

    at_least: StrictInt | None = None
    at_most: StrictInt | None = None

    @model_validator(mode="after")
    def _some_bound(self) -> Self:
        if self.equals is not None:
            raise ValueError("has equals, which is for an invariant: leave it out")
        if self.at_least is None and self.at_most is None:
            raise ValueError("has no bound: give it at_least or at_most")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError(
                f"has at_least = {self.at_least} above at_most = {self.at_most}: nothing is between them"
            )
        return self


class AcrossSide(Part):
    """One side of a constraint across tables: the counts of a selection of a table, times a whole number."""

    section: ClassVar[tuple[str, ...]] = ("constraints", "across")

    table: Text
    margin: DistinctNames = ()
    where: Where | None = None
    times: StrictInt = 1

    @field_validator("times")
    @classmethod
    def _positive(cls, times: int) -> int:
        if not 1 <= times <= MOST_TIMES:
            raise ValueError(f"is {times}: give a whole number from 1 to {MOST_TIMES:,}")
        return times


class Across(Part):
    """What the public knows of two tables together, at every node of a level of their geography.

    With margins it is one constraint for each combination of their levels, which both tables have.
    ``zero`` says that the left side is 0 wherever the right side is.
    """

    section: ClassVar[tuple[str, ...]] = ("constraints", "across")

    name: Text | None = None
    level: Text | None = None
    """The lowest one where none is named."""
    left: AcrossSide
    sense: Literal[">=", "==", "<="]
    right: AcrossSide
    zero: StrictBool = False

    @field_validator("name")
    @classmethod
    def _some_name(cls, name: str | None) -> str | None:
        if name == "":
            raise ValueError("is empty: name the constraint, or leave the name out")
        return name

    @model_validator(mode="after")
    def _two_tables(self) -> Self:
        if self.left.table == self.right.table:
            raise ValueError(
                f"has the table {self.left.table!r} on both sides: a constraint of one table goes with the"
                " inequalities of that table"
            )
        if len(self.left.margin) != len(self.right.margin):
            raise ValueError(
                "has margins of different lengths on its sides: name as many attributes on the left as on the"
                " right"
            )
        return self


class Floors(Part):
    """The least count of each cell of a release, in a public file with a column for each attribute.

    ``count`` names the column of these numbers, by default that of the data. Cells without one have none.
    """

    section: ClassVar = ("constraints", "floors")

    file: Text
    count: Text | None = None


class Constraints(Part):
    """What the public knows of every table, whatever the data.

    >>> hf.Constraints(structural_zeros=[{"age": "0", "married": "yes"}]).structural_zeros
    ({'age': ('0',), 'married': ('yes',)},)
    """

    section: ClassVar = ("constraints",)

    nonnegative: StrictBool = False
    inequalities: tuple[Inequality, ...] = ()
    floors: Floors | None = None
    structural_zeros: tuple[Where, ...] = ()

    @property
    def bounds(self) -> str | None:
        """What bounds a release, in words with a verb; None where nothing does."""
        if self.nonnegative:
            return "nonnegative = true bounds"
        if self.inequalities:
            return "inequalities bound"
        return None if self.floors is None else "floors bound"
