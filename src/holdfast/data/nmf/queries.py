"""What the entries of a query count: for each axis of its shape, which levels are put together.

An axis of a query is one of the histogram's. Its entries are all levels of an attribute (`detailed`, or the
name of the attribute), their sum (`*`), or groups of them, by the name of a recode. Where no columns say so,
the name of the query does: `sex * age_dpq`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.sparse import csr_array, kron

from holdfast.data.nmf.blocks import QueryBlock
from holdfast.lattice.arrays import IntArray
from holdfast.spec.codebook import Codebook, Groups
from holdfast.system.errors import DataError
from holdfast.system.ways import option, setting

SUFFIXES = ("_dpq", "_con")
WHOLE, ALL = ("*", "total", ""), "detailed"


@dataclass(frozen=True)
class HistogramQuery:
    """A query by the groups of each attribute: None for the sum of all its levels.

    Its rows are all combinations of groups, the last attribute first to change.
    """

    name: str
    groups: tuple[Groups | None, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of groups of each attribute."""
        return tuple(1 if each is None else len(each) for each in self.groups)

    def named(self, row: int) -> tuple[str | None, ...]:
        """Return what a row is of, by attribute: None where it sums over it."""
        places = np.unravel_index(row, self.shape)
        return tuple(
            None if each is None else list(each)[int(place)]
            for each, place in zip(self.groups, places, strict=True)
        )

    def over(self, sizes: Sequence[int]) -> csr_array:
        """Return the rows over all cells of the histogram."""
        return over_classes(self, [np.arange(size) for size in sizes])


def over_classes(query: HistogramQuery, classes: Sequence[IntArray]) -> csr_array:
    """Return the rows of a query over cells that are products of classes of levels.

    ``classes`` has the class of every level of each attribute; a group is a union of classes.
    """
    found = csr_array(np.ones((1, 1), dtype=np.int64))
    for each, of in zip(query.groups, classes, strict=True):
        number = int(of.max()) + 1
        if each is None:
            part = np.ones((1, number), dtype=np.int64)
        else:
            part = np.zeros((len(each), number), dtype=np.int64)
            for row, levels in enumerate(each.values()):
                part[row, np.unique(of[list(levels)])] = 1
        found = csr_array(kron(found, csr_array(part), format="csr"))
    return found


