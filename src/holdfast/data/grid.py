"""Cells as a product of axes, where attributes that lie in each other share one axis.

A tract lies in one county: of all pairs of a tract and a county only the real ones are cells. So county and
tract are one axis, whose entries are the real pairs, and the cells are all combinations of entries of the
axes, in row-major order. Time and memory go with the real cells, never with the product of all levels.

Entries of an axis stand in the lexicographic order of their codes. They are found again by prefixes: step k
keeps the sorted pairs (place of the first k codes, code k + 1), so that no number grows with the product.
Nothing but numpy is needed here, as the quick part of a verification counts cells with it, too.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np

from holdfast.lattice.arrays import IntArray


@dataclass(frozen=True)
class Nesting:
    """Each level of an attribute lies in one level of another: ``parents`` has the place of that."""

    attribute: str
    within: str
    parents: tuple[int, ...]

    def renamed(self, name: Callable[[str], str]) -> "Nesting":
        """Return the same with other names of the attributes."""
        return replace(self, attribute=name(self.attribute), within=name(self.within))


@dataclass(frozen=True, eq=False)
class Axis:
    """The combinations of levels that some attributes have together; make one with `Axis.of`."""

    names: tuple[str, ...]
    columns: tuple[IntArray, ...]
    """For each attribute, the place of the level that each entry has."""
    sizes: tuple[int, ...]
    """For each attribute, the number of its levels."""
    steps: tuple[IntArray, ...]
    """For each attribute, the sorted prefixes of entries that end with it; none for one whole attribute."""

    @classmethod
    def whole(cls, name: str, size: int) -> "Axis":
        """Return the axis of one attribute with all its levels."""
        return cls((name,), (np.arange(size, dtype=np.int64),), (size,), ())

    @classmethod
    def of(cls, names: Sequence[str], columns: Sequence[IntArray], sizes: Sequence[int]) -> "Axis":
        """Return the axis of the distinct combinations among some rows."""
        first = place = np.zeros(columns[0].size, dtype=np.int64)
        steps = []
        for column, size in zip(columns, sizes, strict=True):
            step, first, place = np.unique(place * size + column, return_index=True, return_inverse=True)
            steps.append(step)
        kept = tuple(column[first] for column in columns)
        return cls(tuple(names), kept, tuple(sizes), tuple(steps))

    @property
    def size(self) -> int:
        """The number of entries."""
        return int(self.columns[0].size)

    def column(self, name: str) -> IntArray:
        """Return the code that each entry has of an attribute."""
        return self.columns[self.names.index(name)]

    def place(self, codes: Sequence[IntArray]) -> IntArray:
        """Return the entry with these codes, one for each attribute; -1 where there is none."""
        if not self.steps:
            return codes[0]
        place, real = np.zeros(codes[0].shape, dtype=np.int64), np.ones(codes[0].shape, dtype=np.bool_)
        for step, code, size in zip(self.steps, codes, self.sizes, strict=True):
            wanted = place * size + code
            place = np.minimum(np.searchsorted(step, wanted), step.size - 1)
            real &= step[place] == wanted
        return np.where(real, place, -1)

    def over(self, names: Sequence[str]) -> "Axis":
        """Return the axis of what its entries have of some of the attributes."""
        if not self.steps:
            return self
        sizes = [self.sizes[self.names.index(name)] for name in names]
        return Axis.of(names, [self.column(name) for name in names], sizes)


@dataclass(frozen=True, eq=False)
class Grid:
    """The cells: every combination of entries of the axes, in row-major order."""

    axes: tuple[Axis, ...]

    @classmethod
    def of(cls, levels: Mapping[str, int], nestings: Sequence[Nesting] = ()) -> "Grid":
        """Return the cells of attributes, by their numbers of levels; raises ValueError on a false nesting.

        >>> grid = Grid.of({"county": 2, "tract": 3, "sex": 2}, [Nesting("tract", "county", (0, 1, 1))])
        >>> grid.size, grid.codes("county").tolist()
        (6, [0, 0, 1, 1, 1, 1])
        """
        groups = _groups(levels, nestings)
        return cls(tuple(_axis(levels, group, nestings) for group in groups))

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of entries of each axis."""
        return tuple(axis.size for axis in self.axes)

    @property
    def size(self) -> int:
        """The number of cells."""
        return prod(self.shape)

    @cached_property
    def _axis_of(self) -> Mapping[str, int]:
        return {name: at for at, axis in enumerate(self.axes) for name in axis.names}

    def codes(self, name: str) -> IntArray:
        """Return, for each cell, the place of its level of an attribute."""
        at = self._axis_of[name]
        return self._spread(self.axes[at].column(name), at)

    def place(self, codes: Mapping[str, IntArray]) -> IntArray:
        """Return the cell of each row of codes, -1 where there is none."""
        length = len(next(iter(codes.values())))
        cells, real = np.zeros(length, dtype=np.int64), np.ones(length, dtype=np.bool_)
        for axis in self.axes:
            found = axis.place([codes[name] for name in axis.names])
            real &= found >= 0
            cells *= axis.size
            cells += found
        return np.where(real, cells, -1)

    def cell(self, index: int) -> dict[str, int]:
        """Return the codes of one cell."""
        return {name: int(codes[0]) for name, codes in self.cells(np.array([index])).items()}

    def cells(self, indices: IntArray) -> dict[str, IntArray]:
        """Return the codes of some cells, without making any other."""
        places = np.unravel_index(indices, self.shape)
        return {
            name: axis.column(name)[place]
            for axis, place in zip(self.axes, places, strict=True)
            for name in axis.names
        }

    def over(self, names: Sequence[str]) -> "Grid":
        """Return the cells of a margin: what the cells have of some attributes, each once."""
        groups: dict[int, list[str]] = {}
        for name in names:
            groups.setdefault(self._axis_of[name], []).append(name)
        return Grid(tuple(self.axes[at].over(group) for at, group in groups.items()))

    def rows(self, margin: "Grid") -> IntArray:
        """Return, for each cell, its place among the cells of a margin."""
        row = np.zeros(self.size, dtype=np.int64)
        for axis in margin.axes:
            at = self._axis_of[axis.names[0]]
            entry = axis.place([self.axes[at].column(name) for name in axis.names])
            row = row * axis.size + self._spread(entry, at)
        return row

    def _spread(self, entries: IntArray, at: int) -> IntArray:
        """Return, for each cell, the value of its entry on an axis."""
        inner, outer = prod(self.shape[at + 1 :]), prod(self.shape[:at])
        return np.tile(np.repeat(entries, inner), outer)


