"""Published numbers that no table has together: whether there are any, and a smallest set of them."""

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.components import components, patterns
from holdfast.programs.hitting import implicit, minimal_cause
from holdfast.programs.solver import Program, Status
from holdfast.publication.bounds import ContradictionError, SumSystem, propagated, reduced
from holdfast.publication.intervals import Numbers
from holdfast.system.errors import GuaranteeError

ROUNDS = 200
"""Sets that are tried for a smallest conflict."""
MOST_CONFLICTS = 20
"""Conflicts that share no number, which are named."""
SMALLEST = 2_000
"""Numbers among which a smallest set is looked for; among more, one from which none can be left out."""


def point(numbers: Numbers) -> IntArray | None:
    """Return a table that has all of some numbers, None where there is none."""
    if numbers.low.size == 0:
        return np.zeros(numbers.matrix.shape[1], dtype=np.int64)
    kinds = patterns(numbers.matrix)
    try:
        tight = propagated(SumSystem.of(kinds.columns, numbers.low, numbers.high))
    except ContradictionError:
        return None
    inner = reduced(tight)
    found = tight.least.copy()
    for block in components(inner.sums.matrix):
        part = inner.sums.part(block.rows, block.cells)
        if block.rows.size == 0:
            continue
        outcome = Program(part.matrix, part.low, part.high, most=part.most, least=part.least).solve()
        if outcome.status is Status.INFEASIBLE:
            return None
        if outcome.point is None:
            raise GuaranteeError(
                "it could not be decided whether any table has all these numbers: audit fewer of them."
            )
        found[inner.columns[block.cells]] = outcome.point
    cells = np.zeros(kinds.of_cell.size, dtype=np.int64)
    first = np.unique(kinds.of_cell, return_index=True)[1]
    cells[first] = found
    return cells


def conflicts(numbers: Numbers) -> Iterator[tuple[IntArray, bool]]:
    """Yield sets of numbers that no table has together, and whether no set is smaller; no two share one."""
    left = np.arange(numbers.low.size)
    for _ in range(MOST_CONFLICTS):
        some = numbers.some(left)
        if point(some) is not None:
            return
        found, smallest = _smallest(some)
        yield left[found], smallest
        left = np.delete(left, found)


def _smallest(numbers: Numbers) -> tuple[IntArray, bool]:
    """Return a smallest set of numbers that no table has, or one from which none can be left out."""
    minimal = minimal_cause(numbers.low.size, lambda rows: point(numbers.some(rows)) is None)
    if numbers.low.size > SMALLEST or minimal.size <= 2:
        return minimal, minimal.size <= 2 and _no_single(numbers, minimal)
    matrix = numbers.matrix

    def extend(rows: IntArray) -> IntArray | None:
        """Return what a largest set with a table leaves out, around some numbers."""
        table = point(numbers.some(rows))
        if table is None:
            return None
        inside = np.zeros(numbers.low.size, dtype=np.bool_)
        inside[rows] = True
        tried = inside.copy()
        while True:
            sums = matrix @ table
            inside |= (sums >= numbers.low) & (sums <= numbers.high)
            tried |= inside
            if tried.all():
                return np.flatnonzero(~inside)
            one = int(np.flatnonzero(~tried)[0])
            tried[one] = True
            more = np.append(np.flatnonzero(inside), one)
            larger = point(numbers.some(more))
            if larger is not None:
                table = larger

    found = implicit(np.ones(numbers.low.size, dtype=np.int64), extend, rounds=ROUNDS)
    if found.elements is None:
        return minimal, found.bound >= minimal.size
    return found.elements, True


def _no_single(numbers: Numbers, minimal: IntArray) -> bool:
    """Whether no number is impossible by itself, or the one that was found is."""
    if minimal.size == 1:
        return True
    size = np.diff(numbers.matrix.indptr)
    return not bool(((size == 0) & (numbers.low > 0)).any())


def within(numbers: Numbers, cell: csr_array, low: int, high: int) -> Numbers:
    """Return the numbers with one more: that a sum is between two."""
    from scipy.sparse import vstack  # noqa: PLC0415 - beside its only use

    return Numbers(
        csr_array(vstack([numbers.matrix, cell], format="csr")),
        np.append(numbers.low, low),
        np.append(numbers.high, high),
    )
