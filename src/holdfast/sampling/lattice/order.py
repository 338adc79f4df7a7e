"""Orders of the rows of A z = 0 in which they can be satisfied one after the other.

Each row *owns* the cells in it that no earlier row owns; it needs at least one. The rows of a *layer* own
disjoint cells and know the same earlier ones. Where a row owns n cells and knows N, the chance that its
known cells leave a sum its own cells can take is about p_(n+N)(0) / p_n(0), with p_m(0) the probability
that m double geometric variables sum to zero: it is sum_s p_N(s) p_n(s) / p_n(0), by symmetry. The product
over rows ranks orders; it is a guide, not a bound.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.lattice.split import rank


@dataclass(frozen=True, eq=False)
class Step:
    """One row's turn: the cells it owns, and the earlier cells in it."""

    own: IntArray
    known: IntArray


Order = tuple[tuple[Step, ...], ...]
"""Layers of rows whose own cells do not depend on each other."""


def orders(matrix: IntArray) -> Iterator[Order]:
    """Yield orders worth trying for a full-rank 0/1 matrix; none where no order was found."""
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


def _layers(matrix: IntArray, preference: int, first: int) -> Order | None:
    rows, cells = np.arange(matrix.shape[0]), np.arange(matrix.shape[1])
    layers: list[tuple[Step, ...]] = []
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
            layer.append(Step(own, np.setdiff1d(np.flatnonzero(matrix[row]), own)))
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


def best_order(matrix: IntArray, epsilon: Fraction) -> Order | None:
    """Return the order with the least predicted work for a full-rank 0/1 matrix; None if there is none."""
    return min(orders(matrix), key=lambda order: predicted_work(order, epsilon), default=None)


def predicted_work(order: Order, epsilon: Fraction) -> float:
    """Return roughly how many cells are drawn for one accepted draw."""
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
