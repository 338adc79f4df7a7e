"""What a kernel and its target are, the Metropolis step that kernels share, and the law of a chain.

A *target* is a law known up to its constant, and where it lives. A *kernel* proposes, alone and coupled, and
has a ratio. Many chains run side by side, one a row. A `ChainState` is carried on; an `Info` is looked at and
dropped. A step is one or more updates; each proposes a candidate for every chain and decides by one word a
chain, so that two chains can share their words (`coupled_step`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray, WordArray
from holdfast.sampling.decisions import compare, uniforms
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.lattice.laplace import LaplaceNorm

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
