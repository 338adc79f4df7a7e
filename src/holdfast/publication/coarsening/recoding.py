"""The fewest levels to merge, neighbours of an ordered attribute or a branch of a nested one.

What may be given up are **boundaries**: that between two neighbouring levels, or that of a branch, whose
levels then become one. Tables are published by what is left: levels of a table that a merged level joins
become one, and so do those that they join in turn. So giving up more says less [theory, 15], and what makes
a cell narrow needs one of its boundaries given up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.programs.hitting import minimal_cause
from holdfast.programs.solver import UNBOUNDED
from holdfast.publication.axes import NestedAxis
from holdfast.publication.coarsening.covers import CheapestChoice, Need, cheapest
from holdfast.publication.coarsening.truth import Truth, require_told
from holdfast.publication.intervals import Numbers, intervals
from holdfast.publication.levels import TOTALS, Levels, as_range
from holdfast.system.errors import SpecError
from holdfast.system.text import closest, in_quotes

MOST_NEEDS = 5
"""Narrow cells whose boundaries are looked for at once."""


@dataclass(frozen=True)
class Boundary:
    """What may be given up: the leaves from ``first`` to ``last`` of an attribute become one level."""

    attribute: str
    leaves: tuple[int, ...]
    lost: int
    """How many levels that loses, where all that must be given up before is."""


@dataclass(frozen=True, eq=False, repr=False)
class Merged:
    """What is published once levels are merged: a group of numbers for each that is published."""

    numbers: Numbers
    of_number: IntArray
    """The merged number that each number is part of."""


@dataclass(frozen=True, eq=False, repr=False)
class Recoding:
    """What can be merged: boundaries, and pairs of which the first must be given up before the second."""

    truth: Truth
    boundaries: tuple[Boundary, ...]
    first: tuple[tuple[int, int], ...]
    _joined: dict[tuple[int, str, bytes], IntArray] = field(default_factory=dict)

    @classmethod
    def of(cls, truth: Truth) -> "Recoding":
        """Return the boundaries of the attributes that may be recoded."""
        tables = truth.tables
        every = {name: one for name, one in tables.levels.items() if _in_free(truth, name)}
        wanted = truth.spec.coarsen.attributes
        if wanted is None:
            ordered = [name for name, one in every.items() if _branches(one) or _is_ordered(one)]
            wanted = tuple(ordered or every)
        boundaries: list[Boundary] = []
        first: list[tuple[int, int]] = []
        for name in wanted:
            if name not in every:
                raise SpecError(
                    f"{in_quotes(name)} is to be recoded, which no such table has: {closest(name, every)}"
                )
            _require_alone(truth, name)
            branches = _branches(every[name])
            count = len(every[name].leaves)
            if not branches:
                boundaries += [Boundary(name, (at, at + 1), 1) for at in range(count - 1)]
                continue
            begin = len(boundaries)
            whole = tuple(range(count))
            branches = [*branches, *([whole] if whole not in branches and count > 1 else [])]
            inner = [_inside(branches, at) for at in range(len(branches))]
            for at, branch in enumerate(branches):
                held = {leaf for one in inner[at] for leaf in branches[one]}
                boundaries.append(Boundary(name, branch, len(branch) - len(held) + len(inner[at]) - 1))
                first += [(begin + one, begin + at) for one in inner[at]]
        require_told(truth)
        _require_complete(truth)
        return cls(truth, tuple(boundaries), tuple(first))

    @property
    def costs(self) -> IntArray:
        """How many levels each boundary is worth."""
        return np.array([one.lost for one in self.boundaries], dtype=np.int64)

    def solve(self) -> CheapestChoice:
        """Return the fewest levels to lose."""
        return cheapest(self.costs, self.lacks, first=self.first)

    def blocks(self, chosen: BoolArray) -> dict[str, IntArray]:
        """Return for each recoded attribute the block of every leaf; outer branches need all inner ones."""
        given = chosen.copy()
        for inner, outer in self.first:  # inner branches come first
            given[outer] &= given[inner]
        found = {}
        for name in dict.fromkeys(one.attribute for one in self.boundaries):
            count = len(self.truth.tables.levels[name].leaves)
            spans = [
                one.leaves
                for one, kept in zip(self.boundaries, given, strict=True)
                if kept and one.attribute == name
            ]
            pairs = [pair for span in spans for pair in pairwise(span)]
            found[name] = _linked(count, pairs)
        return found

    def merged(self, chosen: BoolArray) -> Merged:
        """Return what is published where some boundaries are given up."""
        tables = self.truth.tables
        blocks = self.blocks(chosen)
        numbers = tables.numbers
        group = np.arange(numbers.low.size)
        for margin, families in enumerate(tables.margins):
            rows = np.flatnonzero(tables.margin == margin)
            if rows.size == 0 or not self.truth.is_free(int(tables.table[rows[0]])):
                continue
            key = np.zeros(rows.size, dtype=np.int64)
            for name in families:
                codes = self.joined(margin, name, blocks)[self.codes[name][rows]]
                key = np.unique(key * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
            leader = np.full(int(key.max()) + 1, numbers.low.size)
            np.minimum.at(leader, key, rows)
            group[rows] = leader[key]
        leaders, of_number = np.unique(group, return_inverse=True)
        entries = np.ones(group.size, dtype=np.int64), (of_number, np.arange(group.size))
        sums = csr_array(entries, shape=(leaders.size, group.size))
        far = sums @ (numbers.high == UNBOUNDED).astype(np.int64) > 0
        high = np.where(far, UNBOUNDED, sums @ np.where(numbers.high == UNBOUNDED, 0, numbers.high))
        low = np.asarray(sums @ numbers.low)
        return Merged(Numbers(csr_array(sums @ numbers.matrix), low, high), of_number)

    @cached_property
    def codes(self) -> dict[str, IntArray]:
        """For each attribute the level of every number, as its place in the family of its margin; else -1."""
        tables = self.truth.tables
        matrix = tables.numbers.matrix
        leaf = _leaves(tables.axes, tables.shape, matrix.indices[matrix.indptr[:-1]].astype(np.int64))
        found = {name: np.full(tables.table.size, -1, dtype=np.int64) for name in tables.attributes}
        for margin, families in enumerate(tables.margins):
            rows = np.flatnonzero(tables.margin == margin)
            for name, family in families.items():
                found[name][rows] = _of_leaf(tables.levels[name], family)[leaf[name][rows]]
        return found

    def joined(self, margin: int, name: str, blocks: Mapping[str, IntArray]) -> IntArray:
        """Return for each level of a margin the merged level that it is in."""
        if name in blocks:
            return self._joins(margin, name, blocks[name])
        return np.arange(len(self.truth.tables.margins[margin][name]))

    def _joins(self, margin: int, name: str, block: IntArray) -> IntArray:
        key = (margin, name, block.tobytes())
        if key not in self._joined:
            tables = self.truth.tables
            family = tables.margins[margin][name]
            code = _of_leaf(tables.levels[name], family)
            inside = np.flatnonzero(code >= 0)
            order = inside[np.argsort(block[inside], kind="stable")]
            same = block[order][1:] == block[order][:-1]
            pairs = list(zip(code[order][:-1][same].tolist(), code[order][1:][same].tolist(), strict=True))
            self._joined[key] = _linked(len(family), pairs)
        return self._joined[key]

    def lacks(self, chosen: BoolArray) -> Sequence[Need]:
        """Return what numbers that are too small and cells that are narrow need."""
        needs = [self._cover(chosen, small=True)] if self._small(chosen) else []
        if self.truth.protected.size == 0:
            return needs
        found = intervals(self.merged(chosen).numbers, self._asked)
        narrow = np.flatnonzero(found.width < self.truth.narrow)
        seen: list[set[int]] = []
        for cell in narrow[np.argsort(found.width[narrow], kind="stable")].tolist():
            if len(needs) >= MOST_NEEDS:
                break
            need = self._cover(chosen, cell=cell)
            if set(need.elements.tolist()) not in seen:
                seen.append(set(need.elements.tolist()))
                needs.append(need)
        return needs

    @cached_property
    def _asked(self) -> csr_array:
        return csr_array(self.truth.asked.matrix[self.truth.protected])

    def _small(self, chosen: BoolArray) -> bool:
        """Whether a number would be published that the rule of its table hides."""
        tables = self.truth.tables
        merged = self.merged(chosen)
        for place, table in enumerate(tables.spec.published):
            if self.truth.is_free(place) and table.below is not None:
                mine = np.unique(merged.of_number[tables.table == place])
                low = merged.numbers.low[mine]
                if ((low > 0) & (low < table.below)).any():
                    return True
        return False

    def _cover(self, chosen: BoolArray, *, cell: int = -1, small: bool = False) -> Need:
        """Return kept boundaries that make a cell narrow, none of which can be left out."""
        kept = np.flatnonzero(~chosen)
        one = None if small else csr_array(self._asked[[cell]])

        def enough(rows: IntArray) -> bool:
            given = np.ones(chosen.size, dtype=np.bool_)
            given[kept[rows]] = False
            if one is None:
                return self._small(given)
            return bool(intervals(self.merged(given).numbers, one).width[0] < self.truth.narrow)

        cause = kept[minimal_cause(kept.size, enough)]
        return Need(cause, np.ones(cause.size, dtype=np.int64), 1)


def _in_free(truth: Truth, name: str) -> bool:
    pairs = enumerate(truth.tables.files)
    return any(name in file.attributes and truth.is_free(place) for place, file in pairs)


def _is_ordered(levels: Levels) -> bool:
    """Whether all leaves are numbers or ranges of them."""
    return all(as_range(leaf) is not None for leaf in levels.leaves)


def _branches(levels: Levels) -> list[tuple[int, ...]]:
    """Return the branches of a nested attribute, inner ones first; none where levels do not nest."""
    if _is_ordered(levels):
        return []
    found = {
        members
        for level, members in levels.members.items()
        if len(members) > 1 and level.casefold() not in TOTALS
    }
    return sorted(found, key=lambda one: (len(one), one))


def _inside(branches: Sequence[tuple[int, ...]], at: int) -> list[int]:
    """Return the branches next inside of one."""
    mine = set(branches[at])
    inner = [one for one in range(at) if set(branches[one]) < mine]
    return [one for one in inner if not any(set(branches[one]) < set(branches[other]) for other in inner)]


def _linked(count: int, pairs: Sequence[tuple[int, int]]) -> IntArray:
    """Return the component of each of so many nodes, in order of their first."""
    if not pairs:
        return np.arange(count)
    one, other = np.array(pairs, dtype=np.int64).T
    graph = coo_array((np.ones(one.size, dtype=np.int8), (one, other)), shape=(count, count))
    label = connected_components(csr_array(graph), directed=False)[1]
    return np.unique(label, return_inverse=True)[1].astype(np.int64)


def _of_leaf(levels: Levels, family: Sequence[str]) -> IntArray:
    """Return for each leaf the level of a family that it is in, -1 where it is in none."""
    found = np.full(len(levels.leaves), -1, dtype=np.int64)
    for at, level in enumerate(family):
        found[list(levels.members[level])] = at
    return found


def _leaves(axes: Sequence[NestedAxis], shape: Sequence[int], cell: IntArray) -> dict[str, IntArray]:
    """Return the leaf of each attribute at some cells."""
    places = np.unravel_index(cell, shape) if shape else ()
    return {
        name: axis.leaf[name][place]
        for axis, place in zip(axes, places, strict=True)
        for name in axis.attributes
    }


def _require_alone(truth: Truth, name: str) -> None:
    """Raise SpecError where an attribute lies in another one: its branches would not be known."""
    axis = next(axis for axis in truth.tables.axes if name in axis.attributes)
    if len(axis.attributes) > 1:
        other = next(one for one in axis.attributes if one != name)
        raise SpecError(
            f"{in_quotes(name)} stands beside {in_quotes(other)}, of which one lies in the other: recode"
            " codes that nest in one column, or leave both out of the attributes."
        )


def _require_complete(truth: Truth) -> None:
    """Raise SpecError where a table lists some totals and others not: these could not be merged."""
    tables = truth.tables
    size = np.diff(tables.numbers.matrix.indptr)
    for margin, families in enumerate(tables.margins):
        rows = np.flatnonzero(tables.margin == margin)
        if rows.size == 0 or not truth.is_free(int(tables.table[rows[0]])):
            continue
        cells = 1
        for axis in tables.axes:
            inside = np.ones(axis.size, dtype=np.bool_)
            for name in axis.attributes:
                if name in families:
                    inside &= _of_leaf(tables.levels[name], families[name])[axis.leaf[name]] >= 0
            cells *= int(inside.sum())
        if int(size[rows].sum()) != cells:
            file = tables.files[tables.table[rows[0]]]
            names = " by ".join(in_quotes(family[0]) for family in families.values())
            raise SpecError(
                f"{file.name} lists totals such as {names} for some levels and not for others: list all of"
                " them, or none."
            )
