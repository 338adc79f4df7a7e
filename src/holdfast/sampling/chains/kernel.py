"""What a kernel and its target are, the Metropolis step that kernels share, and the law of a chain.

A *target* is a law known up to its constant, and where it lives. A *kernel* proposes, alone and coupled, and
has a ratio. Many chains run side by side, one a row. A `ChainState` is carried on; an `Info` is looked at and
dropped. A step is one or more updates; each proposes a candidate for every chain and decides by one word a
chain, so that two chains can share their words (`coupled_step`).

**The walk** over non-negative tables with fixed margins by the moves of a Markov basis
[diaconis1998, Section 2]: choose a move at random, go some way along it, and accept with probability
min(1, p(candidate) / p(state)); candidates outside the support are refused. The way is a double geometric
number, which is symmetric and gives every multiple of the move a chance. The walk reaches every table of
the support when the moves are a Markov basis; a basis of the lattice is not enough.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray, WordArray
from holdfast.sampling.decisions import compare, uniforms
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.lattice.laplace import LaplaceNorm
from holdfast.sampling.numbers.exponential import DoubleGeometric, ExpCoin
from holdfast.sampling.numbers.uniform import uniform_below

SupportTest = Callable[[IntArray], BoolArray]
"""Tells for each row whether it may be released."""


class ChainTarget(Protocol):
    """A law on integer vectors that depends on a point through one integer."""

    @property
    def centre(self) -> IntArray:
        """A point of the support, where chains may start."""

    def statistic(self, points: IntArray) -> IntArray:
        """Return the integer that decides each row's probability."""

    def inside(self, points: IntArray) -> BoolArray:
        """Return whether each row is in the support."""

    def log_prob(self, statistic: IntArray) -> FloatArray:
        """Return the log probability for each value of the statistic, up to one constant."""


@dataclass(frozen=True, eq=False)
class LaplaceTarget:
    """p(y) prop. to exp(-epsilon ||y - centre||), restricted to what a constraint allows.

    Centred at zero without a constraint this is the noise of [integer-subspace-dp, Definition 9]; centred
    at a table x with y >= 0 it is the truncated law of [congenial-dp, Theorem 2.1], whose constant depends
    on x. The statistic is ||y - centre||_1, or ||y - centre||_2^2 for the l2 norm.
    """

    epsilon: Fraction
    centre: IntArray = field(repr=False)
    norm: LaplaceNorm = "l1"
    constraint: SupportTest | None = None

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise ValueError("epsilon must be positive")
        if not self.inside(self.centre[None]).all():
            raise ValueError("the centre does not keep the constraint")

    def statistic(self, points: IntArray) -> IntArray:
        """Return ||y - centre||_1 or ||y - centre||_2^2 of each row."""
        size = np.abs(points - self.centre)
        largest = int(size.max(initial=0))
        if points.shape[1] * (largest if self.norm == "l1" else largest**2) >= 2**62:
            raise OverflowError("a chain has left the range of 64-bit integers")
        found: IntArray = size.sum(axis=1) if self.norm == "l1" else np.einsum("ij,ij->i", size, size)
        return found

    def inside(self, points: IntArray) -> BoolArray:
        """Return whether each row keeps the constraint."""
        if self.constraint is None:
            return np.ones(points.shape[0], dtype=np.bool_)
        return self.constraint(points)

    def log_prob(self, statistic: IntArray) -> FloatArray:
        """Return -epsilon ||y - centre||."""
        size = statistic.astype(np.float64)
        return -float(self.epsilon) * (size if self.norm == "l1" else np.sqrt(size))


def non_negative(points: IntArray) -> BoolArray:
    """Tell which rows have no negative entry: the constraint y >= 0."""
    return np.asarray(points.min(axis=1, initial=0) >= 0)


@dataclass(frozen=True, eq=False)
class ChainState:
    """Where the chains are, or would go.

    Attributes:
        points: chains x cells.
        statistic: the target's statistic of each point.
        inside: whether each point is in the support; true in every state that is carried on.

    """

    points: IntArray
    statistic: IntArray
    inside: BoolArray

    def rows(self, which: BoolArray | IntArray) -> "ChainState":
        """Return some of the chains."""
        return ChainState(self.points[which], self.statistic[which], self.inside[which])


@dataclass(frozen=True, eq=False)
class Info:
    """What happened in one step: how many of its updates each chain accepted.

    Where the target depends on data, so does this: it is for studies, not for publishing.
    """

    accepted: IntArray
    updates: int


