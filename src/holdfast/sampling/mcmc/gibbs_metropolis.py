"""Metropolis on a lattice by double geometric jumps of basis coordinates.

[integer-subspace-dp, Algorithm 1]: write a point as centre + c V with V a basis of {u : A u = 0} and let
each coordinate of c jump by an independent double geometric number. The jump is symmetric, so a
candidate is accepted with probability min(1, p(candidate) / p(state)), and it never leaves the lattice.

The paper takes the last columns of V in the Smith normal form; a reduced basis makes shorter jumps that
are accepted more often. All coordinates jump at once (``joint``, the paper's simultaneous form), or one
after the other, each with its own decision (``sweep``).
"""

from fractions import Fraction
from typing import Literal

import numpy as np

from holdfast.errors import SamplingError
from holdfast.lattice.arrays import IntArray
from holdfast.lattice.kernel import reduced_basis
from holdfast.lattice.smith import smith_normal_form
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.exact.exponential import DoubleGeometric
from holdfast.sampling.exact.inversion import Integers
from holdfast.sampling.mcmc.kernel import Info, State, located, metropolis_step, product, started
from holdfast.sampling.mcmc.target import Floats, Target

Scan = Literal["joint", "sweep"]


def lattice_basis(matrix: IntArray, kind: Literal["smith", "reduced"] = "reduced") -> Integers:
    """Return a basis of {u : A u = 0} as rows; one beyond 64 bits raises OverflowError."""
    if kind == "reduced":
        return reduced_basis(matrix)
    return np.ascontiguousarray(smith_normal_form(matrix).kernel.T.astype(np.int64))


class GibbsMetropolis:
    """Chains on centre + lattice; ``jump`` is the rate kappa of P(e) prop. to exp(-kappa |e|)."""

    def __init__(self, basis: Integers, target: Target, jump: Fraction, scan: Scan = "joint") -> None:
        if scan == "sweep" and target.constrained:
            raise SamplingError(
                "a sweep over lattice coordinates need not reach every table under a constraint: use the"
                " joint update, or a walk by a Markov basis."
            )
        self.basis, self.target, self.jump, self.scan = basis, target, jump, scan
        self.law = DoubleGeometric(jump)

    @property
    def updates(self) -> int:
        """One, or one for each coordinate."""
        return 1 if self.scan == "joint" else self.basis.shape[0]

    def init(self, coordinates: Integers) -> State:
        """Return the state at given coordinates, one chain a row."""
        points = self.target.centre + product(coordinates, self.basis)
        return started(located(self.target, points, coordinates))

    def start(self, chains: int, entropy: Entropy) -> State:
        """Start with one jump from the centre, or at the centre where there is a constraint."""
        shape = (chains, self.basis.shape[0])
        if self.target.constrained:
            return self.init(np.zeros(shape, dtype=np.int64))
        return self.init(self.law.draw(entropy, chains * shape[1]).reshape(shape))

    def propose(self, state: State, update: int, entropy: Entropy) -> State:
        """Let all coordinates jump, or the one that the sweep is at."""
        chains, width = state.coordinates.shape
        moving = width if self.scan == "joint" else 1
        return self.jumped(state, update, self.law.draw(entropy, chains * moving).reshape(chains, moving))

    def jumped(self, state: State, update: int, jumps: Integers) -> State:
        """Return the candidates that given jumps of the moving coordinates lead to."""
        moving = self.moving(update)
        coordinates = state.coordinates.copy()
        coordinates[:, moving] += jumps
        return located(self.target, state.points + product(jumps, self.basis[moving]), coordinates)

    def moving(self, update: int) -> slice:
        """Return which coordinates an update moves."""
        return slice(None) if self.scan == "joint" else slice(update, update + 1)

    def log_ratio(self, state: State, candidate: State) -> Floats:
        """Return log p(candidate) - log p(state): the jumps are symmetric."""
        ratio = self.target.log_prob(candidate.statistic) - self.target.log_prob(state.statistic)
        return np.where(candidate.inside, ratio, -np.inf)

    def step(self, state: State, entropy: Entropy) -> tuple[State, Info]:
        """Make one step of every chain."""
        return metropolis_step(self, state, entropy)
