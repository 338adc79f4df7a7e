"""Families: the children of one parent, from measurements and the parent's counts to their whole counts.

    min sum_b sum_q w_q ||W_q x_b - v_qb||^2  with  sum_b x_b = p,  A x_b = a_b,  low <= x <= high

The rows of a program are those of each child, then those of the parent: eliminated in this order they fill
nothing but what couples the parent's cells. Detailed queries are the targets of cells; without one the
optimum may not be unique, and one near to equal parts is taken [holdfast, programs/quadratic/squares.py].
Without any query the children are nearest to their parent's counts, spread.

What queries and invariants allow is found once a level; each parent is then solved on its own, the same
wherever and after whatever else it is solved. Families whose ranges bind, or without a rounding next to the
estimate, are solved as a subtree of one level. Parents that follow each other share a task, which holds all
it needs and can be sent anywhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.estimation.hierarchy.level import Level, spread
from holdfast.estimation.hierarchy.passes import Passes, WholeCounts
from holdfast.estimation.hierarchy.rounding import family_rows, nearest_whole, rounded, rounded_under
from holdfast.estimation.hierarchy.subtree import Subtree
from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.programs.quadratic.inorder import dot, times
from holdfast.programs.quadratic.program import Quadratic
from holdfast.programs.quadratic.squares import BoundedEstimate, float_bounds, minimum

OFF = 1e-6
"""Sums that are farther off, relative to their size, are not those asked for."""
AT_ONCE = 20_000
"""Cells of children in a task, unless a single family has more."""


@dataclass(frozen=True, eq=False)
class FamilySolver:
    """What all families of a level have in common: its queries, and rows that are invariant or have bounds.

    ``level`` is any part of it with something measured; ``solve`` and ``estimate`` take that of one family.
    """

    level: Level

    def solve(self, family: Level, parent: IntArray) -> WholeCounts | None:
        """Return the counts of a parent's children, None where none are found that keep everything."""
        if family.by_area and all(each.whole for each in family.by_area):
            return self._in_one_area(family, parent)
        if self._passes.several(parent):
            return self._passes.solve(family, parent, solved_alone)
        return self.at_once(family, parent)

    def at_once(self, family: Level, parent: IntArray) -> WholeCounts | None:
        """Return the counts of a parent's children by all that was measured, in one objective.

        An estimate without the ranges that is within them is the best one with them, too.
        """
        alone = Subtree((family,), (), parent)
        estimate, off = self.estimate(family, parent), OFF * (1 + float(parent.max(initial=0)))
        if estimate.off <= off and family.within(estimate.counts, off):
            counts = self._rounded(family, estimate.counts, parent)
            if counts is not None and not family.kept(counts).all():
                counts = None
            if counts is None and family.ranges.shape[0]:
                column = nearest_whole(estimate.counts.ravel(), alone.system)
                counts = None if column is None else alone.by_level(column)[0]
            if counts is not None:
                return WholeCounts(counts, estimate)
        found = alone.solve() if alone.possible else None
        if found is None:
            return None
        reals = alone.by_level(found.estimate.counts)[0]
        return WholeCounts(found.counts[0], replace(found.estimate, counts=reals))

    def _in_one_area(self, family: Level, parent: IntArray) -> WholeCounts | None:
        """Return the counts of children that no area tells apart: sums by area are those of the cells."""
        solver, own = self._without_areas
        found = solver.solve(family.without_areas(), parent[own])
        if found is None:
            return None
        counts = np.zeros((family.nodes, family.cells), dtype=np.int64)
        reals = np.zeros(counts.shape)
        counts[:, own], reals[:, own] = found.counts, found.estimate.counts
        for each in family.by_area:
            each.spread(counts)
            each.spread(reals)
        return WholeCounts(counts, replace(found.estimate, counts=reals))

    @cached_property
    def _without_areas(self) -> "tuple[FamilySolver, IntArray]":
        return FamilySolver(self.level.without_areas()), self.level.own

    def estimate(self, family: Level, parent: IntArray) -> BoundedEstimate:
        """Return the best real counts of the children; where there are none, what is returned is off."""
        count, cells = shape = family.nodes, family.cells
        sums = parent.astype(np.float64)
        floor, roof = _bounds(family, sums)
        own, soft, weights, scale = self._program
        detailed, others = [], []
        target, known = np.zeros(shape), weights > 0
        for query, answers in zip(self.level.queries, family.answers, strict=True):
            if query.picked is not None:
                detailed.append((query.weight, query.picked, answers))
                target[:, query.picked] += query.weight * answers
            elif query.weight > 0:
                others.append(answers)
        target[:, known] /= weights[known]
        target[:, ~known] = (sums / count)[~known]
        program = Quadratic(
            target.ravel(),
            np.tile(weights / scale, count),
            floor.ravel(),
            roof.ravel(),
            family_rows(own, count),
            np.concatenate([np.hstack([*others, family.values]).ravel(), sums]),
            np.concatenate([np.tile(soft, count), np.zeros(cells)]),
            ordered=True,
        )
        point, gap = minimum(program, program.low, np.minimum(roof, sums).ravel())
        errors, give = program.values - times(program.rows, point), program.soft > 0
        objective = scale * dot(errors[give] ** 2, 1 / program.soft[give])
        for each, picked, answers in detailed:
            apart = (point.reshape(shape)[:, picked] - answers).ravel()
            objective += each * dot(apart, apart)
        off = float(np.abs(errors[~give]).max(initial=0.0))
        return BoundedEstimate(point.reshape(shape), objective, 2 * scale * gap, off)

    @cached_property
    def _passes(self) -> Passes:
        return Passes(self.level)

    @cached_property
    def _program(self) -> tuple[csr_array, FloatArray, FloatArray, float]:
        """A child's rows, by how much they give way, the weights of its cells, and what all is divided by."""
        level = self.level
        others = [query for query in level.queries if not query.detailed and query.weight > 0]
        weights = np.zeros(level.cells)
        for query in level.queries:
            if query.picked is not None:
                weights[query.picked] += query.weight
        scale = float(weights.max()) or max((query.weight for query in others), default=1.0)
        own = csr_array(vstack([*(query.matrix for query in others), level.invariants], format="csr"))
        soft = [np.full(query.matrix.shape[0], scale / query.weight) for query in others]
        return own, np.concatenate([*soft, np.zeros(level.invariants.shape[0])]), weights, scale

    @cached_property
    def _disjoint(self) -> tuple[IntArray, ...] | None:
        """The cells of each invariant, where all are sums without a cell in common."""
        dense = self.level.invariants.toarray()
        if not np.isin(dense, (0, 1)).all() or (dense.sum(axis=0) > 1).any():
            return None
        return tuple(np.flatnonzero(row) for row in dense)

    def _rounded(self, family: Level, counts: FloatArray, parent: IntArray) -> IntArray | None:
        if self._disjoint is None:
            rows = family.invariants, family.values
            return rounded_under(counts, parent, *rows, low=family.low, high=family.high)
        if not self._disjoint:
            return rounded(counts, parent)
        whole = np.empty(counts.shape, dtype=np.int64)
        others = np.setdiff1d(np.arange(parent.size), np.concatenate(self._disjoint))
        parts = [(cells, family.values[:, row]) for row, cells in enumerate(self._disjoint)]
        for cells, totals in [*parts, (others, None)]:
            found = rounded(counts[:, cells], parent[cells], totals)
            if found is None:
                return None
            whole[:, cells] = found
        return whole


