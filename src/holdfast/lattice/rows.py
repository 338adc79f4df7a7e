"""Which rows of an integer matrix say something new, exactly over the rationals.

The relations c A = 0 between rows answer it: in their reduced form each ends with a row that depends on the
rows before it, and says how. A A' has the same relations, as c A A' c' = ||c A||^2; rows that are nested, as
the totals of a geography are, are eliminated from it at once, so that margins of many thousand rows are no
more work than those they cross.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from flint import fmpz_mat
from scipy.sparse import csc_array, csr_array, vstack

from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.lattice.components import Component, components, patterns
from holdfast.lattice.kernel import to_flint
from holdfast.lattice.nested import Nested, RowCombination
from holdfast.system.errors import InvariantError

LARGEST = 1 << 62
FEW = 8
"""Relations that are reduced one by one."""
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


def in_row_space(matrix: csr_array, queries: csr_array) -> BoolArray:
    """Return, for each query, whether it is a rational combination of the rows of a full-rank matrix."""
    rank, count = matrix.shape[0], queries.shape[0]

    def kept(rows: csr_array) -> BoolArray:
        independent = independent_rows(csr_array(vstack([matrix, rows], format="csr")))
        mask = np.zeros(rows.shape[0], dtype=np.bool_)
        mask[independent[independent >= rank] - rank] = True
        return mask

    inside = ~kept(queries) if count else np.ones(0, dtype=np.bool_)
    if not inside.all():
        # a row after an independent one may lean on that: ask such rows alone
        first = int(np.argmin(inside))
        for i in np.flatnonzero(inside[first:]) + first:
            inside[i] = not kept(csr_array(queries[[i]])).any()
    return inside


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
            common = lcm(*(weight.denominator for weight in terms.values()))
            found = (
                weight.numerator * (common // weight.denominator) * int(values[other])
                for other, weight in terms.items()
            )
            if sum(found) != common * int(values[row]):
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
        if (cover := Nested.of(block).cover) is not None:
            weights |= dict.fromkeys(component.rows[cover].tolist(), Fraction(1))
            continue
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
    rows, relations = part.shape[0], _relations(part)
    few = len(relations) <= FEW or len(relations) * rows > MOST_ENTRIES
    combination = _reduced_sparse(relations) if few else _reduced_dense(relations, rows)
    return Echelon(
        kept=tuple(row for row in range(rows) if row not in combination),
        combination=dict(sorted(combination.items())),
    )


def _reduced_dense(relations: list[RowCombination], rows: int) -> dict[int, dict[int, Fraction]]:
    """Return the last row of each reduced relation in terms of the rows that no relation ends with."""
    matrix = fmpz_mat(len(relations), rows)
    for step, relation in enumerate(relations):
        for row, entry in relation.items():
            matrix[step, rows - 1 - row] = entry
    reduced, denominator, rank = matrix.rref()
    combination: dict[int, dict[int, Fraction]] = {}
    place = -1
    for step in range(rank):
        place = next(j for j in range(place + 1, rows) if reduced[step, j] != 0)
        entries = ((j, int(reduced[step, j])) for j in range(place + 1, rows))
        combination[rows - 1 - place] = {
            rows - 1 - j: Fraction(-entry, int(denominator)) for j, entry in entries if entry
        }
    return combination


def _reduced_sparse(relations: list[RowCombination]) -> dict[int, dict[int, Fraction]]:
    """Return what `_reduced_dense` does: of few relations, or many with few entries, as nested rows have."""
    last: dict[int, dict[int, Fraction]] = {}
    for relation in sorted(relations, key=len):
        left = {row: Fraction(entry) for row, entry in relation.items() if entry}
        while left and (end := max(left)) in last:
            _replace(left, end, last[end])
        if left:
            scale = -left.pop(end)
            last[end] = {row: entry / scale for row, entry in left.items()}
    for end in sorted(last):
        for row in [row for row in last[end] if row in last]:
            _replace(last[end], row, last[row])
    return last


def _replace(terms: dict[int, Fraction], row: int, by: Mapping[int, Fraction]) -> None:
    """Write some terms without a row that is a sum of others."""
    times = terms.pop(row)
    for other, entry in by.items():
        terms[other] = terms.get(other, Fraction(0)) + times * entry
        if not terms[other]:
            del terms[other]


def _relations(part: csc_array) -> list[RowCombination]:
    """Return integer vectors c that span {c : c A = 0}.

    c A = 0 exactly when c A A' = 0. Take a family of nested rows. What each has beyond those inside of it are
    its own *parts* e, which share no column, so they make a diagonal D of A A'; a row without such a part is
    the sum of those next inside. With N = A_f A_e' for the rows f that are left, c_e = -c_f N / D, and c_f is
    in the kernel of A_f A_f' - N N' / D, a matrix as small as there are such rows.
    """
    squares = int(np.abs(part.data).max(initial=0)) ** 2
    small = squares * part.shape[1] < LARGEST
    nested = Nested.of(part) if small else Nested.none(part)
    left, parts = np.flatnonzero(~nested.taken), nested.parts
    if left.size * (left.size + parts.size) > MOST_ENTRIES:
        raise InvariantError(
            f"{part.shape[0]:,} invariants cross in more ways than can be told apart exactly: keep fewer"
            " margins or coarser attributes."
        )
    without = np.setdiff1d(np.flatnonzero(nested.taken), parts)
    found = [nested.beyond(row) for row in without.tolist()]
    if not left.size:
        return found
    crossing, own = csr_array(csr_array(part)[left]), nested.own
    diagonal = np.asarray((own * own).sum(axis=0), dtype=np.int64).ravel()
    common = lcm(*map(int, np.unique(diagonal)))
    scale = [common // int(entry) for entry in diagonal]
    across = to_flint((crossing @ own).toarray())
    weighted = across
    if max(scale, default=1) > 1:
        entries = [entry * scale[k % parts.size] for k, entry in enumerate(across.entries())]
        weighted = fmpz_mat(left.size, parts.size, entries)
    if small:
        gram = to_flint((crossing @ crossing.T).toarray())
        kernel = _kernel(common * gram - weighted * across.transpose())
    else:
        kernel = _kernel(to_flint(crossing.toarray().T))
    inner = -(kernel * weighted)
    for step in range(kernel.nrows()):
        relation: RowCombination = {row: common * int(kernel[step, k]) for k, row in enumerate(left.tolist())}
        for place, row in enumerate(parts.tolist()):
            if times := int(inner[step, place]):
                for other, sign in nested.beyond(row).items():
                    relation[other] = relation.get(other, 0) + times * sign
        found.append({row: entry for row, entry in relation.items() if entry})
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
