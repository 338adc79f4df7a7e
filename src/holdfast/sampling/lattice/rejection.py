"""The l1 Laplace law on {z : A z = 0}, by integer-only rejection.

Split the cells into *free* and *closing* ones and the rows of A into *strata* and the rest, such that
the strata are sums over disjoint sets of free cells, and the rest of A is invertible on the closing
cells. Then

    q(z) prop. to prod_strata a^||z_S||_1 [sum z_S = 0]  x  prod_single a^|z_i|  x  a^||z_closing||_1.

The first two factors are drawn exactly (`OneTotal`, `DoubleGeometric`), the closing cells follow by solving
the rest of A, and the draw is accepted with probability a^||z_closing||_1: a coin, tossed exactly. Where the
determinant of the closing columns is not 1 or -1, draws whose solution is not whole are rejected as well. For
an r x c table with both margins the strata are r - 1 rows and the closing cells the last row. Without strata
this is the plain rejection of [theory, 6].
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.lattice.kernel import to_flint
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.sampling.lattice.laplace_total import OneTotal
from holdfast.sampling.numbers.exponential import DoubleGeometric, ExpCoin
from holdfast.sampling.rejection import first_accepted, rows_at_once


@dataclass(frozen=True, eq=False)
class Split:
    """Which cells are drawn and which are solved for: fewer closing cells mean fewer rejections.

    ``solve`` and ``determinant`` give z_closing = solve z_free / determinant.
    """

    strata: tuple[IntArray, ...]
    single: IntArray
    closing: IntArray
    solve: IntArray
    determinant: int

    @property
    def free(self) -> IntArray:
        """All drawn cells: the strata one after the other, then the single ones."""
        return np.concatenate([*self.strata, self.single])


def splits(matrix: IntArray) -> Iterator[Split]:
    """Yield splits of a full-rank matrix worth trying, each once, fewest closing cells first."""
    seen = set()
    found = []
    for order in _row_orders(matrix):
        strata = _strata(matrix, order)
        outside = _outside(matrix, strata)
        rest = np.setdiff1d(np.arange(matrix.shape[0]), strata)
        for cells in _cell_orders(matrix, outside):
            closing = _closing(matrix[rest], cells)
            key = (tuple(sorted(strata)), tuple(sorted(closing)))
            if key not in seen:
                seen.add(key)
                found.append((strata, rest, closing))
    for strata, rest, closing in sorted(found, key=lambda f: len(f[2])):
        yield _solved(matrix, strata, rest, np.sort(np.array(closing, dtype=np.int64)))


def _row_orders(matrix: IntArray) -> list[list[int]]:
    """Orders in which rows are offered as strata: as given, long first, short first, and back to front."""
    size = np.count_nonzero(matrix, axis=1)
    rows = list(range(matrix.shape[0]))
    return [
        rows,
        rows[::-1],
        sorted(rows, key=lambda r: (-size[r], r)),
        sorted(rows, key=lambda r: (size[r], r)),
        sorted(rows, key=lambda r: (size[r], -r)),
    ]


def _strata(matrix: IntArray, order: list[int]) -> list[int]:
    """Take rows that are plain sums over disjoint cells while the others can still be closed outside."""
    strata: list[int] = []
    free = np.ones(matrix.shape[1], dtype=np.bool_)
    for row in order:
        support = matrix[row] != 0
        if not (np.isin(matrix[row], (0, 1)).all() and free[support].all() and support.sum() > 1):
            continue
        rest = np.setdiff1d(np.arange(matrix.shape[0]), [*strata, row])
        outside = free & ~support
        if rank(matrix[np.ix_(rest, np.flatnonzero(outside))]) == rest.size:
            strata.append(row)
            free = outside
    return strata


def _outside(matrix: IntArray, strata: list[int]) -> IntArray:
    return np.flatnonzero(~(matrix[strata] != 0).any(axis=0))


def _cell_orders(matrix: IntArray, cells: IntArray) -> list[IntArray]:
    """Orders in which cells are offered for closing: few constraints first, many first, as given."""
    weight = np.abs(matrix[:, cells]).sum(axis=0)
    ascending = cells[np.argsort(weight, kind="stable")]
    return [ascending, cells[np.argsort(-weight, kind="stable")], cells, cells[::-1]]


def _closing(rest: IntArray, cells: IntArray) -> list[int]:
    """Return the first cells of an order whose columns are independent and span."""
    if not rest.shape[0]:
        return []
    reduced, _, rank = to_flint(rest[:, cells]).rref()
    entries = np.array(reduced.tolist(), dtype=object) != 0
    return [int(cells[np.flatnonzero(entries[r])[0]]) for r in range(rank)]


def _solved(matrix: IntArray, strata: list[int], rest: IntArray, closing: IntArray) -> Split:
    groups = tuple(np.flatnonzero(matrix[row]) for row in strata)
    single = np.setdiff1d(_outside(matrix, strata), closing)
    free = np.concatenate([*groups, single]).astype(np.int64)
    if not closing.size:
        return Split(groups, single, closing, np.zeros((0, free.size), dtype=np.int64), 1)
    square = to_flint(matrix[np.ix_(rest, closing)])
    determinant = int(square.det())
    # Cramer: adj(C) (-R z_free) / det(C), whole numbers throughout.
    solved = square.solve(to_flint(-matrix[np.ix_(rest, free)]))
    whole = [[int(entry.p) * determinant // int(entry.q) for entry in row] for row in solved.tolist()]
    solve = np.array(whole, dtype=np.int64).reshape(closing.size, free.size)
    return Split(groups, single, closing, solve, determinant)


def rank(matrix: IntArray) -> int:
    """Return the rank over the rationals."""
    return int(to_flint(matrix).rank()) if matrix.size else 0


PILOT = 4096
"""Proposals that tell an acceptance: one in a hundred to a sixth of itself, or better."""


class Rejection:
    """Exact draws of the l1 Laplace law on the kernel of a full-rank integer matrix."""

    floats = False

    def __init__(self, split: Split, epsilon: Fraction) -> None:
        self._split, self._epsilon = split, epsilon
        self._cells = split.free.size + split.closing.size
        self._totals = {n: OneTotal(n, epsilon) for n in {s.size for s in split.strata}}
        self._single = DoubleGeometric(epsilon)
        self._coin = ExpCoin(epsilon)
        self.acceptance = self._predict()
        self.work = self._cells / self.acceptance

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row: the first accepted ones of a long sequence."""
        most = rows_at_once(self._cells)
        return first_accepted(lambda n: self._attempt(entropy, n), size, chance=self.acceptance, most=most)

    def _attempt(self, entropy: Entropy, size: int) -> IntArray:
        free = self._propose(entropy, size)
        closing, whole = self._close(free)
        heads = np.flatnonzero(whole)
        heads = heads[self._coin.toss(np.abs(closing[heads]).sum(axis=1), entropy)]
        draws = np.empty((heads.size, self._cells), dtype=np.int64)
        draws[:, self._split.free] = free[heads]
        draws[:, self._split.closing] = closing[heads]
        return draws

    def _propose(self, entropy: Entropy, size: int) -> IntArray:
        split = self._split
        parts = [self._totals[s.size].sample(entropy, size) for s in split.strata]
        if split.single.size:
            single = self._single.sample(entropy, size * split.single.size)
            parts.append(single.reshape(size, -1))
        return np.concatenate(parts, axis=1) if parts else np.zeros((size, 0), dtype=np.int64)

    def _close(self, free: IntArray) -> tuple[IntArray, BoolArray]:
        split = self._split
        scaled = free @ split.solve.T
        closing = scaled // split.determinant
        return closing, (closing * split.determinant == scaled).all(axis=1)

    def _predict(self) -> float:
        """Estimate the acceptance from a pilot run of public, seeded proposals."""
        closing, whole = self._close(self._propose(SeededEntropy(0), PILOT))
        norm = np.abs(closing).sum(axis=1)
        chance = np.exp(-float(self._epsilon) * norm) * whole
        return max(float(chance.mean()), 1e-300)
