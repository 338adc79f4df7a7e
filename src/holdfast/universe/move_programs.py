"""Integer programs over the moves between tables that few records apart share the invariants.

A move is u = P - Q over patterns, cells with equal columns [holdfast, universe/sensitivity.py]. Its largest
norms are integer programs, and so is the least number of records that any move takes.
"""

from dataclasses import replace

import numpy as np
from scipy.sparse import block_array, coo_array, csr_array, eye_array, vstack

from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.lattice.components import Patterns, patterns
from holdfast.programs.solver import NODES, UNBOUNDED, Program, Status
from holdfast.universe.tables import capacities
from holdfast.universe.universe import Universe

# Limits of patience: beyond them a bound is told.
CLASSES = 400  # solve for each pattern up to this many
TRIES = 20  # of more patterns
UNARY = 4_000  # binaries in the program for the squared norm
ENTRIES = 240_000  # of a program times its nodes: those of large ones take long, and a bound comes early
LEAST_NODES = 20


class MovePrograms:
    """Programs over (X, P, Q): X conforms, X - Q >= 0, and P - Q changes at most a records.

    Without tables X, programs over (P, Q): all moves in the lattice. Then, if symmetric, the first
    pattern stands for all. Cells that are ``apart`` are no part of a pattern with others. Where the
    ``presence`` of records is told apart, P - Q adds and removes at most a records in all [theory, 14].
    """

    def __init__(
        self,
        universe: Universe,
        a: int,
        *,
        tables: bool = True,
        symmetric: bool = False,
        apart: BoolArray | None = None,
        presence: bool = False,
    ) -> None:
        self._universe, self._a, self._presence = universe, a, presence
        self._groups = universe.kinds if tables else universe.patterns
        if apart is not None:
            self._groups, self._inside = _set_apart(self._groups, apart)
        self._count = self._groups.count
        self._skip = self._count if tables else 0
        self._considered = 1 if symmetric and not tables else self._count
        self._single = np.flatnonzero(self._groups.size == 1)

    def largest_entry(self, upper: int) -> tuple[int, bool]:
        """Return the largest ||u||_inf and whether it is attained; by symmetry, of u > 0.

        Of more patterns than can all be tried, the first may reach the bound; none can show that none does.
        """
        best, settled = 0, self._considered <= CLASSES
        program = self._program(*self._rows())
        for pattern in self._by_promise()[: CLASSES if settled else TRIES]:
            objective = self._entry(int(pattern))
            outcome = program.solve(maximise=objective)
            if outcome.point is not None:
                best = max(best, int(objective @ outcome.point))
            settled = settled and outcome.status is Status.SOLVED
            if best >= upper:
                return best, True
        return (best, True) if settled else (upper, False)

    def largest_sum(self, linf: int, upper: int) -> tuple[int, bool]:
        """Return the largest ||u||_1 and whether it is attained."""
        program = self._program(*self._disjoint(*self._rows(), linf))
        objective = np.zeros(self._skip + 2 * self._count + self._single.size, dtype=np.int64)
        objective[self._skip : self._skip + 2 * self._count] = 1
        outcome = program.solve(maximise=objective)
        reached = 0 if outcome.point is None else int(objective @ outcome.point)
        if outcome.status is Status.SOLVED or reached == upper:
            return reached, True
        return (upper if outcome.bound is None else max(reached, min(upper, outcome.bound))), False

    def largest_part(self, linf: int, upper: int) -> int:
        """Return the largest sum of |u| over the cells that are apart, or ``upper``."""
        program = self._program(*self._disjoint(*self._rows(), linf))
        objective = np.zeros(self._skip + 2 * self._count + self._single.size, dtype=np.int64)
        for begin in (self._skip, self._skip + self._count):
            objective[begin : begin + self._count] = self._inside
        outcome = program.solve(maximise=objective)
        if outcome.point is None or outcome.status is not Status.SOLVED:
            return upper
        return min(upper, int(objective @ outcome.point))

    def smallest_sum(self, above: int) -> int | None:
        """Return the smallest ||u||_1 / 2 above a number, 0 where no u is that long, None when left open."""
        matrix, low, high = self._rows()
        low[-1] = above + 1
        program = self._program(*self._disjoint(matrix, low, high, self._a))
        objective = np.zeros(self._skip + 2 * self._count + self._single.size, dtype=np.int64)
        objective[self._skip : self._skip + self._count] = -1
        outcome = program.solve(maximise=objective)
        if outcome.status is Status.UNKNOWN:
            return None
        return 0 if outcome.point is None else -int(objective @ outcome.point)

    def largest_square(self, linf: int, upper: int) -> tuple[int, bool]:
        """Return the largest ||u||_2^2 and whether it is attained.

        Counts are written in unary, the j-th unit of an entry with the weight 2 j - 1.
        """
        if 2 * self._count * linf > UNARY:
            return upper, False
        matrix, low, high = self._disjoint(*self._rows(), linf)
        width, units = matrix.shape[1], 2 * self._count * linf
        first = np.arange(2 * self._count).repeat(linf)
        sums = coo_array((np.ones(units, dtype=np.int64), (first, np.arange(units))))
        entries = eye_array(2 * self._count, width, k=self._skip, dtype=np.int64)
        # a unit is used only after the one before it
        later = np.flatnonzero(np.arange(units) % linf)
        steps = np.arange(later.size)
        order = coo_array(
            (
                np.concatenate([np.ones(later.size), -np.ones(later.size)]).astype(np.int64),
                (np.concatenate([steps, steps]), np.concatenate([later - 1, later])),
            ),
            shape=(later.size, units),
        )
        joined = block_array([[matrix, None], [entries, -sums], [None, order]], format="csr")
        nothing = np.zeros(2 * self._count, dtype=np.int64)
        program = Program(
            csr_array(joined),
            np.concatenate([low, nothing, np.zeros(later.size, dtype=np.int64)]),
            np.concatenate([high, nothing, np.ones(later.size, dtype=np.int64)]),
            most=np.concatenate([self._most(width), np.ones(units, dtype=np.int64)]),
            nodes=_nodes(joined),
        )
        weights = 2 * (np.arange(units) % linf) + 1
        objective = np.concatenate([np.zeros(width, dtype=np.int64), weights])
        outcome = program.solve(maximise=objective)
        reached = 0 if outcome.point is None else int(objective @ outcome.point)
        if outcome.status is Status.SOLVED or reached == upper:
            return reached, True
        return (upper if outcome.bound is None else max(reached, min(upper, outcome.bound))), False

    def _entry(self, pattern: int) -> IntArray:
        """Return the objective whose maximum is the largest entry in a cell of the pattern."""
        objective = np.zeros(self._skip + 2 * self._count, dtype=np.int64)
        objective[self._skip + pattern] = 1
        if self._groups.size[pattern] == 1:
            objective[self._skip + self._count + pattern] = -1
        return objective

    def _by_promise(self) -> IntArray:
        """Return the patterns, those with several cells and large values first."""
        if not self._skip:
            return np.arange(self._considered, dtype=np.int64)
        bound = np.zeros(self._count, dtype=np.int64)
        bound[self._groups.of_cell] = capacities(self._universe)[self._universe.patterns.of_cell]
        return np.lexsort((-bound, self._groups.size == 1)).astype(np.int64)

    def _rows(self) -> tuple[csr_array, IntArray, IntArray]:
        """Return A X = t, b (P - Q) = 0, X - Q >= 0 and sum P <= a as rows over (X, P, Q).

        Where there are bounds, X and X + P - Q keep them. Where presence counts, the number of records may
        change, and sum P + sum Q <= a.
        """
        rank, values = self._universe.rank, self._universe.values
        columns, bounds = csr_array(self._groups.columns[:rank]), csr_array(self._groups.columns[rank:])
        keep = eye_array(self._count, dtype=np.int64)
        ones = csr_array(np.ones((1, self._count), dtype=np.int64))
        changes = columns if self._presence else csr_array(vstack([columns, ones]))
        removed = ones if self._presence else 0 * ones
        same = np.zeros(changes.shape[0], dtype=np.int64)
        zeros = np.zeros(self._count, dtype=np.int64)
        if not self._skip:
            rows = block_array([[changes, -changes], [ones, removed]], format="csr")
            return csr_array(rows), np.append(same, 0), np.append(same, self._a)
        blocks: list[list[csr_array | None]] = [
            [columns, None, None],
            [None, changes, -changes],
            [csr_array(keep), None, csr_array(-keep)],
            [None, ones, removed],
        ]
        least: list[IntArray] = []
        if self._universe.limits is not None:
            blocks = [[bounds, None, None], [bounds, bounds, -bounds], *blocks]
            least = 2 * [self._universe.limits.least]
        rows = block_array(blocks, format="csr")
        none = [np.full(part.size, UNBOUNDED) for part in least]
        low = np.concatenate([*least, values, same, zeros, [0]])
        high = np.concatenate([*none, values, same, np.full(self._count, UNBOUNDED), [self._a]])
        return csr_array(rows), low, high

    def _disjoint(
        self, matrix: csr_array, low: IntArray, high: IntArray, linf: int
    ) -> tuple[csr_array, IntArray, IntArray]:
        """Add a binary for each pattern of one cell: its P or its Q is 0."""
        number = self._single.size
        pick = eye_array(self._count, dtype=np.int64).tocsr()[self._single]
        side = linf * eye_array(number, dtype=np.int64)
        before = csr_array((number, self._skip), dtype=np.int64)
        nothing = csr_array((number, self._count), dtype=np.int64)
        apart = block_array([[before, pick, nothing, -side], [before, nothing, pick, side]])
        width = self._skip + 2 * self._count + number
        wide = csr_array((matrix.data, matrix.indices, matrix.indptr), (low.size, width))
        caps = np.concatenate([np.zeros(number, dtype=np.int64), np.full(number, linf)])
        return (
            csr_array(vstack([wide, apart])),
            np.concatenate([low, np.full(2 * number, -UNBOUNDED)]),
            np.concatenate([high, caps]),
        )

    def _most(self, width: int) -> IntArray:
        """Return the upper bounds of X, of P and Q, and of the binaries."""
        tables = np.full(self._skip, UNBOUNDED)
        entries = np.full(2 * self._count, self._a)
        binaries = np.ones(width - tables.size - entries.size, dtype=np.int64)
        return np.concatenate([tables, entries, binaries])

    def _program(self, matrix: csr_array, low: IntArray, high: IntArray) -> Program:
        return Program(matrix, low, high, most=self._most(matrix.shape[1]), nodes=_nodes(matrix))


def _nodes(matrix: csr_array) -> int:
    """Return how many nodes a search may have, which is what limits it."""
    return max(LEAST_NODES, min(NODES, ENTRIES // max(1, matrix.nnz)))


def _set_apart(groups: Patterns, apart: BoolArray) -> tuple[Patterns, BoolArray]:
    """Return the groups with some cells as groups of their own, and which of them these are."""
    cells = np.arange(apart.size)
    of = csr_array((np.ones(apart.size, dtype=np.int64), (groups.of_cell, cells)))
    found = patterns(csr_array(vstack([of, csr_array(apart[None].astype(np.int64))], format="csr")))
    first = np.full(found.count, apart.size)
    np.minimum.at(first, found.of_cell, cells)
    columns = csr_array(groups.columns[:, groups.of_cell[first]])
    return replace(found, columns=columns), apart[first]