class Kernel(Protocol):
    """A transition that leaves its target invariant."""

    @property
    def target(self) -> ChainTarget:
        """The law that the chains converge to."""

    @property
    def updates(self) -> int:
        """How many updates make one step."""

    def start(self, chains: int, entropy: Entropy) -> ChainState:
        """Draw the initial states; their law is part of the total variation bound."""

    def propose(self, state: ChainState, update: int, entropy: Entropy) -> ChainState:
        """Draw a candidate for each chain."""

    def propose_pair(
        self, one: ChainState, other: ChainState, update: int, entropy: Entropy
    ) -> tuple[ChainState, ChainState]:
        """Draw candidates for two sets of chains: each as ``propose`` does, equal as often as is possible.

        Chains at the same point get the same candidate.
        """

    def log_ratio(self, state: ChainState, candidate: ChainState) -> FloatArray:
        """Return the log of the Metropolis-Hastings ratio, minus infinity outside the support."""

    def step(self, state: ChainState, entropy: Entropy) -> tuple[ChainState, Info]:
        """Make one step of every chain."""


class CentredKernel:
    """A kernel whose chains start at the centre of its target."""

    target: ChainTarget

    def init(self, points: IntArray) -> ChainState:
        """Return the state at given tables, one chain a row."""
        return started(located(self.target, points))

    def start(self, chains: int, entropy: Entropy) -> ChainState:  # noqa: ARG002 - the start is not random
        """Start at the centre."""
        return self.init(np.tile(self.target.centre, (chains, 1)))


def located(target: ChainTarget, points: IntArray) -> ChainState:
    """Return points with what the target says of them."""
    return ChainState(points, target.statistic(points), target.inside(points))


def started(state: ChainState) -> ChainState:
    """Return a state unchanged once every chain is known to be in the support."""
    if not state.inside.all():
        raise ValueError("a chain starts outside the support of its target")
    return state


def decided(
    kernel: Kernel, state: ChainState, candidate: ChainState, words: WordArray
) -> tuple[ChainState, BoolArray]:
    """Accept each candidate with probability min(1, ratio), by the uniform number that its word is."""
    accepted = accept(kernel.log_ratio(state, candidate), words)
    return ChainState(
        np.where(accepted[:, None], candidate.points, state.points),
        np.where(accepted, candidate.statistic, state.statistic),
        state.inside,
    ), accepted


def accept(log_ratio: FloatArray, words: WordArray) -> BoolArray:
    """Return u < exp(log_ratio) for the uniform u in (0, 1) that each word begins with."""
    if not (log_ratio < np.inf).all():  # catches NaN as well
        raise ArithmeticError("an acceptance ratio is not a number")
    return compare(uniforms(words), np.exp(np.minimum(log_ratio, 0)), 0.0)[0]


def metropolis_step(kernel: Kernel, state: ChainState, entropy: Entropy) -> tuple[ChainState, Info]:
    """Make all updates of one step."""
    count = np.zeros(state.statistic.size, dtype=np.int64)
    for update in range(kernel.updates):
        candidate = kernel.propose(state, update, entropy)
        state, accepted = decided(kernel, state, candidate, entropy.words(count.size))
        count += accepted
    return state, Info(count, kernel.updates)


def coupled_step(
    kernel: Kernel, one: ChainState, other: ChainState, entropy: Entropy
) -> tuple[ChainState, ChainState]:
    """Make one step of two sets of chains, paired row by row [integer-subspace-dp, Algorithm 2].

    Candidates are coupled and decided by a common word, so chains that have met stay together.
    """
    for update in range(kernel.updates):
        for_one, for_other = kernel.propose_pair(one, other, update, entropy)
        words = entropy.words(one.statistic.size)
        one, _ = decided(kernel, one, for_one, words)
        other, _ = decided(kernel, other, for_other, words)
    return one, other


def run(kernel: Kernel, state: ChainState, iterations: int, entropy: Entropy) -> ChainState:
    """Return the state after a number of steps that was fixed beforehand."""
    for _ in range(iterations):
        state, _ = kernel.step(state, entropy)
    return state


@dataclass(frozen=True, eq=False)
class ChainLaw:
    """The law of a chain after ``iterations`` steps, fixed beforehand, from its kernel's own start."""

    kernel: Kernel
    iterations: int

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return the ends of ``size`` independent chains, one a row."""
        return run(self.kernel, self.kernel.start(size, entropy), self.iterations, entropy).points

    def log_prob(self, points: IntArray) -> FloatArray:
        """Return the log probability of each row under the target, up to one constant."""
        target = self.kernel.target
        return np.where(target.inside(points), target.log_prob(target.statistic(points)), -np.inf)


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
