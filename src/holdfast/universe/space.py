"""The sensitivity space: every difference of two conforming tables that changes few records.

    S_a = {u = x - x' : x, x' in D_t, sum u = 0, ||u||_1 <= 2 a}, without u = 0   [theory, 3]

It is found from this definition, never from a list of basic moves [semi-dp, Proposition 32 misses some].
Write u = p - q with p, q >= 0 of disjoint supports. They are multisets of k <= a cells, and A p = A q.
Some pair of tables has the difference u exactly when some x' in D_t has x' >= q (then x = x' + u >= p).
That is so exactly when t - A q = A y for some integer y >= 0, so it depends on the sum A q alone. Hence:
list the multisets of k cells by their sums of columns; of each sum that D_t can spare, every
ordered pair of disjoint multisets is a difference. Public bounds leave fewer of them: the
differences of tables without the bounds hold theirs.
"""

from collections.abc import Iterator
from itertools import combinations
from math import comb

import numpy as np

from holdfast.errors import GuaranteeError
from holdfast.lattice.arrays import IntArray
from holdfast.programs.integer import Program
from holdfast.programs.solver import UNBOUNDED, Status
from holdfast.universe.compensators import SETS
from holdfast.universe.universe import Universe


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
    return np.unique(np.concatenate(found), axis=0) if held else np.zeros((0, universe.cells), dtype=np.int64)


def _differences(universe: Universe, adjacency: int) -> Iterator[IntArray]:
    """Yield the differences p - q of each sum of columns, one of u and -u."""
    if comb(universe.cells + max(adjacency, 1) - 1, max(adjacency, 1)) > SETS:
        raise GuaranteeError(
            f"the sensitivity space of {universe.cells} cells and {adjacency} changes is out of reach: "
            "use a smaller table or fewer changes."
        )
    columns = universe.matrix.toarray().T
    spare = _Spare(universe)
    for size in range(1, adjacency + 1):
        sets = _multisets(universe.cells, size)
        for group in _of_equal_sum(columns, sets):
            if spare.holds(sets[group[0]]):
                yield from _disjoint_pairs(sets[group], universe.cells)


def steps_of_size(columns: IntArray, size: int, limit: int) -> IntArray | None:
    """Return one of u and -u for all u = p - q with `size` records in p and q each and equal sums of columns.

    ``columns`` are rows here. None where more than `limit` pairs of multisets have equal sums.
    """
    sets = _multisets(len(columns), size)
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
    """Whether some conforming table holds given records."""

    def __init__(self, universe: Universe) -> None:
        self._of_cell = universe.patterns.of_cell
        values, most = universe.values, np.full(universe.patterns.count, UNBOUNDED)
        self._program = Program(universe.patterns.columns, values, values, most=most)

    def holds(self, cells: IntArray) -> bool:
        patterns, times = np.unique(self._of_cell[cells], return_counts=True)
        least = dict(zip(patterns.tolist(), times.tolist(), strict=True))
        outcome = self._program.solve(least=least)
        if outcome.status is Status.UNKNOWN and outcome.point is None:
            raise GuaranteeError(
                "it could not be decided which records a conforming table can hold: use a smaller table."
            )
        return outcome.point is not None


def _disjoint_pairs(sets: IntArray, cells: int) -> Iterator[IntArray]:
    """Yield p - q for the pairs of multisets without a common cell, set by set."""
    counts = np.zeros((len(sets), cells), dtype=np.int64)
    np.add.at(counts, (np.arange(len(sets)).repeat(sets.shape[1]), sets.ravel()), 1)
    for place in range(len(sets) - 1):
        later = counts[place + 1 :]
        apart = (later[:, sets[place]] == 0).all(axis=1)
        yield counts[place] - later[apart]


def _multisets(cells: int, size: int) -> IntArray:
    """Return all multisets of `size` cells as ascending rows."""
    strict = np.array(list(combinations(range(cells + size - 1), size)), dtype=np.int64)
    return strict - np.arange(size)
