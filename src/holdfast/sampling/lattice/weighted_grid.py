"""The Gaussian law of whole margins, each with a strength of its own, by halving every axis.

z'Fz = sum_j c_j ||W_j z||^2 over margins W_j, some margins of z being zero. All axes but one, the *tree*, are
read by entries or not at all. Read the others by halving, as in grid.py: a table is then the vectors Y_u over
the tree, u = (u_1, ..., u_q), and T(u) is the set of axes that are split in u. The residual spaces of these
axes are spanned by the u with one T, so F falls apart:

    z'Fz  =  sum_u (Y_u - M_u)' K_T (Y_u - M_u) / s_u^2,   T = T(u),
    K_T   =  sum over the levels l of the tree of k_l(T) B_l,

M_u being what the vectors before predict, s_u as in grid.py, B_l the sum of 1 1' over the nodes of level l,
and k_l(T) the sum of c_j times the number of cells outside of margin j over the j at level l with T among
their axes. So strengths change neither the order nor the predictions along these axes.

On the tree, B_l of different levels do not commute where nodes are unequal. Its own factors are used. With
v the variance that a node's sum would have by itself, and V the sum of its children's v,

    v = 1 / k_last at the leaves,   v = 1 / (k_l + 1 / V) above,

the sums S_c of a node's children given its own sum S are Gaussian with means S v_c / V and variances v less
v v' / V: halving the children as if each had the weight v_c (`HalvingStage`) gives the coordinates. Levels up
to the last at which a margin with T among its axes is kept are zero [theory, 13].
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain, combinations
from math import prod

import numpy as np

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.forms import LevelledAxis, MarginStrategy
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.lattice.grid import GROUPS, LIKELY, FoundCoordinates, HalvedAxis, HalvedGrid
from holdfast.sampling.lattice.klein import TINY, log_acceptance
from holdfast.sampling.lattice.sum_shape import HalvingStage, SumShape, stages
from holdfast.sampling.numbers.gaussian import draw_near

Axes = frozenset[int]


class LevelTree:
    """The levels of one axis, its entries in an order in which every node's stand together.

    ``starts`` has, for each level from the whole on, where the entries of each node begin; ``children``
    where the nodes of the level below do, with the end of all.
    """

    def __init__(self, axis: LevelledAxis) -> None:
        parts = [np.zeros(axis.size, dtype=np.int64), *axis.parts]
        self.order: IntArray = np.lexsort(parts[::-1])
        self.starts = [np.flatnonzero(np.diff(part[self.order], prepend=-1)) for part in parts]
        self.depth = axis.depth
        self.children = [
            np.append(np.searchsorted(lower, upper), lower.size)
            for upper, lower in zip(self.starts, self.starts[1:], strict=False)
        ]

    def variances(self, strengths: Sequence[float]) -> list[FloatArray]:
        """Return v of the nodes of each level, from the strengths of the levels."""
        found = [np.full(self.starts[-1].size, 1 / strengths[-1])]
        for strength, children in zip(strengths[-2::-1], self.children[::-1], strict=True):
            found.append(1 / (strength + 1 / np.add.reduceat(found[-1], children[:-1])))
        return found[::-1]


class TreeLaw:
    """How the vectors over the tree are drawn for one set T: from which level on, and the splits of each."""

    def __init__(self, tree: LevelTree, strengths: Sequence[float], kept: int, group: int) -> None:
        self.tree, self.kept = tree, kept
        variances = tree.variances(strengths)
        self.root = float(np.sqrt(variances[0][0]))
        self.splits: tuple[tuple[HalvingStage, ...], ...] = tuple(
            tuple(stages(children[:-1], children[1:], below, group))
            for children, below in zip(tree.children, variances[1:], strict=True)
        )

    @property
    def first(self) -> int:
        """The first level whose nodes are split."""
        return max(self.kept, 0)

    def draw(
        self, means: FloatArray, widths: FloatArray, entropy: Entropy, found: FoundCoordinates
    ) -> IntArray:
        """Return integers near some means over the entries, one vector a row."""
        tree, size = self.tree, len(means)
        known: IntArray = np.zeros((size, tree.starts[self.first].size), dtype=np.int64)
        if self.kept < 0:
            stretched = widths * (self.root * (1 + TINY))
            centres = means.sum(axis=1)
            known[:, 0] = draw_near(centres, stretched, entropy)
            found.append((known[:, 0].copy(), centres, stretched))
        for level in range(self.first, tree.depth):
            nodes = np.add.reduceat(means, tree.starts[level + 1], axis=1)
            running = np.concatenate([np.zeros((size, 1)), np.cumsum(nodes, axis=1)], axis=1)
            sums: IntArray = np.zeros(nodes.shape, dtype=np.int64)
            sums[:, tree.children[level][:-1]] = known
            for stage in self.splits[level]:
                before = running[:, stage.begins]
                centres = running[:, stage.middles] - before
                centres += stage.share * (sums[:, stage.begins] - (running[:, stage.ends] - before))
                stretched = widths[:, None] * (stage.width * (1 + TINY))
                left = draw_near(centres.ravel(), stretched.ravel(), entropy).reshape(centres.shape)
                found.append((left, centres, stretched))
                sums[:, stage.middles] = sums[:, stage.begins] - left
                sums[:, stage.begins] = left
            known = sums
        return known

    def widths(self, widths: FloatArray) -> Iterator[FloatArray]:
        """Yield the widths of its coordinates, in the order in which they are drawn."""
        if self.kept < 0:
            yield widths * (self.root * (1 + TINY))
        for level in range(self.first, self.tree.depth):
            for stage in self.splits[level]:
                yield (widths[:, None] * (stage.width * (1 + TINY))).ravel()


class WeightedGrid(HalvedGrid):
    """Proposals for integer tables over some axes, of which at most one has several levels."""

    def __init__(self, margins: MarginStrategy, group: int) -> None:
        sizes = margins.shape
        last = max(margins.trees, default=int(np.argmax(sizes)))
        others = sorted((at for at in range(len(sizes)) if at != last), key=lambda at: -sizes[at])
        tree = LevelTree(margins.axes[last])
        order = np.arange(prod(sizes)).reshape(sizes).transpose([*others, last])[..., tree.order]
        SumShape.__init__(self, np.ones(order.size, dtype=np.int64), order.ravel())
        self._axes = tuple(HalvedAxis(np.ones(sizes[at], dtype=np.int64), group) for at in others)
        self._shape = tuple(sizes[at] for at in (*others, last))
        self._laws = dict(_laws(margins, others, last, tree, group))

    def _zero(self, place: int, split: Axes) -> bool:
        """Whether margins that are kept make all coordinates zero that go on like this."""
        return self._laws[split.union(range(place, len(self._axes)))] is None

    def _coordinates(
        self, means: FloatArray, widths: FloatArray, split: Axes, entropy: Entropy, found: FoundCoordinates
    ) -> IntArray:
        law = self._laws[split]
        assert law is not None  # noqa: S101 - `_zero` has been asked
        return law.draw(means, widths, entropy, found)

    def _coordinate_widths(self, widths: FloatArray, split: Axes) -> Iterator[FloatArray]:
        law = self._laws[split]
        yield from () if law is None else law.widths(widths)


def _laws(
    margins: MarginStrategy, others: Sequence[int], last: int, tree: LevelTree, group: int
) -> Iterator[tuple[Axes, TreeLaw | None]]:
    """Yield the law of each set of axes, None where margins that are kept leave nothing of it."""
    sets = chain.from_iterable(combinations(range(len(others)), k) for k in range(len(others) + 1))
    for split in map(frozenset, sets):
        wanted = {others[at] for at in split}

        def has(reading: tuple[int, ...], wanted: set[int] = wanted) -> bool:
            return all(reading[at] for at in wanted if margins.axes[at].depth)

        kept = max((reading[last] for reading in margins.kept if has(reading)), default=-1)
        if kept == tree.depth:
            yield split, None
            continue
        strengths = [Fraction(0)] * (tree.depth + 1)
        for reading, strength in margins.measured:
            if has(reading):
                outside = prod(margins.shape[at] for at in others if not reading[at])
                strengths[reading[last]] += strength * outside
        yield split, TreeLaw(tree, [float(each) for each in strengths], kept, group)


def weighted_grid(margins: MarginStrategy, sigma: float) -> WeightedGrid:
    """Return the grid with the fewest stages whose proposals are likely to be kept."""
    for group in (*GROUPS, max(margins.shape)):
        grid = WeightedGrid(margins, group)
        if log_acceptance(grid.sum_shapes, sigma) > LIKELY:
            break
    return grid
