"""Splitting a system A z = 0 into cells to draw and cells to solve for.

The rows of A fall into *strata*, sums over disjoint sets of free cells, and the rest, which is solved on
as many *closing* cells outside the strata. Fewer closing cells mean fewer rejections.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from holdfast.lattice.arrays import IntArray, to_flint


@dataclass(frozen=True, eq=False)
class Split:
    """Which cells are drawn and which are solved for.

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
