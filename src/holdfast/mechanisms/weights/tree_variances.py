"""The variances of the sums of the nodes of a tree, by the weights of its levels, with their derivatives.

For one set T of other axes let v be the variance that a node's sum has by itself and V the sum of its
children's v [holdfast, sampling/lattice/weighted.py]:

    v = 1 / k_last at the leaves,   v = 1 / (k_l + 1 / V) above;
    g = v at the root,   g = v - v^2 / V + (v / V)^2 g(parent) below it,

0 standing for g of a level that is kept. Leaves of one parent are alike, and worked out once.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.jets import Jet
from holdfast.sampling.lattice.weighted import LevelTree


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
    first = tree.depth + 1 - count
    variables = [Jet.variable(weights[:, at : at + 1], at, count) for at in range(count)]
    children = [np.diff(each) for each in tree.children]
    own: dict[int, Jet] = {tree.depth: variables[-1].inverse()}  # one leaf for all
    below = {}
    for level in range(tree.depth - 1, first - 2, -1):
        if level < 0:
            break
        lower = own[level + 1]
        below[level] = (
            lower * children[level] if level + 1 == tree.depth else lower.summed(tree.children[level][:-1])
        )
        if level >= first:
            own[level] = (variables[level - first] + below[level].inverse()).inverse()
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
        nodes = tree.starts[level].size
        each = found * children[level - 1] if 0 < level == tree.depth else found
        yield each.total() * (1 / nodes)
        above = found
