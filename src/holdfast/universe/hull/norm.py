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
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import ceil, lcm, sqrt
from typing import Literal

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mat
from scipy.sparse import csr_array

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.kernel import integer_kernel, to_flint
from holdfast.lattice.rows import independent_rows
from holdfast.programs.decompose import Decompose, Decomposition, OptimalBasis
from holdfast.system.errors import GuaranteeError, SamplingError
from holdfast.universe.hull.moves import HullMoves, sensitivity_moves
from holdfast.universe.universe import Universe

BITS = 30  # of the fractions to which a solution is rounded
FARTHEST = 1 << 30  # g ||z||_1 that leaves room for them in 64 bits
OUTWARD = 2.0**-50  # covers the roundings of one division
BATCH = 1 << 22  # prices computed at once


class HullNorm:
    """The norm ||.||_K on the span of the moves."""

    def __init__(self, moves: HullMoves) -> None:
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
                "the norm of a point could not be decided exactly: take the noise of another norm here."
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

    def _primal(self, basis: OptimalBasis, point: IntArray) -> Fraction | None:
        """Return the weight of the basic decomposition, None where it is not feasible."""
        solution = self._system(basis).solve(to_flint(point[:, None]))
        weights = [Fraction(int(w.p), int(w.q)) for w in solution.entries()]
        moves, slack = weights[: basis.moves.size], weights[basis.moves.size :]
        return None if min(moves) < 0 or any(slack) else sum(moves, Fraction(0))

    def _dual(self, basis: OptimalBasis) -> bool:
        """Whether the direction that prices the basis at 1 prices no move above it."""
        ones = np.concatenate([np.ones_like(basis.moves), np.zeros_like(basis.slack)])
        y = self._system(basis).transpose().solve(to_flint(ones[:, None])).entries()
        scale = lcm(*(int(entry.q) for entry in y))
        numerators = np.array([int(entry.p) * (scale // int(entry.q)) for entry in y], dtype=object)
        terms = self._moves.data.astype(object) * numerators[self._moves.indices]
        prices = np.add.reduceat(terms, self._moves.indptr[:-1])
        return bool((np.abs(prices) <= scale).all())

    def _system(self, basis: OptimalBasis) -> fmpz_mat:
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


NormName = Literal["l1", "l2", "linf", "hull"]

CORNERS = 12
"""Dimensions up to which the corners of a cube are listed."""


@dataclass(frozen=True, eq=False)
class Ball:
    """Delta_K K, to compare norms by: their containment order [semi-dp, Definition 8].

    Noise with density proportional to exp(-epsilon ||z||_K / Delta_K), Delta_K the largest ||u||_K of the
    differences u that are protected, is *preferred* to that of another norm H where Delta_K K lies in Delta_H
    H, K and H being the unit balls: it has less entropy, less variance in every direction, and is nearer to
    its centre [semi-dp, Section 2.3]. The order is partial: of the l1 and the l-infinity norm neither need be
    preferred.

    A ball is one of the norms l1, l2 and linf of R^d, with its radius, or the hull of points and their
    negatives. Delta_K K is the least ball of its norm that holds all differences; the hull of the differences
    themselves lies in every such ball [semi-dp, Proposition 9; semi-dp, Theorem 31].

    One ball lies in another exactly when its extreme points do: +-r e_i of l1, (+-r, ..., +-r) of linf, the
    points of a hull, by their norm. A sphere has no corners: it is compared by the largest norm on it, r for
    l2 and linf and r sqrt(d) for l1. Whether it lies in a hull is left open. All is decided in rationals.

    Attributes:
        norm: its name.
        square: the square of the radius, a rational; 1 for a hull.
        points: the differences, one a row: of each pair u and -u one.

    """

    norm: NormName
    square: Fraction
    points: IntArray

    @classmethod
    def around(cls, points: IntArray, norm: NormName) -> "Ball":
        """Return the least ball of a norm that holds some differences."""
        listed = np.asarray(points, dtype=np.int64)
        if listed.ndim != 2 or not listed.any():
            raise GuaranteeError("a ball is around differences, one a row, not all of them 0: give some.")
        sizes = {
            "l1": np.abs(listed).sum(axis=1) ** 2,
            "l2": (listed**2).sum(axis=1),
            "linf": np.abs(listed).max(axis=1) ** 2,
            "hull": np.ones(len(listed), dtype=np.int64),
        }
        if norm not in sizes:
            raise GuaranteeError(f"the norm {norm!r} is not known: give one of {', '.join(sizes)}.")
        return cls(norm, Fraction(int(sizes[norm].max())), listed)

    @classmethod
    def of(cls, universe: Universe, distance: int, norm: NormName) -> "Ball":
        """Return the ball around the sensitivity space of a small universe."""
        return cls.around(sensitivity_moves(universe, distance).vectors.toarray(), norm)

    @property
    def dimension(self) -> int:
        """The number of cells, d."""
        return int(self.points.shape[1])

    def holds(self, point: IntArray, square: Fraction) -> bool:
        """Whether sqrt(square) times a point of whole numbers lies in this ball."""
        match self.norm:
            case "l1":
                return square * int(np.abs(point).sum()) ** 2 <= self.square
            case "l2":
                return square * int((point**2).sum()) <= self.square
            case "linf":
                return square * int(np.abs(point).max()) ** 2 <= self.square
        return self._spans(point) and square * self._hull.exact(point) ** 2 <= 1

    def within(self, other: "Ball") -> bool:
        """Whether this ball lies in another: then its noise is preferred [semi-dp, Definition 8]."""
        if self.dimension != other.dimension:
            raise GuaranteeError(
                f"balls in {self.dimension} and in {other.dimension} dimensions cannot be compared: take the"
                " same cells."
            )
        d, eye = self.dimension, np.eye(self.dimension, dtype=np.int64)
        match self.norm, other.norm:
            case "hull", _:
                return all(other.holds(point, Fraction(1)) for point in self.points)
            case "l1", _:
                return all(other.holds(point, self.square) for point in eye)
            case "l2", "l1":
                return self.square * d <= other.square
            case "l2", "l2" | "linf":
                return self.square <= other.square
            case "linf", "l1" | "l2" | "linf":
                return other.holds(np.ones(d, dtype=np.int64), self.square)
            case "linf", "hull" if d <= CORNERS:
                corners = product((1, -1), repeat=d - 1)
                return all(other.holds(np.array((1, *rest)), self.square) for rest in corners)
        raise GuaranteeError(
            f"whether a ball of {self.norm} lies in a hull in {d} dimensions is not decided: compare the hull"
            " with it instead, or take fewer cells."
        )

    @cached_property
    def _hull(self) -> HullNorm:
        return HullNorm(HullMoves(csr_array(self.points[self.points.any(axis=1)]), 1))

    def _spans(self, point: IntArray) -> bool:
        """Whether a point is a combination of the differences at all."""
        basis = self._hull.moves.basis
        return independent_rows(csr_array(np.vstack([basis, point]))).size == len(basis)
