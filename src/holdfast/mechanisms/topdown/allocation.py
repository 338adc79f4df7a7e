"""Shares of the budget: by level, and within a level by query."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from holdfast.errors import SpecError
from holdfast.mechanisms.topdown.design import Design
from holdfast.spec.closest import closest


@dataclass(frozen=True)
class Allocation:
    """The share of each level, root first, and the weight of each query within a level."""

    levels: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]

    def shares(self, design: Design) -> tuple[Fraction, ...]:
        """Return the share of everything that is measured; they sum to 1.

        A query that is not measured on a level, as invariants fix it, leaves its part to the others there.
        """
        totals = [Fraction(0)] * len(self.levels)
        for each in design.measured:
            totals[each.level] += self.weights[each.query]
        return tuple(
            self.levels[each.level] * self.weights[each.query] / totals[each.level]
            for each in design.measured
        )


def levels_of(design: Design, asked: Mapping[str, Fraction] | Literal["equal"]) -> tuple[Fraction, ...]:
    """Return the share of each level, root first; raises SpecError where they do not fit the geography."""
    names = design.regions.levels
    measured = sorted({each.level for each in design.measured})
    if not measured:
        raise SpecError(
            "[[mechanism.queries]] asks for nothing but what the invariants fix: ask for a larger marginal."
        )
    if asked == "equal":
        return tuple(Fraction(int(level in measured), len(measured)) for level in range(len(names)))
    _require_levels(names, asked)
    for level, name in enumerate(names):
        if asked[name] and level not in measured:
            raise SpecError(
                f"[mechanism] allocation gives {name} {asked[name]}, and the invariants fix all that is asked"
                f' of it: give {name} "0", and its share to other levels.'
            )
    return tuple(asked[name] for name in names)


def _require_levels(names: Sequence[str], asked: Mapping[str, Fraction]) -> None:
    for name in asked:
        if name not in names:
            raise SpecError(
                f"[mechanism] allocation names {name!r}, which is no level of the geography:"
                f" {closest(name, names)}"
            )
    for name in names:
        if name not in asked:
            raise SpecError(
                f'[mechanism] allocation has no share for the level {name!r}: give one, as "1/4", or "0".'
            )