def count(levels: Mapping[str, int], nestings: Sequence[Nesting] = ()) -> int:
    """Return the number of cells without making any; raises ValueError on a false nesting."""
    below = {name: np.ones(size) for name, size in levels.items()}
    cells = 1
    tree, _ = tree_and_areas(nestings)
    for group in _groups(levels, nestings):
        order = _from_the_root(group, tree)
        for nesting in reversed(order):  # the entries below each level, from the leaves up
            parents, weights = np.array(nesting.parents), below[nesting.attribute]
            below[nesting.within] *= np.bincount(parents, weights, levels[nesting.within])
        root = order[0].within if order else group[0]
        cells *= int(below[root].sum())
    return cells


def tree_and_areas(nestings: Iterable[Nesting]) -> tuple[list[Nesting], list[Nesting]]:
    """Return the first nesting of each attribute, and those beside it."""
    tree: dict[str, Nesting] = {}
    areas = [one for one in nestings if tree.setdefault(one.attribute, one) is not one]
    return list(tree.values()), areas


def _groups(levels: Mapping[str, int], nestings: Sequence[Nesting]) -> list[list[str]]:
    """Return the attributes of each axis, in order of the first of them."""
    tree, areas = tree_and_areas(nestings)
    within = {nesting.attribute: nesting.within for nesting in tree}
    named = [name for one in nestings for name in (one.attribute, one.within)]
    for area in areas:
        if named.count(area.within) > 1:
            raise ValueError(f"{area.within!r} is beside a tree and in it")
    for nesting in nestings:
        if nesting.attribute not in levels or nesting.within not in levels:
            raise ValueError(f"{nesting.attribute!r} in {nesting.within!r} is not of the table")
        if len(nesting.parents) != levels[nesting.attribute] or not all(
            type(parent) is int and 0 <= parent < levels[nesting.within] for parent in nesting.parents
        ):
            raise ValueError(f"not every level of {nesting.attribute!r} lies in one of {nesting.within!r}")
    leaf = {area.within: area.attribute for area in areas}
    groups: dict[str, list[str]] = {}
    for name in levels:
        groups.setdefault(root_of(leaf.get(name, name), within), []).append(name)
    return list(groups.values())


def root_of(name: str, within: Mapping[str, str]) -> str:
    """Return the outermost attribute that one lies in; raises ValueError where they lie in a circle."""
    for _ in range(len(within) + 1):
        if name not in within:
            return name
        name = within[name]
    raise ValueError(f"{name!r} lies in itself")


def ancestors(name: str, within: Mapping[str, str]) -> list[str]:
    """Return all attributes that one lies in, the nearest first."""
    found = []
    while name in within:
        name = within[name]
        found.append(name)
    return found


def _axis(levels: Mapping[str, int], group: list[str], nestings: Sequence[Nesting]) -> Axis:
    tree, areas = tree_and_areas(nestings)
    order = _from_the_root(group, tree)
    if not order:
        return Axis.whole(group[0], levels[group[0]])
    root = order[0].within
    entries = {root: np.arange(levels[root], dtype=np.int64)}
    for nesting in order:
        parents = np.array(nesting.parents, dtype=np.int64)
        children = np.argsort(parents, kind="stable")
        number = np.bincount(parents, minlength=levels[nesting.within])
        above = entries[nesting.within]
        times = number[above]
        # the children of each entry's parent, one after the other
        start = (np.cumsum(number) - number)[above] - (np.cumsum(times) - times)
        places = np.repeat(start, times) + np.arange(times.sum())
        entries = {name: np.repeat(column, times) for name, column in entries.items()}
        entries[nesting.attribute] = children[places]
    for area in areas:
        if area.within in group:
            entries[area.within] = np.array(area.parents, dtype=np.int64)[entries[area.attribute]]
    return Axis.of(group, [entries[name] for name in group], [levels[name] for name in group])


def _from_the_root(group: Iterable[str], nestings: Sequence[Nesting]) -> list[Nesting]:
    """Return the nestings among some attributes, each after that of the attribute it lies in."""
    within = {nesting.attribute: nesting.within for nesting in nestings}
    own = [nesting for nesting in nestings if nesting.attribute in set(group)]
    return sorted(own, key=lambda nesting: len(ancestors(nesting.attribute, within)))
