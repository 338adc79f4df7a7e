"""Shortest vectors that keep some rows and bounds: strictly convex quadratic programs, in floats.

**By the dual.** The point nearest to y with M v = t and l <= v <= u is v = clip(y + M^T p, l, u) for prices p
that maximise a concave function whose gradient is t - M v. It is piecewise quadratic, with the second
derivative -M D M^T, D being 1 for the cells that are between their bounds: Newton steps of shrinking length
end at the maximum, after few of them [qi2006]. Only a small sparse system is solved in each.
"""

from collections.abc import Callable

import numpy as np
from scipy.sparse import csc_array, csr_array, diags_array

from holdfast.lattice.arrays import FloatArray
from holdfast.programs.solver import Model, Sides, Solution

STEPS, HALVINGS = 200, 12
SLOPE = 1e-4
"""The part of the expected gain that a step must reach."""
RIDGES = (1e-10, 1e-6, 1e-3, 1.0)
"""What is added to a system that may be singular, relative to its size: more where a step does not help."""
TOLERANCE, LOOSE = 1e-13, 1e-11
"""How far sums may be off, relative to what is added up; the second where floats allow no better."""


def shortest(matrix: csr_array, rows: Sides, columns: Sides) -> Solution:
    """Return the v of least ||v||_2 with bounds on M v and on v, to about nine digits."""
    # the objective is strictly convex as it is
    return Model(matrix, rows, columns, squares=True, qp_regularization_value=0.0).run()


def least(
    cost: FloatArray, squares: csr_array, matrix: csr_array, rows: Sides, columns: Sides
) -> tuple[Solution, FloatArray]:
    """Return the v of least cost v + v^T H v / 2 with bounds on M v and on v, and the prices of the rows.

    H is positive definite.
    """
    model = Model(matrix, rows, columns, cost=cost, squares=squares, qp_regularization_value=0.0)
    return model.run(), model.prices()


def projection(
    point: FloatArray, matrix: csr_array, values: FloatArray, low: FloatArray, high: FloatArray
) -> FloatArray | None:
    """Return the v nearest to a point with M v = values and low <= v <= high; None where no step helps."""
    from scipy.sparse.linalg import splu  # noqa: PLC0415 - loaded late

    matrix = csr_array(matrix.astype(np.float64))
    transposed, sizes = csr_array(matrix.T), abs(matrix)
    prices = np.zeros(matrix.shape[0])

    def at(prices: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return the value of the dual function, its point and its gradient."""
        shift = transposed @ prices
        near = np.clip(point + shift, low, high)
        gradient = values - matrix @ near
        move = near - point
        return float(0.5 * (move @ move) + prices @ gradient), near, gradient

    found = at(prices)
    for _ in range(STEPS):
        value, near, gradient = found
        off = np.abs(gradient) / (1 + np.abs(values) + sizes @ np.abs(near))
        if off.max(initial=0.0) <= TOLERANCE:
            return near
        moving = ((near > low) & (near < high)).astype(np.float64)
        system = csc_array(matrix @ diags_array(moving) @ transposed)
        scale = max(float(system.diagonal().max(initial=0.0)), 1.0)
        for ridge in RIDGES:
            damped = csc_array(system + ridge * scale * diags_array(np.ones(prices.size)))
            step = splu(damped, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}).solve(gradient)
            length = _length(at, prices, step, value, gradient)
            if length:
                break
        else:
            return near if off.max() <= LOOSE else None
        prices = prices + length * step
        found = at(prices)
    return None


def _length(
    at: Callable[[FloatArray], tuple[float, FloatArray, FloatArray]],
    prices: FloatArray,
    step: FloatArray,
    value: float,
    gradient: FloatArray,
) -> float:
    """Return how much of a step to take, 0 where no part of it helps."""
    gain, length = float(step @ gradient), 1.0
    for _ in range(HALVINGS):
        reached, _, left = at(prices + length * step)
        # where rounding hides the gain, the gradient tells
        if reached > value + SLOPE * length * gain or np.abs(left).max() <= 0.5 * np.abs(gradient).max():
            return length
        length /= 2
    return 0.0
