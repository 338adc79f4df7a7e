"""Constraints across tables on one geography: sums of one table against sums of another, node by node.

At every node of a level  times_l (sum of some cells of the left table)  is at least, equal to or at most
times_r (sum of some cells of the right one), for each combination of the levels of their margins. Where it
says so, the left sum is 0 wherever the right one is. They are public knowledge, not invariants: nothing of
them depends on the data.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array

from holdfast.data.geography import Regions
from holdfast.data.invariants import margin_levels, margin_matrix
from holdfast.data.selection import chosen_levels
from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.spec.constraints import MOST_TIMES, Across, AcrossSide
from holdfast.system.errors import SpecError
from holdfast.system.text import closest, in_quotes
from holdfast.system.ways import assigned, setting

Sense = Literal[">=", "==", "<="]
IN_WORDS: dict[Sense, str] = {">=": "at least", "==": "equal to", "<=": "at most"}


@dataclass(frozen=True)
class SideSum:
    """A side: the counts of a table by a margin, of the chosen levels of some attributes, times a number."""

    table: str
    margin: tuple[str, ...]
    where: Mapping[str, tuple[str, ...]]
    times: int

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able values."""
        where = {name: list(levels) for name, levels in self.where.items()}
        return {"table": self.table, "margin": list(self.margin), "where": where, "times": self.times}

    def sums(self, regions: Regions) -> tuple[csr_array, tuple[tuple[str, ...], ...]]:
        """Return its rows over the cells of a node, and the levels of each."""
        if regions.cells is None:
            return csr_array(np.full((1, regions.width), self.times, dtype=np.int64)), ((),)
        rows, kept = margin_matrix(regions.cells, self.margin, self.where)
        return csr_array(self.times * rows), margin_levels(regions.cells, self.margin, kept)


@dataclass(frozen=True, eq=False)
class AcrossRows:
    """A constraint as rows over the cells of a node: those of the left table, and those of the right one."""

    left: csr_array
    right: csr_array


@dataclass(frozen=True)
class AcrossTables:
    """A constraint across two tables, at every node of a level."""

    name: str
    level: str
    sense: Sense
    zero: bool
    left: SideSum
    right: SideSum

    @classmethod
    def of(cls, asked: Across, number: int, regions: Mapping[str, Regions]) -> "AcrossTables":
        """Return what a spec asks for; raises SpecError where the tables do not have that."""
        levels = next(iter(regions.values())).levels
        level = levels[-1] if asked.level is None else asked.level
        if level not in levels:
            raise SpecError(
                f"{setting('constraints.across', number, 'level')} is {level!r}, which is no level of the"
                f" geography: {closest(level, levels)}"
            )
        left, right = (
            _side(side, setting("constraints.across", number, name), regions)
            for name, side in (("left", asked.left), ("right", asked.right))
        )
        found = cls(
            asked.name or _in_words(left, right, asked.sense), level, asked.sense, asked.zero, left, right
        )
        found.rows(regions)
        return found

    def rows(self, regions: Mapping[str, Regions]) -> AcrossRows:
        """Return its rows, those of both sides in one order; raises SpecError where levels do not match."""
        (left, mine), (right, theirs) = (side.sums(regions[side.table]) for side in (self.left, self.right))
        for one, other, side in ((mine, theirs, self.left), (theirs, mine, self.right)):
            if apart := [levels for levels in one if levels not in set(other)]:
                theirs_name = (self.right if side is self.left else self.left).table
                raise SpecError(
                    f"the constraint {self.name!r} is by {' and '.join(side.margin)}, and"
                    f" {in_quotes(', '.join(apart[0]))} of the table {side.table!r} is not among those of"
                    f" {theirs_name!r}: write the levels alike, or choose some with"
                    f" {assigned('where', words='{ ... }')}."
                )
        places = {levels: row for row, levels in enumerate(theirs)}
        return AcrossRows(left, csr_array(right[[places[levels] for levels in mine]]))

    def kept(self, left: IntArray, right: IntArray) -> BoolArray:
        """Return, element by element, whether sums of both sides keep it."""
        found = {">=": left >= right, "==": left == right, "<=": left <= right}[self.sense]
        return np.asarray(found & ((left == 0) | (right != 0)) if self.zero else found)

    def plain(self, regions: Mapping[str, Regions]) -> bool:
        """Whether it is written as `of` writes it: levels of its tables, each once and in their order."""
        for side in (self.left, self.right):
            own = regions[side.table]
            known = {} if own.cells is None else {each.name: each.levels for each in own.cells.attributes}
            ordered = {
                name: tuple(level for level in levels if level in side.where[name])
                for name, levels in known.items()
                if name in side.where
            }
            if list(ordered.items()) != list(side.where.items()) or not 1 <= side.times <= MOST_TIMES:
                return False
        return bool(self.name) and self.level in next(iter(regions.values())).levels

    def broken(self, regions: Mapping[str, Regions], tables: Mapping[str, IntArray]) -> int:
        """Return how many sums do not keep it, from the counts of the nodes of its level."""
        rows = self.rows(regions)
        sums = (
            tables[side.table] @ part.T for side, part in ((self.left, rows.left), (self.right, rows.right))
        )
        return int((~self.kept(*(np.asarray(one) for one in sums))).sum())

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able values."""
        return {
            "name": self.name,
            "level": self.level,
            "sense": self.sense,
            "zero": self.zero,
            "left": self.left.to_dict(),
            "right": self.right.to_dict(),
        }


def _side(asked: AcrossSide, place: str, regions: Mapping[str, Regions]) -> SideSum:
    if asked.table not in regions:
        raise SpecError(
            f"{place} names the table {asked.table!r}, which is not among the tables:"
            f" {closest(asked.table, list(regions))}"
        )
    own = regions[asked.table]
    for name in (*asked.margin, *(asked.where or {})):
        if name not in own.names:
            known = closest(name, own.names) if own.names else "it has no cells beside its geography."
            raise SpecError(
                f"{place} names {name!r}, which is not among the cells of the table {asked.table!r}: {known}"
            )
    where = {}
    if asked.where and own.cells is not None:
        chosen = chosen_levels(own.cells, asked.where, place=f"{place} where")
        where = {
            each.name: tuple(level for level in each.levels if level in chosen[each.name])
            for each in own.cells.attributes
            if each.name in chosen
        }
    return SideSum(asked.table, asked.margin, where, asked.times)


def _in_words(left: SideSum, right: SideSum, sense: Sense) -> str:
    return f"{_called(left)} {sense} {_called(right)}"


def _called(side: SideSum) -> str:
    said = [f"{name} = {' or '.join(levels)}" for name, levels in side.where.items()]
    within = f" within {' and '.join(said)}" if said else ""
    times = f"{side.times:,} times " if side.times > 1 else ""
    return f"{times}{side.table}{' by ' + ' by '.join(side.margin) if side.margin else ''}{within}"
