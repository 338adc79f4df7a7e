"""The budget that several tables share, where it follows from how accurate some of them have to be.

Tables divide a budget in proportions that stay, and each is as accurate as its part lets it be. So a target
of any table has a least budget of the whole; the largest of all is spent, and its target binds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from holdfast.mechanisms.errors.least_budget import AccuracyBudget
from holdfast.system.text import rational


@dataclass(frozen=True)
class SharedBudget:
    """The least budget of all tables, with what the targets of each need of it."""

    tables: Mapping[str, AccuracyBudget]

    @property
    def table(self) -> str:
        """The table whose target binds."""
        return max(self.tables, key=lambda name: self.tables[name].value)

    @property
    def name(self) -> str:
        """Of the budget."""
        return self.tables[self.table].name

    @property
    def value(self) -> Fraction:
        """The budget."""
        return self.tables[self.table].value

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            self.name: str(self.value),
            "binding_table": self.table,
            "binding_target": self.tables[self.table].binds + 1,
        }

    @property
    def words(self) -> str:
        """It in a sentence."""
        one = self.tables[self.table]
        return (
            f"Budget of all tables: {self.name} {rational(self.value)}, the least for"
            f" {one.goals[one.binds].words} in {self.table}, which binds."
        )
