"""Tables over some axes and a tree, level by level of the tree: the coordinates of weighted margins.

As in weighted.py, z'Fz is a sum over sets T of axes other than the tree, and of each T it is a tree's: with v
and V as there, and P_T the part of a table that varies along T alone,

    z'Fz  =  E_0(X_0) + E_1(X_1 | X_0) + E_2(X_2 | X_1) + ...,
    E_l   =  sum over T, nodes n and their children c of  |P_T (X_l(c) - X_{l-1}(n) v_c / V)|^2 / v_c,

X_l(n) being the table over the other axes at a node n of level l. So the tables of a level are drawn given
those of the level above, each node's children by themselves, and each level in coordinates of its own. Along
an axis that makes no difference to v from a level on, and not to what is kept, E_l is a sum over its
entries: these are *plain*, read one by one. Read by halving, their coordinates would be narrower, and far
fewer proposals kept. The other axes are halved (grid.py), with X_{l-1} known box by box.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations
from math import exp, prod

import numpy as np

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.margins import MarginStrategy, Reading
from holdfast.lattice.trees import LevelTree
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.lattice.grid import GROUPS, FoundCoordinates, HalvedAxis
from holdfast.sampling.lattice.klein import log_acceptance
from holdfast.sampling.lattice.sum_shape import stages
from holdfast.sampling.lattice.tree_nodes import Axes, ChildLaw, Given, Piece, RootLaw, SplitLaw

PIECE = 1 << 16
"""Numbers of a level that are drawn at once, about: whole families of children."""
CALL = 1000
"""Integers that take as long as one call to draw some."""
NEARLY_ALL = -0.05
"""The log of a share of proposals to be kept beyond which no better coordinates are sought."""


class TreeLevel:
    """The tables at the nodes of one level of the tree, ``shape`` being that of the other axes and the nodes.

    Of the other axes those at ``plain`` places are read entry by entry, the rest are halved.
    """

    def __init__(self, shape: tuple[int, ...], plain: Sequence[int], pieces: tuple[Piece, ...]) -> None:
        self.shape, self.pieces = shape, pieces
        halved = [at for at in range(len(shape) - 1) if at not in plain]
        self._order = [0, *(1 + at for at in (*plain, *halved)), len(shape)]
        self._back = np.argsort(self._order).tolist()
        self._plain, self._halved = ([shape[at] for at in places] for places in (plain, halved))
        self._times = prod(self._plain)

    @property
    def numbers(self) -> int:
        """How many integers its tables have."""
        return prod(self.shape)

    def numbers_of(self, piece: Piece) -> int:
        """Return how many integers the tables of a piece have."""
        return prod(self.shape[:-1]) * piece.nodes

    def likely(self, sigma: float) -> float:
        """Return about the log of the share of its proposals that is kept."""
        each = (log_acceptance(widths, sigma) for piece in self.pieces for widths in piece.widths())
        return self._times * float(sum(each))

    def cost(self, sigma: float) -> float:
        """Return about what its proposals cost until one is kept, in integers."""
        calls = sum(1 for piece in self.pieces for _ in piece.widths())
        return (self.numbers + CALL * calls) * exp(min(-self.likely(sigma), 600.0))

    def widths(self) -> Iterator[FloatArray]:
        """Yield the widths of its coordinates at variance 1, in the order in which they are drawn."""
        for piece in self.pieces:
            for widths in piece.widths():
                yield np.tile(widths, self._times)

    def draw(
        self, piece: Piece, given: Given, sigma: FloatArray, entropy: Entropy | None
    ) -> tuple[IntArray, FoundCoordinates]:
        """Return tables at the nodes of a piece and their coordinates, one row for each standard deviation.

        ``given`` has the tables at all nodes.
        """
        above = self._rows(given.above[..., piece.above])
        below = None if given.below is None else self._rows(given.below[..., piece.below])
        drawn, found = piece.draw(Given(above, below), np.repeat(sigma, self._times), entropy)
        tables = drawn.reshape(sigma.size, *self._plain, *self._halved, -1).transpose(self._back)
        rows = sigma.size, -1
        return tables, [(c.reshape(rows), m.reshape(rows), s.reshape(rows)) for c, m, s in found]

    def _rows(self, tables: IntArray) -> IntArray:
        """Return tables with plain axes among the rows."""
        rows = len(tables) * self._times
        return tables.transpose(self._order).reshape(rows, *self._halved, tables.shape[-1])


class TreeLevels:
    """The levels of the tree of some margins, from the first that is drawn on.

    Axes other than the tree come in the order ``others``; the entries of the tree in that of the tree.
    """

    def __init__(self, margins: MarginStrategy, group: int | None = None, sigma: float = 1.0) -> None:
        sizes = margins.shape
        self.last = max(margins.trees, default=int(np.argmax(sizes)))
        self.others = sorted((at for at in range(len(sizes)) if at != self.last), key=lambda at: -sizes[at])
        self.tree = LevelTree(margins.axes[self.last])
        self._sizes = tuple(sizes[at] for at in self.others)
        self._weights = dict(_weights(margins, self.others, self.last, self.tree))
        found = [
            self._level(level, group, sigma)
            for level in range(self.tree.depth + 1)
            if not all(weights.kept >= level for weights in self._weights.values())
        ]
        self.levels: tuple[TreeLevel, ...] = tuple(found)
        above = self.tree.depth - len(found)
        self._begin = self.tree.starts[max(above, 0)].size

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tables at the entries."""
        return (*self._sizes, self.tree.starts[-1].size)

    def begin(self, size: int) -> IntArray:
        """Return what the tables of the first level are drawn from: zeros."""
        return np.zeros((size, *self._sizes, self._begin), dtype=np.int64)

    def sums(self, tables: IntArray) -> Iterator[IntArray]:
        """Yield the tables of each level, from those at the entries."""
        first = self.tree.depth + 1 - len(self.levels)
        for starts in self.tree.starts[first:]:
            yield np.add.reduceat(tables, starts, axis=-1)

    def in_place(self, tables: IntArray) -> IntArray:
        """Return the cells of tables at the entries, in row-major order over the axes, one table a row."""
        back = np.argsort([*self.others, self.last])
        cells = np.empty_like(tables)
        cells[..., self.tree.order] = tables
        return cells.transpose(0, *(1 + back)).reshape(len(tables), -1)

    def _level(self, level: int, group: int | None, sigma: float) -> TreeLevel:
        """Return a level whose nodes are split in groups of some size, or where that costs least."""
        if group is not None:
            return self._grouped(level, group)
        best = self._grouped(level, GROUPS[0])
        if best.likely(sigma) > NEARLY_ALL:
            return best
        longest = max((*self._sizes, self.tree.starts[-1].size))
        more = (self._grouped(level, each) for each in (*GROUPS[1:], longest))
        return min((best, *more), key=lambda each: each.cost(sigma))

    def _grouped(self, level: int, group: int) -> TreeLevel:
        plain = self._plain(level)
        halved = [at for at in range(len(self._sizes)) if at not in plain]
        axes = tuple(HalvedAxis(np.ones(self._sizes[at], dtype=np.int64), group) for at in halved)
        variances = {
            split: self._weights[frozenset(halved[at] for at in split)].variances[level]
            for split in _subsets(len(halved))
            if self._weights[frozenset(halved[at] for at in split)].kept < level
        }
        pieces = []
        for above, below in self._families(level):
            laws: dict[Axes, SplitLaw | None] = dict.fromkeys(_subsets(len(halved)))
            for split, each in variances.items():
                if not level:
                    laws[split] = RootLaw(float(np.sqrt(each[0])))
                    continue
                children = self.tree.children[level - 1][above.start : above.stop + 1] - below.start
                splits = tuple(stages(children[:-1], children[1:], each[below], group))
                laws[split] = ChildLaw(children[:-1], below.stop - below.start, splits)
            pieces.append(Piece(above, below, axes, laws))
        nodes = self.tree.starts[level].size
        return TreeLevel((*self._sizes, nodes), plain, tuple(pieces))

    def _families(self, level: int) -> Iterator[tuple[slice, slice]]:
        """Yield successive nodes of the level above with their children, so many that pieces are even."""
        if not level:
            yield slice(0, 1), slice(0, 1)  # nothing is known above
            return
        children, begin = self.tree.children[level - 1], 0
        while begin < children.size - 1:
            most = children[begin] + PIECE // prod(self._sizes)
            end = max(begin + 1, int(np.searchsorted(children, most, side="right")) - 1)
            yield slice(begin, end), slice(int(children[begin]), int(children[end]))
            begin = end

    def _plain(self, level: int) -> list[int]:
        """Return the places of the axes that make no difference from a level on."""
        places = range(len(self._sizes))
        sets = list(_subsets(len(self._sizes)))
        return [
            at
            for at in places
            if all(self._weights[split].alike(self._weights[split | {at}], level) for split in sets)
        ]


