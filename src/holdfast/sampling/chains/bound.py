"""The total variation bound of meeting times, with its confidence limit.

[biswas2019, Theorem 2.5]: d_TV(law after l steps, target) <= E[f], f = max(0, ceil((tau - L - l) / L)). Far
out almost every f is 0, and an average of zeros proves nothing. So the limit is a product,

    E[f] = P(f > 0) E[f | f > 0] <= p e,

where p is the Clopper-Pearson limit of the share of runs still apart and e a limit of the mean excess, each
at half the error. The mean excess is taken at the last l' <= l where at least ``ENOUGH`` runs are apart: the
larger of its normal limit and the limit for a geometric law. What is assumed is that it does not grow after
l', as with geometric tails. A chain with places that it finds rarely and leaves slowly (independent proposals
with a rate above epsilon) may break this: there the longest times grow with the number of runs. With n runs
and an error of 1/100 no limit is below about 5/n.
"""

from dataclasses import dataclass
from math import ceil, inf, log, log1p, sqrt

import numpy as np
from scipy.special import betaincinv, ndtri

from holdfast.errors import SamplingError
from holdfast.lattice.arrays import IntArray
from holdfast.sampling.chains.meeting import MeetingTimes

ENOUGH = 30
SPARE = 2
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
    """Return the bound after ``iterations`` steps; infinite when a pair has not met."""
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
    return max(ENOUGH, ceil(log((1 - confidence) / 2) / log1p(-bound / SPARE)))


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
