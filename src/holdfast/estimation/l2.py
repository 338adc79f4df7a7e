"""The nearest table without negative counts: minimise ||y - v||_2 over real v that conform.

The minimum is attained at one point only, since the square of the distance is strictly convex and the set is
convex and closed: there are no ties. The quadratic program is solved block by block, in the shifts v - y, to
about nine digits. What is returned is the nearest point of the decimal grid, in l1, that keeps
every invariant and bound with exact equality: the solution is rounded as whole numerators by
[holdfast, estimation/integers.py]. A cell moves by a unit or two of the last place in it.

This is the first step of the 2020 census's TopDown algorithm; whole numbers near it are the second
[congenial-dp, Section 4].
"""

import numpy as np

from holdfast.errors import DataError
from holdfast.estimation.conforming import Conforming, infeasible
from holdfast.estimation.fixed_point import FixedPoint
from holdfast.estimation.integers import integers_l1
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.programs.quadratic import shortest
from holdfast.programs.solver import Sides, Status

PLACES = 6
NEAR = 2
"""How many units of the last place a cell may move in the rounding, where that suffices."""


def nonnegative_l2(
    counts: IntArray | FloatArray, conforming: Conforming, *, places: int = PLACES
) -> FixedPoint:
    """Return the conforming table of decimal fractions that is nearest to the counts in l2."""
    if (conforming.least > conforming.most).any():
        raise infeasible()
    target = np.asarray(counts, dtype=np.float64)
    real = np.clip(target, conforming.least, conforming.most)
    for cells, block in conforming.blocks():
        real[cells] = target[cells] + _shift(target[cells], block)
    fixed = FixedPoint(np.zeros(0, dtype=np.int64), places)
    grid = conforming.times(fixed.scale)
    numerators = real * fixed.scale
    near = grid.within(
        np.floor(numerators).astype(np.int64) - NEAR, np.ceil(numerators).astype(np.int64) + NEAR
    )
    try:
        return FixedPoint(integers_l1(numerators, near), places)
    except DataError:  # rows that are far from unimodular may need longer steps
        return FixedPoint(integers_l1(numerators, grid), places)


def _shift(target: FloatArray, block: Conforming) -> FloatArray:
    """Return the shift u of least length with target + u in the block."""
    sums = block.rows @ target
    found = shortest(
        block.rows,
        Sides.of(block.low - sums, block.high - sums),
        Sides.of(block.least - target, block.most - target),
    )
    if found.status is Status.INFEASIBLE:
        raise infeasible()
    if found.values is None or found.status is not Status.SOLVED:
        raise DataError(
            "the nearest table is out of the solver's reach for these invariants: use the method integers-l1."
        )
    return found.values
