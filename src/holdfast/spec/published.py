"""What an earlier release published, which the counts of this one are to keep."""

from collections.abc import Mapping
from typing import ClassVar, Self

from pydantic import Field, model_validator

from holdfast.spec.part import Part, Text
from holdfast.spec.values import Recode, require_distinct


class PublishedBefore(Part):
    """Numbers that stay as they were published: those of an earlier release, or of any table with its levels.

    They are no invariants of the confidential data: whoever published them may have added noise. They bind
    what is released, and not what a guarantee compares.
    """

    section: ClassVar = ("published",)

    release: Text | None = None
    """The folder of the earlier release."""
    table: Text | None = None
    """Of several tables in it, the one that is meant."""
    file: Text | None = None
    """In place of a release: a CSV or Parquet file, with a column of codes of a level and others by name."""
    count: Text | None = None
    """The column of its numbers."""
    cost: Text | None = None
    """What that table cost whom, in words, such as "rho 1 for one person": a file does not tell."""
    level: Text | None = None
    """The level of the geography at whose nodes they are kept; the lowest that the table has."""
    margin: tuple[Text, ...] | None = None
    """The attributes of this table by which they are kept; those that the earlier one has."""
    columns: Mapping[Text, Text] = Field(default_factory=dict)
    """What an attribute of this table is called there, where that is another name."""
    recode: Recode = Field(default_factory=dict)
    """The levels there, each with those of this table that it puts together."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.release is None) == (self.file is None):
            raise ValueError("needs one source: a release, or a file with its count and cost")
        if self.file is not None and (self.count is None or self.cost is None):
            lacks = "count" if self.count is None else "cost"
            raise ValueError(f"is a file without {lacks}: name the column of numbers, and what it cost whom")
        if self.release is not None and (self.count is not None or self.cost is not None):
            raise ValueError("is a release, which tells its count and cost: leave them out")
        if self.file is not None and self.table is not None:
            raise ValueError("has a table, which is for a release of several: leave it out")
        require_distinct(self.margin or ())
        return self
