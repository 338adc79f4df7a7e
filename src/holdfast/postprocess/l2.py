"""The nearest table without negative counts: minimise ||y - v||_2 over real v that conform.

The minimum is attained at one point only, since the square of the distance is strictly convex and the set is
convex and closed: there are no ties. HiGHS solves the quadratic program block by block, in the shifts
v - y, to about nine digits. What is returned is the nearest point of the decimal grid, in l1, that keeps
every invariant and bound with exact equality: the solution is rounded as whole numerators by
[holdfast, postprocess/integers.py]. A cell moves by a unit or two of the last place in it.

This is the first step of the 2020 census's TopDown algorithm; whole numbers near it are the second
[congenial-dp, Section 4].
"""

import highspy
import numpy as np
from numpy.typing import NDArray

from holdfast.errors import DataError
from holdfast.postprocess.conforming import Conforming, infeasible
from holdfast.postprocess.fixed_point import FixedPoint
from holdfast.postprocess.integers import integers_l1
from holdfast.universe.program import UNBOUNDED

FloatArray = NDArray[np.float64]

PLACES = 6
NEAR = 2
"""How many units of the last place a cell may move in the rounding, where that suffices."""


def nonnegative_l2(
    counts: NDArray[np.int64] | FloatArray, conforming: Conforming, *, places: int = PLACES
) -> FixedPoint:
    """Return the conforming table of decimal fractions that is nearest to the counts in l2."""
    if (conforming.least > conforming.most).any():
        raise infeasible()
    target = np.asarray(counts, dtype=np.float64)
    real = np.clip(target, conforming.least, _floats(conforming.most))
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
    count = target.size
    sums = block.rows @ target
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = count, block.rows.shape[0]
    lp.col_cost_ = np.zeros(count)
    lp.col_lower_, lp.col_upper_ = block.least - target, _floats(block.most) - target
    lp.row_lower_, lp.row_upper_ = block.low - sums, _floats(block.high) - sums
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = block.rows.indptr.astype(np.int32)
    lp.a_matrix_.index_ = block.rows.indices.astype(np.int32)
    lp.a_matrix_.value_ = block.rows.data.astype(np.float64)
    hessian = highspy.HighsHessian()
    hessian.dim_, hessian.format_ = count, highspy.HessianFormat.kTriangular
    hessian.start_ = np.arange(count + 1, dtype=np.int32)
    hessian.index_ = np.arange(count, dtype=np.int32)
    hessian.value_ = np.ones(count)
    model = highspy.HighsModel()
    model.lp_, model.hessian_ = lp, hessian
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    for option, value in (
        ("output_flag", False),
        ("threads", 1),
        ("random_seed", 0),
        ("qp_regularization_value", 0.0),  # the objective is strictly convex as it is
    ):
        highs.setOptionValue(option, value)
    highs.passModel(model)
    highs.run()
    status = highs.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        raise infeasible()
    if status != highspy.HighsModelStatus.kOptimal:
        raise DataError(
            "the nearest table is out of the solver's reach for these invariants: use the method integers-l1."
        )
    return np.array(highs.getSolution().col_value)


def _floats(bound: NDArray[np.int64]) -> FloatArray:
    return np.where(bound == UNBOUNDED, highspy.kHighsInf, bound.astype(np.float64))
