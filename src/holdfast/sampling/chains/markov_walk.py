"""A walk over non-negative tables with fixed margins, by the moves of a Markov basis.

[diaconis1998, Section 2]: choose a move at random, go some way along it, and accept with probability
min(1, p(candidate) / p(state)); candidates outside the support are refused. The way is a double geometric
number, which is symmetric and gives every multiple of the move a chance. The walk reaches every table of
the support when the moves are a Markov basis; a basis of the lattice is not enough.
"""

from fractions import Fraction

import numpy as np

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.chains.jumps import Jumps
from holdfast.sampling.chains.kernel import Info, State, located, metropolis_step, started
from holdfast.sampling.chains.target import Target
from holdfast.sampling.decisions.floats import Floats
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.numbers.uniform import uniform_below


class MarkovWalk:
    """Chains that walk by ``moves``; ``jump`` is the rate kappa of P(k) prop. to exp(-kappa |k|).

    ``updates`` moves are tried in one step.
    """

    def __init__(self, moves: IntArray, target: Target, jump: Fraction, updates: int = 1) -> None:
        if not moves.any():
            raise ValueError("a walk needs a move")
        self.moves, self.target, self.updates = moves, target, updates
        self.jumps = Jumps(jump)
        self._widest = int(np.abs(moves).max())

    def init(self, points: IntArray) -> State:
        """Return the state at given tables, one chain a row."""
        return started(located(self.target, points))

    def start(self, chains: int, entropy: Entropy) -> State:  # noqa: ARG002 - the start is not random
        """Start at the centre."""
        return self.init(np.tile(self.target.centre, (chains, 1)))

    def propose(self, state: State, update: int, entropy: Entropy) -> State:  # noqa: ARG002 - all alike
        """Go some way along a random move."""
        chains = state.points.shape[0]
        return self.moved(state, self.choose(chains, entropy), self.jumps.sample(entropy, chains))

    def propose_pair(
        self,
        one: State,
        other: State,
        update: int,  # noqa: ARG002 - all alike
        entropy: Entropy,
    ) -> tuple[State, State]:
        """Take the same move for both, and aim at the multiples that bring them closest to each other."""
        moves = self.choose(one.statistic.size, entropy)
        along = np.einsum("ij,ij->i", one.points - other.points, moves)
        square = np.einsum("ij,ij->i", moves, moves)
        ahead = (2 * along + square) // (2 * square)  # rounded; exact where the difference is a multiple
        for_one, for_other = self.jumps.draw_pairs(ahead, entropy)
        return self.moved(one, moves, for_one), self.moved(other, moves, for_other)

    def choose(self, chains: int, entropy: Entropy) -> IntArray:
        """Return a uniform move for each chain."""
        return self.moves[uniform_below(np.full(chains, self.moves.shape[0], dtype=np.int64), entropy)]

    def moved(self, state: State, moves: IntArray, jumps: IntArray) -> State:
        """Return the candidates that given moves and multiples of them lead to."""
        if int(np.abs(jumps).max(initial=0)) * self._widest >= 2**62:
            raise OverflowError("a jump is beyond the range of 64-bit integers")
        return located(self.target, state.points + jumps[:, None] * moves)

    def log_ratio(self, state: State, candidate: State) -> Floats:
        """Return log p(candidate) - log p(state): moves and their multiples are symmetric."""
        ratio = self.target.log_prob(candidate.statistic) - self.target.log_prob(state.statistic)
        return np.where(candidate.inside, ratio, -np.inf)

    def step(self, state: State, entropy: Entropy) -> tuple[State, Info]:
        """Make one step of every chain."""
        return metropolis_step(self, state, entropy)
