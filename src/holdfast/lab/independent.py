"""The Metropolised independent sampler under equalities and inequalities [congenial-dp, Algorithm 1].

Choose *free* cells I such that the columns of A outside I are independent. Draw z_I as independent double
geometric numbers of rate kappa, solve A z = 0 for the other cells, and accept centre + z with probability
min(1, w(candidate) / w(state)), w = p(y) 1(y in the support) / q(z_I). A solution that is not whole is
refused. No connectivity is needed: every point of the support can be proposed from everywhere.

Where kappa <= epsilon in the l1 law, w is largest at the centre. Scaled to w = 1 there, the chain's distance
from its target is at most (1 - E_q[w])^n after n steps [liu1996]; rejection by w with the same n proposals is
exact and fails with just that probability, so the chain is worth its while for kappa > epsilon only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.sparse import csr_array

from holdfast.lab.product import product
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.kernel import to_flint
from holdfast.lattice.rows import independent_rows
from holdfast.sampling.chains.kernel import ChainState, ChainTarget, Info, metropolis_step, started
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.numbers.exponential import DoubleGeometric
from holdfast.system.errors import SamplingError


@dataclass(frozen=True, eq=False)
class FreeCells:
    """z_solved = solve z_free / determinant, in whole numbers."""

    free: IntArray
    solved: IntArray
    solve: IntArray
    determinant: int


def free_cells(matrix: IntArray, free: Sequence[int] | None = None) -> FreeCells:
    """Solve A z = 0 for all cells but ``free``; by default for the first that can be solved for.

    Raises SamplingError where the given cells do not determine the others, or the others each other.
    """
    rows = matrix[independent_rows(csr_array(matrix))]
    cells = np.arange(matrix.shape[1])
    if free is None:
        form, _, rank = to_flint(rows).rref()
        pivots = [next(j for j in range(cells.size) if form[i, j] != 0) for i in range(rank)]
        solved = np.array(pivots, dtype=np.int64)
    else:
        solved = np.setdiff1d(cells, np.asarray(free, dtype=np.int64)).astype(np.int64)
    drawn = np.setdiff1d(cells, solved).astype(np.int64)
    if not solved.size and not rows.shape[0]:
        return FreeCells(drawn, solved, np.zeros((0, drawn.size), dtype=np.int64), 1)
    square = to_flint(rows[:, solved])
    determinant = int(square.det()) if solved.size == rows.shape[0] else 0
    if determinant == 0:
        raise SamplingError("the invariants cannot be solved for the cells that are not free: choose others.")
    # Cramer: adj(C) (-R z_free) / det(C), whole numbers throughout.
    exact = square.solve(to_flint(-rows[:, drawn])).tolist()
    whole = [[int(entry.p) * determinant // int(entry.q) for entry in row] for row in exact]
    return FreeCells(
        drawn, solved, np.array(whole, dtype=np.int64).reshape(solved.size, drawn.size), determinant
    )


class IndependentChain:
    """Chains whose candidates do not depend on the state; ``jump`` is the rate kappa."""

    updates = 1

    def __init__(self, cells: FreeCells, target: ChainTarget, jump: Fraction) -> None:
        self.cells, self.target, self.jump = cells, target, jump
        self.law = DoubleGeometric(jump)
        self._solve = np.ascontiguousarray(cells.solve.T)

    def init(self, coordinates: IntArray) -> ChainState:
        """Return the state whose free cells differ from the centre by ``coordinates``."""
        return started(self.completed(coordinates))

    def start(self, chains: int, entropy: Entropy) -> ChainState:  # noqa: ARG002 - the start is not random
        """Start at the centre."""
        return self.init(np.zeros((chains, self.cells.free.size), dtype=np.int64))

    def completed(self, coordinates: IntArray) -> ChainState:
        """Return the points with given free cells."""
        scaled = product(coordinates, self._solve)
        solution = scaled // self.cells.determinant
        whole = np.asarray((solution * self.cells.determinant == scaled).all(axis=1))
        points = np.tile(self.target.centre, (coordinates.shape[0], 1))
        points[:, self.cells.free] += coordinates
        points[:, self.cells.solved] += solution
        return ChainState(points, self.target.statistic(points), whole & self.target.inside(points))

    def propose(self, state: ChainState, update: int, entropy: Entropy) -> ChainState:  # noqa: ARG002 - one update
        """Draw the free cells and solve for the others."""
        shape = (state.statistic.size, self.cells.free.size)
        return self.completed(self.law.sample(entropy, shape[0] * shape[1]).reshape(shape))

    def propose_pair(
        self,
        one: ChainState,
        other: ChainState,  # noqa: ARG002 - a candidate depends on neither
        update: int,
        entropy: Entropy,
    ) -> tuple[ChainState, ChainState]:
        """Draw one candidate for both: it depends on neither state."""
        same = self.propose(one, update, entropy)
        return same, same

    def log_weight(self, state: ChainState) -> FloatArray:
        """Return log w = log p(y) - log q(z_I), up to one constant; minus infinity outside the support."""
        free = (state.points - self.target.centre)[:, self.cells.free]
        size = np.abs(free).sum(axis=1).astype(np.float64)
        weight = self.target.log_prob(state.statistic) + float(self.jump) * size
        return np.where(state.inside, weight, -np.inf)

    def log_ratio(self, state: ChainState, candidate: ChainState) -> FloatArray:
        """Return log w(candidate) - log w(state)."""
        return self.log_weight(candidate) - self.log_weight(state)

    def step(self, state: ChainState, entropy: Entropy) -> tuple[ChainState, Info]:
        """Make one step of every chain."""
        return metropolis_step(self, state, entropy)
