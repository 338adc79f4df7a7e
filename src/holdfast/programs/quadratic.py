"""The shortest vector that keeps some rows and bounds: a strictly convex quadratic program, in floats."""

from scipy.sparse import csr_array

from holdfast.programs.solver import Model, Sides, Solution


def shortest(matrix: csr_array, rows: Sides, columns: Sides) -> Solution:
    """Return the v of least ||v||_2 with bounds on M v and on v, to about nine digits."""
    # the objective is strictly convex as it is
    return Model(matrix, rows, columns, squares=True, qp_regularization_value=0.0).run()
