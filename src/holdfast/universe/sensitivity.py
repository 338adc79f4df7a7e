"""How far a table can move when at most a records change.

The sensitivity space is S_a = {u = x - x' : x, x' in D_t, sum u = 0, ||u||_1 <= 2 a}
[theory, 3]; the largest norms in it calibrate noise. Write u = p - q with p, q >= 0 and sums over
cells with equal columns: P, Q of a pattern. Within a pattern all of P may fall on one cell and all
of Q on another, or both on the same when it has no other. So the largest norms are integer programs
over patterns.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import block_array, coo_array, csr_array, eye_array, vstack

from holdfast.lattice.arrays import IntArray
from holdfast.universe.capacity import capacities
from holdfast.universe.program import UNBOUNDED, Program, Status
from holdfast.universe.universe import Universe

CLASSES = 400  # solve for each pattern up to this many
TRIES = 20  # patterns tried for a simple pair of cells
UNARY = 4_000  # binaries in the program for the squared norm


@dataclass(frozen=True)
class Sensitivity:
    """The largest norms of S_a; upper bounds when not exact."""

    l1: int
    l2_squared: int
    linf: int
    exact: bool


def sensitivity(universe: Universe, adjacency: int) -> Sensitivity:
    """Return the largest ||u||_1, ||u||_2^2 and ||u||_inf over S_a for a = adjacency."""
    if adjacency == 0 or universe.dimension == 0:
        return Sensitivity(0, 0, 0, exact=True)
    a = adjacency
    if _one_cell_can_give_all_to_another(universe, a):
        return Sensitivity(2 * a, 2 * a * a, a, exact=True)
    moves = _Moves(universe, a)
    linf, linf_exact = moves.largest_entry()
    l1, l1_exact = moves.largest_sum(linf)
    if linf <= 1:
        # entries are -1, 0 or 1, so their squares add up to ||u||_1
        return Sensitivity(l1, l1, linf, exact=linf_exact and l1_exact)
    square, square_exact = moves.largest_square(l1, linf)
    return Sensitivity(l1, square, linf, exact=linf_exact and l1_exact and square_exact)


def _one_cell_can_give_all_to_another(universe: Universe, a: int) -> bool:
    """Whether a cell can hold a records that may all move to a cell with an equal column.

    No norm can be larger than after such a move.
    """
    bound = np.where(universe.patterns.size > 1, capacities(universe), 0)
    columns, values = universe.patterns.columns, universe.values
    candidates = np.argsort(-bound, kind="stable")[:TRIES]
    program = Program(columns, values, values, most=np.full(bound.size, UNBOUNDED))
    return any(program.solve(least={int(z): a}).point is not None for z in candidates if bound[z] >= a)


class _Moves:
    """Programs over (X, P, Q): X conforms, X - Q >= 0, and P - Q changes at most a records."""

    def __init__(self, universe: Universe, a: int) -> None:
        self._universe, self._a = universe, a
        self._count = universe.patterns.count
        self._single = np.flatnonzero(universe.patterns.size == 1)
        ones = csr_array(np.ones((1, self._count), dtype=np.int64))
        self._changes = csr_array(vstack([universe.patterns.columns, ones]))

    def largest_entry(self) -> tuple[int, bool]:
        """Return the largest ||u||_inf and whether it is attained; by symmetry, of u > 0."""
        # permuting levels maps any cell to any other, so one cell bounds them all
        upper = self._a if self._universe.cliques is None else self._largest_in_lattice()
        best, settled = 0, self._count <= CLASSES
        program = self._program(*self._rows())
        for pattern in self._by_promise()[:CLASSES]:
            outcome = program.solve(maximise=self._entry(int(pattern), tables=True))
            if outcome.point is not None:
                best = max(best, int(self._entry(int(pattern), tables=True) @ outcome.point))
            settled = settled and outcome.status is Status.SOLVED
            if best >= upper:
                return best, True
        return (best, True) if settled else (upper, False)

    def largest_sum(self, linf: int) -> tuple[int, bool]:
        """Return the largest ||u||_1 and whether it is attained."""
        program = self._program(*self._disjoint(*self._rows(), linf))
        objective = np.zeros(3 * self._count + self._single.size, dtype=np.int64)
        objective[self._count : 2 * self._count] = 1
        outcome = program.solve(maximise=objective)
        reached = 0 if outcome.point is None else int(objective @ outcome.point)
        if outcome.status is Status.SOLVED or reached == self._a:
            return 2 * reached, True
        return 2 * self._a, False

    def largest_square(self, l1: int, linf: int) -> tuple[int, bool]:
        """Return the largest ||u||_2^2 and whether it is attained.

        Counts are written in unary, the j-th unit of an entry with the weight 2 j - 1.
        """
        upper = l1 * linf
        if 2 * self._count * linf > UNARY:
            return upper, False
        matrix, low, high = self._disjoint(*self._rows(), linf)
        width, units = matrix.shape[1], 2 * self._count * linf
        first = np.arange(2 * self._count).repeat(linf)
        sums = coo_array((np.ones(units, dtype=np.int64), (first, np.arange(units))))
        entries = eye_array(2 * self._count, width, k=self._count, dtype=np.int64)
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
        )
        weights = 2 * (np.arange(units) % linf) + 1
        objective = np.concatenate([np.zeros(width, dtype=np.int64), weights])
        outcome = program.solve(maximise=objective)
        reached = 0 if outcome.point is None else int(objective @ outcome.point)
        if outcome.status is Status.SOLVED or reached == upper:
            return reached, True
        return upper, False

    def _largest_in_lattice(self) -> int:
        """Return the largest first entry of a lattice element that changes at most a records."""
        total = np.zeros((1, 2 * self._count), dtype=np.int64)
        total[0, : self._count] = 1
        rows = vstack([block_array([[self._changes, -self._changes]]), csr_array(total)])
        zeros = np.zeros(self._changes.shape[0] + 1, dtype=np.int64)
        high = zeros.copy()
        high[-1] = self._a
        program = Program(csr_array(rows), zeros, high, most=np.full(2 * self._count, self._a))
        objective = self._entry(0, tables=False)
        outcome = program.solve(maximise=objective)
        if outcome.status is Status.SOLVED and outcome.point is not None:
            return int(objective @ outcome.point)
        return self._a

    def _entry(self, pattern: int, *, tables: bool) -> IntArray:
        """Return the objective whose maximum is the largest entry in a cell of the pattern."""
        skip = self._count if tables else 0
        objective = np.zeros(2 * self._count + skip, dtype=np.int64)
        objective[skip + pattern] = 1
        if self._universe.patterns.size[pattern] == 1:
            objective[skip + self._count + pattern] = -1
        return objective

    def _by_promise(self) -> IntArray:
        """Return the patterns, those with several cells and large values first."""
        bound = capacities(self._universe)
        return np.lexsort((-bound, self._universe.patterns.size == 1)).astype(np.int64)

    def _rows(self) -> tuple[csr_array, IntArray, IntArray]:
        """Return A X = t, b (P - Q) = 0, X - Q >= 0 and sum P <= a as rows over (X, P, Q)."""
        keep = eye_array(self._count, dtype=np.int64)
        ones = csr_array(np.ones((1, self._count), dtype=np.int64))
        rows = block_array(
            [
                [self._universe.patterns.columns, None, None],
                [None, self._changes, -self._changes],
                [keep, None, -keep],
                [None, ones, None],
            ],
            format="csr",
        )
        values = self._universe.values
        same = np.zeros(self._changes.shape[0], dtype=np.int64)
        zeros = np.zeros(self._count, dtype=np.int64)
        low = np.concatenate([values, same, zeros, [0]])
        high = np.concatenate([values, same, np.full(self._count, UNBOUNDED), [self._a]])
        return csr_array(rows), low, high

    def _disjoint(
        self, matrix: csr_array, low: IntArray, high: IntArray, linf: int
    ) -> tuple[csr_array, IntArray, IntArray]:
        """Add a binary for each pattern of one cell: its P or its Q is 0."""
        number = self._single.size
        pick = eye_array(self._count, dtype=np.int64).tocsr()[self._single]
        side = linf * eye_array(number, dtype=np.int64)
        nothing = csr_array((number, self._count), dtype=np.int64)
        apart = block_array([[nothing, pick, nothing, -side], [nothing, nothing, pick, side]])
        wide = csr_array((matrix.data, matrix.indices, matrix.indptr), (low.size, 3 * self._count + number))
        caps = np.concatenate([np.zeros(number, dtype=np.int64), np.full(number, linf)])
        return (
            csr_array(vstack([wide, apart])),
            np.concatenate([low, np.full(2 * number, -UNBOUNDED)]),
            np.concatenate([high, caps]),
        )

    def _most(self, width: int) -> IntArray:
        """Return the upper bounds of X, of P and Q, and of the binaries."""
        tables = np.full(self._count, UNBOUNDED)
        entries = np.full(2 * self._count, self._a)
        return np.concatenate([tables, entries, np.ones(width - 3 * self._count, dtype=np.int64)])

    def _program(self, matrix: csr_array, low: IntArray, high: IntArray) -> Program:
        return Program(matrix, low, high, most=self._most(matrix.shape[1]))
