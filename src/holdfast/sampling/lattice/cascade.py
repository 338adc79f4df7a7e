"""The l1 Laplace law on {z : A z = 0}, constraint by constraint.

Put the rows of a 0/1 matrix A in an order, and let each row *own* the cells in it that no earlier row owns;
cells in no row at all are free. Suppose every row owns at least one cell. Then z can be drawn row by row:
when a row's turn comes, the cells it shares with earlier rows are known and sum to -s, and its own n cells
must sum to s. With G_s the weight of n integers with sum s (laplace_total.py),

    q(z)  prop. to  prod_rows q(own cells | s) G_s,

so drawing each row's own cells from q(. | s) and accepting with probability prod G_s / G_0 is exact. Rows
are handled in layers; a draw that a layer rejects goes no further. For an r x c table with both margins:
some of the rows first (s = 0), then the columns' cells in the other rows, then the last cell of each of
those rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.sampling.lattice.laplace_total import OffsetTotal, OneTotal
from holdfast.sampling.lattice.rejection import rank
from holdfast.sampling.numbers.exponential import DoubleGeometric
from holdfast.sampling.rejection import first_accepted, rows_at_once


@dataclass(frozen=True, eq=False)
class RowStep:
    """One row's turn: the cells it owns, and the earlier cells in it."""

    own: IntArray
    known: IntArray


SweepOrder = tuple[tuple[RowStep, ...], ...]
"""Layers of rows whose own cells do not depend on each other."""


def orders(matrix: IntArray) -> Iterator[SweepOrder]:
    """Yield orders worth trying for a full-rank 0/1 matrix; none where no order was found.

    Each row *owns* the cells in it that no earlier row owns; it needs at least one. The rows of a *layer* own
    disjoint cells and know the same earlier ones.
    """
    if not np.isin(matrix, (0, 1)).all():
        return
    seen = set()
    for preference in (1, -1):
        for size in _first_sizes(matrix, preference):
            layers = _layers(matrix, preference, size)
            key = None if layers is None else tuple(tuple(s.own.tolist()) for layer in layers for s in layer)
            if layers is not None and key not in seen:
                seen.add(key)
                yield layers


