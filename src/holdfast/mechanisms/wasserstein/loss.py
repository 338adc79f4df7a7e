"""Losses of a release y of a table x, and how far they move with the table.

A loss is a norm of y - x: l1, l2 or the largest entry, of the counts themselves or of linear queries W of
them; or the square of the l2 norm. With tables d records apart, x - x' = u, a norm moves by at most ||W
u||:

* l1, l2, largest entry of the counts: the largest such norm in the sensitivity space [theory, 3].
* Queries. u is a sum of d moves of one record, so ||W u|| is at most d times the largest ||W (e_i - e_j)||,
  over cells i, j of equal columns of A where one record is all that may change.
* The square moves by |2 (z_i - z_j) - 2| when one record moves from j to i, z = y - x; with all counts
  between 0 and R on both sides that is at most 4 R + 2. It has no bound where counts have none, and is
  refused there.

The largest move is sigma(Delta_z) of [partially-private-data, Theorem 9], Delta_z being the distance of the
guarantee in records.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import flint
import numpy as np

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.privacy.claims import claim
from holdfast.privacy.evidence import Evidence, Proved
from holdfast.privacy.premises import Premises
from holdfast.privacy.roots import ceil_root, floor_root
from holdfast.sampling.bounded.losses import LargestLoss, MixedLoss, RootLoss, SquareLoss, SumLoss
from holdfast.sampling.lattice.laplace import LaplaceNorm as LatticeNorm
from holdfast.spec.privacy import ProtectedUnit
from holdfast.system.errors import SpecError
from holdfast.system.ways import assigned, setting

LossKind = Literal["l1", "l2", "linf", "squared"]
AT_ONCE = 1 << 22
MOST_PAIRS = 4000
"""Cells of which all pairs are looked at; beyond, twice the largest column is the bound."""
ROUNDING = 2.0**-48

Queries = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class TableLoss:
    """A loss of tables; ``queries`` are the rows of W, None for the counts themselves.

    ``range_`` is R, the largest count of a table or a release, where there is one.
    """

    kind: LossKind
    queries: Queries | None = None
    range_: int | None = None

    def __post_init__(self) -> None:
        if self.kind == "squared" and self.range_ is None:
            raise SpecError(
                f"{setting('mechanism', 'loss')} = 'squared' has no bound where counts have none: set"
                f" {assigned('nonnegative', True)} in {setting('constraints')} and make the total an"
                f" invariant, or set {assigned('loss', 'l2')}."
            )

    @property
    def lattice_norm(self) -> LatticeNorm | None:
        """The norm, if noise on the lattice is drawn in it directly."""
        if self.queries is not None:
            return None
        return "l1" if self.kind == "l1" else "l2" if self.kind == "l2" else None

    def mixed(self, kappa: Fraction) -> MixedLoss | None:
        """Return kappa times the loss for counts with totals; None where it is no mixture of products."""
        if self.queries is not None:
            weights = self._separate
            return None if weights is None else SumLoss(kappa, weights)
        match self.kind:
            case "l1":
                return SumLoss(kappa)
            case "l2":
                return RootLoss(kappa)
            case "linf":
                return LargestLoss(kappa)
            case "squared":
                return SquareLoss(kappa)

    @cached_property
    def _separate(self) -> tuple[Fraction, ...] | None:
        """The weight of each cell, where the l1 norm of the queries is a sum over cells that misses none."""
        matrix = self._matrix
        if self.kind != "l1" or (np.count_nonzero(matrix, axis=1) > 1).any():
            return None
        weights = np.abs(matrix).sum(axis=0)
        return tuple(map(Fraction, weights.tolist())) if weights.all() else None

    @cached_property
    def _matrix(self) -> IntArray:
        return np.array(self.queries, dtype=np.int64)

    def _seen(self, points: IntArray) -> IntArray:
        return points if self.queries is None else points @ self._matrix.T

    def values(self, points: IntArray) -> FloatArray:
        """Return the loss for each row y - x."""
        size = np.abs(self._seen(points)).astype(np.float64)
        match self.kind:
            case "l1":
                return np.asarray(size.sum(axis=1))
            case "linf":
                return np.asarray(size.max(axis=1, initial=0.0))
            case "l2":
                return np.asarray(np.sqrt((size**2).sum(axis=1)))
            case "squared":
                return np.asarray((size**2).sum(axis=1))

    def ball(self, point: IntArray) -> flint.arb:
        """Return a ball around the loss of one y - x."""
        size = [abs(int(value)) for value in self._seen(point[None])[0]]
        match self.kind:
            case "l1":
                return flint.arb(sum(size))
            case "linf":
                return flint.arb(max(size, default=0))
            case "l2":
                return flint.arb(sum(value**2 for value in size)).sqrt()
            case "squared":
                return flint.arb(sum(value**2 for value in size))

    def per_l1(self, cells: int) -> Fraction:
        """Return a number c with ||z|| >= c ||z||_1 for every z; 0 where none above 0 is known."""
        if self.queries is not None:
            weights = self._separate
            return Fraction(0) if weights is None else min(weights)
        match self.kind:
            case "l1":
                return Fraction(1)
            case "l2":
                return floor_root(Fraction(1, cells))  # by Cauchy and Schwarz
            case "linf":
                return Fraction(1, cells)
            case "squared":
                return Fraction(0)

    def squared_stretch(self, premises: Premises) -> Fraction:
        """Return the square of how far the loss moves between the tables that premises tell apart."""
        if (norm := self.lattice_norm) is not None:
            return premises.squared_stretch(norm)
        steps = premises.unit.distance
        if self.kind == "linf" and self.queries is None:
            # under "unit" one record moves an entry by at most 1
            return Fraction(premises.sensitivity.linf if premises.adjacency == "semi" else steps) ** 2
        return steps**2 * self._one_record(premises)

    def _one_record(self, premises: Premises) -> Fraction:
        """Return the square of how far one record moves the loss."""
        if self.kind == "squared":
            return Fraction((4 * (self.range_ or 0) + 2) ** 2)
        alone = premises.adjacency == "semi" and premises.unit.distance == 1
        kinds = premises.universe.patterns.of_cell if alone else None
        return Fraction(_widest(self._matrix, self.kind, kinds))

    def per_record(self, premises: Premises) -> Fraction:
        """Return how far one record of distance moves the loss, rounded up."""
        if self.kind == "linf" and self.queries is None:
            return Fraction(1)
        if self.kind == "squared":
            return Fraction(4 * (self.range_ or 0) + 2)
        del premises
        return ceil_root(Fraction(_widest(self._matrix, self.kind, None)))

    def evidence(self, premises: Premises) -> tuple[Evidence, ...]:
        """Say why the stretch is right."""
        if (norm := self.lattice_norm) is not None:
            return premises.evidence(norm)
        whom, steps = premises.whom, premises.unit.distance
        if self.kind == "linf" and self.queries is None and premises.adjacency == "unit":
            return (Proved(_one_count(whom), "theory, 1"),)
        if self.kind == "linf" and self.queries is None:
            return (
                *premises.evidence("l2"),
                Proved(_every_cell(premises.sensitivity.linf, steps, whom), "theory, 3"),
            )
        what = (
            _squared(self.range_ or 0, whom)
            if self.kind == "squared"
            else _queries(self._one_record(premises), self.kind, whom)
        )
        base = premises.evidence() if premises.adjacency == "semi" else ()
        return (*base, Proved(what, "holdfast, mechanisms/wasserstein/loss.py"))

    @property
    def words(self) -> str:
        """The loss in words."""
        return loss_words(self.kind, None if self.queries is None else len(self.queries))


def loss_words(kind: LossKind, queries: int | None) -> str:
    """Return a loss of the counts, or of linear queries, in words."""
    if kind == "squared":
        return "the squared l2 norm of the counts"
    names = {"l1": "the l1 norm", "l2": "the l2 norm", "linf": "the largest error"}
    return f"{names[kind]} {'of the counts' if queries is None else f'of {queries:,} linear queries'}"


@claim("record-in-a-count")
def _one_count(whom: ProtectedUnit) -> str:
    return f"one {whom.record} moves no count by more than 1"


@claim("sensitivity-linf")
def _every_cell(size: int, distance: int, whom: ProtectedUnit) -> str:
    return f"tables that differ in at most {whom.amount(distance)} differ by at most {size} in every cell"


@claim("record-in-squared-distance")
def _squared(largest: int, whom: ProtectedUnit) -> str:
    return (
        f"one {whom.record} moves the squared distance by at most 4 R + 2, R = {largest:,} being the largest"
        " count"
    )


@claim("record-in-queries")
def _queries(squared: Fraction, norm: LossKind, whom: ProtectedUnit) -> str:
    return f"one {whom.record} moves the queries by at most the root of {squared} in {norm}"


def _widest(queries: IntArray, kind: LossKind, kinds: IntArray | None) -> int:
    """Return the largest ||W (e_i - e_j)||, for l2 its square, and for the others their square, too.

    With ``kinds`` only cells of one kind are compared.
    """
    columns = np.ascontiguousarray(queries.T)
    if columns.shape[0] > MOST_PAIRS:
        return 4 * max(_size(columns, kind), default=0)
    if kinds is None:
        return _farthest(columns, kind)
    return max((_farthest(columns[kinds == one], kind) for one in np.unique(kinds)), default=0)


def _farthest(columns: IntArray, kind: LossKind) -> int:
    widest = 0
    step = max(1, AT_ONCE // max(1, columns.size))
    for begin in range(0, columns.shape[0], step):
        apart = np.abs(columns[begin : begin + step, None, :] - columns[None, :, :])
        widest = max(widest, max(_size(apart.reshape(-1, columns.shape[1]), kind), default=0))
    return widest


def _size(rows: IntArray, kind: LossKind) -> list[int]:
    """Return the square of the norm of the largest row, as a list of at most one number."""
    if not rows.size:
        return []
    size = np.abs(rows)
    if kind == "l2":
        return [int((size.astype(object) ** 2).sum(axis=1).max())]
    found = size.sum(axis=1) if kind == "l1" else size.max(axis=1)
    return [int(found.max()) ** 2]
