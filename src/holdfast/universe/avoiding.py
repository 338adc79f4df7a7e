"""Tables that meet none of a list of demands, found by branching [theory, 2].

A table that meets all demands of a row is excluded in every way: it lacks the first demand, or has that
and lacks the second, and so on. A row with one demand that is not forced yet caps that one at once.
"""

from collections.abc import Callable

import numpy as np

from holdfast.lattice.arrays import IntArray
from holdfast.programs.integer import Outcome, Program
from holdfast.programs.solver import Status
from holdfast.universe.compensators import Supports

UNKNOWN = Outcome(Status.UNKNOWN)


def avoiding(
    program: Program, sets: Supports, least: IntArray, most: IntArray, spend: Callable[[int], bool]
) -> Outcome:
    """Return a point of the program within bounds that meets no row of demands.

    ``spend`` is told the number of rows before each solve, and says whether the work limit leaves room for
    it: where it does not, the answer is UNKNOWN.
    """
    open_, outcome = [(least, most)], Outcome(Status.INFEASIBLE)
    while open_:
        least, most = open_.pop()
        capped = sets.capped(least, most)
        if (least > capped).any():
            continue
        if not spend(sets.place.shape[0]):
            return UNKNOWN
        found = program.solve(
            least={z: int(least[z]) for z in np.flatnonzero(least).tolist()},
            most=dict(enumerate(capped.tolist())),
        )
        if found.point is None:
            outcome = outcome if found.status is Status.INFEASIBLE else UNKNOWN
            continue
        inside = sets.first_within(found.point, least, capped)
        if inside is None:
            return found
        for z, times in inside:
            lacking = capped.copy()
            lacking[z] = min(lacking[z], times - 1)
            open_.append((least.copy(), lacking))
            least[z] = max(least[z], times)
    return outcome
