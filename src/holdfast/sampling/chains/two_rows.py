"""Two rows of counts given their totals and the sums of their columns, drawn exactly.

The upper row is v, the lower one s - v, with 0 <= v <= s and sum v = t. Under p(y) prop. to
exp(-epsilon ||y - x||_1), with a and b the two rows of x, column j has the weight

    exp(-epsilon (|v_j - a_j| + |s_j - v_j - b_j|))  prop. to  exp(-2 epsilon d(v_j)),

where d is the distance from the interval between a_j and s_j - b_j. So v is a product law given its sum.
Columns are joined two by two, last ones first, into a tree; a node's masses are the convolution of its
children's. A draw goes down: given the total of a node, that of its left child by inversion of one word.

Floats find the outcome and show that it is right: nothing is ever subtracted, so a mass that takes n
operations is off by at most a factor 1 + n 2^-52. A word closer to a boundary than that, or a table whose
masses are beyond the range of floats, is decided by ball arithmetic [johansson2017] with as many further bits
as it takes. So the law is exact; the power table is rounded from enclosures, and no exponential function of
the computer is relied on.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil, log

import flint
import numpy as np

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray, WordArray
from holdfast.sampling.decisions import LazyUniform, Real, enclose, exp_of_minus, least, real
from holdfast.sampling.entropy import Entropy
from holdfast.system.errors import SamplingError

WORD_BITS = 53
REACH = 400
"""Weights below exp(-REACH) are left out of the floats, and accounted for."""
LEAST = 60 - REACH
"""log of the least mass, relative to all of a table's, that leaves what is left out below exp(-60)."""
MOST = 600
"""log of the largest whole mass of a table that floats are trusted with."""
MOST_RECORDS = 1 << 14
"""In one row: a convolution takes the square of it."""
BLOCK = 1 << 16
"""Masses of a node that are worked on at once: small enough for the cache."""


@dataclass(frozen=True, eq=False)
class TwoRows:
    """Many such problems, one a row of each array.

    Attributes:
        totals: t, the total of the upper row.
        sums: s, one a column.
        upper: a, where the law of the upper row is centred.
        lower: b.

    """

    totals: IntArray
    sums: IntArray
    upper: IntArray
    lower: IntArray

    def reordered(self, order: IntArray) -> "TwoRows":
        """Return the same with columns in another order, one order a row."""
        sums, upper, lower = (np.take_along_axis(x, order, 1) for x in (self.sums, self.upper, self.lower))
        return TwoRows(self.totals, sums, upper, lower)

    def rows(self, which: BoolArray | IntArray) -> "TwoRows":
        """Return some of the problems."""
        return TwoRows(self.totals[which], self.sums[which], self.upper[which], self.lower[which])


