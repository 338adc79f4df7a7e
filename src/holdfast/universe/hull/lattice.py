"""Where noise with the norm of a hull lives: on the integer points of the span of the moves.

The span may be smaller than {z : A z = 0}. Noise then leaves some sums w x exactly as they are, beside the
invariants. That tells nothing where w x is the same for every conforming table, as for a cell that the
invariants and x >= 0 force to 0. Otherwise it would publish more than the invariants, and is refused: the
number of records, for one, where no invariant fixes it.
"""

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.errors import GuaranteeError
from holdfast.lattice.arrays import IntArray
from holdfast.lattice.kernel import integer_kernel
from holdfast.lattice.rows import independent_rows
from holdfast.programs.integer import Program
from holdfast.programs.solver import UNBOUNDED, Status
from holdfast.universe.capacity import capacities
from holdfast.universe.hull.moves import Moves
from holdfast.universe.universe import Universe


def span_matrix(universe: Universe, moves: Moves) -> csr_array:
    """Return a full-rank integer matrix whose kernel is the span of the moves: A, and what else they keep.

    Raises GuaranteeError where the moves keep a sum that differs between conforming tables.
    """
    basis = moves.basis
    if basis.shape[0] == universe.dimension:
        return universe.matrix
    still = np.flatnonzero(~basis.any(axis=0))
    possible = still[capacities(universe)[universe.patterns.of_cell[still]] != 0]
    cells = csr_array(np.eye(universe.cells, dtype=np.int64))
    _require_constant(universe, cells[possible].toarray())
    # without the entries of the cells that stay, the invariants tie the others alone
    rest = universe.matrix.toarray()
    rest[:, still] = 0
    matrix = csr_array(vstack([cells[still], csr_array(rest)], format="csr"))
    kept = independent_rows(matrix)
    if kept.size < universe.cells - basis.shape[0]:
        further = integer_kernel(basis)
        _require_constant(universe, further)
        matrix = csr_array(vstack([matrix, csr_array(further)], format="csr"))
        kept = independent_rows(matrix)
    return csr_array(matrix[kept])


def _require_constant(universe: Universe, rows: IntArray) -> None:
    """Raise unless each row w has one value w x on all conforming tables."""
    most = np.full(universe.cells, UNBOUNDED)
    program = Program(universe.matrix, universe.values, universe.values, most=most)
    if not all(_constant(program, row) for row in rows):
        raise GuaranteeError(
            "k-norm noise would publish more than the invariants here, since tables that few records apart"
            " always agree in some other sum, such as the number of records: make that sum an invariant,"
            ' or set name = "lattice-laplace" in [mechanism].'
        )


def _constant(program: Program, row: IntArray) -> bool:
    """Whether w x is largest and smallest at the same value."""
    ends = []
    for sign in (1, -1):
        outcome = program.solve(maximise=sign * row)
        if outcome.status is not Status.SOLVED or outcome.point is None:
            return False
        ends.append(int(row @ outcome.point))
    return ends[0] == ends[1]
