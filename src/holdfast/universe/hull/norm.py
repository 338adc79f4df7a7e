"""The norm whose unit ball is the hull of the moves [semi-dp, Lemma 29].

    ||z||_K = min { sum |c_u| : z = sum c_u u } = max { y z : |y u| <= 1 for every move u }

on the span of the moves. As ||z||_1 <= sum |c_u| ||u||_1 <= M sum |c_u| with M = max ||u||_1,

    ||z||_K >= ||z||_1 / M.

A solver suggests coefficients c and a direction y. Rounded to multiples of 2^-k they become integers, from
which both bounds are proved in integers:

* y / max |y u| is feasible, so ||z||_K >= y z / max |y u|;
* what is left, r = z - sum c_u u, is a combination of the basis with weight at most g ||r||_1, so ||z||_K <=
  sum |c_u| + g ||r||_1.

For tables the optimal c and y are mostly multiples of a half, and the bounds meet. An exact value comes from
the optimal basis, solved and checked in rationals.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from math import ceil, lcm, sqrt

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mat
from scipy.sparse import csr_array

from holdfast.errors import SamplingError
from holdfast.lattice.arrays import FloatArray, IntArray, to_flint
from holdfast.lattice.kernel import integer_kernel
from holdfast.lattice.rows import independent_rows
from holdfast.programs.decompose import Basis, Decompose, Decomposition
from holdfast.universe.hull.moves import Moves

BITS = 30  # of the fractions to which a solution is rounded
FARTHEST = 1 << 30  # g ||z||_1 that leaves room for them in 64 bits
OUTWARD = 2.0**-50  # covers the roundings of one division
BATCH = 1 << 22  # prices computed at once


class HullNorm:
    """The norm ||.||_K on the span of the moves."""

    def __init__(self, moves: Moves) -> None:
        self.moves = moves

    @property
    def l1(self) -> int:
        """M, the largest ||u||_1 of a move: ||z||_K >= ||z||_1 / M."""
        return self.moves.l1

    @property
    def dimension(self) -> int:
        """The dimension of the span, s."""
        return int(self.moves.basis.shape[0])

    @property
    def additive(self) -> bool:
        """Whether ||z||_K is ||z||_1 / M."""
        return self.moves.additive

    @property
    def effort(self) -> float:
        """How many integers could be drawn in the time that one norm takes, roughly; measured on tables."""
        if self.additive:
            return 0.0
        return 700 + 20 * self.dimension * sqrt(len(self.moves))

    @cached_property
    def complement(self) -> IntArray:
        """An integer basis of what is orthogonal to the span, as rows."""
        return integer_kernel(self.moves.basis)

    def __call__(self, points: IntArray) -> FloatArray:
        """Return the norm of each row, right to about 9 digits; infinite off the span."""
        inside = ~(points @ self.complement.T).any(axis=1)
        norms = np.full(points.shape[0], np.inf)
        low, high = self.bounds(points[inside])
        norms[inside] = (low + high) / 2
        return norms

    def bounds(self, points: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return proved lower and upper bounds on the norm of each row, which lies in the span."""
        sums = np.abs(points).sum(axis=1)
        if self.additive:
            norms = sums / self.l1
            return norms * (1 - OUTWARD), norms * (1 + OUTWARD)
        if int(sums.max(initial=0)) * self._mending >= FARTHEST:
            raise SamplingError(
                f"a point with entries that sum to {int(sums.max()):,} is too far out for its norm:"
                " ask for a larger epsilon."
            )
        chosen = points[:, self.coordinates]
        # a point and its negative have one norm, and small points come often
        flip = np.take_along_axis(chosen, (chosen != 0).argmax(axis=1)[:, None], axis=1) < 0
        distinct, first, again = np.unique(
            np.where(flip, -chosen, chosen), axis=0, return_index=True, return_inverse=True
        )
        sizes = sums[first]
        rows = max(1, BATCH // len(self.moves))
        low, high = np.zeros(sizes.size), np.zeros(sizes.size)
        for batch in np.split(np.flatnonzero(sizes), range(rows, np.count_nonzero(sizes), rows)):
            found = [self._program.solve(distinct[i] / sizes[i]) for i in batch]
            low[batch] = self._lower(found, distinct[batch])
            high[batch] = self._upper(found, distinct[batch], sizes[batch])
        # never below what holds anyway
        low = np.maximum(low, sizes / self.l1) * (1 - OUTWARD)
        return low[again.ravel()], (high * (1 + OUTWARD))[again.ravel()]

    def exact(self, point: IntArray) -> Fraction:
        """Return the norm of one point of the span, by an optimal basis that is checked in rationals."""
        size = int(np.abs(point).sum())
        if self.additive or size == 0:
            return Fraction(size, self.l1)
        chosen = point[self.coordinates]
        self._program.solve(chosen / size)
        basis = self._program.basis()
        norm = self._primal(basis, chosen)
        if norm is None or not self._dual(basis):
            raise SamplingError(
                "the norm of a point could not be decided exactly: use lattice-laplace for these invariants."
            )
        return norm

    def _lower(self, found: Sequence[Decomposition], points: IntArray) -> FloatArray:
        """Return y z / max |y u|: y over its largest price is feasible [schrijver1986, 7.4]."""
        directions = np.array([one.direction for one in found]).reshape(points.shape)
        largest = np.abs(directions).max(axis=1, keepdims=True, initial=1)
        directions /= 2 ** np.ceil(np.log2(largest))  # a scale that keeps halves exact
        y = np.rint(directions * 2**BITS).astype(np.int64)
        prices = np.abs(self._moves @ y.T).max(axis=0, initial=1)
        return np.asarray((y * points).sum(axis=1) / prices)

    def _upper(self, found: Sequence[Decomposition], points: IntArray, sums: IntArray) -> FloatArray:
        """Return the weight of the coefficients and of what mends them: together a decomposition of z."""
        start = np.cumsum([0, *(one.moves.size for one in found)])
        moves = np.concatenate([np.zeros(0, dtype=np.int64), *(one.moves for one in found)])
        scaled = [one.coefficients * float(size) for one, size in zip(found, sums, strict=True)]
        c = np.rint(np.concatenate([np.zeros(0), *scaled]) * 2**BITS).astype(np.int64)
        coefficients = csr_array((c, moves, start), shape=(len(found), len(self.moves)))
        left = (points << BITS) - (coefficients @ self._moves).toarray()
        weight = abs(coefficients).sum(axis=1) + self._mending * np.abs(left).sum(axis=1)
        return np.asarray(weight / 2**BITS)

    def _primal(self, basis: Basis, point: IntArray) -> Fraction | None:
        """Return the weight of the basic decomposition, None where it is not feasible."""
        solution = self._system(basis).solve(to_flint(point[:, None]))
        weights = [Fraction(int(w.p), int(w.q)) for w in solution.entries()]
        moves, slack = weights[: basis.moves.size], weights[basis.moves.size :]
        return None if min(moves) < 0 or any(slack) else sum(moves, Fraction(0))

    def _dual(self, basis: Basis) -> bool:
        """Whether the direction that prices the basis at 1 prices no move above it."""
        ones = np.concatenate([np.ones_like(basis.moves), np.zeros_like(basis.slack)])
        y = self._system(basis).transpose().solve(to_flint(ones[:, None])).entries()
        scale = lcm(*(int(entry.q) for entry in y))
        numerators = np.array([int(entry.p) * (scale // int(entry.q)) for entry in y], dtype=object)
        terms = self._moves.data.astype(object) * numerators[self._moves.indices]
        prices = np.add.reduceat(terms, self._moves.indptr[:-1])
        return bool((np.abs(prices) <= scale).all())

    def _system(self, basis: Basis) -> fmpz_mat:
        """Return the basic columns: moves with their signs, then unit vectors."""
        columns = (self._moves[basis.moves].toarray() * basis.signs[:, None]).T
        units = np.eye(self.dimension, dtype=np.int64)[:, basis.slack]
        return to_flint(np.hstack([columns, units]))

    @cached_property
    def coordinates(self) -> IntArray:
        """Cells whose entries determine a point of the span."""
        return independent_rows(csr_array(self.moves.basis.T))

    @cached_property
    def _moves(self) -> csr_array:
        """The moves on the coordinates; none is 0 there."""
        return csr_array(self.moves.vectors.tocsc()[:, self.coordinates].tocsr())

    @cached_property
    def _mending(self) -> int:
        """g: r is a combination of the basis with weight at most g ||r||_1, on the coordinates."""
        inverse = fmpq_mat(to_flint(self.moves.basis[:, self.coordinates].T)).inv()
        return ceil(max(_absolute_sum(column) for column in inverse.transpose().tolist()))

    @cached_property
    def _program(self) -> Decompose:
        return Decompose(self._moves, self.moves.independent)


def _absolute_sum(entries: Sequence[fmpq]) -> Fraction:
    return sum((abs(Fraction(int(entry.p), int(entry.q))) for entry in entries), Fraction(0))
