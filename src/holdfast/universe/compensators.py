"""Which records, changed along, let one record turn from x to y.

A set of k further records z_1, ..., z_k makes up for the change from x to y when they can become
some z'_1, ..., z'_k with b_x + sum b_z = b_y + sum b_z', where b is a column of the invariants with
a 1 appended (the number of records stays) [theory, 2]. All such sets are found by looking up the
sums of k columns, by a random linear fingerprint first and then exactly.
"""

from math import comb

import numpy as np

from holdfast.lattice.arrays import IntArray

SETS = 500_000  # tabulate the sums of k columns up to this many


class Compensators:
    """The compensating sets for columns b (rows of `vectors`, one for each pattern)."""

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
        sets, prints = self._table(size)
        # slices keep the arithmetic modulo 2^64, without warnings
        wanted = prints + self._prints[x : x + 1] - self._prints[y : y + 1]
        place = np.minimum(np.searchsorted(prints, wanted), prints.size - 1)
        hit = np.flatnonzero(prints[place] == wanted)
        before = self._vectors[sets[hit]].sum(axis=1) + self._vectors[x] - self._vectors[y]
        after = self._vectors[sets[place[hit]]].sum(axis=1)
        exact = hit[(before == after).all(axis=1)]
        return np.asarray(sets[exact], dtype=np.int64)

    def _table(self, size: int) -> tuple[IntArray, IntArray]:
        """Return all sets of this size and their fingerprints, by ascending fingerprint."""
        if size not in self._tables:
            sets = np.arange(self._vectors.shape[0], dtype=np.int64)[:, None]
            for _ in range(size - 1):
                sets = _extended(sets, self._vectors.shape[0])
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
            raise ArithmeticError("two sums of columns share a fingerprint of 64 bits")


def _extended(sets: IntArray, count: int) -> IntArray:
    """Append to each ascending set every element that keeps it ascending."""
    last = sets[:, -1]
    more = count - last
    start = np.repeat(np.cumsum(more) - more, more)
    element = np.arange(int(more.sum())) - start + np.repeat(last, more)
    return np.hstack([np.repeat(sets, more, axis=0), element[:, None]])
