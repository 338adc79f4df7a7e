"""Several levels at once: the nodes below one node, estimated and rounded together.

The variables are the counts of all nodes, level by level and node by node. Those of a node are the sums of
its children's; those of the first level add up to counts that are fixed, or to nothing in particular. One
level without fixed counts is a table alone, as the root; one level with them is a family.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, eye_array, hstack, kron, vstack

from holdfast.estimation.hierarchy.level import KnownSums, Level, NumberT
from holdfast.estimation.hierarchy.rounding import nearest_whole
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.programs.quadratic.squares import Aims, BoundedEstimate, IntegerSystem, least_squares
from holdfast.programs.solver import Sides, suggest


@dataclass(frozen=True)
class Branch:
    """A node and all below it, down to a level.

    Attributes:
        top: the node's level.
        begins: the first node of each level, the node itself on its own.
        ends: the node after the last one of each level.

    """

    top: int
    begins: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, parents: Sequence[IntArray], top: int, node: int, last: int) -> "Branch":
        """Return the branch of a node down to the last level."""
        begins, ends = [node], [node + 1]
        for parent in parents[top:last]:
            begins.append(int(np.searchsorted(parent, begins[-1])))
            ends.append(int(np.searchsorted(parent, ends[-1])))
        return cls(top, tuple(begins), tuple(ends))

    def parents(self, parents: Sequence[IntArray]) -> tuple[IntArray, ...]:
        """Return, for each level but the first, the place of each node's parent among those of the branch."""
        last = self.top + len(self.begins) - 1
        return tuple(
            parent[begin:end] - above
            for parent, begin, end, above in zip(
                parents[self.top : last], self.begins[1:], self.ends[1:], self.begins[:-1], strict=True
            )
        )


@dataclass(frozen=True, eq=False)
class Joint:
    """Whole counts by level, and the estimate they were rounded from, all levels in one column."""

    counts: tuple[IntArray, ...]
    estimate: BoundedEstimate


