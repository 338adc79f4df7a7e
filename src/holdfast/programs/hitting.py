"""The cheapest set that meets all of a family, where the family is only known by asking.

Many questions of this kind are monotone: if a set is enough, so is every larger one. Then whatever a set that
is not enough could be extended to without being enough leaves out elements, of which every set that is enough
has one. The cheapest set that meets all such leavings known so far is a lower bound; when it is enough, it is
the answer [ignatiev2015].
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.programs.solver import UNBOUNDED, Program, Status

Extend = Callable[[IntArray], IntArray | None]
"""Takes a set; returns None where it is enough, else elements outside of it of which one is needed."""


@dataclass(frozen=True, eq=False)
class Hitting:
    """The elements found, what they cost, a cost below which no set is enough, and all that must be met.

    ``elements`` is None where none was found in as many rounds as were allowed.
    """

    elements: IntArray | None
    bound: int
    needed: tuple[IntArray, ...]

    @property
    def optimal(self) -> bool:
        """Whether no set that is enough costs less."""
        return self.elements is not None


def cheapest(costs: IntArray, sets: Sequence[IntArray]) -> tuple[IntArray, bool]:
    """Return the elements of least cost that meet each of some sets, and whether that is proved."""
    if not sets:
        return np.zeros(0, dtype=np.int64), True
    row = np.repeat(np.arange(len(sets)), [one.size for one in sets])
    matrix = csr_array(
        (np.ones(row.size, dtype=np.int64), (row, np.concatenate(sets))), shape=(len(sets), costs.size)
    )
    ones = np.ones(len(sets), dtype=np.int64)
    program = Program(matrix, ones, np.full(len(sets), UNBOUNDED), most=np.ones(costs.size, dtype=np.int64))
    found = program.solve(maximise=-costs)
    if found.point is None:
        return np.unique(np.concatenate([one[:1] for one in sets])), False
    return np.flatnonzero(found.point), found.status is Status.SOLVED


def implicit(costs: IntArray, extend: Extend, *, rounds: int, needed: Sequence[IntArray] = ()) -> Hitting:
    """Return the cheapest set that is enough, or a lower bound on its cost after so many rounds."""
    sets = list(needed)
    bound = 0
    for _ in range(rounds):
        elements, proved = cheapest(costs, sets)
        if proved:
            bound = max(bound, int(costs[elements].sum()))
        more = extend(elements)
        if more is None:
            return Hitting(elements if proved else None, bound, tuple(sets))
        if more.size == 0:
            return Hitting(None, UNBOUNDED, tuple(sets))  # nothing is enough
        sets.append(more)
    return Hitting(None, bound, tuple(sets))


def minimal_cause(count: int, enough: Callable[[IntArray], bool]) -> IntArray:
    """Return elements that are enough, none of which can be left out: halves are tried first [junker2004]."""

    def cause(base: IntArray, fresh: bool, rest: IntArray) -> IntArray:
        if fresh and enough(base):
            return rest[:0]
        if rest.size == 1:
            return rest
        half = rest.size // 2
        first, second = rest[:half], rest[half:]
        of_second = cause(np.concatenate([base, first]), True, second)
        of_first = cause(np.concatenate([base, of_second]), of_second.size > 0, first)
        return np.concatenate([of_first, of_second])

    every = np.arange(count)
    return np.sort(cause(every[:0], False, every)) if count else every
