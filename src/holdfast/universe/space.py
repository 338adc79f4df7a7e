"""The sensitivity space: every difference of two conforming tables that changes few records.

    S_a = {u = x - x' : x, x' in D_t, sum u = 0, ||u||_1 <= 2 a}, without u = 0   [theory, 3]

It is found from this definition, never from a list of basic moves [semi-dp, Proposition 32 misses some].
Write u = p - q with p, q >= 0 of disjoint supports. They are multisets of k <= a cells, and A p = A q.
Some pair of tables has the difference u exactly when some x' in D_t has x' >= q (then x = x' + u >= p).
That is so exactly when t - A q = A y for some integer y >= 0, so it depends on the sum A q alone. Hence:
list the multisets of k cells by their sums of columns; of each sum that D_t can spare, every
ordered pair of disjoint multisets is a difference. Public bounds leave fewer of them: the
differences of tables without the bounds hold theirs.

A table that is known already often holds the records q, so that no solver is asked: one with as many records
in every cell as there can be is found first. What is asked and listed is counted, and limited.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from holdfast.lattice.arrays import IntArray
from holdfast.programs.solver import UNBOUNDED, Program, Status
from holdfast.system.errors import GuaranteeError
from holdfast.universe.universe import Universe

SETS = 500_000  # tabulate the sums of k columns up to this many


class Compensators:
    """The compensating sets for columns b (rows of `vectors`, one for each pattern).

    A set of k further records z_1, ..., z_k makes up for the change from x to y when they can become
    some z'_1, ..., z'_k with b_x + sum b_z = b_y + sum b_z', where b is a column of the invariants with
    a 1 appended (the number of records stays) [theory, 2]. All such sets are found by looking up the
    sums of k columns, by a random linear fingerprint first and then exactly. Sets that make a record y,
    whichever record it is, are found in the same way.
    """

    def __init__(self, vectors: IntArray) -> None:
        self._vectors = vectors
        weights = np.random.default_rng(0).integers(
            -(2**63), 2**63 - 1, size=vectors.shape[1], dtype=np.int64
        )
        self._prints = (vectors * weights).sum(axis=1)
        self._tables: dict[int, tuple[IntArray, IntArray]] = {}

    def count(self, size: int) -> int:
        """Return the number of sets of this size, all to be looked up for one pair."""
        return comb(self._vectors.shape[0] + size - 1, size)

    def blocking(self, x: int, y: int, size: int) -> IntArray:
        """Return the sets of `size` patterns, with repeats, that make up for x -> y, as rows."""
        # slices keep the arithmetic modulo 2^64, without warnings
        change = self._prints[x : x + 1] - self._prints[y : y + 1]
        return self._becoming(size, self._vectors[x] - self._vectors[y], change, size)

    def making(self, y: int, size: int) -> IntArray:
        """Return the sets of `size` >= 2 patterns that can become y and `size` - 1 others, as rows."""
        return self._becoming(size, -self._vectors[y], -self._prints[y : y + 1], size - 1)

    def _becoming(self, size: int, change: IntArray, print_: IntArray, into: int) -> IntArray:
        """Return the sets whose sum, after the change, is a sum of `into` columns."""
        sets, prints = self._table(size)
        others, known = self._table(into)
        wanted = prints + print_
        place = np.minimum(np.searchsorted(known, wanted), known.size - 1)
        hit = np.flatnonzero(known[place] == wanted)
        before = self._vectors[sets[hit]].sum(axis=1) + change
        after = self._vectors[others[place[hit]]].sum(axis=1)
        exact = hit[(before == after).all(axis=1)]
        return np.asarray(sets[exact], dtype=np.int64)

    def _table(self, size: int) -> tuple[IntArray, IntArray]:
        """Return all sets of this size and their fingerprints, by ascending fingerprint."""
        if size not in self._tables:
            sets = multisets(self._vectors.shape[0], size)
            prints = self._prints[sets].sum(axis=1)
            order = np.argsort(prints, kind="stable")
            self._tables[size] = sets[order], prints[order]
            self._require_faithful(size)
        return self._tables[size]

    def _require_faithful(self, size: int) -> None:
        """Check that equal fingerprints mean equal sums, so that one look at a hit is enough."""
        sets, prints = self._tables[size]
        twin = np.flatnonzero(prints[1:] == prints[:-1])
        one, other = self._vectors[sets[twin]].sum(axis=1), self._vectors[sets[twin + 1]].sum(axis=1)
        if not np.array_equal(one, other):
            raise ArithmeticError("two sums of columns share a fingerprint of 64 bits.")


@dataclass(frozen=True, eq=False)
class Supports:
    """Multisets as demands: pattern `place` holds at least `need` records, for every column of a row.

    Rows of fewer elements are filled up with demands for 0 records.
    """

    place: IntArray
    need: IntArray

    @classmethod
    def of(cls, sets: list[IntArray]) -> "Supports":
        """Return the multisets (ascending rows, by size) without those that contain a pair of the list."""
        width = max((one.shape[1] for one in sets), default=1)
        pairs = {tuple(row) for one in sets if one.shape[1] == 2 for row in one.tolist()}
        kept: list[IntArray] = []
        for one in sets:
            redundant = np.zeros(len(one), dtype=np.bool_)
            if one.shape[1] > 2 and pairs:
                size = int(one.max(initial=0)) + 1
                matrix = np.zeros((size, size), dtype=np.bool_)
                inside = np.array([pair for pair in pairs if max(pair) < size], dtype=np.int64).reshape(-1, 2)
                matrix[inside[:, 0], inside[:, 1]] = True
                for i, j in combinations(range(one.shape[1]), 2):
                    redundant |= matrix[one[:, i], one[:, j]]
            kept.append(np.pad(one[~redundant], ((0, 0), (0, width - one.shape[1])), constant_values=-1))
        place = np.concatenate([np.zeros((0, width), dtype=np.int64), *kept])
        need = np.ones_like(place)
        for j in range(1, width):
            need[:, j] = np.where(place[:, j] == place[:, j - 1], need[:, j - 1] + 1, 1)
        need[place < 0] = 0
        return cls(np.maximum(place, 0), need)

    def capped(self, least: IntArray, most: IntArray) -> IntArray:
        """Return upper bounds that keep a table with these lower bounds from meeting all demands of a row."""
        open_ = least[self.place] < self.need
        number = open_.sum(axis=1)
        last = np.flatnonzero(number == 1)
        column = open_[last].argmax(axis=1)
        capped = most.copy()
        np.minimum.at(capped, self.place[last, column], self.need[last, column] - 1)
        if (number == 0).any():
            capped[:] = -1  # a row is met already: no table is left
        return capped

    def first_within(self, table: IntArray, least: IntArray, most: IntArray) -> list[tuple[int, int]] | None:
        """Return the demands not yet forced of a row that the table meets; None when it meets no row.

        The row is one with the fewest such demands; first comes the pattern that most rows still ask for:
        holding it caps most others.
        """
        met = np.flatnonzero((table[self.place] >= self.need).all(axis=1))
        if met.size == 0:
            return None
        alive = self.place[(most[self.place] >= self.need).all(axis=1)]
        often = np.bincount(alive.ravel(), minlength=table.size)
        open_ = least[self.place[met]] < self.need[met]
        asked = np.where(open_, often[self.place[met]], 0).max(axis=1)
        row = int(np.lexsort((-asked, open_.sum(axis=1)))[0])
        columns = np.flatnonzero(open_[row])
        columns = columns[np.argsort(-often[self.place[met[row], columns]], kind="stable")]
        return [(int(self.place[met[row], j]), int(self.need[met[row], j])) for j in columns]


def multisets(count: int, size: int) -> IntArray:
    """Return all multisets of `size` >= 1 elements out of `count`, as ascending rows in order."""
    sets = np.arange(count, dtype=np.int64)[:, None]
    for _ in range(size - 1):
        sets = _extended(sets, count)
    return sets


def _extended(sets: IntArray, count: int) -> IntArray:
    """Append to each ascending set every element that keeps it ascending."""
    last = sets[:, -1]
    more = count - last
    start = np.repeat(np.cumsum(more) - more, more)
    element = np.arange(int(more.sum())) - start + np.repeat(last, more)
    return np.hstack([np.repeat(sets, more, axis=0), element[:, None]])


MOST_ASKED = 700  # sums of columns that a solver is asked about: a second or so
MOST_ENTRIES = 4_000_000  # entries of all vectors that are listed


def sensitivity_space(universe: Universe, adjacency: int, limit: int = 100_000) -> IntArray:
    """Return all of S_a for a = adjacency, of a small universe, one vector a row in lexicographic order.

    Raises GuaranteeError when it has more than `limit` vectors or is beyond reach.
    """
    found: list[IntArray] = []
    held = 0
    for vectors in _differences(universe, adjacency):
        found += [vectors, -vectors]
        held += 2 * len(vectors)
        if held > limit:
            raise too_many_vectors(limit)
        if held * universe.cells > MOST_ENTRIES:
            raise GuaranteeError(
                f"the sensitivity space holds more than {MOST_ENTRIES:,} entries: use a smaller table."
            )
    return np.unique(np.concatenate(found), axis=0) if held else np.zeros((0, universe.cells), dtype=np.int64)


def too_many_vectors(limit: int) -> GuaranteeError:
    """Return the error that a sensitivity space holds more vectors than are listed."""
    return GuaranteeError(
        f"the sensitivity space holds more than {limit} vectors: raise the limit or use a smaller table."
    )


def _differences(universe: Universe, adjacency: int) -> Iterator[IntArray]:
    """Yield the differences p - q of each sum of columns, one of u and -u."""
    if comb(universe.cells + max(adjacency, 1) - 1, max(adjacency, 1)) > SETS:
        raise GuaranteeError(
            f"the sensitivity space of {universe.cells} cells and {adjacency} changes is out of reach: "
            "use a smaller table or fewer changes."
        )
    columns = universe.matrix.toarray().T
    spare = Spare(universe, adjacency)
    for size in range(1, adjacency + 1):
        sets = multisets(universe.cells, size)
        # most pairs first: too many are found out early
        for group in sorted(_of_equal_sum(columns, sets), key=len, reverse=True):
            if spare.holds(sets[group[0]]):
                yield from _disjoint_pairs(sets[group], universe.cells)


def steps_of_size(columns: IntArray, size: int, limit: int) -> IntArray | None:
    """Return one of u and -u for all u = p - q with `size` records in p and q each and equal sums of columns.

    ``columns`` are rows here. None where more than `limit` pairs of multisets have equal sums.
    """
    sets = multisets(len(columns), size)
    groups = list(_of_equal_sum(columns, sets))
    if sum(comb(group.size, 2) for group in groups) > limit:
        return None
    found = [u for group in groups for u in _disjoint_pairs(sets[group], len(columns))]
    return np.concatenate([np.zeros((0, len(columns)), dtype=np.int64), *found])


def _of_equal_sum(columns: IntArray, sets: IntArray) -> Iterator[IntArray]:
    """Yield the multisets that have the same sum of columns, where there are several."""
    sums = columns[sets].sum(axis=1)
    order = np.lexsort(sums.T) if sums.shape[1] else np.arange(len(sets))
    new = np.flatnonzero((np.diff(sums[order], axis=0) != 0).any(axis=1)) + 1
    yield from (group for group in np.split(order, new) if group.size > 1)


class Spare:
    """Whether some conforming table holds given records, at most ``most`` of them."""

    def __init__(self, universe: Universe, most: int) -> None:
        self._of_cell, self._count = universe.patterns.of_cell, universe.patterns.count
        values = universe.values
        self._program = Program(
            universe.patterns.columns, values, values, most=np.full(self._count, UNBOUNDED)
        )
        self._asked = 0
        self._known = self._roomy(most)

    def holds(self, cells: IntArray) -> bool:
        """Whether some table has the records of these cells, each as often as it is named."""
        needed = np.bincount(self._of_cell[cells], minlength=self._count)
        if (self._known >= needed).all(axis=1).any():
            return True
        if self._asked == MOST_ASKED:
            raise GuaranteeError(
                f"which records a conforming table can hold takes more than {MOST_ASKED:,} questions to a"
                " solver: use a smaller table."
            )
        self._asked += 1
        places = np.flatnonzero(needed)
        outcome = self._program.solve(least=dict(zip(places.tolist(), needed[places].tolist(), strict=True)))
        if outcome.status is Status.UNKNOWN and outcome.point is None:
            raise GuaranteeError(
                "it could not be decided which records a conforming table can hold: use a smaller table."
            )
        if outcome.point is None:
            return False
        self._known = np.vstack([self._known, outcome.point])
        return True

    def _roomy(self, most: int) -> IntArray:
        """Return a conforming table, in one row, with as many records in each pattern as there can be.

        More than ``most`` are of no use. No row where none was found with a record in each.
        """
        for each in range(most, 0, -1):
            point = self._program.solve(least=dict.fromkeys(range(self._count), each)).point
            if point is not None:
                return point[None, :]
        return np.zeros((0, self._count), dtype=np.int64)


def _disjoint_pairs(sets: IntArray, cells: int) -> Iterator[IntArray]:
    """Yield p - q for the pairs of multisets without a common cell, set by set."""
    counts = np.zeros((len(sets), cells), dtype=np.int64)
    np.add.at(counts, (np.arange(len(sets)).repeat(sets.shape[1]), sets.ravel()), 1)
    for place in range(len(sets) - 1):
        later = counts[place + 1 :]
        apart = (later[:, sets[place]] == 0).all(axis=1)
        yield counts[place] - later[apart]
