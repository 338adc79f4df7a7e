"""A geography: levels from the root down, each node in one node of the level above.

In a file a node is named by a prefix of a code or by a column for each level. In a table the leaves come
first: a tree above them, and the cells that each leaf has.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import polars as pl

from holdfast.data.columns import as_text, compact
from holdfast.data.files import Source
from holdfast.data.schema import Attributes, Schema
from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.spec.data import Geography
from holdfast.system.errors import DataError, SpecError
from holdfast.system.text import closest, in_quotes
from holdfast.system.ways import assigned, setting


@dataclass(frozen=True, eq=False, repr=False)
class Spine:
    """A tree whose leaves all stand on its last level.

    The nodes of a level are numbered so that the children of a node stand together, in the order of their
    parents: ``parent[i]`` rises from 0 to the last node of level i, in steps of at most 1.
    """

    levels: Attributes
    """The levels, root first, and the codes of the nodes of each."""
    parent: tuple[IntArray, ...]
    """For each level below the root, the place of each node's parent on the level above."""

    def __post_init__(self) -> None:
        sizes = [len(level.levels) for level in self.levels]
        if sizes[0] != 1:
            some = assigned("prefixes", {"all": 0}).removesuffix("}").rstrip()
            raise SpecError(
                f"the first level of a geography, {self.levels.names[0]!r}, has {sizes[0]:,} nodes: "
                f"begin with a level of one node, the root, such as {some}, ... }} in"
                f" {setting('data.geography')}, or a first column that has one code."
            )
        copies = tuple(np.array(parent, dtype=np.int64) for parent in self.parent)
        if [len(parent) for parent in copies] != sizes[1:]:
            raise ValueError(f"levels of {sizes} nodes need a parent for each node below the root")
        for above, parent in zip(sizes[:-1], copies, strict=True):
            steps = np.diff(parent, prepend=-1, append=above)
            if steps[0] != 1 or steps[-1] != 1 or not np.isin(steps, (0, 1)).all():
                raise ValueError("parents must rise from 0 to the last in steps of at most 1")
            parent.setflags(write=False)
        object.__setattr__(self, "parent", copies)

    def __repr__(self) -> str:
        return f"<geography: {self.levels.in_words}>"

    def codes(self, level: str) -> tuple[str, ...]:
        """Return the codes of the nodes of a level, in order."""
        return self.levels.attribute(level).levels

    def ancestors(self, level: str) -> IntArray:
        """Return, for each leaf, its node on a level."""
        place = self.levels.axis(level)
        nodes = np.arange(len(self.levels.each[-1].levels))
        for parent in reversed(self.parent[place:]):
            nodes = parent[nodes]
        return nodes


WHOLE = "table"
"""The level, and the node, of a table without a geography."""


@dataclass(frozen=True, eq=False, repr=False)
class Areas:
    """Areas of one kind, off the spine: unions of leaves, no two of which share one."""

    name: str
    codes: tuple[str, ...]
    of: IntArray
    """The place of the area of each leaf."""

    def sums(self, leaves: IntArray) -> IntArray:
        """Return the tables of all areas, from those of the leaves."""
        found = np.zeros((len(self.codes), leaves.shape[1]), dtype=np.int64)
        np.add.at(found, self.of, leaves)
        return found


