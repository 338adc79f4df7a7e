"""Trees of the levels of an axis, and the variances of the sums of their nodes.

Under the weight exp(-z'Kz / 2) with K = sum_l k_l B_l, B_l adding up squares of the sums of the nodes of
level l, let v be the variance that a node's sum has by itself and V the sum of its children's v:

    v = 1 / k_last at the leaves,   v = 1 / (k_l + 1 / V) above.

Given the sum S of a node, its children's S_c are near S v_c / V. So the variance of a sum is

    g = v at the root,   g = v - v^2 / V + (v / V)^2 g(parent) below it,

0 standing for g of a level that is kept [theory, 13; holdfast, sampling/lattice/weighted.py].
"""

from collections.abc import Iterator, Sequence

import numpy as np

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.jets import Jet
from holdfast.lattice.margins import LevelledAxis


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

    def in_numbers(self, axis: LevelledAxis, level: int) -> IntArray:
        """Return the number that the axis gives each node of a level."""
        return axis.parts[level - 1][self.order[self.starts[level]]] if level else np.zeros(1, dtype=np.int64)


def node_variances(tree: LevelTree, strengths: Sequence[Jet]) -> Iterator[Jet]:
    """Yield the variances of the nodes of each level that is not kept, the highest first.

    ``strengths`` are those of these levels, the last of the tree, one row a tree. Leaves of one parent are
    alike: of them there is one for each parent.
    """
    first = tree.depth + 1 - len(strengths)
    children = [np.diff(each) for each in tree.children]
    own: dict[int, Jet] = {tree.depth: strengths[-1].inverse()}  # one leaf for all
    below = {}
    for level in range(tree.depth - 1, max(first - 1, 0) - 1, -1):
        lower = own[level + 1]
        below[level] = (
            lower * children[level] if level + 1 == tree.depth else lower.summed(tree.children[level][:-1])
        )
        if level >= first:
            own[level] = (strengths[level - first] + below[level].inverse()).inverse()
    above = None
    for level in range(first, tree.depth + 1):
        if level == 0:
            found = own[0]
        else:
            leaf = level == tree.depth
            times = np.ones_like(children[level - 1]) if leaf else children[level - 1]
            share = own[level] * below[level - 1].inverse().repeated(times)
            found = own[level] - share * own[level]
            if above is not None:
                found = found + share * share * above.repeated(times)
        yield found
        above = found
