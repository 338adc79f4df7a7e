"""The same programs by another road: all residuals are variables of one program that HiGHS solves."""

from collections.abc import Sequence
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_array, csc_array, csr_array, eye_array, kron, vstack

from holdfast.estimation.hierarchy.level import LevelQuery

Real = NDArray[np.float64]


def optimum(
    queries: Sequence[tuple[LevelQuery, Real]],
    parent: NDArray[np.int64],
    *,
    invariants: csr_array | None = None,
    values: NDArray[np.int64] | None = None,
    low: NDArray[np.int64] | None = None,
    high: Real | None = None,
    ranges: csr_array | None = None,
    least: Real | None = None,
    most: Real | None = None,
) -> float:
    """Return the least sum of squares over the children of a parent."""
    count, cells = queries[0][1].shape[0], parent.size
    every = eye_array(count)
    rows = [csr_array(kron(np.ones((1, count)), eye_array(cells)))]
    sides: list[tuple[NDArray[Any], NDArray[Any]]] = [(parent, parent)]
    if invariants is not None and values is not None:
        rows.append(csr_array(kron(every, invariants)))
        sides.append((values.ravel(), values.ravel()))
    if ranges is not None and least is not None and most is not None:
        rows.append(csr_array(kron(every, ranges)))
        sides.append((least.ravel(), most.ravel()))
    return least_squares(
        csr_array(vstack([kron(every, query.matrix) for query, _ in queries])),
        np.concatenate([answers.ravel() for _, answers in queries]),
        np.concatenate([np.full(answers.size, query.weight) for query, answers in queries]),
        csr_array(vstack(rows)),
        np.concatenate([1.0 * low for low, _ in sides]),
        np.concatenate([1.0 * high for _, high in sides]),
        np.zeros(count * cells) if low is None else low.ravel().astype(np.float64),
        np.full(count * cells, np.inf) if high is None else high.ravel(),
    )


def least_squares(
    asked: csr_array,
    answers: Real,
    weights: Real,
    rows: csr_array,
    least: Real,
    most: Real,
    low: Real,
    high: Real,
) -> float:
    """Return the least sum of squares, by variables x and e = W x - v at the cost of w e^2."""
    return solution(asked, answers, weights, rows, least, most, low, high)[1]


def solution(
    asked: csr_array,
    answers: Real,
    weights: Real,
    rows: csr_array,
    least: Real,
    most: Real,
    low: Real,
    high: Real,
) -> tuple[Real, float]:
    """Return the point as well."""
    errors, cells = asked.shape
    blocks: list[list[Any]] = [[asked, -eye_array(errors)], [rows, csr_array((rows.shape[0], errors))]]
    matrix = csc_array(block_array(blocks))
    model = highspy.HighsModel()
    lp = model.lp_
    lp.num_row_, lp.num_col_ = matrix.shape
    lp.col_cost_ = np.zeros(cells + errors)
    lp.col_lower_ = np.concatenate([low, np.full(errors, -np.inf)])
    lp.col_upper_ = np.concatenate([high, np.full(errors, np.inf)])
    lp.row_lower_, lp.row_upper_ = np.concatenate([answers, least]), np.concatenate([answers, most])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    model.hessian_.dim_, model.hessian_.format_ = cells + errors, highspy.HessianFormat.kTriangular
    model.hessian_.start_ = np.concatenate([np.zeros(cells), np.arange(errors + 1)]).astype(np.int32)
    model.hessian_.index_ = (cells + np.arange(errors)).astype(np.int32)
    model.hessian_.value_ = 2 * weights
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("qp_regularization_value", 0.0)
    solver.passModel(model)
    solver.run()
    assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    point = np.array(solver.getSolution().col_value[:cells])
    return point, float(solver.getInfo().objective_function_value)
