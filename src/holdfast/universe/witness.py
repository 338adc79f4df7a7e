"""Tables that make a change from x to y expensive, and the cheapest change there is.

Everything is asked of patterns (sums over cells with equal columns): records in such cells are
interchangeable. With the number of records n left open by the invariants, a second table Y of the
same size with Y_y >= 1 is carried along, so that only changes that exist are counted.
"""

from collections import Counter
from collections.abc import Callable
from math import comb

import numpy as np
from scipy.sparse import block_array, coo_array, csr_array, eye_array, vstack

from holdfast.lattice.arrays import IntArray
from holdfast.programs.solver import UNBOUNDED, IntegerSolution, Program, Status
from holdfast.universe.space import SETS, Compensators, Supports
from holdfast.universe.tables import capacities
from holdfast.universe.universe import Universe

UNKNOWN = IntegerSolution(Status.UNKNOWN)


def avoiding(
    program: Program, sets: Supports, least: IntArray, most: IntArray, spend: Callable[[int], bool]
) -> IntegerSolution:
    """Return a point of the program within bounds that meets no row of demands.

    A table that meets all demands of a row is excluded in every way: it lacks the first demand, or has that
    and lacks the second, and so on. A row with one demand that is not forced yet caps that one at once.

    ``spend`` is told the number of rows before each solve, and says whether the work limit leaves room for
    it: where it does not, the answer is UNKNOWN.
    """
    open_, outcome = [(least, most)], IntegerSolution(Status.INFEASIBLE)
    while open_:
        least, most = open_.pop()
        capped = sets.capped(least, most)
        if (least > capped).any():
            continue
        if not spend(sets.place.shape[0]):
            return UNKNOWN
        found = program.solve(
            least={z: int(least[z]) for z in np.flatnonzero(least).tolist()},
            most=dict(enumerate(capped.tolist())),
        )
        if found.point is None:
            outcome = outcome if found.status is Status.INFEASIBLE else UNKNOWN
            continue
        inside = sets.first_within(found.point, least, capped)
        if inside is None:
            return found
        for z, times in inside:
            lacking = capped.copy()
            lacking[z] = min(lacking[z], times - 1)
            open_.append((least.copy(), lacking))
            least[z] = max(least[z], times)
    return outcome


LEVELS = 16  # the largest number of changes that is searched for
WORK = 20_000_000  # the limit of one search, in about microseconds: counted, never timed


class Search:
    """Questions about tables over some columns, within a deterministic work limit."""

    def __init__(self, universe: Universe, columns: csr_array, limit: int, work: int | None) -> None:
        self.universe, self.columns, self.count = universe, columns, int(columns.shape[1])
        ones = csr_array(np.ones((1, self.count), dtype=np.int64))
        self._moves = csr_array(vstack([columns, ones], format="csr"))
        self._limit = limit if work is None else min(work, limit)
        self._work = 0

    @property
    def exhausted(self) -> bool:
        """Whether the work limit has been reached."""
        return self._work > self._limit

    def _countable(self, sets: int) -> int:
        """Return the largest size of multisets of columns of which there are no more than so many."""
        sizes = range(1, LEVELS + 1)
        return next((size - 1 for size in sizes if comb(self.count + size - 1, size) > sets), LEVELS)

    def _trim(self, outcome: IntegerSolution) -> IntegerSolution:
        """Keep the table X of the solver's point."""
        point = outcome.point
        return outcome if point is None else IntegerSolution(outcome.status, point[: self.count])


