"""A walk over non-negative tables with fixed margins, by the moves of a Markov basis.

[diaconis1998, Section 2]: choose a move at random, go some way along it, and accept with probability
min(1, p(candidate) / p(state)); candidates outside the support are refused. The way is a double geometric
number, which is symmetric and gives every multiple of the move a chance. The walk reaches every table of
the support when the moves are a Markov basis; a basis of the lattice is not enough.
"""

from fractions import Fraction
from functools import cached_property

import numpy as np

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.sampling.chains.kernel import (
    CentredKernel,
    ChainState,
    ChainTarget,
    Info,
    located,
    metropolis_step,
)
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.numbers.exponential import DoubleGeometric, ExpCoin
from holdfast.sampling.numbers.uniform import uniform_below


class Jumps:
    """Double geometric jumps, P(e) prop. to exp(-rate |e|), alone or for two chains that are to meet.

    One chain's coordinate is ahead of the other's by s. With jumps J and J' of the law P(e) prop. to a^|e|,
    the two land on the same value when J' = J + s. Take J' = J + s with probability min(1, P(J + s) / P(J)),
    else J' = -J. Both outcomes leave the law of J' as it should be, because the law is symmetric and what is
    left of it on one side is the mirror image of the other; and no coupling lands on the same value more
    often [jacob2020]. The exponents are whole, so the coin is exact.
    """

    def __init__(self, rate: Fraction) -> None:
        self.rate = rate
        self._law = DoubleGeometric(rate)

    @cached_property
    def _coin(self) -> ExpCoin:
        return ExpCoin(self.rate)

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent jumps."""
        return self._law.sample(entropy, size)

    def draw_pairs(self, ahead: IntArray, entropy: Entropy) -> tuple[IntArray, IntArray]:
        """Return jumps for two chains, element by element, the first being ``ahead`` of the second."""
        one = self.sample(entropy, ahead.size).reshape(ahead.shape)
        same = one + ahead
        exponents = np.maximum(np.abs(same) - np.abs(one), 0)
        meets = self._coin.toss(exponents.ravel(), entropy).reshape(ahead.shape)
        return one, np.where(meets, same, -one)


class MarkovWalk(CentredKernel):
    """Chains that walk by ``moves``; ``jump`` is the rate kappa of P(k) prop. to exp(-kappa |k|).

    ``updates`` moves are tried in one step.
    """

    def __init__(self, moves: IntArray, target: ChainTarget, jump: Fraction, updates: int = 1) -> None:
        if not moves.any():
            raise ValueError("a walk needs a move")
        self.moves, self.target, self.updates = moves, target, updates
        self.jumps = Jumps(jump)
        self._widest = int(np.abs(moves).max())

    def propose(self, state: ChainState, update: int, entropy: Entropy) -> ChainState:  # noqa: ARG002 - all alike
        """Go some way along a random move."""
        chains = state.points.shape[0]
        return self.moved(state, self.choose(chains, entropy), self.jumps.sample(entropy, chains))

    def propose_pair(
        self,
        one: ChainState,
        other: ChainState,
        update: int,  # noqa: ARG002 - all alike
        entropy: Entropy,
    ) -> tuple[ChainState, ChainState]:
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

    def moved(self, state: ChainState, moves: IntArray, jumps: IntArray) -> ChainState:
        """Return the candidates that given moves and multiples of them lead to."""
        if int(np.abs(jumps).max(initial=0)) * self._widest >= 2**62:
            raise OverflowError("a jump is beyond the range of 64-bit integers")
        return located(self.target, state.points + jumps[:, None] * moves)

    def log_ratio(self, state: ChainState, candidate: ChainState) -> FloatArray:
        """Return log p(candidate) - log p(state): moves and their multiples are symmetric."""
        ratio = self.target.log_prob(candidate.statistic) - self.target.log_prob(state.statistic)
        return np.where(candidate.inside, ratio, -np.inf)

    def step(self, state: ChainState, entropy: Entropy) -> tuple[ChainState, Info]:
        """Make one step of every chain."""
        return metropolis_step(self, state, entropy)
