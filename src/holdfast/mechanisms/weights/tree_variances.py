"""The mean variance of the nodes of each level of a tree, by the weights of its levels, with derivatives.

They are those of lattice/trees.py for one set T of other axes each.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.jets import Jet
from holdfast.lattice.trees import LevelTree, node_variances


@dataclass(frozen=True, eq=False)
class TreeVariances:
    """The mean variance of a node's sum on each level, for each T: one space a level and T."""

    tree: LevelTree | None
    """None where no axis has several levels: a variance is then 1 / k."""
    places: tuple[IntArray, ...]
    """The spaces of the T that are kept up to one level: one row a T, one column a level below."""

    @classmethod
    def of(cls, tree: LevelTree | None, levels: IntArray, group: IntArray) -> "TreeVariances":
        """Return them for spaces by level and number of T."""
        rows: dict[int, list[IntArray]] = {}
        order = np.lexsort((levels, group))
        for row in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
            rows.setdefault(row.size, []).append(row)
        return cls(tree, tuple(np.array(each) for each in rows.values()))

    def at(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the variance of each space and its derivatives, one row a space."""
        if self.tree is None:
            return 1 / weights, np.diag(-1 / weights**2)
        found, slopes = np.zeros(weights.size), np.zeros((weights.size, weights.size))
        for place, jet in self._jets(weights):
            found[place] = jet.value
            slopes[place[:, :, None], place[:, None, :]] = jet.first
        return found, slopes

    def curvature(self, weights: FloatArray, of: FloatArray) -> FloatArray:
        """Return the second derivatives of the sum of the variances by ``of``."""
        if self.tree is None:
            return np.diag(2 * of / weights**3)
        found = np.zeros((weights.size, weights.size))
        for place, jet in self._jets(weights):
            found[place[:, :, None], place[:, None, :]] = np.einsum("bl,blij->bij", of[place], jet.second)
        return found

    def _jets(self, weights: FloatArray) -> Iterator[tuple[IntArray, Jet]]:
        assert self.tree is not None  # noqa: S101 - asked before
        for place in self.places:
            means = list(_means(self.tree, weights[place]))
            parts = zip(*((each.value, each.first, each.second) for each in means), strict=True)
            yield place, Jet(*(np.stack(each, axis=1) for each in parts))


def _means(tree: LevelTree, weights: FloatArray) -> Iterator[Jet]:
    """Yield the mean variance of the nodes of each level that is not kept, the highest first."""
    count = weights.shape[1]
    strengths = [Jet.variable(weights[:, at : at + 1], at, count) for at in range(count)]
    first = tree.depth + 1 - count
    for level, found in enumerate(node_variances(tree, strengths), first):
        leaves = 0 < level == tree.depth
        each = found * np.diff(tree.children[level - 1]) if leaves else found
        yield each.total() * (1 / tree.starts[level].size)
