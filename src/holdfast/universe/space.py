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
from math import comb

import numpy as np

from holdfast.errors import GuaranteeError
from holdfast.lattice.arrays import IntArray
from holdfast.programs.integer import Program
from holdfast.programs.solver import UNBOUNDED, Status
from holdfast.universe.compensators import SETS, multisets
from holdfast.universe.universe import Universe

MOST_ASKED = 1_000  # sums of columns that a solver is asked about: a second or two
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
            raise GuaranteeError(
                f"the sensitivity space holds more than {limit} vectors: raise the limit or use a "
                "smaller table."
            )
        if held * universe.cells > MOST_ENTRIES:
            raise GuaranteeError(
                f"the sensitivity space holds more than {MOST_ENTRIES:,} entries: use a smaller table."
            )
    return np.unique(np.concatenate(found), axis=0) if held else np.zeros((0, universe.cells), dtype=np.int64)


def _differences(universe: Universe, adjacency: int) -> Iterator[IntArray]:
    """Yield the differences p - q of each sum of columns, one of u and -u."""
    if comb(universe.cells + max(adjacency, 1) - 1, max(adjacency, 1)) > SETS:
        raise GuaranteeError(
            f"the sensitivity space of {universe.cells} cells and {adjacency} changes is out of reach: "
            "use a smaller table or fewer changes."
        )
    columns = universe.matrix.toarray().T
    spare = _Spare(universe, adjacency)
    for size in range(1, adjacency + 1):
        sets = multisets(universe.cells, size)
        for group in _of_equal_sum(columns, sets):
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


class _Spare:
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
