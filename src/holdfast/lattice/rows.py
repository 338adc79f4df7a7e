"""Which rows of an integer matrix say something new, exactly over the rationals.

One reduced echelon form of the transposed matrix answers it: its pivots are the earliest
independent rows, and every other column of it writes a dependent row as a combination of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray, to_flint
from holdfast.lattice.components import components, patterns


@dataclass(frozen=True)
class Echelon:
    """Independent rows of a matrix, and the others in terms of them.

    Attributes:
        kept: indices of a maximal independent set of rows, the earliest ones.
        combination: for each other row its coefficients over the kept rows, by index.

    """

    kept: tuple[int, ...]
    combination: dict[int, dict[int, Fraction]]


def independent_rows(matrix: csr_array) -> IntArray:
    """Return the indices of a maximal set of independent rows, earliest rows first."""
    kept = [row for block in echelons(matrix) for row in block.kept]
    return np.array(sorted(kept), dtype=np.int64)


def check_consistent(matrix: csr_array, values: IntArray) -> IntArray:
    """Return the indices of dependent rows whose value contradicts the independent ones.

    A row without entries says 0 = value.
    """
    wrong = [
        row
        for block in echelons(matrix)
        for row, terms in block.combination.items()
        if sum(weight * int(values[other]) for other, weight in terms.items()) != int(values[row])
    ]
    empty = np.flatnonzero((np.diff(matrix.tocsr().indptr) == 0) & (values != 0))
    return np.array(sorted({*wrong, *empty.tolist()}), dtype=np.int64)


def ones_combination(matrix: csr_array) -> dict[int, Fraction] | None:
    """Return weights c with c A = (1, ..., 1), or None when there are none."""
    if matrix.shape[1] == 0:
        return {}
    weights: dict[int, Fraction] = {}
    for rows, block in _blocks(matrix):
        if rows.size == 0:
            return None
        if rows.size == 1:
            # distinct columns: a single row is constant exactly when it has one pattern
            if block.shape[1] != 1:
                return None
            weights[int(rows[0])] = Fraction(1, int(block[0, 0]))
            continue
        ones = np.ones((1, block.shape[1]), dtype=np.int64)
        reduced = _echelon(np.vstack([block, ones]))
        if block.shape[0] not in reduced.combination:
            return None
        terms = reduced.combination[block.shape[0]]
        weights |= {int(rows[row]): weight for row, weight in terms.items()}
    return weights


def echelons(matrix: csr_array) -> Iterator[Echelon]:
    """Yield the echelon form of each connected component, in the matrix's own row indices."""
    for rows, block in _blocks(matrix):
        if rows.size == 1:
            yield Echelon(kept=(int(rows[0]),), combination={})
        elif rows.size > 1:
            local = _echelon(block)
            yield Echelon(
                kept=tuple(int(rows[row]) for row in local.kept),
                combination={
                    int(rows[row]): {int(rows[other]): weight for other, weight in terms.items()}
                    for row, terms in local.combination.items()
                },
            )


def _blocks(matrix: csr_array) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the rows of each component and its dense matrix of distinct columns."""
    distinct = patterns(matrix).columns
    entries = distinct.tocsc()
    local_row = np.zeros(distinct.shape[0], dtype=np.int64)
    for component in components(distinct):
        local_row[component.rows] = np.arange(component.rows.size)
        dense = np.zeros((component.rows.size, component.cells.size), dtype=np.int64)
        for position, cell in enumerate(component.cells):
            span = slice(entries.indptr[cell], entries.indptr[cell + 1])
            dense[local_row[entries.indices[span]], position] = entries.data[span]
        yield component.rows, dense


def _echelon(dense: IntArray) -> Echelon:
    """Return the independent rows of a dense matrix and the others in terms of them."""
    reduced, denominator, rank = to_flint(dense.T).rref()
    pivots: list[int] = []
    for step in range(rank):
        start = pivots[-1] + 1 if pivots else 0
        pivots.append(next(j for j in range(start, dense.shape[0]) if reduced[step, j] != 0))
    others = sorted(set(range(dense.shape[0])) - set(pivots))
    return Echelon(
        kept=tuple(pivots),
        combination={
            row: {
                pivot: Fraction(int(reduced[step, row]), int(denominator))
                for step, pivot in enumerate(pivots)
                if reduced[step, row] != 0
            }
            for row in others
        },
    )
