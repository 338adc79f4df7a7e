"""A law by a Markov chain of fixed length, for where no exact draw exists.

The number of steps is fixed beforehand, so that it tells nothing of the target; the time of a step may. What
the draws have is not the target but a law some total variation distance from it, and whoever uses them has to
pay for that [theory, 6].

How far the chain is from its target is estimated by coupling with a lag [biswas2019], at public stand-ins for
the confidential table: meeting times of the confidential chain would depend on it. **A bound at a stand-in
proves nothing for another table.** Taking the worst of several stand-ins, also extreme ones (all records in
few cells, where chains move least), makes it more plausible, not proved; whoever states a guarantee has to
say that it is assumed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import SamplingError
from holdfast.lattice.arrays import IntArray
from holdfast.sampling.chains.bound import METHOD, iterations_for, least_bound, runs_for, tv_bound
from holdfast.sampling.chains.kernel import Kernel, run
from holdfast.sampling.chains.meeting import MeetingTimes, meeting_times
from holdfast.sampling.entropy import Entropy

SPARE = 1.6
"""How much longer chains run than the first runs suggest."""
MOST_RUNS = 50_000
PILOTS = 100
"""Pairs of chains that are run first, to choose a lag."""


@dataclass(frozen=True, eq=False)
class ChainLaw:
    """The law of a chain after ``iterations`` steps from its kernel's own start."""

    kernel: Kernel
    iterations: int

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return the ends of ``size`` independent chains, one a row."""
        return run(self.kernel, self.kernel.start(size, entropy), self.iterations, entropy).points

    def log_prob(self, points: IntArray) -> NDArray[np.float64]:
        """Return the log probability of each row under the target, up to one constant."""
        target = self.kernel.target
        return np.where(target.inside(points), target.log_prob(target.statistic(points)), -np.inf)


@dataclass(frozen=True)
class ChainLength:
    """How long chains run, and how far they then are from their targets at the stand-ins.

    Attributes:
        iterations: the number of steps, fixed before the confidential table is read.
        distance: an upper confidence limit of the total variation distance, the worst of all stand-ins.
        confidence: the level at which the limits of all stand-ins hold together.
        stand_ins: how many tables were tried.
        runs: how many pairs of chains were run at each.
        lag: by how many steps one chain of a pair is ahead of the other, the largest of all stand-ins.
        method: how the limits were made.

    """

    iterations: int
    distance: float
    confidence: float
    stand_ins: int
    runs: int
    lag: int
    method: str = METHOD


def chain_length(
    stand_ins: Sequence[Kernel],
    *,
    distance: float,
    max_iterations: int,
    entropy: Entropy,
    lag: int | None = None,
    runs: int | None = None,
    confidence: float = 0.99,
) -> ChainLength:
    """Return a length at which chains at every stand-in are at most ``distance`` from their targets.

    Each stand-in is a kernel whose target is centred at a *public* table. Their errors add up to 1 -
    ``confidence``. Where they are not given, ``runs`` follows from the distance and the confidence, and is
    doubled while it cannot show the distance; ``lag`` follows from pairs of chains run beforehand. Raises
    SamplingError where the runs cannot show such a distance.
    """
    if not stand_ins:
        raise SamplingError("the length of a chain is found at public tables: name at least one stand-in.")
    if not 0 < distance < 1:
        raise SamplingError(f"a distance of {distance:g} is not between 0 and 1: ask for another one.")
    each = 1 - (1 - confidence) / len(stand_ins)
    number = runs_for(distance, each) if runs is None else runs
    if runs is None:
        _require_few(number, distance)
    lags = [_lag(kernel, max_iterations, entropy) if lag is None else lag for kernel in stand_ins]

    def meetings(number: int) -> list[MeetingTimes]:
        return [
            meeting_times(kernel, lag=lag, runs=number, max_iterations=max_iterations, entropy=entropy)
            for kernel, lag in zip(stand_ins, lags, strict=True)
        ]

    found = meetings(number)
    while runs is None and max(least_bound(met, each) for met in found) > distance:
        number *= 2  # the last pairs take longer than was allowed for
        _require_few(number, distance)
        found = meetings(number)
    # a length that these runs suggest, with something to spare, is then shown by runs that did not choose it
    iterations = ceil(SPARE * max(iterations_for(distance, met, each) for met in found))
    worst = max(tv_bound(met, iterations, each).upper for met in meetings(number))
    if worst > distance:
        raise SamplingError(
            f"chains of {iterations} steps were not shown to be within {distance:.1e} of their laws, but only"
            f" within {worst:.1e}: ask for a larger distance, or use more runs."
        )
    return ChainLength(iterations, worst, confidence, len(stand_ins), number, max(lags))


def _require_few(runs: int, distance: float) -> None:
    if runs > MOST_RUNS:
        raise SamplingError(
            f"to show a distance of {distance:.1e} takes {runs:,} pairs of chains at each public table, more"
            f" than {MOST_RUNS:,}: ask for a larger delta, or draw exactly."
        )


def _lag(kernel: Kernel, max_iterations: int, entropy: Entropy) -> int:
    """Return a lag in which nine pairs of ten have met: few of the others are apart for much longer."""
    pilots = meeting_times(kernel, lag=1, runs=PILOTS, max_iterations=max_iterations, entropy=entropy)
    pilots.require_all()  # before many more are run
    return int(np.quantile(pilots.times - 1, 0.9, method="higher"))
