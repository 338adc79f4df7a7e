"""Which rows of an integer matrix say something new, exactly over the rationals.

The relations c A = 0 between rows answer it: in their reduced form each ends with a row that depends on the
rows before it, and says how. A A' has the same relations, as c A A' c' = ||c A||^2; rows that share no column
are eliminated from it at once, so that margins of many thousand rows are no more work than those they cross.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from flint import fmpz_mat
from scipy.sparse import csc_array, csr_array, vstack

from holdfast.errors import InvariantError
from holdfast.lattice.arrays import IntArray, to_flint
from holdfast.lattice.components import Component, components, patterns

LARGEST = 1 << 62
MOST_ENTRIES = 4_000_000
"""Entries of the matrices that are made of rows which share columns."""


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
    """Return the independent rows of a matrix and the others in terms of them.

    A row depends on earlier ones exactly when some relation between the rows ends with it: the reduced form
    of all relations, read from the last row on, has one for each.
    """
    rows = part.shape[0]
    relations = _relations(part)
    reduced, denominator, rank = fmpz_mat(_reversed(relations)).rref()
    last: list[int] = []
    for step in range(rank):
        start = last[-1] + 1 if last else 0
        last.append(next(j for j in range(start, rows) if reduced[step, j] != 0))
    combination: dict[int, dict[int, Fraction]] = {}
    for step, place in enumerate(last):
        entries = ((j, int(reduced[step, j])) for j in range(place + 1, rows))
        combination[rows - 1 - place] = {
            rows - 1 - j: Fraction(-entry, int(denominator)) for j, entry in entries if entry
        }
    return Echelon(
        kept=tuple(row for row in range(rows) if row not in combination),
        combination=dict(sorted(combination.items())),
    )


def _relations(part: csc_array) -> fmpz_mat:
    """Return integer vectors c that span {c : c A = 0}, one a row.

    c A = 0 exactly when c A A' = 0. Rows e that share no column make a diagonal D of A A'; with N = A_f A_e'
    for the others, c_e = -c_f N / D, and c_f is in the kernel of A_f A_f' - N N' / D, a matrix as small as
    there are others.
    """
    squares = int(np.abs(part.data).max(initial=0)) ** 2
    alone = _disjoint_rows(part) if squares * part.shape[1] < LARGEST else np.zeros(0, dtype=np.int64)
    others = np.setdiff1d(np.arange(part.shape[0]), alone)
    if others.size * part.shape[0] > MOST_ENTRIES:
        raise InvariantError(
            f"{part.shape[0]:,} invariants cross in more ways than can be told apart exactly: keep fewer"
            " margins or coarser attributes."
        )
    by_row = csr_array(part)
    first, second = csr_array(by_row[alone]), csr_array(by_row[others])
    diagonal = np.asarray((first * first).sum(axis=1), dtype=np.int64).ravel()
    common = lcm(*map(int, np.unique(diagonal)))
    scale = [common // int(entry) for entry in diagonal]
    across = to_flint((second @ first.T).toarray())
    weighted = fmpz_mat(
        others.size, alone.size, [entry * scale[k % alone.size] for k, entry in enumerate(across.entries())]
    )
    if squares * part.shape[1] < LARGEST:
        gram = to_flint((second @ second.T).toarray())
        kernel = _kernel(common * gram - weighted * across.transpose())
    else:
        kernel = _kernel(to_flint(second.toarray().T))
    inner = -(kernel * weighted)
    found = fmpz_mat(kernel.nrows(), part.shape[0])
    for step in range(kernel.nrows()):
        for place, row in enumerate(others.tolist()):
            found[step, row] = common * kernel[step, place]
        for place, row in enumerate(alone.tolist()):
            found[step, row] = inner[step, place]
    return found


def _kernel(matrix: fmpz_mat) -> fmpz_mat:
    """Return integer vectors that span {c : M c = 0}, one a row."""
    reduced, denominator, rank = matrix.rref()
    width = matrix.ncols()
    pivots: list[int] = []
    for step in range(rank):
        start = pivots[-1] + 1 if pivots else 0
        pivots.append(next(j for j in range(start, width) if reduced[step, j] != 0))
    free = sorted(set(range(width)) - set(pivots))
    kernel = fmpz_mat(len(free), width)
    for place, j in enumerate(free):
        kernel[place, j] = denominator
        for step, pivot in enumerate(pivots):
            kernel[place, pivot] = -reduced[step, j]
    return kernel


def _reversed(matrix: fmpz_mat) -> fmpz_mat:
    """Return a matrix with its columns in the other order."""
    entries = [row[::-1] for row in matrix.tolist()]
    return fmpz_mat(matrix.nrows(), matrix.ncols(), [entry for row in entries for entry in row])


def _disjoint_rows(part: csc_array) -> IntArray:
    """Return rows that share no column, many of them: short ones first."""
    by_row = csr_array(part)
    taken = np.zeros(part.shape[1], dtype=np.bool_)
    found = []
    for row in np.argsort(np.diff(by_row.indptr), kind="stable").tolist():
        columns = by_row.indices[by_row.indptr[row] : by_row.indptr[row + 1]]
        if columns.size and not taken[columns].any():
            taken[columns] = True
            found.append(row)
    return np.array(sorted(found), dtype=np.int64)
