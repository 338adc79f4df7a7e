"""Variances of sums of cells under the weight exp(-z'Fz / 2), for F made of whole margins.

F is diagonal in the residual spaces of all axes but one, the tree [holdfast, lattice/forms.py; theory, 13].
For a set T of the other axes it is K_T = sum_l k_l(T) B_l on the tree, B_l adding up squares of the sums of
the nodes of level l. Let v be 1 / k at the leaves, and 1 / (k_l + 1 / V) at a node whose children have the
sum V of v; a level that is kept has v = 0. The sum of the root has the variance v, and

    Var S_c = (v_c / V)^2 Var S + v_c - v_c^2 / V,

as given S the S_c are near S v_c / V. A sum of cells is a product over the axes. One that takes m of d
entries of an axis has the squared length m^2 / d in the constants, and m - m^2 / d beyond them; its variance
is the sum over T of the product of these, times that of its node under K_T.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import chain, combinations, pairwise
from math import inf, prod

import numpy as np

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.forms import MarginStrategy, Reading


def count_variances(margins: MarginStrategy, asked: Reading, taken: Sequence[int | None]) -> FloatArray:
    """Return the variances of the sums that a reading asks for, one for each node that it reads of the tree.

    ``taken`` has for each axis that is not read how many of its entries are added up, None for all of them.
    There must be one tree at most, all of which is added up or read.
    """
    trees = margins.trees
    tree = trees[0] if trees else None
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
            found = found + float(length) * _on_the_tree(margins, tree, T, 0 if tree is None else asked[tree])
    return found


def _on_the_tree(margins: MarginStrategy, tree: int | None, T: tuple[int, ...], asked: int) -> FloatArray:
    """Return the variances of the sums of the nodes of a level under K_T."""
    depth = 0 if tree is None else margins.axes[tree].depth
    strengths = [_strength(margins, tree, T, level) for level in range(depth + 1)]
    parents = _parents(margins, tree)
    sizes = [1, *(int(parent.size) for parent in parents)]
    v = [np.zeros(size) for size in sizes]
    v[depth][:] = _inverse(np.full(sizes[depth], strengths[depth]))
    total: list[FloatArray] = []
    for level in reversed(range(depth)):
        below: FloatArray = np.bincount(parents[level], v[level + 1], sizes[level]).astype(np.float64)
        total.insert(0, below)
        v[level] = _inverse(strengths[level] + _inverse(below))
    found = v[0]
    for level in range(asked):
        parent, own = parents[level], v[level + 1]
        V = total[level][parent]
        share = np.divide(own, V, out=np.zeros(own.size), where=V > 0)
        found = share**2 * found[parent] + own * (1 - share)
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


def _parents(margins: MarginStrategy, tree: int | None) -> list[IntArray]:
    """Return, for each level of the tree below its root, the node above of each of its nodes."""
    if tree is None:
        return []
    axis = margins.axes[tree]
    levels = [np.zeros(axis.size, dtype=np.int64), *axis.parts]
    found = []
    for above, below in pairwise(levels):
        first = np.unique(below, return_index=True)[1]
        found.append(np.asarray(above[first], dtype=np.int64))
    return found


def _inverse(values: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(1 / values)
