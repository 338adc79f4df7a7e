"""Linear programs in floats: what comes back is a suggestion, to be checked by whoever asked."""

from scipy.sparse import csr_array

from holdfast.lattice.arrays import FloatArray
from holdfast.programs.solver import Model, Sides, Status


def suggest(cost: FloatArray, matrix: csr_array, rows: Sides, columns: Sides) -> FloatArray | None:
    """Return a vertex v with the least cost v that keeps the bounds on M v and on v, None without one."""
    found = Model(matrix, rows, columns, cost=cost, solver="simplex").run()
    return found.values if found.status is Status.SOLVED else None
