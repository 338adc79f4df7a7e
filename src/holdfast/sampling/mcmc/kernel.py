"""What a kernel is: proposals and a ratio; and the Metropolis step that all kernels share.

Many chains run side by side, one a row. A `State` is carried on; an `Info` is looked at and dropped. A
step is one or more updates; each proposes a candidate for every chain and decides by one word a chain,
so that two chains can share their words (see coupling).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from holdfast.sampling.entropy import Entropy, Words
from holdfast.sampling.exact.inversion import Flags, Integers
from holdfast.sampling.mcmc.target import Floats, Target


@dataclass(frozen=True, eq=False)
class State:
    """Where the chains are, or would go.

    Attributes:
        points: chains x cells.
        coordinates: chains x k, what the kernel's proposals are made of; k may be 0.
        statistic: the target's statistic of each point.
        inside: whether each point is in the support; true in every state that is carried on.

    """

    points: Integers
    coordinates: Integers
    statistic: Integers
    inside: Flags

    def rows(self, which: Flags | Integers) -> "State":
        """Return some of the chains."""
        return State(self.points[which], self.coordinates[which], self.statistic[which], self.inside[which])


@dataclass(frozen=True, eq=False)
class Info:
    """What happened in one step: how many of its updates each chain accepted.

    Where the target depends on data, so does this: it is for studies, not for publishing.
    """

    accepted: Integers
    updates: int


class Kernel(Protocol):
    """A transition that leaves its target invariant."""

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

    def log_ratio(self, state: State, candidate: State) -> Floats:
        """Return the log of the Metropolis-Hastings ratio, minus infinity outside the support."""
        ...

    def step(self, state: State, entropy: Entropy) -> tuple[State, Info]:
        """Make one step of every chain."""
        ...


def located(target: Target, points: Integers, coordinates: Integers) -> State:
    """Return points with what the target says of them."""
    return State(points, coordinates, target.statistic(points), target.inside(points))


def started(state: State) -> State:
    """Return a state unchanged once every chain is known to be in the support."""
    if not state.inside.all():
        raise ValueError("a chain starts outside the support of its target")
    return state


def decided(kernel: Kernel, state: State, candidate: State, words: Words) -> tuple[State, Flags]:
    """Accept each candidate with probability min(1, ratio), by the uniform number that its word is."""
    accepted = accept(kernel.log_ratio(state, candidate), words)
    rows = accepted[:, None]
    return State(
        np.where(rows, candidate.points, state.points),
        np.where(rows, candidate.coordinates, state.coordinates),
        np.where(accepted, candidate.statistic, state.statistic),
        state.inside,
    ), accepted


def accept(log_ratio: Floats, words: Words) -> Flags:
    """Return u < exp(log_ratio) for the uniform u in (0, 1) that each word begins with."""
    if not (log_ratio < np.inf).all():  # catches NaN as well
        raise ArithmeticError("an acceptance ratio is not a number")
    uniform = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    return np.asarray(uniform < np.exp(np.minimum(log_ratio, 0)))


def metropolis_step(kernel: Kernel, state: State, entropy: Entropy) -> tuple[State, Info]:
    """Make all updates of one step."""
    count = np.zeros(state.statistic.size, dtype=np.int64)
    for update in range(kernel.updates):
        candidate = kernel.propose(state, update, entropy)
        state, accepted = decided(kernel, state, candidate, entropy.words(count.size))
        count += accepted
    return state, Info(count, kernel.updates)


def run(kernel: Kernel, state: State, iterations: int, entropy: Entropy) -> State:
    """Return the state after a number of steps that was fixed beforehand."""
    for _ in range(iterations):
        state, _ = kernel.step(state, entropy)
    return state


def product(coefficients: Integers, vectors: Integers) -> Integers:
    """Return coefficients @ vectors, raising where 64 bits might not hold it."""
    widest = int(np.abs(vectors).sum(axis=0).max(initial=0))
    largest = int(np.abs(coefficients).max(initial=0)) * widest
    if largest >= 2**62:
        raise OverflowError("a jump is beyond the range of 64-bit integers")
    if largest < 2**53:  # floats are exact there, and fast
        return (coefficients.astype(np.float64) @ vectors.astype(np.float64)).astype(np.int64)
    return coefficients @ vectors