@dataclass(frozen=True, eq=False, repr=False)
class Regions:
    """The spine of a geography, and a schema of the cells of each node; None where a node is one count.

    The cells of a table are all pairs of a leaf and a cell, the leaves first: counts of a table, reshaped to
    leaves by cells, are the tables of the leaves.
    """

    spine: Spine
    cells: Schema | None
    possible: BoolArray
    """Which cells each leaf can have: those that are no structural zeros."""
    areas: tuple[Areas, ...] = ()
    """Areas off the spine, by kind."""

    @classmethod
    def of(cls, schema: Schema, levels: Sequence[str]) -> "Regions":
        """Return the regions of a schema whose first attributes are the levels of a geography, root first."""
        beside = [one for one in schema.areas if one.attribute in levels]
        names = [one.within for one in beside]
        others = [each for each in schema.attributes if each.name not in (*levels, *names)]
        nestings = tuple(one for one in schema.nestings if one.attribute not in levels)
        cells = None
        if others:
            cells = Schema(Attributes.of({each.name: each.levels for each in others}), nestings=nestings)
        spine = _spine(schema, levels, names)
        leaves = len(spine.levels.each[-1].levels)
        axis = schema.grid.axes[0]
        areas = tuple(Areas(name, schema.attribute(name).levels, axis.column(name)) for name in names)
        return cls(spine, cells, schema.possible.reshape(leaves, -1), areas)

    def __repr__(self) -> str:
        return f"<regions: {self.spine.levels.in_words}, {self.width:,} cells each>"

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels, root first."""
        return self.spine.levels.names

    @property
    def width(self) -> int:
        """The number of cells of a node."""
        return int(self.possible.shape[1])

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of nodes of each level, root first."""
        return tuple(len(level.levels) for level in self.spine.levels)

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes of the cells of a node."""
        return () if self.cells is None else self.cells.names

    @cached_property
    def places(self) -> dict[str, tuple[str, ...]]:
        """The codes of the nodes of each level, root first, then those of each kind of areas."""
        spine = {level.name: level.levels for level in self.spine.levels}
        return {**spine, **{each.name: each.codes for each in self.areas}}

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """How many nodes, or areas, each of these has."""
        return tuple(map(len, self.places.values()))

    def in_one_area(self, level: str, kind: int) -> IntArray:
        """Return the area of a kind that each node of a level lies in, -1 where areas cut it."""
        node, of = self.spine.ancestors(level), self.areas[kind].of
        starts = np.searchsorted(node, np.arange(node[-1] + 1))
        low, high = np.minimum.reduceat(of, starts), np.maximum.reduceat(of, starts)
        return np.where(low == high, low, -1)

    def nodes_away(self, kind: int) -> IntArray:
        """Return how many nodes have to be added and taken away to make each area of a kind.

        The part of an area in a node is the sum of its parts in the children, or the node without the others.
        """
        found = []
        for area in range(len(self.areas[kind].codes)):
            inside = (self.areas[kind].of == area).astype(np.int64)
            outside = 1 - inside
            for parent in reversed(self.spine.parent):
                starts = np.searchsorted(parent, np.arange(parent[-1] + 1))
                some, others = (np.add.reduceat(each, starts) for each in (inside, outside))
                inside, outside = np.minimum(some, 1 + others), np.minimum(others, 1 + some)
            found.append(int(inside[0]))
        return np.array(found, dtype=np.int64)

    def tables(self, counts: IntArray) -> tuple[IntArray, ...]:
        """Return the tables of these, from the counts of all cells."""
        spine = self.sums(counts)
        return (*spine, *(each.sums(spine[-1]) for each in self.areas))

    def sums(self, counts: IntArray) -> tuple[IntArray, ...]:
        """Return the tables of the nodes of each level, root first, from the counts of all cells."""
        found = [np.asarray(counts).reshape(-1, self.width)]
        for parent in reversed(self.spine.parent):
            starts = np.searchsorted(parent, np.arange(parent[-1] + 1))
            found.append(np.add.reduceat(found[-1], starts, axis=0))
        return tuple(reversed(found))


def _spine(schema: Schema, levels: Sequence[str], areas: Sequence[str]) -> Spine:
    if not levels:
        return Spine(Attributes.of({WHOLE: [WHOLE]}), ())
    axis = schema.grid.axes[0]
    if axis.names != (*levels, *areas):
        others = [name for name in axis.names if name not in (*levels, *areas)]
        raise SpecError(
            f"the levels of the geography, {', '.join(levels)}, share their axis with"
            f" {', '.join(others) or 'nothing'}: take these out of"
            f" {setting('data', 'within')}."
        )
    # entries stand in the order of their paths, so a node begins wherever its path changes
    begins = np.zeros(axis.size, dtype=np.bool_)
    begins[0] = True
    names: dict[str, list[str]] = {}
    places = []
    for name in levels:
        column = axis.column(name)
        begins = begins | np.concatenate([[True], column[1:] != column[:-1]])
        codes = schema.attribute(name).levels
        names[name] = [codes[code] for code in column[begins].tolist()]
        places.append((np.cumsum(begins) - 1, np.flatnonzero(begins)))
    parents = tuple(above[0][below[1]] for above, below in pairwise(places))
    return Spine(Attributes.of(names), parents)


def unfolded(source: Source, geography: Geography | None) -> Source:
    """Return a source with a column for each level whose codes are prefixes of one column.

    A column of the file that has the name of a level gives way to it, and is known by another name.
    """
    if geography is None or geography.column is None:
        return source
    column, prefixes = geography.column, geography.prefixes
    if column not in source.header:
        said = f"{source.name} has no column {in_quotes(column)}: {closest(column, source.known)}"
        raise DataError(source.hint or said)
    place, own = source.header.index(column), len(source.header)
    header = (*(f"{name} in the file" if name in prefixes else name for name in source.header), *prefixes)
    longest = max(prefixes.values())
    known: list[pl.Series] = []  # each level is asked for by itself, and codes are read once

    def codes_of(values: pl.Series) -> pl.Series:
        return compact(_codes(source, values.alias(column), geography))

    def load(places: Sequence[int]) -> list[pl.Series]:
        # the rows of a database are those of all that is asked for at once
        beside = {place} if source.grouped else set()
        wanted = sorted({at for at in places if at < own} | beside)
        loaded = dict(zip(wanted, source.load(wanted), strict=True))
        if source.grouped:
            known[:] = [codes_of(loaded[place])]
        elif not known and max(places, default=0) >= own:
            known.append(codes_of(source.load([place])[0]))
        found = [loaded[at] if at < own else prefix(header[at], known[0]) for at in places]
        if any(prefixes.get(header[at]) == longest for at in places):  # which is asked for last
            known.clear()
        return found

    def prefix(level: str, codes: pl.Series) -> pl.Series:
        length = prefixes[level]
        if not length:
            return compact(pl.repeat(level, len(codes), eager=True)).alias(level)
        kind = codes.dtype
        if length == longest:
            return codes.alias(level)
        if not isinstance(kind, pl.Enum):
            return codes.str.slice(0, length).alias(level)
        begins = kind.categories.str.slice(0, length)
        return compact(begins.gather(codes.to_physical())).alias(level)

    return replace(source, header=header, load=load, origin=source.origin or source, own=source.known)


def _codes(source: Source, codes: pl.Series, geography: Geography) -> pl.Series:
    """Return codes as text, all of the length of the longest prefix; raises DataError where one is not."""
    text, longest = as_text(source, codes), max(geography.prefixes.values())
    off = (text.str.len_chars() != longest).fill_null(value=True)
    if off.any():
        row = int(off.arg_true()[0])
        code = text[row]
        said = "has no code" if code is None or code == "" else f"is {in_quotes(code)}"
        raise DataError(
            f"{source.place(row, codes.name)} {said}, and codes have {longest} characters, as the longest of"
            f" prefixes in {setting('data.geography')} says: write all codes in full, with their leading"
            " zeros."
        )
    return text
