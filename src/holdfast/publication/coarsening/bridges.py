"""No number is hidden alone: what every cheapest suppression has, by the sums that tables list.

Where a number is the sum of others, as a total is of its parts, and all but one of them are shown, the last
is known: to hide it loses a number and gains nothing. So in a cheapest suppression a number is hidden only
with another one of each such equation [fischetti2001].
"""

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.publication.coarsening.covers import Need
from holdfast.publication.tables import PublishedTables

MOST = 20_000
"""Equations that are looked at: more say little that is new."""


def bridges(tables: PublishedTables, primary: BoolArray, candidates: IntArray) -> list[Need]:
    """Return for each candidate in an equation that it is hidden with another one, or not at all."""
    numbers = tables.numbers
    place = np.full(numbers.low.size, -1, dtype=np.int64)
    place[candidates] = np.arange(candidates.size)
    exact = numbers.low == numbers.high
    needs: list[Need] = []
    for members in _equations(tables):
        if primary[members].any() or not exact[members].all():
            continue
        inside = place[members]
        inside = inside[inside >= 0]
        for one in inside.tolist():
            others = inside[inside != one]
            worth = np.concatenate([[-1], np.ones(others.size, dtype=np.int64)])
            needs.append(Need(np.concatenate([[one], others]), worth, 0))
        if len(needs) > MOST:
            break
    return needs


def _equations(tables: PublishedTables) -> list[IntArray]:
    """Return numbers of which the first is the sum of the others, where no margin lies between."""
    matrix = tables.numbers.matrix
    size = np.diff(matrix.indptr)
    rows = [np.flatnonzero(tables.margin == margin) for margin in range(len(tables.margins))]
    parts: dict[tuple[int, int], csr_array] = {}
    for coarse, mine in enumerate(rows):
        if mine.size == 0:
            continue
        across = csr_array(matrix[mine]).T.tocsr()
        for fine, theirs in enumerate(rows):
            if fine == coarse or theirs.size <= mine.size:
                continue
            common = csr_array(csr_array(matrix[theirs]) @ across)
            inside = csr_array(common.multiply(common == size[theirs][:, None]))
            if inside.nnz:
                parts[coarse, fine] = inside.T.tocsr()
    finer = set(parts)
    found = []
    for (coarse, fine), inside in parts.items():
        if any((coarse, other) in finer and (other, fine) in finer for other in range(len(rows))):
            continue
        for at in range(inside.shape[0]):
            members = inside.indices[inside.indptr[at] : inside.indptr[at + 1]]
            if int(size[rows[fine][members]].sum()) == int(size[rows[coarse][at]]):
                found.append(np.concatenate([[rows[coarse][at]], rows[fine][members]]))
    return found