def solved_alone(level: Level, parent: IntArray | None) -> WholeCounts | None:
    """Return the counts of a parent's children, or of a table without one, in one objective."""
    if parent is not None:
        return FamilySolver(level).at_once(level, parent)
    found = Subtree((level,), (), None).solve()
    if found is None:
        return None
    (reals,) = Subtree((level,), (), None).by_level(found.estimate.counts)
    return WholeCounts(found.counts[0], replace(found.estimate, counts=reals))


def _bounds(family: Level, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of cells, closed where all lower ones reach a sum, or all upper ones."""
    floor, roof = family.floor.astype(np.float64), float_bounds(family.roof)
    least, most = floor.sum(axis=0) >= sums, roof.sum(axis=0) <= sums
    roof[:, least], floor[:, most & ~least] = floor[:, least], roof[:, most & ~least]
    return floor, roof


@dataclass(frozen=True, eq=False, repr=False)
class FamilyCounts:
    """The counts of all children of a task.

    Attributes:
        counts: one line a child; 0 where a family is not met.
        met: whether counts were found that keep everything, by family.
        objective: the weighted sum of squares of the real estimate, by family.
        gap: how far that is from its optimum at most, by family.
        reals: the real estimate, where it was asked for.

    """

    counts: IntArray
    met: BoolArray
    objective: FloatArray
    gap: FloatArray
    reals: FloatArray | None


@dataclass(frozen=True, eq=False, repr=False)
class FamilyTask:
    """Parents that follow each other, to be solved one after the other.

    Attributes:
        level: what is known of the children.
        parent: the place of each child's parent among the counts.
        counts: the parents' counts.
        reals: whether real estimates are wanted.

    """

    level: Level
    parent: IntArray
    counts: IntArray
    reals: bool = False

    def solve(self) -> FamilyCounts:
        """Return the children's counts."""
        level = self.level if self.level.queries else spread(self.level, self.parent, self.counts)
        solver = FamilySolver(level)
        ends = np.searchsorted(self.parent, np.arange(len(self.counts) + 1))
        whole = np.zeros((level.nodes, level.cells), dtype=np.int64)
        reals = np.zeros(whole.shape) if self.reals else None
        met = np.zeros(len(self.counts), dtype=np.bool_)
        objective, gap = np.zeros(met.size), np.zeros(met.size)
        for place, counts in enumerate(self.counts):
            begin, end = ends[place : place + 2].tolist()
            solved = solver.solve(level.part(begin, end), counts)
            if solved is not None:
                met[place], whole[begin:end] = True, solved.counts
                objective[place], gap[place] = solved.estimate.objective, solved.estimate.gap
                if reals is not None:
                    reals[begin:end] = solved.estimate.counts
        return FamilyCounts(whole, met, objective, gap, reals)


@dataclass(frozen=True, eq=False, repr=False)
class FamilyTasks:
    """The families of a level, in order: tasks that are made when they are asked for, and their number."""

    level: Level
    parent: IntArray
    counts: IntArray
    reals: bool = False

    @cached_property
    def _begins(self) -> list[int]:
        """The first parent of each task, and their number."""
        found, most = [0], max(AT_ONCE // self.level.cells, 1)
        while (begin := found[-1]) < len(self.counts):
            reached = self._ends[begin] + most
            found.append(max(begin + 1, int(np.searchsorted(self._ends, reached, side="right")) - 1))
        return found

    @cached_property
    def _ends(self) -> IntArray:
        """Where the children of each parent begin, and where the last ones end."""
        return np.searchsorted(self.parent, np.arange(len(self.counts) + 1))

    def __len__(self) -> int:
        """Return the number of tasks."""
        return len(self._begins) - 1

    def __iter__(self) -> Iterator[FamilyTask]:
        """Make one after the other."""
        for begin, end in pairwise(self._begins):
            children = slice(self._ends[begin], self._ends[end])
            part = self.level.part(children.start, children.stop)
            yield FamilyTask(part, self.parent[children] - begin, self.counts[begin:end], self.reals)