class Witnesses(Search):
    """Questions about the changes x -> y in one universe, within a deterministic work limit."""

    def __init__(self, universe: Universe, work: int | None = None) -> None:
        super().__init__(universe, universe.patterns.columns, WORK, work)
        self._most = _search_bounds(universe)
        self._tables = self._table_program()
        self._compensators: Compensators | None = None
        self._made = 0

    @property
    def bounded(self) -> bool:
        """Whether every pattern can be bounded, so that the search is exact."""
        return not (self._most == UNBOUNDED).any()

    @property
    def reach(self) -> int:
        """The largest level at which `expensive` has an answer: further sets are too many to look up."""
        return min(LEVELS, self._countable(SETS) + 2)

    @property
    def _making_exhausted(self) -> bool:
        """Whether the questions which records can be made have used up their own limit."""
        return self._made >= self._limit // 2

    def any_table(self, least: dict[int, int], maximise: IntArray | None = None) -> IntegerSolution:
        """Return a table with at least these counts."""
        self._spend(400 + 3 * self.count)
        objective = None
        if maximise is not None:
            objective = np.zeros(self._tables_width(), dtype=np.int64)
            objective[: self.count] = maximise
        return self._trim(self._tables.solve(least=least, maximise=objective))

    def covering_tables(self) -> tuple[list[IntArray], bool]:
        """Return tables that together hold a record in every possible pattern.

        The first one has as many occupied patterns as the solver can find. False when the solver
        left open whether the patterns in none of the tables are possible.
        """
        rows = block_array(
            [[self.columns, None], [eye_array(self.count), -eye_array(self.count)]], format="csr"
        )
        low = np.concatenate([self.universe.values, np.zeros(self.count, dtype=np.int64)])
        high = np.concatenate([self.universe.values, np.full(self.count, UNBOUNDED)])
        most = np.concatenate([self._most, np.ones(self.count, dtype=np.int64)])
        program = Program(csr_array(rows), low, high, most=most)
        tables: list[IntArray] = []
        missing = np.ones(self.count, dtype=bool)
        while True:
            self._spend(1_000 + 10 * self.count)
            objective = np.concatenate([np.zeros(self.count, dtype=np.int64), missing.astype(int)])
            outcome = program.solve(maximise=objective)
            if outcome.point is None:
                return tables, False
            table = outcome.point[: self.count]
            if tables and not (table[missing] > 0).any():
                return tables, outcome.status is Status.SOLVED
            tables.append(table)
            missing &= table == 0
            if not missing.any():
                return tables, True

    def expensive(self, x: int, y: int, level: int) -> IntegerSolution:
        """Return a table with a record x that cannot turn to y by fewer than `level` changes."""
        if self.exhausted or level > LEVELS:
            return UNKNOWN
        blocking = [self._blocking(x, y, size) for size in range(1, level - 1)]
        known = [sets for sets in blocking if sets is not None]
        if len(known) < len(blocking):
            return UNKNOWN
        empty = known[0].ravel() if known else np.zeros(0, dtype=np.int64)
        outcome = self._table(x, y, empty)
        sets = [
            Counter(row.tolist())
            for larger in known[1:]
            for row in larger[~np.isin(larger, empty).any(axis=1)]
        ]
        if outcome.point is None or not _contains_any(outcome.point, x, sets):
            return outcome
        return self._table_without(x, y, empty, sets)

    def unmade(self, y: int, size: int) -> IntegerSolution:
        """Return a table without a record y in which no `size` records or fewer can become one.

        They would become y and other records, with all invariants and the number of records kept.
        """
        if self._making_exhausted or size > LEVELS:
            return UNKNOWN
        sets: list[IntArray] = []
        for number in range(2, size + 1):
            found = self._making(y, number)
            if found is None:
                return UNKNOWN
            sets.append(found[(found != y).all(axis=1)])
        return self._avoiding(y, Supports.of(sets))

    def _making(self, y: int, size: int) -> IntArray | None:
        """Return the sets that make y, or None when there are too many to look up."""
        if self._compensators is None:
            self._compensators = Compensators(self._moves.toarray().T.copy())
        count = self._compensators.count(size)
        self._made += count // 20
        if count > SETS or self._making_exhausted:
            return None
        found = self._compensators.making(y, size)
        self._made += len(found)
        return found

    def _avoiding(self, y: int, sets: Supports) -> IntegerSolution:
        """Return a table without a record y that contains none of the sets."""
        most = self._table_most()
        most[y] = 0
        held = np.zeros_like(most)
        if self.universe.total is None:
            held[self.count + y] = 1
        return self._trim(avoiding(self._tables, sets, held, most, self._make))

    def _make(self, sets: int) -> bool:
        """Count one solve that has to avoid so many sets; False once the limit is reached."""
        if self._making_exhausted:
            return False
        self._made += 1_500 + 10 * self.count + sets // 20
        return True

    def cheapest(self, x: int, y: int) -> int | None:
        """Return what `fewest_changes` does, over all tables with a record x."""
        self._spend(10_000 + 30 * self.count)
        return fewest_changes(self.columns, self.universe.values, np.tile(self._most, 3), x, y)

    def _blocking(self, x: int, y: int, size: int) -> IntArray | None:
        """Return the compensating sets, or None when there are too many to look up."""
        if self._compensators is None:
            self._compensators = Compensators(self._moves.toarray().T.copy())
        count = self._compensators.count(size)
        self._spend(count // 20)
        if count > SETS or self.exhausted:
            return None
        found = self._compensators.blocking(x, y, size)
        self._spend(len(found))
        return found

    def _table(self, x: int, y: int, empty: IntArray) -> IntegerSolution:
        """Return a table with a record x, and without it no record in the empty patterns."""
        self._spend(400 + 3 * self.count)
        return self._trim(self._tables.solve(least=self._occupied(x, y), most=_emptied(x, empty)))

    def _table_without(self, x: int, y: int, empty: IntArray, sets: list[Counter[int]]) -> IntegerSolution:
        """Return a table as `_table` does that, without the record x, contains none of the sets.

        A binary for each pattern and number says whether the pattern holds that many records.
        """
        reachable = [needed for needed in sets if all(self._most[z] >= c for z, c in needed.items())]
        marks = {pair: i for i, pair in enumerate({p: 0 for s in reachable for p in s.items()})}
        matrix, low, high = self._table_rows()
        width = matrix.shape[1]
        entries: list[tuple[int, int, int]] = []
        caps: list[int] = []
        for (z, times), mark in marks.items():
            # count_z - [z = x] <= times - 1 unless the mark is set
            entries += [(len(caps), z, 1), (len(caps), width + mark, times - 1 - int(self._most[z]))]
            caps.append(times - 1 + (z == x))
        for needed in reachable:
            entries += [(len(caps), width + marks[pair], 1) for pair in needed.items()]
            caps.append(len(needed) - 1)
        row, column, entry = np.array(entries, dtype=np.int64).T
        cuts = coo_array((entry, (row, column)), shape=(len(caps), width + len(marks)))
        wide = csr_array((matrix.data, matrix.indices, matrix.indptr), (low.size, cuts.shape[1]))
        program = Program(
            csr_array(vstack([wide, cuts])),
            np.concatenate([low, np.full(len(caps), -UNBOUNDED)]),
            np.concatenate([high, np.array(caps, dtype=np.int64)]),
            most=np.concatenate([self._table_most(), np.ones(len(marks), dtype=np.int64)]),
        )
        self._spend(1_000 * self.count + 300 * len(caps))  # as on 8 to 48 cells, all two-way margins kept
        if self.exhausted:  # a program of ten thousand rows takes seconds
            return UNKNOWN
        return self._trim(program.solve(least=self._occupied(x, y), most=_emptied(x, empty)))

    def _spend(self, work: int) -> None:
        self._work += work

    def _occupied(self, x: int, y: int) -> dict[int, int]:
        """Return the lower bounds X_x >= 1 and, where Y is carried along, Y_y >= 1."""
        return {x: 1} if self._tables_width() == self.count else {x: 1, self.count + y: 1}

    def _tables_width(self) -> int:
        return self.count if self.universe.total is not None else 2 * self.count

    def _table_most(self) -> IntArray:
        return np.tile(self._most, self._tables_width() // self.count)

    def _table_rows(self) -> tuple[csr_array, IntArray, IntArray]:
        """Return the rows of A X = t, and of A Y = t and |X| = |Y| where n is open."""
        values = self.universe.values
        if self.universe.total is not None:
            return self.columns, values, values
        same = csr_array(np.ones((1, self.count), dtype=np.int64))
        minus = csr_array(-np.ones((1, self.count), dtype=np.int64))
        rows = block_array([[self.columns, None], [None, self.columns], [same, minus]], format="csr")
        both = np.concatenate([values, values, np.zeros(1, dtype=np.int64)])
        return csr_array(rows), both, both

    def _table_program(self) -> Program:
        matrix, low, high = self._table_rows()
        return Program(matrix, low, high, most=self._table_most())


def _contains_any(table: IntArray, x: int, sets: list[Counter[int]]) -> bool:
    """Whether the table without one record x contains one of the sets."""
    rest = table.copy()
    rest[x] -= 1
    return any(all(rest[z] >= times for z, times in needed.items()) for needed in sets)


def _emptied(x: int, patterns: IntArray) -> dict[int, int]:
    """Return the upper bounds that leave these patterns empty once a record x is taken away."""
    return {int(z): int(z == x) for z in patterns}


def _search_bounds(universe: Universe) -> IntArray:
    """Return bounds on the counts of the patterns that lose no witness.

    A pattern in no row is unbounded, but a witness stays one when such a count is lowered as long
    as it exceeds every number of records asked for and the room the other patterns can need.
    """
    most = capacities(universe)
    free = np.diff(universe.patterns.columns.tocsc().indptr) == 0
    if free.any() and not (most[~free] == UNBOUNDED).any():
        most[free] = int(most[~free].sum()) + LEVELS + 2
    return most


def fewest_changes(
    columns: csr_array,
    values: IntArray,
    most: IntArray,
    x: int,
    y: int,
    bounds: csr_array | None = None,
    least: IntArray | None = None,
) -> int | None:
    """Return the fewest changes that turn a record x to y, over all tables with a record x.

    The program is over (X, P, Q): X conforms, X - e_x + P - Q does with a record x turned to y, and both keep
    B X >= least. None when the solver leaves it open; 0 when no table allows the change at all.
    """
    count = columns.shape[1]
    keep, zeros = eye_array(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    moves = csr_array(vstack([columns, csr_array(np.ones((1, count), dtype=np.int64))], format="csr"))
    needed = (moves[:, [x]] - moves[:, [y]]).toarray().ravel()
    record = (np.arange(count) == x).astype(np.int64)
    rows: list[list[csr_array | None]] = [
        [columns, None, None],
        [None, moves, -moves],
        [csr_array(keep), None, csr_array(-keep)],
    ]
    low, high = [values, needed, record], [values, needed, np.full(count, UNBOUNDED)]
    if bounds is not None and least is not None:
        rows += [[bounds, None, None], [bounds, bounds, -bounds]]
        low += [least, least + (bounds[:, [x]] - bounds[:, [y]]).toarray().ravel()]
        high += 2 * [np.full(least.size, UNBOUNDED)]
    program = Program(
        csr_array(block_array(rows, format="csr")), np.concatenate(low), np.concatenate(high), most=most
    )
    outcome = program.solve(maximise=np.concatenate([zeros, zeros - 1, zeros]), least={x: 1})
    if outcome.status is Status.INFEASIBLE:
        return 0
    if outcome.status is not Status.SOLVED or outcome.point is None:
        return None
    return 1 + int(outcome.point[count : 2 * count].sum())
