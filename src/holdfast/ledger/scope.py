"""The joint scope of all releases of one file of records [theory, 10].

Release j is over the attributes S_j and keeps invariants of the table over S_j. The joint scope are the files
of records over V, the union of the S_j, that agree with the invariants of all.

An invariant says nothing of attributes that it does not involve, so it is one of every table over attributes
that hold those. A table over S is thus restricted by all invariants within S, whichever release keeps them.
So it is by public inequalities.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.data.grid import Grid, Nesting, ancestors, count
from holdfast.data.schema import Schema
from holdfast.lattice.arrays import IntArray
from holdfast.ledger.charged import ChargedInequality, ChargedInvariant, ChargedRecords, ChargedTable
from holdfast.spec.privacy import Neighbours
from holdfast.system.errors import InvariantError
from holdfast.system.text import canonical
from holdfast.universe.bounds import Clique, maximal
from holdfast.universe.limits import together
from holdfast.universe.universe import Universe

Names = frozenset[str]
ColumnCodes = Mapping[str, IntArray]
"""For each cell of a joint table, the place of its level of each attribute."""

REST = ""
"""Stands for all attributes that nothing involves; no attribute has this name."""


@dataclass(frozen=True, eq=False)
class JointScope:
    """Releases of one file; no two of them contradict each other.

    What ``swapped`` releases keep is not worked out: without it the scope is larger, so what tables lose on
    it, they lose at most on the joint one.
    """

    releases: tuple[ChargedTable, ...]
    swapped: tuple[ChargedRecords, ...] = ()

    @property
    def neighbours(self) -> Neighbours:
        """What makes neighbours of the files: a ledger has one answer for all of its releases."""
        units = [*(one.unit for one in self.releases), *(one.unit for one in self.swapped)]
        return units[0].neighbours

    @cached_property
    def attributes(self) -> Names:
        """The attributes of all releases together, V."""
        return Names().union(*(release.attributes for release in self.releases))

    @cached_property
    def levels(self) -> Mapping[str, tuple[str, ...]]:
        """The levels of each attribute: a release that does not list one says that no record has it."""
        found: dict[str, tuple[str, ...]] = {}
        for attribute in (one for release in self.releases for one in release.schema.attributes):
            before, listed = found.get(attribute.name, attribute.levels), set(attribute.levels)
            found[attribute.name] = tuple(level for level in before if level in listed)
        return found

    @cached_property
    def distinct(self) -> tuple[ChargedInvariant, ...]:
        """The invariants of all releases, each once."""
        return tuple({held.key: held for release in self.releases for held in release.held}.values())

    def held(self, over: Names) -> tuple[ChargedInvariant, ...]:
        """Return the invariants of the table over some attributes, without margins that others imply."""
        within = [held for held in self.distinct if held.involved <= over]
        outermost = maximal(held.margin for held in within if held.margin is not None)
        kept = (None, *(outermost or (Names(),)))
        return tuple(held for held in within if held.margin in kept)

    def bounds(self, over: Names) -> tuple[ChargedInequality, ...]:
        """Return the inequalities of the table over some attributes, each once."""
        every = (one for release in self.releases for one in release.bounds if one.involved <= over)
        return tuple({one.key: one for one in every}.values())

    def zeros(self, over: Names) -> tuple[Schema, ...]:
        """Return the schemas among some attributes that leave cells out: structural zeros, or nested."""
        schemas = (release.schema for release in self.releases)
        return tuple(
            schema
            for schema in schemas
            if (schema.impossible or schema.nestings) and over.issuperset(schema.names)
        )

    def cliques(self, over: Names) -> tuple[Clique, ...] | None:
        """Return the attributes of the margins that restrict a table, where nothing else does."""
        margins = [held.margin for held in self.held(over)]
        if self.zeros(over) or self.bounds(over) or None in margins:
            return None
        return tuple(margin for margin in margins if margin is not None)

    def restrictions(self, over: Names) -> object:
        """Return all that restricts the table over some attributes; equal where the same does."""
        keys = frozenset(held.key for held in (*self.held(over), *self.bounds(over)))
        return keys, frozenset(canonical(schema.to_dict()) for schema in self.zeros(over))

    def knows_more(self, release: ChargedTable) -> bool:
        """Whether more is known of the table of a release than it says itself."""
        alone, over = JointScope((release,)), release.attributes
        fewer = any(len(self.levels[name]) < len(alone.levels[name]) for name in over)
        return fewer or self.restrictions(over) != alone.restrictions(over)

    @property
    def keepers(self) -> tuple[ChargedTable, ...]:
        """The releases that keep by themselves all that any release keeps."""
        everything = self.restrictions(self.attributes)
        return tuple(
            release
            for release in self.releases
            if self.restrictions(release.attributes) == everything and not self.knows_more(release)
        )

    def axes(self, over: Names) -> list[str]:
        """Return the attributes that some restriction of a table involves."""
        involved = (held.involved for held in (*self.held(over), *self.bounds(over)))
        return sorted(Names().union(*involved, *(schema.names for schema in self.zeros(over))))

    def levels_over(self, over: Names) -> Mapping[str, tuple[str, ...]]:
        """Return the levels that a universe is over: two of those that no restriction tells apart.

        A universe only asks whether cells that share all invariants are more than one. So two levels also
        stand for all attributes that nothing involves, if they have more than one combination.
        """
        held, zeros = (*self.held(over), *self.bounds(over)), self.zeros(over)
        found: dict[str, tuple[str, ...]] = {}
        for name in (axes := self.axes(over)):
            whole = any(name in schema.names for schema in zeros)
            alike: dict[object, list[str]] = {}
            for level in self.levels[name]:
                key = (level if whole else None, *(one.sees(name, level) for one in held))
                alike.setdefault(key, []).append(level)
            found[name] = tuple(level for levels in alike.values() for level in levels[:2])
        others = prod(len(self.levels[name]) for name in over.difference(axes))
        return {**found, REST: ("one", "another")[:others]}

    def size(self, over: Names) -> int:
        """Return the number of cells of the universe over some attributes, structural zeros included."""
        shown = self.levels_over(over)
        levels = {name: len(levels) for name, levels in shown.items()}
        return count(levels, self._nestings(over, shown))

    def universe(self, over: Names) -> Universe:
        """Return the tables over some attributes that agree with all their restrictions."""
        shown, held = self.levels_over(over), self.held(over)
        levels = {name: len(levels) for name, levels in shown.items()}
        grid = Grid.of(levels, self._nestings(over, shown))
        codes = {name: grid.codes(name) for name in shown}
        possible = np.ones(grid.size, dtype=np.bool_)
        for schema in self.zeros(over):
            places = self._places(schema, shown, codes)
            possible &= (places >= 0) & schema.possible[places]
        columns = np.flatnonzero(possible)
        rows = [csr_array((0, columns.size), dtype=np.int64)]
        rows += [one.block.matrix[:, self._places(one.schema, shown, codes)[columns]] for one in held]
        values = [np.zeros(0, dtype=np.int64), *(one.values for one in held)]
        stacked = csr_array(vstack(rows, format="csr"))
        limits = (one.limits(self._places(one.schema, shown, codes)[columns]) for one in self.bounds(over))
        return Universe.of(stacked, np.concatenate(values), self.cliques(over), limits=together(limits))

    def _nestings(self, over: Names, shown: Mapping[str, tuple[str, ...]]) -> tuple[Nesting, ...]:
        """Return what lies in what by any release, so that cells are not made to be left out again.

        An attribute is put in one other at most, in no circle, and with all its levels. What else a release
        says is not lost: its own cells are those that can be.
        """
        found: dict[str, Nesting] = {}
        for schema in self.zeros(over):
            for one in schema.nestings:
                within = {name: nesting.within for name, nesting in found.items()}
                inner, outer = schema.attribute(one.attribute), schema.attribute(one.within)
                above = [outer.levels[one.parents[inner.code(level)]] for level in shown[inner.name]]
                circle = inner.name in (outer.name, *ancestors(outer.name, within))
                if inner.name not in found and not circle and set(above) <= set(shown[outer.name]):
                    places = {level: place for place, level in enumerate(shown[outer.name])}
                    found[inner.name] = replace(one, parents=tuple(places[level] for level in above))
        return tuple(found.values())

    def _places(self, schema: Schema, shown: Mapping[str, tuple[str, ...]], codes: ColumnCodes) -> IntArray:
        """Return, for each joint cell, a cell of a release: any of those that differ in other attributes.

        It is -1 where levels are not nested as the release says.
        """
        own = {}
        for attribute in schema.attributes:
            levels = shown.get(attribute.name, attribute.levels[:1])
            place = np.array([attribute.code(level) for level in levels], dtype=np.int64)
            own[attribute.name] = place[codes.get(attribute.name, np.zeros_like(codes[REST]))]
        return schema.grid.place(own)


def require_same_columns(releases: Sequence[ChargedTable | ChargedRecords]) -> None:
    """Raise where one file has come with columns of other names, or levels that are written otherwise.

    Under two names one column would be two attributes, and invariants that tie it would seem apart.
    """
    marked: dict[tuple[str, str], tuple[str, str]] = {}
    for release in releases:
        for name, mark in release.marks.items():
            other, before = marked.setdefault((release.file, name), (release.name, mark))
            if mark != before:
                raise _other_columns(name, other, release.name)
    for release in releases:
        for (file, name), (other, _) in marked.items():
            if file == release.file and release.header is not None and name not in release.header:
                raise _other_columns(name, other, release.name)


def _other_columns(column: str, one: str, other: str) -> InvariantError:
    return InvariantError(
        f"{one} and {other} are of one file, and the column {column!r} has another name, or levels that are"
        " written otherwise, in one of them: name columns and levels alike in all releases of a file."
    )