@dataclass(frozen=True)
class Histogram:
    """The attributes of what was counted, each with its levels in order."""

    levels: Mapping[str, tuple[str, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes."""
        return tuple(self.levels)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of levels of each."""
        return tuple(map(len, self.levels.values()))


def plain(name: str) -> str:
    """Return the name of a query without what the files put after it."""
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name.strip()


def parts_of(name: str) -> list[str]:
    """Return the attributes and recodes that a name is made of."""
    return [part.strip() for part in re.split(r"\*| by | x ", plain(name)) if part.strip()]


@dataclass(frozen=True)
class Reader:
    """Says what queries count: the axes that are attributes, their names, and what recodes are."""

    axes: tuple[int, ...]
    """Of a shape, those with more than one level."""
    histogram: Histogram
    columns: tuple[str, ...]
    """The columns that say what each axis is of; none where names have to."""
    codebook: Codebook
    dimensions: int

    @classmethod
    def of(cls, blocks: Sequence[QueryBlock], codebook: Codebook, levels: Sequence[str]) -> "Reader":
        """Return the reader of the shapes, names and columns of all measurements."""
        first = blocks[0]
        number = len(first.shape)
        for each in blocks:
            if len(each.shape) != number:
                raise DataError(
                    f"{each.path} has {each.query} with {len(each.shape)} axes, and {first.query} has"
                    f" {number}:"
                    " all shapes have an axis for each attribute, of size 1 where it is summed over."
                )
        sizes = tuple(max(each.shape[axis] for each in blocks) for axis in range(number))
        aside = {level.lower() for level in levels} | {"state", "county", "tract", "block_group", "block"}
        columns = tuple(name for name in first.axes if name.lower() not in aside)
        if len(columns) != number:
            columns = ()
        axes = tuple(axis for axis in range(number) if sizes[axis] > 1)
        names = columns or _names(blocks, sizes, codebook)
        levels_of = {names[axis]: codebook.named(names[axis], sizes[axis]) for axis in axes}
        if len(levels_of) < len(axes):
            raise DataError(
                f"{first.path} names two axes alike: {', '.join(names)}; call each by another name."
            )
        return cls(axes, Histogram(levels_of), columns, codebook, number)

    def query(self, block: QueryBlock) -> HistogramQuery:
        """Return what a block counts; raises DataError where nothing tells it."""
        if len(block.shape) != self.dimensions:
            raise DataError(
                f"{block.path} has {block.query} with {len(block.shape)} axes, not {self.dimensions}."
            )
        said = self._said(block)
        groups = tuple(
            self._groups(block, axis, name, size, said[axis])
            for axis, (name, size) in zip(
                self.axes, zip(self.histogram.names, self.histogram.sizes, strict=True), strict=True
            )
        )
        return HistogramQuery(plain(block.query) or "total", groups)

    def _said(self, block: QueryBlock) -> Sequence[str | None]:
        """Return what is said of each axis: by columns, or by the parts of the name that fit it."""
        if self.columns:
            return [block.axes.get(column, "?") for column in self.columns]
        found: list[str | None] = [None] * self.dimensions
        parts = parts_of(block.query)
        if not self.axes or parts in ([ALL], ["total"], []):
            return found
        names = dict(zip(self.axes, self.histogram.names, strict=True))
        left = []
        for part in parts:
            of = self.codebook.recodes[part].attribute if part in self.codebook.recodes else part
            axis = next((axis for axis, name in names.items() if name == of), None)
            if axis is None or found[axis] is not None:
                left.append(part)
            else:
                found[axis] = part
        free = [axis for axis in self.axes if block.shape[axis] > 1 and found[axis] is None]
        if len(left) == len(free):
            for axis, part in zip(free, left, strict=True):
                found[axis] = part
        elif left:
            raise DataError(
                f"{block.path} has {block.query} of shape {block.shape}, and nothing says what it"
                " counts: give"
                " each axis a column, or its part of the name a recode in the codebook,"
                f" {option('codebook')}."
            )
        return found

    def _groups(self, block: QueryBlock, axis: int, name: str, size: int, said: str | None) -> Groups | None:
        number = block.shape[axis]
        recode = self.codebook.recodes.get(said or "")
        if recode is not None and recode.attribute == name:
            if len(recode.groups) == number and all(max(each) < size for each in recode.groups.values()):
                return recode.groups
            raise DataError(
                f"{block.path} has {block.query} with {number} entries of {said}, and the codebook knows"
                f" {len(recode.groups)} groups of it: correct {setting(f'recodes.{said}')}."
            )
        if number == size and said in (None, ALL, name):
            return {level: (place,) for place, level in enumerate(self.histogram.levels[name])}
        if number == 1 and (said is None or said in WHOLE):
            return None
        if number == size and self.columns == () and said is not None:
            return {level: (place,) for place, level in enumerate(self.histogram.levels[name])}
        raise DataError(
            f"{block.path} has {block.query} with {number} entries of {name}, which has {size} levels, and"
            f" nothing says which levels {said or 'it'} puts together: name them in a codebook"
            f" ({option('codebook')}), {setting('recodes.' + (said or 'NAME'))}."
        )


def _names(blocks: Sequence[QueryBlock], sizes: Sequence[int], codebook: Codebook) -> tuple[str, ...]:
    """Return names of the axes, as queries of these are called; queries of one attribute first."""
    found: dict[int, str] = {}
    ordered = sorted(blocks, key=lambda block: len(parts_of(block.query)))
    for block in ordered:
        parts = parts_of(block.query)
        wide = [axis for axis, number in enumerate(block.shape) if number > 1]
        if len(parts) != len(wide) or parts == [ALL]:
            continue
        rest = [part for part in parts if part not in found.values()]
        free = [axis for axis in wide if axis not in found]
        if len(rest) != len(free):
            continue
        for axis, part in zip(free, rest, strict=True):
            recode = codebook.recodes.get(part)
            if recode is not None:
                found[axis] = recode.attribute
            elif block.shape[axis] == sizes[axis]:
                found[axis] = part
    return tuple(found.get(axis, f"attribute_{axis + 1}") for axis in range(len(sizes)))


def labels(query: HistogramQuery) -> list[tuple[str | None, ...]]:
    """Return what all rows are of."""
    each = [[None] if groups is None else list(groups) for groups in query.groups]
    return [tuple(row) for row in product(*each)]