@dataclass(frozen=True, eq=False)
class Subtree:
    """Nodes of one or more levels.

    Attributes:
        levels: what is known of them, the upper ones first.
        parents: for each level but the first, the place of each node's parent on the level above.
        fixed: what the counts of the first level add up to; None where nothing is above it.

    """

    levels: tuple[Level, ...]
    parents: tuple[IntArray, ...]
    fixed: IntArray | None

    def solve(self) -> Joint | None:
        """Return the best counts, None where none are found that keep everything."""
        if len(self.levels) > 1 and not self.possible:
            return None
        found = least_squares(self.aims, self.system)
        whole = nearest_whole(found.counts, self.system)
        if whole is None:
            return None
        reals = self.by_level(found.counts)
        objective = sum(level.objective(counts) for level, counts in zip(self.levels, reals, strict=True))
        return Joint(self.by_level(whole), replace(found, objective=objective))

    def by_level(self, column: NDArray[NumberT]) -> tuple[NDArray[NumberT], ...]:
        """Return a column of all counts as tables, one a level."""
        ends = np.cumsum([level.nodes * level.cells for level in self.levels])
        parts = np.split(column, ends[:-1])
        return tuple(part.reshape(level.nodes, -1) for part, level in zip(parts, self.levels, strict=True))

    @cached_property
    def system(self) -> IntegerSystem:
        """All that is kept: sums of children, then each level's equalities, then each level's ranges."""
        sums = self._sums()
        equal = [self._at(place, level.invariants) for place, level in enumerate(self.levels)]
        ranged = [self._at(place, level.ranges) for place, level in enumerate(self.levels)]
        above = np.zeros(0, dtype=np.int64) if self.fixed is None else self.fixed
        nothing = np.zeros(sums.shape[0] - above.size, dtype=np.int64)
        known = [above, nothing, *(level.values.ravel() for level in self.levels)]
        return IntegerSystem(
            csr_array(vstack([sums, *equal, *ranged], format="csr")),
            np.concatenate([*known, *(level.least.ravel() for level in self.levels)]),
            np.concatenate([*known, *(level.most.ravel() for level in self.levels)]),
            np.concatenate([level.floor.ravel() for level in self.levels]),
            np.concatenate([level.roof.ravel() for level in self.levels]),
        )

    @property
    def between(self) -> slice:
        """The rows of the system by which the counts of a node are the sums of its children's."""
        first = 0 if self.fixed is None else self.fixed.size
        return slice(first, first + sum(level.nodes * level.cells for level in self.levels[:-1]))

    @cached_property
    def aims(self) -> Aims:
        """All that was measured; cells that were not have a weight of 0 and start from what is known.

        Where nothing at all was measured, the start is what is to be met.
        """
        targets, weights = [], []
        rows, values, row_weights = [csr_array((0, self._width), dtype=np.int64)], [], []
        measured = any(level.queries for level in self.levels)
        for place, (level, start) in enumerate(zip(self.levels, self._starts(), strict=True)):
            target, weight = np.zeros(start.shape), np.zeros(level.cells)
            for query, answers in zip(level.queries, level.answers, strict=True):
                if query.picked is not None:
                    target[:, query.picked] += query.weight * answers
                    weight[query.picked] += query.weight
                elif query.weight > 0:
                    rows.append(self._at(place, query.matrix))
                    values.append(answers.ravel().astype(np.float64))
                    row_weights.append(np.full(answers.size, query.weight))
            known = weight > 0
            target[:, known] /= weight[known]
            target[:, ~known] = start[:, ~known]
            targets.append(target.ravel())
            weights.append(np.tile(weight, level.nodes) if measured else np.ones(start.size))
        none = np.zeros(0)
        return Aims(
            np.concatenate(targets),
            np.concatenate(weights),
            csr_array(vstack(rows, format="csr")),
            np.concatenate([none, *values]),
            np.concatenate([none, *row_weights]),
        )

    @property
    def possible(self) -> bool:
        """Whether real counts keep everything."""
        it = self.system
        sides = Sides.of(it.least, it.most), Sides.of(it.low, it.high)
        return suggest(np.zeros(it.low.size), it.rows, *sides) is not None

    def _starts(self) -> Iterator[FloatArray]:
        """Yield what is to be expected of each level where nothing was measured."""
        above = None if self.fixed is None else self.fixed[None, :].astype(np.float64)
        one = np.zeros(self.levels[0].nodes, dtype=np.int64)
        for level, parent in zip(self.levels, (one, *self.parents), strict=True):
            spread = KnownSums.of(level.invariants)
            above = spread.alone(level.values) if above is None else spread.below(level.values, parent, above)
            yield above

    @property
    def _width(self) -> int:
        return sum(level.nodes * level.cells for level in self.levels)

    def _at(self, place: int, rows: csr_array) -> csr_array:
        """Return rows over the cells of each node of a level, over all variables."""
        level = self.levels[place]
        before = sum(each.nodes * each.cells for each in self.levels[:place])
        own = coo_array(kron(eye_array(level.nodes, dtype=np.int64), rows))
        return csr_array((own.data, (own.row, own.col + before)), shape=(own.shape[0], self._width))

    def _sums(self) -> csr_array:
        """Return the sums of the first level, where they are fixed, and those that are the counts above."""
        first = self.levels[0]
        cells = eye_array(first.cells, dtype=np.int64)
        blocks = [csr_array((0, self._width), dtype=np.int64)]
        if self.fixed is not None:
            rest = csr_array((first.cells, self._width - first.nodes * first.cells), dtype=np.int64)
            blocks.append(csr_array(hstack([kron(np.ones((1, first.nodes), dtype=np.int64), cells), rest])))
        before = 0
        for above, level, parent in zip(self.levels, self.levels[1:], self.parents, strict=False):
            node = np.concatenate([np.arange(above.nodes), above.nodes + np.arange(level.nodes)])
            row = np.concatenate([np.arange(above.nodes), parent])
            sign = np.concatenate(
                [np.ones(above.nodes, dtype=np.int64), -np.ones(level.nodes, dtype=np.int64)]
            )
            links = coo_array((sign, (row, node)), shape=(above.nodes, above.nodes + level.nodes))
            own = coo_array(kron(links, cells))
            blocks.append(
                csr_array((own.data, (own.row, own.col + before)), shape=(own.shape[0], self._width))
            )
            before += above.nodes * above.cells
        return csr_array(vstack(blocks, format="csr"))
