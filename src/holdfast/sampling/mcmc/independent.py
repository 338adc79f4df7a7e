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
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from holdfast.errors import SamplingError
from holdfast.lattice.arrays import IntArray, to_flint
from holdfast.lattice.rows import independent_rows
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.exact.exponential import DoubleGeometric
from holdfast.sampling.exact.inversion import Flags, Integers
from holdfast.sampling.mcmc.kernel import Info, State, metropolis_step, product, started
from holdfast.sampling.mcmc.target import Floats, Target


@dataclass(frozen=True, eq=False)
class FreeCells:
    """z_solved = solve z_free / determinant, in whole numbers."""

    free: Integers
    solved: Integers
    solve: Integers
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


class Independent:
    """Chains whose candidates do not depend on the state; ``jump`` is the rate kappa."""

    updates = 1

    def __init__(self, cells: FreeCells, target: Target, jump: Fraction) -> None:
        self.cells, self.target, self.jump = cells, target, jump
        self.law = DoubleGeometric(jump)
        self._solve = np.ascontiguousarray(cells.solve.T)

    def init(self, coordinates: Integers) -> State:
        """Return the state whose free cells differ from the centre by ``coordinates``."""
        return started(self.completed(coordinates))

    def start(self, chains: int, entropy: Entropy) -> State:  # noqa: ARG002 - the start is not random
        """Start at the centre."""
        return self.init(np.zeros((chains, self.cells.free.size), dtype=np.int64))

    def completed(self, coordinates: Integers) -> State:
        """Return the points with given free cells."""
        scaled = product(coordinates, self._solve)
        solution = scaled // self.cells.determinant
        whole: Flags = (solution * self.cells.determinant == scaled).all(axis=1)
        points = np.tile(self.target.centre, (coordinates.shape[0], 1))
        points[:, self.cells.free] += coordinates
        points[:, self.cells.solved] += solution
        return State(points, coordinates, self.target.statistic(points), whole & self.target.inside(points))

    def propose(self, state: State, update: int, entropy: Entropy) -> State:  # noqa: ARG002 - one update
        """Draw the free cells and solve for the others."""
        shape = state.coordinates.shape
        return self.completed(self.law.draw(entropy, shape[0] * shape[1]).reshape(shape))

    def log_weight(self, state: State) -> Floats:
        """Return log w = log p(y) - log q(z_I), up to one constant; minus infinity outside the support."""
        size = np.abs(state.coordinates).sum(axis=1).astype(np.float64)
        weight = self.target.log_prob(state.statistic) + float(self.jump) * size
        return np.where(state.inside, weight, -np.inf)

    def log_ratio(self, state: State, candidate: State) -> Floats:
        """Return log w(candidate) - log w(state)."""
        return self.log_weight(candidate) - self.log_weight(state)

    def step(self, state: State, entropy: Entropy) -> tuple[State, Info]:
        """Make one step of every chain."""
        return metropolis_step(self, state, entropy)


Criterion = Literal["sample size", "acceptance"]


@dataclass(frozen=True)
class Tuning:
    """A rate that was chosen from a grid, and what each rate of the grid promises.

    Attributes:
        jump: the rate.
        acceptance: the stationary acceptance E min(1, w(Y) / w(X)), X from p and Y from q.
        sample_size: (E_q w)^2 / E_q w^2, the effective share of independent draws with weights.

    """

    jump: Fraction
    acceptance: tuple[float, ...]
    sample_size: tuple[float, ...]


def tuned(
    cells: FreeCells,
    public: Target,
    grid: Sequence[Fraction],
    entropy: Entropy,
    *,
    by: Criterion = "sample size",
    draws: int = 100_000,
) -> Tuning:
    """Choose the best rate at a *public* stand-in for the confidential table.

    The paper takes the best acceptance. That favours rates far above epsilon, whose chains accept often and
    then stay for very long in the few points that are proposed too rarely; the sample size notices them.
    """
    rates = [_promise(Independent(cells, public, jump), entropy, draws) for jump in grid]
    acceptance, sample_size = zip(*rates, strict=True)
    if not any(acceptance):
        raise SamplingError("no rate of the grid makes a single proposal that the constraint allows.")
    best = int(np.argmax(sample_size if by == "sample size" else acceptance))
    return Tuning(grid[best], acceptance, sample_size)


def _promise(kernel: Independent, entropy: Entropy, draws: int) -> tuple[float, float]:
    """Estimate acceptance and sample size from the weights of independent proposals."""
    coordinates = kernel.law.draw(entropy, draws * kernel.cells.free.size).reshape(draws, -1)
    log_weight = np.sort(kernel.log_weight(kernel.completed(coordinates)))
    if log_weight[-1] == -np.inf:
        return 0.0, 0.0
    weight = np.exp(log_weight - log_weight[-1])
    # sum_ij min(w_i, w_j): ascending, the i-th is the smaller one in 2 (n - 1 - i) + 1 of its pairs
    pairs = 2 * np.arange(draws - 1, -1, -1, dtype=np.float64) + 1
    total = weight.sum()
    return float(weight @ pairs / (draws * total)), float(total**2 / (draws * (weight @ weight)))
