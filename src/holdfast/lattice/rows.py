"""Which rows of an integer matrix say something new, exactly over the rationals.

One reduced echelon form of the transposed matrix answers it: its pivots are the earliest independent rows,
and every other column of it writes a dependent row as a combination of them. The form depends on the
relations between rows only, and A A' has the same ones, as c A A' c' = ||c A||^2: where there are more
columns than rows, this smaller matrix takes the place of the transposed one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.sparse import csc_array, csr_array, vstack

from holdfast.lattice.arrays import IntArray, to_flint
from holdfast.lattice.components import Component, components, patterns

LARGEST = 1 << 62


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
    return independent_and_wrong(matrix, values)[1]


def independent_and_wrong(matrix: csr_array, values: IntArray) -> tuple[IntArray, IntArray]:
    """Return what `independent_rows` and `check_consistent` do, at the cost of one of them."""
    kept: list[int] = []
    wrong = set(np.flatnonzero((np.diff(matrix.tocsr().indptr) == 0) & (values != 0)).tolist())
    for block in echelons(matrix):
        kept.extend(block.kept)
        for row, terms in block.combination.items():
            if sum(weight * int(values[other]) for other, weight in terms.items()) != int(values[row]):
                wrong.add(row)
    return np.array(sorted(kept), dtype=np.int64), np.array(sorted(wrong), dtype=np.int64)


def ones_combination(matrix: csr_array) -> dict[int, Fraction] | None:
    """Return weights c with c A = (1, ..., 1), or None when there are none."""
    if matrix.shape[1] == 0:
        return {}
    weights: dict[int, Fraction] = {}
    blocks = _Blocks(matrix)
    for component in blocks.components:
        if component.rows.size == 0:
            return None
        if component.rows.size == 1:
            # distinct columns: a single row is constant exactly when it has one pattern
            if component.cells.size != 1:
                return None
            weights[int(component.rows[0])] = Fraction(1, blocks.first_entry(component))
            continue
        block = blocks.part(component)
        ones = csr_array(np.ones((1, block.shape[1]), dtype=np.int64))
        reduced = _echelon(csc_array(vstack([block, ones], format="csc")))
        if block.shape[0] not in reduced.combination:
            return None
        terms = reduced.combination[block.shape[0]]
        weights |= {int(component.rows[row]): weight for row, weight in terms.items()}
    return weights


def echelons(matrix: csr_array) -> Iterator[Echelon]:
    """Yield the echelon form of each connected component, in the matrix's own row indices."""
    blocks = _Blocks(matrix)
    for component in blocks.components:
        rows = component.rows
        if rows.size == 1:
            yield Echelon(kept=(int(rows[0]),), combination={})
        elif rows.size > 1:
            local = _echelon(blocks.part(component))
            yield Echelon(
                kept=tuple(int(rows[row]) for row in local.kept),
                combination={
                    int(rows[row]): {int(rows[other]): weight for other, weight in terms.items()}
                    for row, terms in local.combination.items()
                },
            )


class _Blocks:
    """The components of a matrix over its distinct columns."""

    def __init__(self, matrix: csr_array) -> None:
        distinct = patterns(matrix).columns
        self._columns = csc_array(distinct)
        self._place = np.zeros(distinct.shape[0], dtype=np.int64)
        self.components = components(distinct)

    def first_entry(self, component: Component) -> int:
        return int(self._columns.data[self._columns.indptr[component.cells[0]]])

    def part(self, component: Component) -> csc_array:
        """Return the distinct columns of a component, on its rows."""
        self._place[component.rows] = np.arange(component.rows.size)
        part = self._columns[:, component.cells]
        shape = component.rows.size, component.cells.size
        return csc_array((part.data, self._place[part.indices], part.indptr), shape=shape)


def _echelon(part: csc_array) -> Echelon:
    """Return the independent rows of a matrix and the others in terms of them."""
    rows = part.shape[0]
    reduced, denominator, rank = to_flint(_relations(part)).rref()
    pivots: list[int] = []
    for step in range(rank):
        start = pivots[-1] + 1 if pivots else 0
        pivots.append(next(j for j in range(start, rows) if reduced[step, j] != 0))
    others = sorted(set(range(rows)) - set(pivots))
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


def _relations(part: csc_array) -> IntArray:
    """Return a small matrix that takes c to 0 exactly when c A = 0."""
    rows, columns = part.shape
    if rows < columns and int(np.abs(part.data).max(initial=0)) ** 2 * columns < LARGEST:
        return np.asarray((part @ part.T).toarray(), dtype=np.int64)
    return np.asarray(part.toarray().T, dtype=np.int64)
