"""The containment order of norms, in which noise is compared [semi-dp, Definition 8].

Noise with density proportional to exp(-epsilon ||z||_K / Delta_K), Delta_K the largest ||u||_K of the
differences u that are protected, is *preferred* to that of another norm H where Delta_K K lies in Delta_H
H, K and H being the unit balls: it has less entropy, less variance in every direction, and is nearer to its
centre [semi-dp, Section 2.3]. The order is partial: of the l1 and the l-infinity norm neither need be
preferred.

A ball is one of the norms l1, l2 and linf of R^d, with its radius, or the hull of points and their
negatives. Delta_K K is the least ball of its norm that holds all differences; the hull of the differences
themselves lies in every such ball [semi-dp, Proposition 9; semi-dp, Theorem 31].

One ball lies in another exactly when its extreme points do: +-r e_i of l1, (+-r, ..., +-r) of linf, the
points of a hull, by their norm. A sphere has no corners: it is compared by the largest norm on it, r for l2
and linf and r sqrt(d) for l1. Whether it lies in a hull is left open. All is decided in rationals.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from holdfast.errors import GuaranteeError
from holdfast.lattice.arrays import IntArray
from holdfast.lattice.rows import independent_rows
from holdfast.universe.hull.moves import Moves, sensitivity_moves
from holdfast.universe.hull.norm import HullNorm
from holdfast.universe.universe import Universe

Name = Literal["l1", "l2", "linf", "hull"]

CORNERS = 12
"""Dimensions up to which the corners of a cube are listed."""


@dataclass(frozen=True, eq=False)
class Ball:
    """Delta_K K: the ball of a norm that is as large as the differences that it has to hold.

    Attributes:
        norm: its name.
        square: the square of the radius, a rational; 1 for a hull.
        points: the differences, one a row: of each pair u and -u one.

    """

    norm: Name
    square: Fraction
    points: IntArray

    @classmethod
    def around(cls, points: IntArray, norm: Name) -> "Ball":
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
    def of(cls, universe: Universe, distance: int, norm: Name) -> "Ball":
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
        return HullNorm(Moves(csr_array(self.points[self.points.any(axis=1)]), 1))

    def _spans(self, point: IntArray) -> bool:
        """Whether a point is a combination of the differences at all."""
        basis = self._hull.moves.basis
        return independent_rows(csr_array(np.vstack([basis, point]))).size == len(basis)