class TwoRowLaw:
    """Draws by words that the caller gives: the same words at the same problem give the same rows.

    ``bits`` is how much of a word is used at first; few bits serve tests.
    """

    def __init__(self, epsilon: Fraction, *, bits: int = WORD_BITS) -> None:
        if epsilon <= 0 or not 1 <= bits <= WORD_BITS:
            raise ValueError(f"epsilon is positive and at most {WORD_BITS} bits are used at first")
        self.epsilon, self._bits = epsilon, bits
        self._powers = np.zeros(1)

    def draw(self, tables: TwoRows, words: WordArray, entropy: Entropy) -> IntArray:
        """Return an upper row for each problem; ``words`` has one column fewer than the tables.

        ``entropy`` gives the further bits of the words that need them.
        """
        longest = int(tables.totals.max(initial=0))
        if longest > MOST_RECORDS:
            raise SamplingError(
                f"two rows with {longest} records in one of them are too many to draw as a whole: use finer"
                " attributes, or draw exactly."
            )
        self._extend(int(tables.sums.max(initial=0)))
        drawn = np.empty_like(tables.sums)
        size = max(1, BLOCK // (longest + 1))
        alike = np.argsort(tables.sums.max(axis=1, initial=0), kind="stable")  # in one block, to pad less
        for begin in range(0, alike.size, size):
            part = alike[begin : begin + size]
            drawn[part] = self._block(tables.rows(part), words[part], entropy)
        return drawn

    def _extend(self, farthest: int) -> None:
        """Tabulate exp(-2 epsilon d) up to d = farthest, as far as it is not left out, and a 0 at the end."""
        known, size = self._powers.size - 1, min(farthest + 1, ceil(REACH / (2 * self.epsilon)))
        if known < size:
            more = [_rounded(2 * self.epsilon * d) for d in range(known, size)]
            self._powers = np.concatenate([self._powers[:-1], more, [0.0]])

    def _block(self, tables: TwoRows, words: WordArray, entropy: Entropy) -> IntArray:
        most = int(tables.totals.max(initial=0)) + 1
        leaves = [_TwoRowsNode(masses, j, j + 1) for j, masses in enumerate(self._weights(tables, most))]
        root = leaves
        while len(root) > 2:
            root = [*root[: len(root) % 2], *(_joined(x, y, most) for x, y in _pairs(root))]
        # the product of all columns' masses bounds every mass; a column leaves out exp(-REACH) a value
        whole = np.sum([np.log(leaf.masses.sum(axis=0).clip(1)) for leaf in leaves], axis=0)
        floor = LEAST + whole + log(tables.sums.shape[1] * (int(tables.sums.max(initial=0)) + 1))
        floor[whole > MOST] = np.inf
        splits = iter(words.T >> np.uint64(64 - self._bits))
        drawn = np.empty_like(tables.sums)
        todo = [(root, tables.totals)]
        while todo:
            nodes, totals = todo.pop()
            if len(nodes) == 1:
                (node,) = nodes
                if node.children:
                    todo.append((list(node.children), totals))
                else:
                    drawn[:, node.first] = totals
                continue
            left, right = nodes
            word = next(splits)
            share, sure = _inverted(left, right, totals, word, self._bits, floor)
            for i in np.flatnonzero(~sure):
                uniform = LazyUniform(int(word[i]), self._bits, entropy)
                share[i] = self._refined(tables, int(i), left, right, int(totals[i]), uniform)
            todo += [([left], share), ([right], totals - share)]
        return drawn

    def _weights(self, tables: TwoRows, most: int) -> Iterator[FloatArray]:
        """Return exp(-2 epsilon d(v)) of each column, values x tables; 0 beyond the column's sum."""
        none = self._powers.size - 1
        for sums, upper, lower in zip(tables.sums.T, tables.upper.T, tables.lower.T, strict=True):
            v = np.arange(min(int(sums.max(initial=0)) + 1, most))[:, None]
            ends = np.sort([upper, sums - lower], axis=0)
            away = np.maximum(ends[0] - v, v - ends[1])
            away[v > sums] = none
            yield np.take(self._powers, away, mode="clip")

    def _refined(
        self,
        tables: TwoRows,
        i: int,
        left: "_TwoRowsNode",
        right: "_TwoRowsNode",
        total: int,
        uniform: LazyUniform,
    ) -> int:
        """Return the least share k of the left node with u < F(k), for a uniform u known as far as needed."""

        @cache
        def law(precision: int) -> list[flint.arb]:  # noqa: ARG001 - the working precision
            one, other = (self._ball_masses(tables, i, node) for node in (left, right))
            return [
                one[k] * other[total - k] if total - k < len(other) else flint.arb(0)
                for k in range(min(len(one), total + 1))
            ]

        def cdf(k: int) -> Real:
            return real(lambda: _share_of(law(flint.ctx.prec), k))

        last = min(int(tables.sums[i, left.first : left.last].sum()), total)
        return least(lambda k: k >= last or (k >= 0 and uniform.is_below(cdf(k))), last)

    def _ball_masses(self, tables: TwoRows, i: int, node: "_TwoRowsNode") -> list[flint.arb]:
        product = flint.arb_poly([1])
        for j in range(node.first, node.last):
            ends = sorted((int(tables.upper[i, j]), int(tables.sums[i, j] - tables.lower[i, j])))
            away = [max(ends[0] - v, v - ends[1], 0) for v in range(int(tables.sums[i, j]) + 1)]
            product *= flint.arb_poly([exp_of_minus(2 * self.epsilon * d) for d in away])
        return [product[k] for k in range(int(tables.sums[i, node.first : node.last].sum()) + 1)]


@dataclass(frozen=True, eq=False)
class _TwoRowsNode:
    """Columns first, ..., last - 1: the masses of their total, totals x tables."""

    masses: FloatArray
    first: int
    last: int
    children: "tuple[_TwoRowsNode, _TwoRowsNode] | None" = None
    operations: int = 4  # that a mass may have taken: one for a rounded power, and some to spare


def _pairs(nodes: list[_TwoRowsNode]) -> Iterator[tuple[_TwoRowsNode, _TwoRowsNode]]:
    """Pair nodes from the end."""
    odd = len(nodes) % 2
    return zip(nodes[odd::2], nodes[odd + 1 :: 2], strict=True)


def _joined(left: _TwoRowsNode, right: _TwoRowsNode, most: int) -> _TwoRowsNode:
    """Return the convolution of two nodes, up to ``most`` totals."""
    one, other = left.masses, right.masses[::-1]
    size = min(len(one) + len(other) - 1, most)
    masses = np.empty((size, one.shape[1]))
    for total in range(size):
        first, stop = max(0, total - len(other) + 1), min(len(one), total + 1)
        shift = len(other) - 1 - total
        np.einsum("vb,vb->b", one[first:stop], other[first + shift : stop + shift], out=masses[total])
    operations = left.operations + right.operations + min(len(one), len(other)) + 1
    return _TwoRowsNode(masses, left.first, right.last, (left, right), operations)


def _inverted(
    left: _TwoRowsNode, right: _TwoRowsNode, totals: IntArray, words: WordArray, bits: int, floor: FloatArray
) -> tuple[IntArray, BoolArray]:
    """Return the left node's share of each total, and whether it is certain."""
    shares = np.arange(min(len(left.masses), int(totals.max(initial=0)) + 1))[:, None]
    rest, tables = totals - shares, totals.size
    nowhere = len(right.masses)
    rest[(rest < 0) | (rest > nowhere)] = nowhere
    ended = np.concatenate([right.masses, np.zeros((1, tables))])
    masses = left.masses[: len(shares)] * np.take(ended.ravel(), rest * tables + np.arange(tables))
    cumulated = np.cumsum(masses, axis=0, out=masses)
    whole = cumulated[-1]
    low = words.astype(np.float64) * 2.0**-bits * whole
    high = (words + np.uint64(1)).astype(np.float64) * 2.0**-bits * whole
    share = np.minimum(np.count_nonzero(cumulated <= low, axis=0), len(shares) - 1)
    below = np.take_along_axis(cumulated, np.maximum(share - 1, 0)[None], 0)[0]
    upto = np.take_along_axis(cumulated, share[None], 0)[0]
    # F and the whole are each off by a factor 1 + n 2^-52 at most, and so are the four products here
    factor = 1 + 4 * (left.operations + right.operations + len(shares) + 4) * 2.0**-52
    with np.errstate(divide="ignore"):
        sure = (np.log(whole) > floor) & (high * factor <= upto) & ((share == 0) | (below * factor <= low))
    return share, sure


def _share_of(law: list[flint.arb], k: int) -> flint.arb:
    return sum(law[: k + 1], flint.arb(0)) / sum(law, flint.arb(0))


def _rounded(exponent: Fraction) -> float:
    """Return exp(-exponent) to one part in 2^52."""
    with flint.ctx.workprec(128):
        bits = 60 + int(exponent * 3 / 2)  # more than log2(e) a unit
        return enclose(exp_of_minus(exponent), bits)[0] / (1 << bits)
