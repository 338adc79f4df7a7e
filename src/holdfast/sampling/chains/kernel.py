"""What a kernel is: proposals, alone and coupled, and a ratio; and the Metropolis step that kernels share.

Many chains run side by side, one a row. A `State` is carried on; an `Info` is looked at and dropped. A
step is one or more updates; each proposes a candidate for every chain and decides by one word a chain,
so that two chains can share their words (`coupled_step`).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.chains.target import Target
from holdfast.sampling.decisions.floats import Flags, Floats, compare, uniforms
from holdfast.sampling.entropy import Entropy, Words


@dataclass(frozen=True, eq=False)
class State:
    """Where the chains are, or would go.

    Attributes:
        points: chains x cells.
        statistic: the target's statistic of each point.
        inside: whether each point is in the support; true in every state that is carried on.

    """

    points: IntArray
    statistic: IntArray
    inside: Flags

    def rows(self, which: Flags | IntArray) -> "State":
        """Return some of the chains."""
        return State(self.points[which], self.statistic[which], self.inside[which])


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
    def target(self) -> Target:
        """The law that the chains converge to."""
        ...

    @property
    def updates(self) -> int:
        """How many updates make one step."""
        ...

    def start(self, chains: int, entropy: Entropy) -> State:
        """Draw the initial states; their law is part of the total variation bound."""
        ...

    def propose(self, state: State, update: int, entropy: Entropy) -> State:
        """Draw a candidate for each chain."""
        ...

    def propose_pair(self, one: State, other: State, update: int, entropy: Entropy) -> tuple[State, State]:
        """Draw candidates for two sets of chains: each as ``propose`` does, equal as often as is possible.

        Chains at the same point get the same candidate.
        """
        ...

    def log_ratio(self, state: State, candidate: State) -> Floats:
        """Return the log of the Metropolis-Hastings ratio, minus infinity outside the support."""
        ...

    def step(self, state: State, entropy: Entropy) -> tuple[State, Info]:
        """Make one step of every chain."""
        ...


def located(target: Target, points: IntArray) -> State:
    """Return points with what the target says of them."""
    return State(points, target.statistic(points), target.inside(points))


def started(state: State) -> State:
    """Return a state unchanged once every chain is known to be in the support."""
    if not state.inside.all():
        raise ValueError("a chain starts outside the support of its target")
    return state


def decided(kernel: Kernel, state: State, candidate: State, words: Words) -> tuple[State, Flags]:
    """Accept each candidate with probability min(1, ratio), by the uniform number that its word is."""
    accepted = accept(kernel.log_ratio(state, candidate), words)
    return State(
        np.where(accepted[:, None], candidate.points, state.points),
        np.where(accepted, candidate.statistic, state.statistic),
        state.inside,
    ), accepted


def accept(log_ratio: Floats, words: Words) -> Flags:
    """Return u < exp(log_ratio) for the uniform u in (0, 1) that each word begins with."""
    if not (log_ratio < np.inf).all():  # catches NaN as well
        raise ArithmeticError("an acceptance ratio is not a number")
    return compare(uniforms(words), np.exp(np.minimum(log_ratio, 0)), 0.0)[0]


def metropolis_step(kernel: Kernel, state: State, entropy: Entropy) -> tuple[State, Info]:
    """Make all updates of one step."""
    count = np.zeros(state.statistic.size, dtype=np.int64)
    for update in range(kernel.updates):
        candidate = kernel.propose(state, update, entropy)
        state, accepted = decided(kernel, state, candidate, entropy.words(count.size))
        count += accepted
    return state, Info(count, kernel.updates)


def coupled_step(kernel: Kernel, one: State, other: State, entropy: Entropy) -> tuple[State, State]:
    """Make one step of two sets of chains, paired row by row [integer-subspace-dp, Algorithm 2].

    Candidates are coupled and decided by a common word, so chains that have met stay together.
    """
    for update in range(kernel.updates):
        for_one, for_other = kernel.propose_pair(one, other, update, entropy)
        words = entropy.words(one.statistic.size)
        one, _ = decided(kernel, one, for_one, words)
        other, _ = decided(kernel, other, for_other, words)
    return one, other


def run(kernel: Kernel, state: State, iterations: int, entropy: Entropy) -> State:
    """Return the state after a number of steps that was fixed beforehand."""
    for _ in range(iterations):
        state, _ = kernel.step(state, entropy)
    return state
