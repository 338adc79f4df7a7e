"""Every kernel, coupled with itself: coupled proposals (maximally, but for rows) and a common word to decide.

Each chain alone moves by its kernel. Two chains at the same point get the same candidate and the same
decision, so once they have met they stay together.
"""

from functools import lru_cache

import numpy as np

from holdfast.sampling.coupling.jumps import coupled_jumps
from holdfast.sampling.coupling.rows import coupled_rows
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.exact.exponential import ExpCoin
from holdfast.sampling.mcmc.gibbs_metropolis import GibbsMetropolis
from holdfast.sampling.mcmc.independent import Independent
from holdfast.sampling.mcmc.kernel import Kernel, State, decided
from holdfast.sampling.mcmc.markov_walk import MarkovWalk
from holdfast.sampling.mcmc.row_pairs import RowPairs

_coin = lru_cache(maxsize=64)(ExpCoin)


def coupled_step(kernel: Kernel, one: State, other: State, entropy: Entropy) -> tuple[State, State]:
    """Make one step of two sets of chains, paired row by row [integer-subspace-dp, Algorithm 2]."""
    for update in range(kernel.updates):
        for_one, for_other = proposed_pair(kernel, one, other, update, entropy)
        words = entropy.words(one.statistic.size)
        one, _ = decided(kernel, one, for_one, words)
        other, _ = decided(kernel, other, for_other, words)
    return one, other


def proposed_pair(
    kernel: Kernel, one: State, other: State, update: int, entropy: Entropy
) -> tuple[State, State]:
    """Draw candidates for two sets of chains, equal as often as the kernel's coupling can make them."""
    if isinstance(kernel, GibbsMetropolis):
        return _by_coordinates(kernel, one, other, update, entropy)
    if isinstance(kernel, MarkovWalk):
        return _along_a_move(kernel, one, other, entropy)
    if isinstance(kernel, RowPairs):
        return coupled_rows(kernel, one, other, entropy)
    if isinstance(kernel, Independent):
        same = kernel.propose(one, update, entropy)  # it depends on neither state
        return same, same
    raise TypeError(f"no coupling is known for {type(kernel).__name__}")


def _by_coordinates(
    kernel: GibbsMetropolis, one: State, other: State, update: int, entropy: Entropy
) -> tuple[State, State]:
    moving = kernel.moving(update)
    ahead = one.coordinates[:, moving] - other.coordinates[:, moving]
    jumps = coupled_jumps(ahead, kernel.law, _coin(kernel.jump), entropy)
    return kernel.jumped(one, update, jumps[0]), kernel.jumped(other, update, jumps[1])


def _along_a_move(kernel: MarkovWalk, one: State, other: State, entropy: Entropy) -> tuple[State, State]:
    """Take the same move for both, and aim at the multiples that bring the chains closest to each other."""
    moves = kernel.choose(one.statistic.size, entropy)
    along = np.einsum("ij,ij->i", one.points - other.points, moves)
    square = np.einsum("ij,ij->i", moves, moves)
    ahead = (2 * along + square) // (2 * square)  # rounded; exact where the difference is a multiple
    jumps = coupled_jumps(ahead, kernel.law, _coin(kernel.jump), entropy)
    return kernel.moved(one, moves, jumps[0]), kernel.moved(other, moves, jumps[1])
