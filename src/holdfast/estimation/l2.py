"""The nearest table without negative counts: minimise ||y - v||_2 over real v that conform.

The minimum is attained at one point only, since the square of the distance is strictly convex and the set is
convex and closed: there are no ties. Nested rows have a closed form [holdfast, estimation/totals.py]; other
blocks with equalities go through their dual [holdfast, programs/quadratic.py]. All of it is right to about
nine digits. What is returned is the nearest point of the decimal grid, in l1, that keeps every invariant and
bound with exact equality: the solution is rounded as whole numerators by [holdfast, estimation/integers.py].
A cell moves by a unit or two of the last place in it.

This is the first step of the 2020 census's TopDown algorithm; whole numbers near it are the second
[congenial-dp, Section 4].
"""

import numpy as np

from holdfast.errors import DataError
from holdfast.estimation.conforming import Conforming, infeasible
from holdfast.estimation.fixed_point import FixedPoint
from holdfast.estimation.integers import integers_l1
from holdfast.estimation.totals import nearest_real
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.programs.quadratic import projection, shortest
from holdfast.programs.solver import UNBOUNDED, Sides, Status

PLACES = 6
DIGITS = 9
"""Decimal places that are told of the real solution: what is beyond is rounding, and differs by machine."""
NEAR = 2
"""How many units of the last place a cell may move in the rounding, where that suffices."""


def real_l2(counts: IntArray | FloatArray, conforming: Conforming) -> FloatArray:
    """Return the nearest conforming point in l2, to about nine decimal places."""
    if (conforming.least > conforming.most).any():
        raise infeasible()
    target = np.asarray(counts, dtype=np.float64)
    real = np.clip(target, conforming.least, conforming.most)
    groups, sums = conforming.groups()
    cells = groups.cells
    found = nearest_real(groups, sums, target[cells], conforming.least[cells], conforming.most[cells])
    if found is None:
        raise infeasible()
    real[cells] = found
    for tied, block in conforming.blocks():
        real[tied] = _nearest(target[tied], block)
    return np.asarray(np.round(real, DIGITS), dtype=np.float64)


def nonnegative_l2(
    counts: IntArray | FloatArray, conforming: Conforming, *, places: int = PLACES
) -> FixedPoint:
    """Return the conforming table of decimal fractions that is nearest to the counts in l2."""
    fixed = FixedPoint(np.zeros(0, dtype=np.int64), places)
    grid = conforming.times(fixed.scale)
    numerators = np.round(real_l2(counts, conforming) * fixed.scale, DIGITS - PLACES)
    near = grid.within(
        np.floor(numerators).astype(np.int64) - NEAR, np.ceil(numerators).astype(np.int64) + NEAR
    )
    try:
        return FixedPoint(integers_l1(numerators, near), places)
    except DataError:  # rows that are far from unimodular may need longer steps
        return FixedPoint(integers_l1(numerators, grid), places)


def _nearest(target: FloatArray, block: Conforming) -> FloatArray:
    """Return the nearest point of a block: by the dual where it has equalities only, else by a program."""
    if np.array_equal(block.low, block.high):
        most = np.where(block.most == UNBOUNDED, np.inf, block.most.astype(np.float64))
        found = projection(
            target, block.rows, block.low.astype(np.float64), block.least.astype(np.float64), most
        )
        if found is not None:
            return found
    return target + _shift(target, block)


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
