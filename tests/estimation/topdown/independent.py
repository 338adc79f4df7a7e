"""The same programs by another road: all residuals are variables of one program that HiGHS solves."""

from collections.abc import Sequence
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_array, csc_array, csr_array, eye_array, kron

from holdfast.estimation.topdown.general import Query

Real = NDArray[np.float64]


def optimum(
    queries: Sequence[tuple[Query, Real]],
    parent: NDArray[np.int64],
    *,
    invariants: csr_array | None = None,
    values: NDArray[np.int64] | None = None,
    low: NDArray[np.int64] | None = None,
    high: Real | None = None,
) -> float:
    """Return the least sum of squares, by variables x and e = W x - v at the cost of w e^2."""
    count, cells = queries[0][1].shape[0], parent.size
    own = [kron(eye_array(count), query.matrix) for query, _ in queries]
    answers = [answer.ravel() for _, answer in queries]
    weights = np.concatenate([np.full(answer.size, query.weight) for query, answer in queries])
    asked = csr_array(np.vstack([each.toarray() for each in own]))
    sums = csr_array(kron(np.ones((1, count)), eye_array(cells)))
    residual = -eye_array(asked.shape[0])
    blocks: list[list[Any]] = [[asked, residual], [sums, None]]
    sides = [*answers, parent.astype(np.float64)]
    if invariants is not None and values is not None:
        blocks.append([kron(eye_array(count), invariants), None])
        sides.append(values.ravel().astype(np.float64))
    matrix = csc_array(block_array(blocks))
    side = np.concatenate(sides)
    model = highspy.HighsModel()
    lp = model.lp_
    lp.num_row_, lp.num_col_ = matrix.shape
    inner = count * cells
    errors = asked.shape[0]
    lp.col_cost_ = np.zeros(inner + errors)
    floor = np.zeros(inner) if low is None else low.ravel().astype(np.float64)
    roof = np.full(inner, np.inf) if high is None else high.ravel()
    lp.col_lower_ = np.concatenate([floor, np.full(errors, -np.inf)])
    lp.col_upper_ = np.concatenate([roof, np.full(errors, np.inf)])
    lp.row_lower_ = lp.row_upper_ = side
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    model.hessian_.dim_, model.hessian_.format_ = inner + errors, highspy.HessianFormat.kTriangular
    model.hessian_.start_ = np.concatenate([np.zeros(inner), np.arange(errors + 1)]).astype(np.int32)
    model.hessian_.index_ = (inner + np.arange(errors)).astype(np.int32)
    model.hessian_.value_ = 2 * weights
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("qp_regularization_value", 0.0)
    solver.passModel(model)
    solver.run()
    assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return float(solver.getInfo().objective_function_value)
