"""Rejection: proposals until enough are accepted.

What is accepted has the target's law, whatever the number of proposals made at once; only the first ones that
are needed are taken, so how many were asked for says nothing about them.
"""

from collections.abc import Callable
from math import sqrt
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.sampling.entropy import Entropy, SeededEntropy

NumberT = TypeVar("NumberT", bound=np.generic)
AT_ONCE, AT_MOST = 1 << 17, 1 << 20
"""Numbers proposed at once: enough of them, and a bound on memory."""
RARE = 1e-6
"""The share that is expected to be kept where a pilot kept none."""
SURE = 0.999
"""The share from which no more are proposed than are missing: a vector may be large."""
PILOT, FEW = 400, 4
"""Proposals of a pilot, made ten times more until so many are kept."""
TOGETHER = 64
"""How many proposals are worth a step, where few places are left."""


def first_accepted(
    attempt: Callable[[int], NDArray[NumberT]], size: int, *, chance: float, most: int
) -> NDArray[NumberT]:
    """Return the first ``size`` accepted ones of a long sequence of proposals.

    ``attempt(n)`` makes n proposals and returns those accepted, one a row: about a share ``chance`` of them,
    0 where that is not known. No more than ``most`` are made at once.
    """
    chance = chance or RARE
    kept: list[NDArray[NumberT]] = []
    missing = size
    while missing or not kept:
        likely = (missing + 3 * sqrt(missing * (1 - min(chance, 1.0)))) / chance + 8
        kept.append(attempt(int(min(missing if chance > SURE else likely, most)))[:missing])
        missing -= kept[-1].shape[0]
    return np.concatenate(kept) if len(kept) > 1 else kept[0]


def pilot_share(attempt: Callable[[int, Entropy], NDArray[NumberT]]) -> float:
    """Return the share of proposals that is kept, from a seeded pilot; 0 where it kept none."""
    entropy, tried, kept = SeededEntropy(0), 0, 0
    for size in (PILOT, 10 * PILOT, 100 * PILOT):
        kept += int(attempt(size, entropy).shape[0])
        tried += size
        if kept >= FEW:
            break
    return kept / tried


def rows_at_once(cells: int) -> int:
    """Return how many vectors of so many cells are proposed at once."""
    return max(AT_ONCE // max(1, cells), min(16, AT_MOST // max(1, cells)), 1)


def pilot_size(most: int, cells: int) -> int:
    """Return how many vectors of so many cells a pilot proposes: of large ones few tell enough."""
    return max(1, min(most, 20 * AT_ONCE // max(1, cells)))


def until_accepted(
    attempt: Callable[[IntArray], tuple[IntArray, BoolArray]], draws: IntArray, *, times: int = 1
) -> int:
    """Fill each place of ``draws`` with its first accepted proposal; return how many proposals that took.

    ``attempt(places)`` makes a proposal for each place, and says which are accepted. Once few places wait,
    each tries up to so many ``times`` at once, and its first success counts.
    """
    waiting, tries = np.arange(draws.shape[0]), 0
    while waiting.size:
        each = max(1, min(times, max(draws.shape[0], TOGETHER) // waiting.size))
        if each == 1:
            draws[waiting], accepted = attempt(waiting)
            tries += waiting.size
            waiting = waiting[~accepted]
            continue
        proposed, accepted = attempt(np.repeat(waiting, each))
        won = accepted.reshape(-1, each)
        first, some = won.argmax(axis=1), won.any(axis=1)
        draws[waiting[some]] = proposed[np.arange(0, accepted.size, each)[some] + first[some]]
        tries += int(np.where(some, first + 1, each).sum())
        waiting = waiting[~some]
    return tries
