"""Quadratic forms of sums of cells: F = sum_j c_j W_j' W_j, for integer rows W_j and rationals c_j.

**Whole margins.** Cells are all combinations of entries of some axes. An axis is read at a *level*: not at
all (level 0), by parts of its entries, by finer parts of those, or entry by entry (its last level). A
*reading* r has a level for each axis; W_r adds up all cells that it does not tell apart. Let U_l be the
vectors over an axis that are constant on the parts of level l, and V_l what U_l has beyond U_(l-1). The
products V_r of one V for each axis are orthogonal and make up everything: the *residual spaces*. Then

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
from itertools import pairwise, product
from math import lcm, prod

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.rows import independent_rows

Reading = tuple[int, ...]
"""The level at which each axis is read."""
Partition = IntArray
"""For each entry of an axis, the part that it is in, numbered from 0."""
EXACT, LARGEST = 2.0**53, 2.0**62
"""Whole numbers that floats, and integers, have room for."""


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
            if np.unique(fine * size + coarse).size > fine.max() + 1:
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

    def most(self, level: int) -> int:
        """Return how many entries the largest part of a level has."""
        return int(np.bincount(self.parts[level - 1]).max()) if level else self.size


def _canonical(partition: Partition) -> Partition:
    """Return a partition with its parts numbered in the order in which they begin."""
    _, first, place = np.unique(partition, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return np.asarray(rank[place.reshape(-1)], dtype=np.int64)


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

    def apart(self) -> "Iterator[tuple[IntArray, MarginStrategy]]":
        """Yield what is kept and measured within parts of a table that nothing adds up across.

        Beside it are the cells of all parts that are alike, one row a part. Where every margin tells the
        parts of a level of some axis, those that are kept as well, both the vectors with kept margins of zero
        and the form fall apart into them. Parts in which nothing is left are left out.
        """
        top = [r for r in self.kept if not any(r != other and below(r, other) for other in self.kept)]
        own = [(reading, strength) for reading, strength in self.measured if not self.is_kept(reading)]
        told = [*top, *(reading for reading, _ in own)]
        common = [min(levels) for levels in zip(*told, strict=True)] or [0] * len(self.axes)
        found = [_nodes(axis, level) for axis, level in zip(self.axes, common, strict=True)]
        for groups in product(*found):
            axes, nodes = zip(*groups, strict=True)
            cells: IntArray = np.zeros((1, 1), dtype=np.int64)
            for axis, entries in zip(self.axes, nodes, strict=True):
                cells = cells[:, None, :, None] * axis.size + entries[None, :, None, :]
                cells = cells.reshape(-1, cells.shape[2] * cells.shape[3])
            within = [_within(self.axes, axes, nodes, reading) for reading in told]
            strengths = tuple((r, c) for r, (_, c) in zip(within[len(top) :], own, strict=True))
            part = MarginStrategy(axes, tuple(dict.fromkeys(within[: len(top)])), strengths)
            if not all(map(part.is_kept, part.readings())):
                yield cells, part

    def rows(self, reading: Reading) -> csr_array:
        """Return W of a reading, one row a combination of parts."""
        place, number = np.zeros(1, dtype=np.int64), 1
        for axis, level in zip(self.axes, reading, strict=True):
            part = axis.parts[level - 1] if level else np.zeros(axis.size, dtype=np.int64)
            count = int(part.max()) + 1
            place, number = np.add.outer(place * count, part).ravel(), number * count
        ones = np.ones(place.size, dtype=np.int64)
        return csr_array((ones, (place, np.arange(place.size))), shape=(number, place.size))

    def overlap(self, common: Reading) -> Fraction:
        """Return F_zk for two cells that agree up to these levels: the strengths of rows with both."""
        return sum((strength for reading, strength in self.measured if below(reading, common)), Fraction(0))


def _nodes(axis: LevelledAxis, level: int) -> list[tuple[LevelledAxis, IntArray]]:
    """Return the kinds of nodes of a level, as axes, with the entries of each, one row a node."""
    if not level:
        return [(axis, np.arange(axis.size)[None])]
    part = axis.parts[level - 1]
    order = np.argsort(part, kind="stable")
    kinds: dict[tuple[bytes, ...], tuple[LevelledAxis, list[IntArray]]] = {}
    for entries in np.split(order, np.flatnonzero(np.diff(part[order])) + 1):
        lower = [_canonical(each[entries]) for each in axis.parts[level:]]
        key = str(entries.size).encode(), *(each.tobytes() for each in lower)
        if key not in kinds:
            own = LevelledAxis.of(entries.size, lower)
            assert own is not None  # noqa: S101 - the levels of an axis do not cross
            kinds[key] = own, []
        kinds[key][1].append(entries)
    return [(own, np.stack(entries)) for own, entries in kinds.values()]


def _within(
    axes: Sequence[LevelledAxis], own: Sequence[LevelledAxis], nodes: Sequence[IntArray], reading: Reading
) -> Reading:
    """Return the levels at which a margin reads the axes of one node each."""
    levels = zip(axes, own, nodes, reading, strict=True)
    return tuple(
        part.level(axis.parts[level - 1][entries[0]] if level else np.zeros(part.size, dtype=np.int64))
        for axis, part, entries, level in levels
    )


def below(one: Reading, other: Reading) -> bool:
    """Whether a reading tells no more than another."""
    return all(a <= b for a, b in zip(one, other, strict=True))


@dataclass(frozen=True, eq=False)
class Form:
    """F = sum of strength W'W, over parts of rows W with one strength each.

    ``margins`` says so again where all rows are those of whole margins, and so are those that are kept.
    """

    parts: tuple[tuple[csr_array, Fraction], ...]
    margins: MarginStrategy | None = None

    @classmethod
    def of(cls, margins: MarginStrategy) -> "Form":
        """Return the form of whole margins."""
        return cls(tuple((margins.rows(reading), c) for reading, c in margins.measured), margins)

    @property
    def cells(self) -> int:
        """The number of cells."""
        return int(self.parts[0][0].shape[1])

    @cached_property
    def _each(self) -> IntArray:
        return np.arange(self.cells)

    @cached_property
    def rows(self) -> csr_array:
        """All rows, part after part."""
        return csr_array(vstack([rows for rows, _ in self.parts], format="csr"))

    @cached_property
    def denominator(self) -> int:
        """A whole number by which all strengths become whole."""
        return lcm(*(strength.denominator for _, strength in self.parts))

    @cached_property
    def strengths(self) -> tuple[Fraction, ...]:
        """The strength of each row."""
        return tuple(strength for rows, strength in self.parts for _ in range(rows.shape[0]))

    def squares(self, points: IntArray) -> FloatArray:
        """Return z'Fz for each row z."""
        return self.rounded(points)[0]

    def rounded(self, points: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return z'Fz for each row z, and what it may be off by beyond 2^-49 of it, as terms cancel.

        Sums of squares are integers where they fit, then there are a few roundings.
        """
        found, size = np.zeros(len(points)), np.zeros(len(points))
        for rows, strength in self.parts:
            alone = rows.nnz == self.cells == rows.shape[0] and np.array_equal(rows.indices, self._each)
            sums = points if alone and (rows.data == 1).all() else np.asarray(rows @ points.T).T
            farthest = float(max(sums.max(initial=0), -sums.min(initial=0)))
            most = farthest**2 * rows.shape[0]
            whole = sums if EXACT <= most < LARGEST else sums.astype(np.float64)  # fast where both are exact
            term = float(strength) * np.einsum("dr,dr->d", whole, whole)
            found += term
            size += np.abs(term)
        return found, np.where(size > found, size * (2.0**-50 * (2 + len(self.parts))), 0.0)

    def exact(self, point: IntArray) -> Fraction:
        """Return z'Fz of one vector."""
        return sum(
            (strength * sum(int(v) ** 2 for v in np.asarray(rows @ point)) for rows, strength in self.parts),
            Fraction(0),
        )

    def largest(self, points: IntArray) -> Fraction:
        """Return the largest z'Fz over the rows, exactly."""
        return max((self._combined(each) for each in self.terms(points)), default=Fraction(0))

    def terms(self, points: IntArray) -> IntArray:
        """Return ||W_j z||^2 for each j, a column each, of the rows z that differ in them."""
        sums = [np.asarray(rows @ points.T, dtype=np.int64) for rows, _ in self.parts]
        return np.unique(np.array([(each * each).sum(axis=0) for each in sums]).T, axis=0)

    def _combined(self, terms: IntArray) -> Fraction:
        pairs = zip(self.parts, terms.tolist(), strict=True)
        return sum((strength * size for (_, strength), size in pairs), Fraction(0))

    @cached_property
    def spectrum(self) -> Fraction:
        """A bound on u'Fu / ||u||^2, of margins where those that are kept are zero."""
        if self.margins is not None:
            return self.margins.largest
        return Fraction(int(np.abs(self.gram()).sum(axis=1).max(initial=0)), self.denominator)

    def gram(self) -> IntArray:
        """Return the matrix F times its denominator; raises OverflowError where it is beyond 64 bits."""
        found = np.zeros((self.cells, self.cells), dtype=np.int64)
        size = 0.0
        for rows, strength in self.parts:
            times = int(strength * self.denominator)
            dense = (rows.T @ rows).toarray()
            size += float(times) * float(np.abs(dense).max(initial=0))
            if size * self.cells >= LARGEST:
                raise OverflowError("a quadratic form is beyond 64 bits")
            found += times * dense
        return found

    def measures(self, matrix: csr_array) -> bool:
        """Whether z'Fz > 0 for all z that are not 0 with A z = 0, decided exactly."""
        if self.margins is not None:
            return self.margins.unmeasured is None
        stacked = csr_array(vstack([matrix, self.rows], format="csr"))
        return independent_rows(stacked).size == self.cells
