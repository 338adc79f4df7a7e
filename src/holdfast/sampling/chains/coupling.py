"""How far chains of fixed length are from their targets, by coupling with a lag [biswas2019].

What a chain draws is not from its target but from a law some total variation distance from it, and whoever
uses it has to pay for that [theory, 6]. The number of steps is fixed beforehand, so that it tells nothing of
the target; the time of a step may.

Pairs of coupled chains meet (`meeting_times`), the times bound the distance (`tv_bound`), and the bound fixes
a length (`chain_length`): at public stand-ins for the confidential table, as meeting times of the
confidential chain would depend on it. **A bound at a stand-in proves nothing for another table.** Taking the
worst of several stand-ins, also extreme ones (all records in few cells, where chains move least), makes it
more plausible, not proved; whoever states a guarantee has to say that it is assumed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf, log, log1p, sqrt

import numpy as np
from scipy.special import betaincinv, ndtri

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.chains.kernel import Kernel, coupled_step, run
from holdfast.sampling.entropy import Entropy
from holdfast.system.errors import SamplingError

UNMET = -1


@dataclass(frozen=True, eq=False)
class MeetingTimes:
    """Independent meeting times, UNMET where two chains were still apart after ``max_iterations``.

    Where the target depends on data, so do they: fix the length of a run by a public stand-in.
    """

    lag: int
    times: IntArray
    max_iterations: int

    @property
    def runs(self) -> int:
        """How many pairs of chains were run."""
        return int(self.times.size)

    @property
    def unmet(self) -> int:
        """How many pairs did not meet."""
        return int((self.times == UNMET).sum())

    def require_all(self) -> None:
        """Raise SamplingError unless every pair has met."""
        if self.unmet:
            raise SamplingError(
                f"{self.unmet} of {self.runs} pairs of chains did not meet in {self.max_iterations}"
                " iterations: allow more iterations."
            )


def meeting_times(
    kernel: Kernel, *, lag: int, runs: int, max_iterations: int, entropy: Entropy
) -> MeetingTimes:
    """Run pairs of chains from the kernel's own start until they meet, at most ``max_iterations`` steps.

    [biswas2019, Algorithm 1]: let one chain make L steps alone, then couple it with a second one, started
    independently. The meeting time is tau = min{t > L : X_t = Y_(t-L)}.
    """
    if lag < 1 or runs < 1 or max_iterations <= lag:
        raise ValueError("a lag and a number of runs are at least 1, and more steps than the lag are needed")
    lead, follow = kernel.start(runs, entropy), kernel.start(runs, entropy)
    lead = run(kernel, lead, lag, entropy)
    times = np.full(runs, UNMET, dtype=np.int64)
    apart = np.arange(runs)
    for t in range(lag + 1, max_iterations + 1):
        lead, follow = coupled_step(kernel, lead, follow, entropy)
        met = (lead.points == follow.points).all(axis=1)
        if met.any():
            times[apart[met]] = t
            apart, lead, follow = apart[~met], lead.rows(~met), follow.rows(~met)
            if not apart.size:
                break
    return MeetingTimes(lag, times, max_iterations)


ENOUGH = 30
SPARE_RUNS = 2
"""How many times the fewest runs that could show a bound: for a mean excess of up to about two lags."""
METHOD = (
    "lag coupling of chains: share of pairs still apart (Clopper-Pearson) times their mean excess (larger of"
    " the normal and the geometric limit), assumed not to grow further out"
)


@dataclass(frozen=True)
class TvBound:
    """An estimated upper bound of the total variation distance after ``iterations`` steps.

    Attributes:
        iterations: how long the chain runs.
        estimate: the empirical mean of the theorem's bound; at most 1.
        upper: its upper confidence limit; at most 1, or infinite where some pair did not meet.
        confidence: the one-sided level of ``upper``.
        lag: L.
        runs: the number of pairs of chains.
        method: how the limit was made.

    """

    iterations: int
    estimate: float
    upper: float
    confidence: float
    lag: int
    runs: int
    method: str = METHOD


def tv_bound(meetings: MeetingTimes, iterations: int, confidence: float = 0.99) -> TvBound:
    """Return the bound after ``iterations`` steps with its limit; infinite when a pair has not met.

    [biswas2019, Theorem 2.5]: d_TV(law after l steps, target) <= E[f], f = max(0, ceil((tau - L - l) / L)).
    Far out almost every f is 0, and an average of zeros proves nothing. So the limit is a product,

        E[f] = P(f > 0) E[f | f > 0] <= p e,

    where p is the Clopper-Pearson limit of the share of runs still apart and e a limit of the mean excess,
    each at half the error. The mean excess is taken at the last l' <= l where at least ``ENOUGH`` runs are
    apart: the larger of its normal limit and the limit for a geometric law. What is assumed is that it does
    not grow after l', as with geometric tails. A chain with places that it finds rarely and leaves slowly
    (independent proposals with a rate above epsilon) may break this: there the longest times grow with the
    number of runs. With n runs and an error of 1/100 no limit is below about 5/n.
    """
    if iterations < 0 or not 0 < confidence < 1:
        raise ValueError("iterations are not negative and a confidence lies between 0 and 1")
    if meetings.runs < ENOUGH:
        raise ValueError(f"a limit needs at least {ENOUGH} runs")
    if meetings.unmet:
        return TvBound(iterations, inf, inf, confidence, meetings.lag, meetings.runs)
    error = (1 - confidence) / 2
    windows = _windows(meetings, iterations)
    apart = int((windows > 0).sum())
    share = float(betaincinv(apart + 1, meetings.runs - apart, 1 - error)) if apart < meetings.runs else 1.0
    last = int(np.sort(meetings.times)[-ENOUGH]) - meetings.lag - 1  # the last l with enough runs apart
    excess = _excess(_windows(meetings, min(iterations, last)), error)
    return TvBound(
        iterations,
        min(1.0, float(windows.mean())),
        min(1.0, share * excess),
        confidence,
        meetings.lag,
        meetings.runs,
    )


def iterations_for(bound: float, meetings: MeetingTimes, confidence: float = 0.99) -> int:
    """Return a number of steps whose limit is at most ``bound``, and not that of one step fewer.

    Meeting times of a public stand-in fix the length of a run before the confidential data are read.
    Raises SamplingError where these runs cannot show such a bound.
    """
    least = least_bound(meetings, confidence)
    if least > bound:
        raise SamplingError(
            f"{meetings.runs} runs show a distance of {least:.1e} at best, not {bound:.1e}: use more runs."
        )
    low, high = -1, int(meetings.times.max()) - meetings.lag
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if tv_bound(meetings, middle, confidence).upper <= bound else (middle, high)
    return high


def least_bound(meetings: MeetingTimes, confidence: float = 0.99) -> float:
    """Return the smallest limit that these runs can show: that after the longest of them."""
    meetings.require_all()
    return tv_bound(meetings, int(meetings.times.max()) - meetings.lag, confidence).upper


def runs_for(bound: float, confidence: float = 0.99) -> int:
    """Return how many runs are worth making to show a bound: with no run apart, p is 1 - (error/2)^(1/n)."""
    if not (0 < bound < 1 and 0 < confidence < 1):
        raise ValueError("a bound and a confidence lie between 0 and 1")
    return max(ENOUGH, ceil(log((1 - confidence) / 2) / log1p(-bound / SPARE_RUNS)))


def _windows(meetings: MeetingTimes, iterations: int) -> IntArray:
    """Return max(0, ceil((tau - L - l) / L)) of each run."""
    left = meetings.times - meetings.lag - iterations
    return np.maximum(0, -(-left // meetings.lag))


def _excess(windows: IntArray, error: float) -> float:
    """Return an upper limit of E[f | f > 0]."""
    apart = windows[windows > 0]
    normal = float(apart.mean()) - float(ndtri(error)) * float(apart.std(ddof=1)) / sqrt(apart.size)
    # a geometric f continues sum(f - 1) times and stops once a run
    stops = float(betaincinv(apart.size, int((apart - 1).sum()) + 1, error))
    return max(normal, 1 / stops)


SPARE_STEPS = 1.6
"""How much longer chains run than the first runs suggest."""
MOST_RUNS = 50_000
"""Pairs of chains in all: a limit of patience."""
PILOTS = 100
"""Pairs of chains that are run first, to choose a lag."""


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
    iterations = ceil(SPARE_STEPS * max(iterations_for(distance, met, each) for met in found))
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
