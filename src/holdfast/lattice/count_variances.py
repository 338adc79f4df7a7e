"""Variances of sums of cells under the weight exp(-z'Fz / 2), for F made of whole margins.

F is diagonal in the residual spaces of all axes but one, the tree [holdfast, lattice/margins.py; theory, 13].
For a set T of the other axes it is K_T = sum_l k_l(T) B_l on the tree, B_l adding up squares of the sums of
the nodes of level l; its nodes have the variances of lattice/trees.py. A sum of cells is a product over the
axes. One that takes m of d entries of an axis has the squared length m^2 / d in the constants, and
m - m^2 / d beyond them; its variance is the sum over T of the product of these, times that of its node under
K_T.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import chain, combinations, islice
from math import inf, prod

import numpy as np

from holdfast.lattice.arrays import FloatArray
from holdfast.lattice.jets import Jet
from holdfast.lattice.margins import MarginStrategy, Reading
from holdfast.lattice.trees import LevelTree, node_variances


def count_variances(margins: MarginStrategy, asked: Reading, taken: Sequence[int | None]) -> FloatArray:
    """Return the variances of the sums that a reading asks for, one for each node that it reads of the tree.

    ``taken`` has for each axis that is not read how many of its entries are added up, None for all of them.
    There must be one tree at most, all of which is added up or read.
    """
    trees = margins.trees
    tree = trees[0] if trees else None
    nodes = None if tree is None else LevelTree(margins.axes[tree])
    others = [at for at in range(len(margins.axes)) if at != tree]
    inside = {at: 1 if asked[at] else taken[at] or margins.axes[at].size for at in others}
    found: FloatArray = np.zeros(1)
    for T in chain.from_iterable(combinations(others, size) for size in range(len(others) + 1)):
        length = prod(
            Fraction(inside[at] * (margins.axes[at].size - inside[at]), margins.axes[at].size)
            if at in T
            else Fraction(inside[at] ** 2, margins.axes[at].size)
            for at in others
        )
        if length:
            found = found + float(length) * _on_the_tree(
                margins, tree, nodes, T, 0 if tree is None else asked[tree]
            )
    return found


def _on_the_tree(
    margins: MarginStrategy, tree: int | None, nodes: LevelTree | None, T: tuple[int, ...], asked: int
) -> FloatArray:
    """Return the variances of the sums of the nodes of a level under K_T."""
    depth = 0 if nodes is None else nodes.depth
    strengths = [_strength(margins, tree, T, level) for level in range(depth + 1)]
    first = next((level + 1 for level in reversed(range(depth + 1)) if strengths[level] == inf), 0)
    if first > asked:
        return np.zeros(1 if nodes is None else nodes.starts[asked].size)
    if tree is None or nodes is None:
        return np.array([1 / strengths[0]])
    jets = [Jet.constant(np.array([[each]])) for each in strengths[first:]]
    variances = next(islice(node_variances(nodes, jets), asked - first, None)).value[0]
    if asked == depth:
        variances = np.repeat(variances, np.diff(nodes.children[-1]))
    found = np.empty(variances.size)
    found[nodes.in_numbers(margins.axes[tree], asked)] = variances
    return found


def _strength(margins: MarginStrategy, tree: int | None, T: tuple[int, ...], level: int) -> float:
    """Return k_l(T), infinite where the level is kept."""

    def reads(reading: Reading) -> bool:
        return (0 if tree is None else reading[tree]) == level and all(reading[at] for at in T)

    if any(map(reads, margins.kept)):
        return inf
    return float(
        sum(
            strength
            * prod(axis.size for at, axis in enumerate(margins.axes) if at != tree and not reading[at])
            for reading, strength in margins.measured
            if reads(reading)
        )
    )