def _first_sizes(matrix: IntArray, preference: int) -> list[int]:
    most = len(_disjoint(matrix, np.arange(matrix.shape[0]), np.arange(matrix.shape[1]), preference, None))
    return sorted({most - k for k in range(min(most + 1, 8))} | {most // 2, (most + 1) // 2}, reverse=True)


def _layers(matrix: IntArray, preference: int, first: int) -> SweepOrder | None:
    rows, cells = np.arange(matrix.shape[0]), np.arange(matrix.shape[1])
    layers: list[tuple[RowStep, ...]] = []
    side = preference
    limit: int | None = first
    while rows.size:
        chosen = _disjoint(matrix, rows, cells, side, limit)
        if not chosen and limit != 0:
            return None
        layer = []
        owned = np.zeros(matrix.shape[1], dtype=np.bool_)
        for row in chosen:
            own = cells[matrix[row, cells] != 0]
            layer.append(RowStep(own, np.setdiff1d(np.flatnonzero(matrix[row]), own)))
            owned[own] = True
        if layer:
            layers.append(tuple(layer))
        rows, cells = np.setdiff1d(rows, chosen), cells[~owned[cells]]
        side, limit = -side, None
    return tuple(layers)


def _disjoint(
    matrix: IntArray, rows: IntArray, cells: IntArray, preference: int, limit: int | None
) -> list[int]:
    """Choose rows with disjoint remaining cells such that the other rows keep full rank outside of them."""
    chosen: list[int] = []
    free = np.zeros(matrix.shape[1], dtype=np.bool_)
    free[cells] = True
    for row in rows[:: preference or 1]:
        if limit is not None and len(chosen) >= limit:
            break
        support = (matrix[row] != 0) & np.isin(np.arange(matrix.shape[1]), cells)
        if not support.any() or not free[support].all():
            continue
        rest = np.setdiff1d(rows, [*chosen, row])
        outside = free & ~support
        if rank(matrix[np.ix_(rest, np.flatnonzero(outside))]) == rest.size:
            chosen.append(int(row))
            free = outside
    return chosen


def best_order(matrix: IntArray, epsilon: Fraction) -> SweepOrder | None:
    """Return the order with the least predicted work for a full-rank 0/1 matrix; None if there is none."""
    return min(orders(matrix), key=lambda order: predicted_work(order, epsilon), default=None)


def predicted_work(order: SweepOrder, epsilon: Fraction) -> float:
    """Return roughly how many cells are drawn for one accepted draw: it ranks orders, and bounds nothing.

    Where a row owns n cells and knows N, the chance that its known cells leave a sum its own cells can take
    is about p_(n+N)(0) / p_n(0), with p_m(0) the probability that m double geometric variables sum to zero:
    it is sum_s p_N(s) p_n(s) / p_n(0), by symmetry.
    """
    left, work = 1.0, 0.0
    for layer in order:
        for step in layer:
            if step.known.size:
                own, all_cells = step.own.size, step.own.size + step.known.size
                left *= _returns(all_cells, epsilon) / _returns(own, epsilon)
        work += left * sum(step.own.size for step in layer)
    return work / left


@lru_cache(maxsize=4096)
def _returns(count: int, epsilon: Fraction) -> float:
    """Return P(sum of ``count`` double geometric variables = 0), by the trapezoidal rule on the circle."""
    a = np.exp(-float(epsilon))
    angle = 2 * np.pi * np.arange(1 << 14) / (1 << 14)
    transform = (1 - a) ** 2 / (1 - 2 * a * np.cos(angle) + a * a)
    return float(max((transform**count).mean(), 1e-300))


PILOT, PILOT_CELLS = 2048, 1 << 19
"""Draws of a pilot, and the cells it may take."""
RAREST = 1e-300


class Cascade:
    """Exact draws of the l1 Laplace law on the kernel of a 0/1 matrix, in a given order of its rows."""

    def __init__(self, cells: int, order: SweepOrder, epsilon: Fraction) -> None:
        self._cells, self._order, self._epsilon = cells, order, epsilon
        owned = [step.own for layer in order for step in layer]
        self._free = np.setdiff1d(np.arange(cells), np.concatenate(owned))
        sizes = {own.size for own in owned}
        self._given = {n: OffsetTotal(n, epsilon) for n in sizes}
        self._zero = {n: OneTotal(n, epsilon) for n in sizes if n > 1}
        self._single = DoubleGeometric(epsilon)
        self.acceptance, self.work = self._predict()

    @property
    def floats(self) -> bool:
        """Whether floats sort out the clear cases: where several cells share a sum that is drawn before."""
        return any(step.known.size and step.own.size > 1 for layer in self._order for step in layer)

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row: the first accepted ones of a long sequence."""
        most = 2 * rows_at_once(self._cells)
        return first_accepted(lambda n: self._attempt(entropy, n), size, chance=self.acceptance, most=most)

    def _attempt(self, entropy: Entropy, size: int) -> IntArray:
        draws = self._begin(entropy, size)
        for layer in self._order:
            draws = self._fill(self._thin(draws, layer, entropy), layer, entropy)
        return draws

    def _predict(self) -> tuple[float, float]:
        """Estimate the acceptance, and the cells drawn for an accepted draw, by a seeded pilot.

        It goes layer by layer and refills what a layer leaves, so that small chances can be told.
        """
        entropy, chance, work = SeededEntropy(0), 1.0, float(self._free.size)
        draws = self._begin(entropy, max(64, min(PILOT, PILOT_CELLS // self._cells)))
        for layer in self._order:
            for step in layer:
                if not step.known.size:
                    continue
                sums = draws[:, _columns(step.known)].sum(axis=1)
                chance *= float(self._given[step.own.size].shares(sums).mean())
                left = self._thin(draws, (step,), entropy)
                if not left.shape[0] or chance < RAREST:
                    return max(chance, RAREST), self._cells / max(chance, RAREST)
                draws = np.resize(left, draws.shape)
            work += chance * sum(step.own.size for step in layer)
            draws = self._fill(draws, layer, entropy)
        return chance, work / chance

    def _begin(self, entropy: Entropy, size: int) -> IntArray:
        draws = np.zeros((size, self._cells), dtype=np.int64)
        if self._free.size:
            free = self._single.sample(entropy, size * self._free.size)
            draws[:, _columns(self._free)] = free.reshape(size, -1)
        return draws

    def _thin(self, draws: IntArray, layer: tuple[RowStep, ...], entropy: Entropy) -> IntArray:
        """Keep each draw with probability prod G_s / G_0 over the rows of a layer."""
        for step in layer:
            if step.known.size:
                sums = draws[:, _columns(step.known)].sum(axis=1)
                draws = draws[self._given[step.own.size].toss(sums, entropy)]
        return draws

    def _fill(self, draws: IntArray, layer: tuple[RowStep, ...], entropy: Entropy) -> IntArray:
        """Draw the own cells of a layer's rows, given the cells before."""
        for step in layer:
            if step.known.size:
                sums = -draws[:, _columns(step.known)].sum(axis=1)
                draws[:, _columns(step.own)] = self._given[step.own.size].draw(sums, entropy)
            elif step.own.size > 1:
                draws[:, _columns(step.own)] = self._zero[step.own.size].sample(entropy, draws.shape[0])
        return draws


def _columns(cells: IntArray) -> IntArray | slice:
    """Return successive cells as a slice, which is faster."""
    first, last = int(cells[0]), int(cells[-1])
    successive = last - first + 1 == cells.size and bool((np.diff(cells) == 1).all())
    return slice(first, last + 1) if successive else cells
