"""The sensitivity space: every difference of two conforming tables that changes few records.

    S_a = {u = x - x' : x, x' in D_t, sum u = 0, ||u||_1 <= 2 a}, without u = 0   [theory, 3]

It is found from this definition, never from a list of basic moves [semi-dp, Proposition 32 misses some].
Write u = p - q with p, q >= 0 of disjoint supports. They are multisets of k <= a cells, and A p = A q.
Some pair of tables has the difference u exactly when some x' in D_t has x' >= q (then x = x' + u >= p).
That is so exactly when t - A q = A y for some integer y >= 0, so it depends on the sum A q alone. Hence:
list the multisets of k cells by their sums of columns; of each sum that D_t can spare, every
ordered pair of disjoint multisets is a difference.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np
from flint import fmpq_mat
from scipy.optimize import linprog
from scipy.sparse import csr_array

from holdfast.errors import GuaranteeError
from holdfast.lattice.arrays import IntArray, to_flint
from holdfast.lattice.rows import independent_rows
from holdfast.universe.compensators import SETS
from holdfast.universe.program import UNBOUNDED, Program, Status
from holdfast.universe.universe import Universe

SCALE = 2**20  # a suggested direction is rounded to multiples of 1 / SCALE


@dataclass(frozen=True, eq=False)
class SensitivitySpace:
    """The nonzero vectors of a sensitivity space, with u also -u.

    Attributes:
        vectors: one vector a row, in lexicographic order.
        alike: for each coordinate a label; permuting coordinates of one label keeps the space.

    """

    vectors: IntArray
    alike: IntArray

    def __len__(self) -> int:
        return int(self.vectors.shape[0])

    @property
    def l1(self) -> int:
        """The largest ||u||_1, Delta_1."""
        return int(np.abs(self.vectors).sum(axis=1).max(initial=0))

    @property
    def l2_squared(self) -> int:
        """The largest ||u||_2^2, the square of Delta_2."""
        return int((self.vectors**2).sum(axis=1).max(initial=0))

    @property
    def linf(self) -> int:
        """The largest ||u||_inf."""
        return int(np.abs(self.vectors).max(initial=0))

    def image(self, query: IntArray) -> "SensitivitySpace":
        """Return {Q u : u in S_a} without 0, the sensitivity space of the linear query Q (rows x d)."""
        image = self.vectors @ np.asarray(query, dtype=np.int64).T
        return SensitivitySpace(_distinct(image[image.any(axis=1)]), np.arange(image.shape[1]))

    def up_to_symmetry(self) -> IntArray:
        """Return one vector of each orbit under the sign and permutations of alike coordinates.

        Cells with equal columns are alike: exchanging them keeps A and t, so it keeps S_a. Other symmetries
        of a design would have to keep t as well, and are not used.
        """
        return self._orbits[0]

    @cached_property
    def _orbits(self) -> tuple[IntArray, IntArray]:
        """One vector of each orbit, and the orbit of each vector."""
        order = np.argsort(self.alike, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(self.alike[order])) + 1)

        def canonical(vectors: IntArray) -> IntArray:
            """Sort the entries of alike coordinates, largest first."""
            result = vectors.copy()
            for group in groups:
                result[:, group] = -np.sort(-vectors[:, group], axis=1)
            return result

        one, other = canonical(self.vectors), canonical(-self.vectors)
        first = np.array([a >= b for a, b in zip(one.tolist(), other.tolist(), strict=True)], dtype=np.bool_)
        chosen = np.where(first[:, None], one, other)
        if chosen.size == 0:
            return chosen, np.zeros(0, dtype=np.int64)
        orbits, orbit = np.unique(chosen, axis=0, return_inverse=True)
        return orbits, orbit.ravel()

    @cached_property
    def span_basis(self) -> IntArray:
        """Vectors of the space that form a basis of its span, exactly."""
        return self.vectors[independent_rows(csr_array(self.vectors))]

    def projection(self) -> list[list[Fraction]]:
        """Return the orthogonal projection onto the span, B' (B B')^-1 B in rationals.

        Noise may be projected by it without loss of privacy [semi-dp, Proposition 26].
        """
        basis = self.span_basis
        size = basis.shape[1]
        if basis.shape[0] == 0:
            return [[Fraction(0)] * size for _ in range(size)]
        B = to_flint(basis)
        P = fmpq_mat(B.transpose()) * fmpq_mat(B * B.transpose()).inv() * fmpq_mat(B)
        return [[Fraction(int(P[i, j].p), int(P[i, j].q)) for j in range(size)] for i in range(size)]

    def hull_vertices(self) -> IntArray:
        """Return the vertices of the convex hull, each one decided by a proof in integers.

        u is a vertex when some direction c has c u > c v for all other v, and is none when it is a convex
        combination of others. A solver suggests c or the combination, and it is checked exactly. One
        vector of each orbit is asked: symmetries of the space map vertices to vertices.
        """
        orbits, orbit = self._orbits
        kept = np.array([self._is_vertex(u) for u in orbits], dtype=np.bool_)
        return self.vectors[kept[orbit]] if len(self) else self.vectors

    def _is_vertex(self, u: IntArray) -> bool:
        others = self.vectors[(self.vectors != u).any(axis=1)]
        size = u.size
        if ((u - others) @ u > 0).all():
            return True  # u itself is such a direction
        # maximise the margin by which a direction in the unit cube prefers u
        separating = linprog(
            np.append(np.zeros(size), -1.0),
            A_ub=np.hstack([others - u, np.ones((others.shape[0], 1))]),
            b_ub=np.zeros(others.shape[0]),
            bounds=[(-1, 1)] * size + [(None, 1)],
            method="highs-ds",
        )
        if separating.x is not None:
            direction = np.rint(separating.x[:size] * SCALE).astype(np.int64)
            if ((u - others) @ direction > 0).all():
                return True
        combined = linprog(
            np.zeros(others.shape[0]),
            A_eq=np.vstack([others.T, np.ones((1, others.shape[0]))]),
            b_eq=np.append(u, 1),
            method="highs-ds",
        )
        if combined.x is not None and _combines(others[combined.x > 1e-9], u):
            return False
        raise GuaranteeError(
            "a vertex of the sensitivity space could not be decided exactly: use a smaller table."
        )


def sensitivity_space(universe: Universe, adjacency: int, limit: int = 100_000) -> SensitivitySpace:
    """Return all of S_a for a = adjacency, of a small universe.

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
    empty = np.zeros((0, universe.cells), dtype=np.int64)
    return SensitivitySpace(_distinct(np.concatenate([empty, *found])), universe.patterns.of_cell)


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
        sums = columns[sets].sum(axis=1)
        order = np.lexsort(sums.T) if sums.shape[1] else np.arange(len(sets))
        new = np.flatnonzero((np.diff(sums[order], axis=0) != 0).any(axis=1)) + 1
        for group in np.split(order, new):
            if group.size > 1 and spare.holds(sets[group[0]]):
                yield from _disjoint_pairs(sets[group], universe.cells)


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


def _distinct(vectors: IntArray) -> IntArray:
    return np.unique(vectors, axis=0) if vectors.size else vectors


def _combines(points: IntArray, u: IntArray) -> bool:
    """Whether u is a convex combination of the affinely independent points, exactly."""
    system = np.vstack([points.T, np.ones((1, len(points)), dtype=np.int64)])
    joined = np.hstack([system, np.append(u, 1)[:, None]])
    reduced, denominator, rank = to_flint(joined).rref()
    if rank != len(points) or to_flint(system).rank() != rank:
        return False
    return all(reduced[i, rank] * denominator >= 0 for i in range(rank))