@dataclass(frozen=True, eq=False)
class LevelWeights:
    """The weights k of the levels of the tree for one set T, and the last level that is kept, -1 for none."""

    tree: LevelTree
    kept: int
    strengths: tuple[Fraction, ...]

    def alike(self, other: "LevelWeights", level: int) -> bool:
        """Whether both say the same from a level on."""
        if self.kept >= level or other.kept >= level:
            return self.kept >= level and other.kept >= level
        return self.strengths[level:] == other.strengths[level:]

    @cached_property
    def variances(self) -> list[FloatArray]:
        """The v of the nodes of each level; what it is at kept ones has no meaning."""
        tree = self.tree
        known = [0.0 if level <= self.kept else float(each) for level, each in enumerate(self.strengths)]
        found = tree.variances(known)
        if self.kept < 0 and tree.depth == 1:  # where a strength may be negative: no digits are lost
            found[0] = np.array([float(1 / (self.strengths[0] + self.strengths[1] / tree.starts[1].size))])
        return found


def _weights(
    margins: MarginStrategy, others: Sequence[int], last: int, tree: LevelTree
) -> Iterator[tuple[Axes, LevelWeights]]:
    """Yield the weights of each set of axes."""
    for split in _subsets(len(others)):
        wanted = {others[at] for at in split}

        def has(reading: Reading, wanted: set[int] = wanted) -> bool:
            return all(reading[at] for at in wanted if margins.axes[at].depth)

        strengths = [Fraction(0)] * (tree.depth + 1)
        for reading, strength in margins.measured:
            if has(reading):
                outside = prod(margins.shape[at] for at in others if not reading[at])
                strengths[reading[last]] += strength * outside
        kept = max((reading[last] for reading in margins.kept if has(reading)), default=-1)
        yield split, LevelWeights(tree, kept, tuple(strengths))


def _subsets(count: int) -> Iterator[Axes]:
    """Yield all sets of so many places."""
    sizes = range(count + 1)
    yield from map(frozenset, chain.from_iterable(combinations(range(count), size) for size in sizes))
