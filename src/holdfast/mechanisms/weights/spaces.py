"""The spaces in which noise shaped by whole margins has weights of its own, and what each weight does.

All axes but the *tree* are read by entries or not at all. For a set T of them, P_T projects on what the
margin T has beyond smaller ones: the product of I - J / d over the axes in T and of J / d over the others, d
being their sizes. B_l adds up squares of the sums of the nodes of level l of the tree. The form is

    Q = sum of k_(l,T) P_T (x) B_l,   k >= 0,

with one weight for each T where there is no tree [theory, 13]:

* **sums** of a margin that reads the axes R, at the nodes of level l: the variance of one of them is the sum
  over T in R of (d, over all not in R) (1 - 1/d, over T) (1/d, over R - T) g_(l,T), g_(l,T) being the mean
  variance of a node's sum under the weights k_(.,T): 1 / k where there is no tree;
* **moves** of one record that changes the axes D and stays within a node of level c: half of u'Qu has k_(l,T)
  times p_T(none) - p_T(D) [l <= c], p_T(D) being the product of [t not in D] - 1/d over T and of 1/d over the
  rest;
* **strengths**: P_T is the sum over R in T of (-1)^|T - R| W_R'W_R / (cells in a row), so that Q is a sum of
  squares of whole margins, some with negative strengths.

A margin that is kept takes away all spaces below it. Where kept margins cross, no single record moves in
some spaces: all moves of as many records as a guarantee covers take the place of those of one, listed by
kinds [holdfast, universe/kinds_of_moves.py] and divided by the square of their number. Where the number of
records is not kept, a record more may lose as much as one that moves: otherwise nothing would hold back the
weight of the total. Where records come and go, and none is another, one more is all that counts [theory, 14];
a kept margin fixes their number, and what comes goes elsewhere, as a record that moves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod

import numpy as np

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.lattice.margins import LevelledAxis, MarginStrategy, Reading, below
from holdfast.lattice.trees import LevelTree
from holdfast.mechanisms.weights.optimum import WeightProgram
from holdfast.mechanisms.weights.tree_variances import TreeVariances
from holdfast.spec.privacy import Neighbours
from holdfast.system.errors import SpecError
from holdfast.system.ways import setting
from holdfast.universe.kinds_of_moves import kinds_of_moves

MOST_SPACES = 1024
EVEN_SHARE = Fraction(1, 100)
"""The least weight of a space that no sum has a part in, next to that in noise alike in all cells."""


@dataclass(frozen=True, eq=False)
class Spaces:
    """The spaces that kept margins leave, each named by the smallest margin that sees it."""

    margins: MarginStrategy
    """The axes and what is kept of them; nothing is measured."""
    readings: tuple[Reading, ...]
    neighbours: Neighbours = "replace"
    together: int | None = None
    """Records that change with one where margins cross; None where a guarantee is for each record."""

    @classmethod
    def of(
        cls, margins: MarginStrategy, neighbours: Neighbours = "replace", together: int | None = None
    ) -> "Spaces":
        """Return the spaces; raises SpecError where they are too many, or there are several trees."""
        if len(margins.trees) > 1:
            raise SpecError(
                f"{setting('mechanism', 'optimise_for')} takes the levels of one geography, and this table"
                f" has several: give {setting('mechanism.queries')} with weights instead."
            )
        number = prod(axis.depth + 1 for axis in margins.axes)
        if number > MOST_SPACES:
            raise SpecError(
                f"{setting('mechanism', 'optimise_for')} is for tables with {MOST_SPACES:,} margins at most,"
                f" and this one has {number:,}: take fewer attributes, or give"
                f" {setting('mechanism.queries')} with weights."
            )
        left = tuple(each for each in margins.readings() if not margins.is_kept(each))
        return cls(margins, left, neighbours, together)

    def sums(self, reading: Reading) -> FloatArray:
        """Return how much the variance of each space counts in that of one sum of a margin."""
        read, level = (each[0] for each in self._parted([reading]))
        factors = np.where(read, np.where(self._sets, 1 - 1 / self._sizes, 1 / self._sizes), self._sizes)
        inside = (self._levels == level) & ~(self._sets & ~read).any(axis=1)
        return np.asarray(np.where(inside, factors.prod(axis=1), 0.0))

    def measured(self, reading: Reading) -> FloatArray:
        """Return the weight that W'W of a margin has in each space."""
        read, level = (each[0] for each in self._parted([reading]))
        inside = (self._levels == level) & ~(self._sets & ~read).any(axis=1)
        return np.asarray(np.where(inside, np.where(read, 1.0, self._sizes).prod(), 0.0))

    def lost(self, common: Sequence[Reading]) -> FloatArray:
        """Return half of u'Qu by space for records that move and keep so much, one row each."""
        kept, level = self._parted(common)
        across = np.where(self._sets, kept[:, None] - 1 / self._sizes, 1 / self._sizes).prod(axis=2)
        return np.asarray(self._own - np.where(self._levels <= level[:, None], across, 0.0))

    @property
    def added(self) -> FloatArray:
        """Half of u'Qu by space for one record more."""
        return self._own / 2

    def moves(self) -> FloatArray:
        """Return what is lost by records that move and keep all margins, one row for each way.

        Where single moves do not reach all spaces, as kept margins cross, they are those of several records.
        Where these are too many, or a guarantee is for each record, all single moves stand in for them: the
        weights are then good, and their budget is worked out from the definition.
        """
        if self.neighbours == "add-remove" and not self.margins.kept:
            return np.asarray(self.added[None])
        last = tuple(axis.depth for axis in self.margins.axes)
        every = [each for each in self.margins.readings() if each != last]
        able = [each for each in every if all(below(kept, each) for kept in self.margins.kept)]
        found = self.lost(able) if able else np.zeros((0, len(self.readings)))
        total = np.array([not any(each) for each in self.readings])
        if (found.max(axis=0, initial=0.0)[~total] <= 0).any():
            several = self._several
            found = self.lost(every) if several is None else several
        found = np.concatenate([found, self.added[None]]) if total.any() else found
        each = 4 if self.neighbours == "add-remove" else 1  # a record that moves is one that goes and comes
        return np.asarray(found[found.any(axis=1)] / each)

    @cached_property
    def _several(self) -> FloatArray | None:
        """What kinds of moves of several records lose by the square of their number; None without a list.

        As above P_T is a sum of W_R'W_R by signs, and ||W_R u||^2 by the cells of R is whole, so that the
        kinds are told apart exactly.
        """
        if self.together is None or self.margins.trees:
            return None
        axes, records = self.margins.axes, self.together
        kept = [frozenset(np.flatnonzero(each).tolist()) for each in self.margins.kept]
        kinds = kinds_of_moves(self.margins.shape, kept, records)
        if kinds is None:
            return None
        small = MarginStrategy(tuple(_plain(size) for size in kinds[0]), (), ())
        squares = {}
        for each in self.margins.readings():
            own = tuple(min(level, axis.depth) for level, axis in zip(each, small.axes, strict=True))
            sums = np.asarray(small.rows(own) @ kinds[1].T)
            cells = prod(axis.size for axis, level in zip(axes, each, strict=True) if level)
            squares[each] = (sums * sums).sum(axis=0) * cells
        rows = [
            sum((-1) ** (sum(space) - sum(each)) * squares[each] for each in squares if below(each, space))
            for space in self.readings
        ]
        found = _undominated(np.unique(np.array(rows, dtype=np.int64).T, axis=0))
        return np.asarray(found / (2 * prod(self.margins.shape) * records**2))

    def program(self, wanted: FloatArray, moves: FloatArray | None = None) -> WeightProgram:
        """Return the program of weights for some sums.

        A space in which none of them has a part gets no less than a hundredth of what it has in noise that is
        alike in all cells: without a bound its best weight would be none, and no law has that.
        """
        found = self.moves() if moves is None else moves
        cells = self._levels == self._depth
        even = cells / float((found @ cells).max())
        reached = (wanted > 0).any(axis=0)
        floors = np.where(cells & ~reached, float(EVEN_SHARE) * even, 0.0)
        # the best weights if only a record more lost anything: least sum of a / k for sum of own k
        start = np.sqrt((wanted / wanted.sum(axis=1, keepdims=True)).sum(axis=0) / self._own)
        start += np.where(cells, 0.02, 0.002) * start.max()
        start = start / float(2 * (found @ start).max()) + 2 * floors
        return WeightProgram(self.variances, found, floors, start)

    def strengths(self, weights: Mapping[Reading, Fraction]) -> tuple[tuple[Reading, Fraction], ...]:
        """Return the margins of a form by its weights, with their strengths."""
        found = {each: weights.get(each, Fraction(0)) for each in self.margins.readings()}
        for at, axis in enumerate(self.margins.axes):
            if at != self._tree and axis.depth:
                for each in [each for each in found if not each[at]]:
                    above = (*each[:at], 1, *each[at + 1 :])
                    found[each] = (found[each] - found[above]) / axis.size
        return tuple((each, strength) for each, strength in found.items() if strength)

    @cached_property
    def variances(self) -> TreeVariances:
        """The variances of spaces by weights."""
        tree = None if self._tree is None else LevelTree(self.margins.axes[self._tree])
        return TreeVariances.of(tree, self._levels, self._group)

    @property
    def _tree(self) -> int | None:
        return self.margins.trees[0] if self.margins.trees else None

    @property
    def _depth(self) -> int:
        return 0 if self._tree is None else self.margins.axes[self._tree].depth

    @cached_property
    def _flat(self) -> list[int]:
        return [at for at, axis in enumerate(self.margins.axes) if at != self._tree and axis.depth]

    @cached_property
    def _sizes(self) -> FloatArray:
        return np.array([self.margins.axes[at].size for at in self._flat], dtype=np.float64)

    def _parted(self, readings: Sequence[Reading]) -> tuple[BoolArray, IntArray]:
        """Return which other axes are read, one row a reading, and the level of the tree."""
        each = np.array(readings, dtype=np.int64).reshape(len(readings), -1)
        level = np.zeros(len(each), dtype=np.int64) if self._tree is None else each[:, self._tree]
        return each[:, self._flat] > 0, level

    @cached_property
    def _sets(self) -> BoolArray:
        return self._parted(self.readings)[0]

    @cached_property
    def _levels(self) -> IntArray:
        return self._parted(self.readings)[1]

    @cached_property
    def _group(self) -> IntArray:
        """The number of T of each space."""
        return np.asarray(self._sets @ (1 << np.arange(len(self._flat))), dtype=np.int64)

    @cached_property
    def _own(self) -> FloatArray:
        """e'P_T e for one cell."""
        return np.asarray(np.where(self._sets, 1 - 1 / self._sizes, 1 / self._sizes).prod(axis=1))


def _plain(size: int) -> LevelledAxis:
    return LevelledAxis(size, (np.arange(size),) if size > 1 else ())


def _undominated(rows: IntArray) -> IntArray:
    """Return the rows that are nowhere below another one; they differ."""
    found = rows[:0]
    for row in rows[np.argsort(-rows.sum(axis=1), kind="stable")]:
        if not (found >= row).all(axis=1).any():
            found = np.concatenate([found, row[None]])
    return found
