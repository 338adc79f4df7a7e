"""Data as a certificate describes them: cells of a table, columns of a file, counts that are kept.

One class a section of `certificate.json`.
"""

from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    model_validator,
)

from holdfast.data.schema import Schema
from holdfast.spec.constraints import InvariantKind

IF_SAID = Field(exclude_if=lambda said: said is None)
"""Left out of the text where there is nothing to say."""
Whole = Annotated[StrictInt, Field(ge=-(2**63), lt=2**63)]
"""A count, or a sum of counts: tables have 64 bits for each."""


class Section(BaseModel):
    """The base of every section: frozen, no unknown keys."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_by_name=True,
        validate_by_alias=True,
        json_schema_serialization_defaults_required=True,
    )


class AttributeSection(Section):
    """A classification, and its levels in order."""

    name: StrictStr
    levels: tuple[StrictStr, ...]


class NestingSection(Section):
    """An attribute whose levels each lie in one level of another, the places of which are ``parents``."""

    attribute: StrictStr
    within: StrictStr
    parents: tuple[StrictInt, ...]


class SchemaSection(Section):
    """The cells: every combination of levels in row-major order, less those that cannot occur.

    Of nested attributes only combinations that lie in each other are cells.
    """

    attributes: tuple[AttributeSection, ...]
    structural_zeros: tuple[tuple[StrictInt, StrictInt], ...] = ()
    """The first and the last cell of each run of them."""
    within: Annotated[tuple[NestingSection, ...], Field(exclude_if=lambda nested: not nested)] = ()

    @property
    def zeros(self) -> int:
        """How many cells cannot occur."""
        return sum(last - first + 1 for first, last in self.structural_zeros)

    def to_schema(self) -> Schema:
        """Return the cells."""
        return Schema.from_dict(self.model_dump(mode="json"))


class TableSection(Section):
    """The cells of the confidential table, and the name of released counts."""

    count: StrictStr
    cells: SchemaSection = Field(alias="schema")
    inferred: tuple[StrictStr, ...] = ()
    """The attributes whose levels were taken from the data."""
    geography: Annotated[tuple[StrictStr, ...], Field(exclude_if=lambda levels: not levels)] = ()
    """The attributes that are levels of a geography, root first."""
    status: Annotated[StrictBool, Field(exclude_if=lambda told: not told)] = False
    """Whether files of the counts have a column with the status of each cell."""


class CountsSection(Section):
    """Some sums over cells: a margin, the total, the count of a selection, or weighted cells."""

    name: StrictStr
    kind: InvariantKind
    attributes: tuple[StrictStr, ...]
    where: dict[StrictStr, tuple[StrictStr, ...]]
    labels: tuple[StrictStr, ...]
    equals: StrictInt | None = None
    rows: tuple[StrictInt, ...] | None = None
    cells: tuple[StrictInt, ...] | None = None
    weights: tuple[StrictInt, ...] | None = None
    level: Annotated[StrictStr | None, IF_SAID] = None
    """Of weights that are the same at every node of a level of the geography: that level."""


class InvariantSection(CountsSection):
    """Sums that every release has exactly."""

    values: tuple[Whole, ...]

    @model_validator(mode="after")
    def _one_value_a_label(self) -> Self:
        if len(self.values) != len(self.labels):
            raise ValueError(f"has {len(self.values)} values for {len(self.labels)} labels")
        return self


class PublishedSection(Section):
    """Sums that were published before and stay as they were: one line a node of a level."""

    level: StrictStr
    marginal: tuple[StrictStr, ...]
    recode: dict[StrictStr, dict[StrictStr, tuple[StrictStr, ...]]]
    values: tuple[tuple[Whole, ...], ...]
    source: StrictStr
    cost: StrictStr


class InequalitySection(CountsSection):
    """Sums that no release has below a number, or above one."""

    at_least: Annotated[Whole | None, IF_SAID] = None
    at_most: Annotated[Whole | None, IF_SAID] = None

    @model_validator(mode="after")
    def _some_bound(self) -> Self:
        if self.at_least is None and self.at_most is None:
            raise ValueError("has no bound")
        return self

    @property
    def bounds(self) -> dict[str, int]:
        """The bounds in words."""
        named = {"at least": self.at_least, "at most": self.at_most}
        return {words: bound for words, bound in named.items() if bound is not None}


class ConstraintsSection(Section):
    """What releases are kept within."""

    nonnegative: StrictBool = False
    inequalities: tuple[InequalitySection, ...] = ()


class ColumnSection(Section):
    """A column of a file, and the type of its values."""

    name: StrictStr
    type: StrictStr


class FileSection(Section):
    """A file of records: its kind, its columns in order, and how many records it has."""

    kind: Literal["csv", "parquet"]
    separator: StrictStr = ","
    encoding: StrictStr = "utf-8"
    columns: tuple[ColumnSection, ...]
    rows: StrictInt


class RecordsSection(FileSection):
    """The swapped file; with an ``id`` rows of one id are a unit that moves whole, or persons follow it."""

    id: Annotated[StrictStr | None, IF_SAID] = None
    persons: Annotated[FileSection | None, IF_SAID] = None


class SelectionSection(Section):
    """Some levels of a column, or a range of numbers."""

    levels: Annotated[tuple[StrictStr, ...] | None, IF_SAID] = None
    low: Annotated[StrictInt | StrictFloat | None, IF_SAID] = None
    high: Annotated[StrictInt | StrictFloat | None, IF_SAID] = None


class KeptSection(Section):
    """Counts of records that were asked for, and that every swap keeps."""

    name: StrictStr
    kind: InvariantKind
    attributes: tuple[StrictStr, ...]
    where: dict[StrictStr, SelectionSection]
    equals: Annotated[Whole | None, IF_SAID] = None
    kept: Literal[True] = True
    """What a swap would break is refused before anything is drawn."""
    kept_by: Literal["stratum by swap", "stratum by held"]
    """The induced invariant that it is a sum of."""
    levels: tuple[tuple[StrictStr | None, ...], ...]
    values: tuple[Whole, ...]
