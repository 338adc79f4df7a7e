"""Whole margins of a table that are kept or measured: F = sum_j c_j W_j' W_j, by the readings of the W_j.

Cells are all combinations of entries of some axes. An axis is read at a *level*: not at all (level 0), by
parts of its entries, by finer parts of those, or entry by entry (its last level). A *reading* r has a level
for each axis; W_r adds up all cells that it does not tell apart. Let U_l be the vectors over an axis that are
constant on the parts of level l, and V_l what U_l has beyond U_(l-1). The products V_r of one V for each axis
are orthogonal and make up everything: the *residual spaces*. Then

    W_r' W_r  <=  (the most cells in a row of W_r)  x  the projection on the sum of V_s over s <= r,

with equality where all rows have equally many cells, s <= r being meant axis by axis; and W_r v = 0 for v in
V_s unless s <= r. So a margin that is kept takes away the spaces below its reading, and a form has no
direction left to measure exactly when each other space lies below the reading of some W_j [theory, 13]. Some
c_j may be negative where the form has no negative weight on any space [holdfast,
mechanisms/weights/spaces.py].
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.tables import PartCells

Reading = tuple[int, ...]
"""The level at which each axis is read."""
Partition = NDArray[np.signedinteger[Any]]
"""For each entry of an axis, the part that it is in, numbered from 0; 32 bits are enough."""


@dataclass(frozen=True, eq=False)
class LevelledAxis:
    """The entries of an axis, and partitions of them from coarse to fine; the last has single entries."""

    size: int
    parts: tuple[Partition, ...]

    @classmethod
    def of(cls, size: int, partitions: Sequence[Partition]) -> "LevelledAxis | None":
        """Return the axis with the levels that some partitions are; None where two of them cross."""
        found = {_canonical(each).tobytes(): _canonical(each) for each in (*partitions, np.arange(size))}
        chain = sorted((each for each in found.values() if each.max() > 0), key=lambda each: each.max())
        for coarse, fine in pairwise(chain):
            if np.unique(fine.astype(np.int64) * size + coarse).size > fine.max() + 1:
                return None
        return cls(size, tuple(chain))

    @property
    def depth(self) -> int:
        """The last level, on which entries stand alone."""
        return len(self.parts)

    def level(self, partition: Partition) -> int:
        """Return the level of one of its partitions."""
        own = _canonical(partition)
        return next((at for at, each in enumerate(self.parts, 1) if np.array_equal(each, own)), 0)

    def part(self, level: int) -> Partition:
        """Return the parts that a level has."""
        return self.parts[level - 1] if level else np.zeros(self.size, dtype=np.int64)

    def most(self, level: int) -> int:
        """Return how many entries the largest part of a level has."""
        return int(np.bincount(self.parts[level - 1]).max()) if level else self.size


def _canonical(partition: Partition) -> Partition:
    """Return a partition with its parts numbered in the order in which they begin."""
    _, first, place = np.unique(partition, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int32)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[place.reshape(-1)]


@dataclass(frozen=True, eq=False)
class MarginStrategy:
    """Whole margins that are kept, and others that are measured with some strength.

    Cells are in row-major order over the axes.
    """

    axes: tuple[LevelledAxis, ...]
    kept: tuple[Reading, ...]
    measured: tuple[tuple[Reading, Fraction], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of entries of each axis."""
        return tuple(axis.size for axis in self.axes)

    @property
    def trees(self) -> tuple[int, ...]:
        """The axes that are read at more than one level."""
        return tuple(at for at, axis in enumerate(self.axes) if axis.depth > 1)

    def readings(self) -> Iterator[Reading]:
        """Yield all readings: these are the residual spaces, too."""
        yield from product(*(range(axis.depth + 1) for axis in self.axes))

    def is_kept(self, space: Reading) -> bool:
        """Whether the margins that are kept leave nothing of a residual space."""
        return any(below(space, reading) for reading in self.kept)

    @property
    def unmeasured(self) -> Reading | None:
        """A residual space that is neither kept nor measured, a small one; None where there is none."""
        missed = (
            space for space in self.readings() if not self.is_kept(space) and not self._strength(space) > 0
        )
        return min(missed, key=sum, default=None)

    @cached_property
    def largest(self) -> Fraction:
        """A bound on u'Fu / ||u||^2 where kept margins of u are zero: the largest of a residual space."""
        return max(
            (self._strength(space) for space in self.readings() if not self.is_kept(space)),
            default=Fraction(0),
        )

    def _strength(self, space: Reading) -> Fraction:
        return sum(
            (
                strength * prod(axis.most(level) for axis, level in zip(self.axes, reading, strict=True))
                for reading, strength in self.measured
                if below(space, reading)
            ),
            Fraction(0),
        )

    @cached_property
    def open(self) -> tuple[tuple[Reading, Fraction], ...]:
        """What is measured of what is not kept."""
        return tuple((reading, c) for reading, c in self.measured if not self.is_kept(reading))

    @cached_property
    def _top(self) -> tuple[Reading, ...]:
        """The kept margins that are not margins of others."""
        return tuple(r for r in self.kept if not any(r != other and below(r, other) for other in self.kept))

    @cached_property
    def _common(self) -> Reading:
        """The level of each axis that all of them tell."""
        told = [*self._top, *(reading for reading, _ in self.open)]
        return tuple(map(min, zip(*told, strict=True))) if told else (0,) * len(self.axes)

    def apart(self) -> "Iterator[tuple[PartCells, MarginStrategy]]":
        """Yield what is kept and measured within parts of a table that nothing adds up across.

        Beside it are the cells of all parts that are alike, one row a part. Where every margin tells the
        parts of a level of some axis, those that are kept as well, both the vectors with kept margins of zero
        and the form fall apart into them. Parts in which nothing is left are left out.
        """
        found = [list(_nodes(axis, level)) for axis, level in zip(self.axes, self._common, strict=True)]
        for entries in product(*found):
            cells = PartCells(self.shape, entries)
            part = self.within(cells)
            if not all(map(part.is_kept, part.readings())):
                yield cells, part

    def within(self, cells: PartCells) -> "MarginStrategy":
        """Return what is kept and measured within one of the parts that some cells are."""
        entries = [each[0] for each in cells.entries]
        places = list(zip(self.axes, self._common, entries, strict=True))
        axes = tuple(_within(axis, level, some) for axis, level, some in places)

        def read(reading: Reading) -> Reading:
            levels = zip(axes, self.axes, reading, entries, strict=True)
            return tuple(
                own.level(axis.parts[level - 1][some]) if level else 0 for own, axis, level, some in levels
            )

        kept = tuple(dict.fromkeys(map(read, self._top)))
        return MarginStrategy(axes, kept, tuple((read(reading), c) for reading, c in self.open))

    def rows(self, reading: Reading) -> csr_array:
        """Return W of a reading, one row a combination of parts."""
        place, number = np.zeros(1, dtype=np.int64), 1
        for axis, level in zip(self.axes, reading, strict=True):
            part = axis.part(level)
            count = int(part.max()) + 1
            place, number = np.add.outer(place * count, part).ravel(), number * count
        ones = np.ones(place.size, dtype=np.int64)
        return csr_array((ones, (place, np.arange(place.size))), shape=(number, place.size))

    def overlap(self, common: Reading) -> Fraction:
        """Return F_zk for two cells that agree up to these levels: the strengths of rows with both."""
        return sum((strength for reading, strength in self.measured if below(reading, common)), Fraction(0))


def _nodes(axis: LevelledAxis, level: int) -> Iterator[IntArray]:
    """Yield the entries of the nodes of a level, those that are alike together, one row a node."""
    if not level:
        yield np.arange(axis.size)[None]
        return
    part = axis.parts[level - 1]
    order = np.argsort(part, kind="stable")
    kinds: dict[tuple[object, ...], list[IntArray]] = {}
    for entries in np.split(order, np.flatnonzero(np.diff(part[order])) + 1):
        lower = (_canonical(each[entries]).tobytes() for each in axis.parts[level:])
        key = entries.size, *(blake2b(each, digest_size=32).digest() for each in lower)
        kinds.setdefault(key, []).append(entries)
    yield from map(np.stack, kinds.values())


def _within(axis: LevelledAxis, level: int, entries: IntArray) -> LevelledAxis:
    """Return the levels that a node has below it, as an axis."""
    own = LevelledAxis.of(entries.size, [each[entries] for each in axis.parts[level:]])
    assert own is not None  # noqa: S101 - the levels of an axis do not cross
    return own


def below(one: Reading, other: Reading) -> bool:
    """Whether a reading tells no more than another."""
    return all(a <= b for a, b in zip(one, other, strict=True))
