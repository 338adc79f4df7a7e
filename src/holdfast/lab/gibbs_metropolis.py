"""Metropolis on a lattice by double geometric jumps of basis coordinates.

[integer-subspace-dp, Algorithm 1]: write a point as centre + c V with V a basis of {u : A u = 0} and let
each coordinate of c jump by an independent double geometric number. The jump is symmetric, so a
candidate is accepted with probability min(1, p(candidate) / p(state)), and it never leaves the lattice.

The paper takes the last columns of V in the Smith normal form; a reduced basis makes shorter jumps that
are accepted more often. All coordinates jump at once (``joint``, the paper's simultaneous form), or one
after the other, each with its own decision (``sweep``).
"""

from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np

from holdfast.lab.product import product
from holdfast.lab.smith import smith_normal_form
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.kernel import reduced_basis
from holdfast.sampling.chains.kernel import (
    ChainState,
    Info,
    Jumps,
    LaplaceTarget,
    located,
    metropolis_step,
    started,
)
from holdfast.sampling.entropy import Entropy
from holdfast.system.errors import SamplingError

Scan = Literal["joint", "sweep"]
Basis = Literal["smith", "reduced"]


def lattice_basis(matrix: IntArray, kind: Basis = "reduced") -> IntArray:
    """Return a basis of {u : A u = 0} as rows; one beyond 64 bits raises OverflowError."""
    if kind == "reduced":
        return reduced_basis(matrix)
    return np.ascontiguousarray(smith_normal_form(matrix).kernel.T.astype(np.int64))


def dual_basis(basis: IntArray) -> IntArray:
    """Return whole W with basis W = 1, so that c = (c basis) W.

    In the Smith normal form U B V = (1 0): a basis of a kernel can be completed to one of all integer
    vectors. So B V_1 U = 1 with V_1 the first columns of V.
    """
    smith = smith_normal_form(basis)
    dual = smith.V[:, : smith.rank] @ smith.U
    return np.ascontiguousarray(dual.astype(np.int64))


class GibbsMetropolis:
    """Chains on centre + lattice; ``jump`` is the rate kappa of P(e) prop. to exp(-kappa |e|)."""

    def __init__(self, basis: IntArray, target: LaplaceTarget, jump: Fraction, scan: Scan = "joint") -> None:
        if scan == "sweep" and target.constraint is not None:
            raise SamplingError(
                "a sweep over lattice coordinates need not reach every table under a constraint: use the"
                " joint update, or a walk by a Markov basis."
            )
        self.basis, self.target, self.scan = basis, target, scan
        self.jumps = Jumps(jump)

    @property
    def updates(self) -> int:
        """One, or one for each coordinate."""
        return 1 if self.scan == "joint" else self.basis.shape[0]

    def init(self, coordinates: IntArray) -> ChainState:
        """Return the state at given coordinates, one chain a row."""
        return started(located(self.target, self.target.centre + product(coordinates, self.basis)))

    def start(self, chains: int, entropy: Entropy) -> ChainState:
        """Start with one jump from the centre, or at the centre where there is a constraint."""
        shape = (chains, self.basis.shape[0])
        if self.target.constraint is not None:
            return self.init(np.zeros(shape, dtype=np.int64))
        return self.init(self.jumps.sample(entropy, chains * shape[1]).reshape(shape))

    def propose(self, state: ChainState, update: int, entropy: Entropy) -> ChainState:
        """Let all coordinates jump, or the one that the sweep is at."""
        chains, moving = state.statistic.size, self.basis[self._moving(update)].shape[0]
        return self._jumped(
            state, update, self.jumps.sample(entropy, chains * moving).reshape(chains, moving)
        )

    def propose_pair(
        self, one: ChainState, other: ChainState, update: int, entropy: Entropy
    ) -> tuple[ChainState, ChainState]:
        """Let each coordinate land on the same value in both chains as often as is possible."""
        ahead = product(one.points - other.points, self._dual[:, self._moving(update)])
        for_one, for_other = self.jumps.draw_pairs(ahead, entropy)
        return self._jumped(one, update, for_one), self._jumped(other, update, for_other)

    def log_ratio(self, state: ChainState, candidate: ChainState) -> FloatArray:
        """Return log p(candidate) - log p(state): the jumps are symmetric."""
        ratio = self.target.log_prob(candidate.statistic) - self.target.log_prob(state.statistic)
        return np.where(candidate.inside, ratio, -np.inf)

    def step(self, state: ChainState, entropy: Entropy) -> tuple[ChainState, Info]:
        """Make one step of every chain."""
        return metropolis_step(self, state, entropy)

    @cached_property
    def _dual(self) -> IntArray:
        return dual_basis(self.basis)

    def _jumped(self, state: ChainState, update: int, jumps: IntArray) -> ChainState:
        return located(self.target, state.points + product(jumps, self.basis[self._moving(update)]))

    def _moving(self, update: int) -> slice:
        return slice(None) if self.scan == "joint" else slice(update, update + 1)
