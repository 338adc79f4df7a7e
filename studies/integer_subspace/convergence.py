"""How far the published chain is from its law after so many steps: bounds from both sides.

From above, lag couplings as in [integer-subspace-dp, Figure 1]: the mean of max(0, ceil((tau - L - l) / L))
over pairs of chains bounds the total variation distance after l steps [biswas2019, Theorem 2.5].

From below, events: what P(||z|| <= c) is after l steps and what it should be differ by no more than the
distance, for every c; so the Kolmogorov distance of the norm is no more than it. Chains start near zero, so
the norm is what takes longest. By chance even so many exact draws would show a distance of `floor`.
"""

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.chains.coupling import MeetingTimes, meeting_times, tv_bound
from holdfast.sampling.entropy import SeededEntropy
from studies.integer_subspace.designs import Design
from studies.outcome import Bar, Number, Outcome, mean
from studies.picture import BLUE, GREEN, GREY, ORANGE, VIOLET, panels

CONFIDENCE = 0.99
MOST = 3_000_000
"""Steps after which pairs are given up."""
COLOURS = (ORANGE, VIOLET, BLUE)

Floats = NDArray[np.float64]


class Effort(NamedTuple):
    """How much is run for one chain.

    Attributes:
        lags: by how many steps one chain of a pair is ahead of the other.
        pairs: how many pairs are run for each lag.
        chains: how many chains are followed from their start.
        steps: when these are looked at.
        compared: the steps whose bounds are compared with expected.json.

    """

    lags: tuple[int, ...]
    pairs: int
    chains: int
    steps: tuple[int, ...]
    compared: tuple[int, ...]


class Truth(NamedTuple):
    """What exact draws have: P(norm <= 0), P(norm <= 1), ... (see `Design.norms`), and the mean norm."""

    distribution: Floats
    mean_norm: float


class Convergence(NamedTuple):
    """Meeting times by lag, and the norms of chains after some steps, beside the truth."""

    design: Design
    meetings: tuple[MeetingTimes, ...]
    norms: dict[int, IntArray]
    truth: Truth


def study(cases: Sequence[tuple[Design, Effort, Truth]], seed: int, bar: Bar[int]) -> Outcome:
    """Couple and follow the chains of some designs."""
    numbers: dict[str, Number] = {}
    lines: list[str] = []
    figure, axes = panels(1, len(cases), (6.4 * len(cases), 4.8))
    for k, (ax, (design, effort, truth)) in enumerate(zip(axes, cases, strict=True)):
        found = measure(design, effort, truth, seed + k, bar)
        numbers |= _numbers(found, effort.compared)
        lines += _lines(found)
        _draw(ax, found)
        ax.legend(fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3)
    axes[0].set_ylabel("total variation distance")
    return Outcome(numbers, tuple(lines), {"convergence": figure})


def measure(design: Design, effort: Effort, truth: Truth, seed: int, bar: Bar[int]) -> Convergence:
    """Couple chains for each lag, and follow others from their start."""
    kernel, entropy = design.kernel(), SeededEntropy(seed)
    meetings = []
    for lag in bar(effort.lags, f"coupled chains, {design.name}"):
        met = meeting_times(kernel, lag=lag, runs=effort.pairs, max_iterations=MOST, entropy=entropy)
        met.require_all()
        meetings.append(met)
    return Convergence(
        design, tuple(meetings), follow(design, effort.chains, effort.steps, entropy, bar), truth
    )


def follow(
    design: Design, chains: int, steps: Sequence[int], entropy: SeededEntropy, bar: Bar[int]
) -> dict[int, IntArray]:
    """Return the norms of chains from the published start after so many steps."""
    kernel = design.kernel()
    state, norms = kernel.start(chains, entropy), {}
    for step in bar(range(1, steps[-1] + 1), f"chains from the start, {design.name}"):
        state, _ = kernel.step(state, entropy)
        if step in steps:
            norms[step] = state.statistic
    return norms


def excess(met: MeetingTimes, steps: int) -> IntArray:
    """Return max(0, ceil((tau - L - l) / L)) of each pair: its mean bounds the distance after l steps."""
    return np.maximum(0, -((met.lag + steps - met.times) // met.lag))


def kolmogorov(norms: IntArray, distribution: Floats) -> float:
    """Return the Kolmogorov distance of whole numbers from P(norm <= 0), P(norm <= 1), ..."""
    size = max(distribution.size, int(norms.max()) + 1)
    seen = np.cumsum(np.bincount(norms, minlength=size)) / norms.size
    true = np.concatenate([distribution, np.ones(size - distribution.size)])
    return float(np.abs(seen - true).max())


def floor(chains: int) -> float:
    """Return the Kolmogorov distance that so many exact draws exceed one time in twenty, about."""
    return 1.358 / sqrt(chains)


def distribution_of(norms: IntArray) -> Floats:
    """Return P(norm <= 0), P(norm <= 1), ... of exact draws."""
    return np.asarray(np.cumsum(np.bincount(norms)) / norms.size)


def _numbers(found: Convergence, compared: Sequence[int]) -> dict[str, Number]:
    name = found.design.name
    made = {
        f"{name}: TV bound after {steps:,} steps, lag {met.lag:,}": mean(excess(met, steps))
        for met in found.meetings
        for steps in compared
        if excess(met, steps).any()
    }
    for steps, norms in found.norms.items():
        sizes = norms if found.design.norm == "l1" else np.sqrt(norms)
        made[f"{name}: mean norm of chains after {steps:,} steps"] = mean(sizes)
    return made


def shown_within(met: MeetingTimes, distance: float) -> int:
    """Return the first number of steps at which the estimate is at most a distance."""
    high = int(met.times.max()) - met.lag
    return next(steps for steps in range(high + 1) if excess(met, steps).mean() <= distance)


def _lines(found: Convergence) -> tuple[str, ...]:
    chains = next(iter(found.norms.values())).size
    near = [
        s for s, norms in found.norms.items() if kolmogorov(norms, found.truth.distribution) <= floor(chains)
    ]
    longest = found.meetings[-1]
    stated = found.design.stated
    upper = tv_bound(longest, stated or int(longest.times.max()), CONFIDENCE).upper
    said = "says nothing" if stated is None else f"says {stated:,}"
    shown = ", ".join(f"{shown_within(met, 0.01):,} (lag {met.lag:,})" for met in found.meetings)
    return (
        (
            f"{found.design.name}: the norms of {chains:,} chains are told from exact draws (mean"
            f" {found.truth.mean_norm:.2f}) up to {max(set(found.norms) - set(near), default=0):,} steps."
        ),
        (
            f"Couplings estimate a distance of 0.01 or less from {shown} steps on; the text {said}. What"
            f" {longest.runs} pairs that have all met show at 99 % is {upper:.3f}, not 0."
        ),
    )


def _draw(ax: Axes, found: Convergence) -> None:
    far = max(int(met.times.max() - met.lag) for met in found.meetings)
    grid = np.unique(np.geomspace(1, max(2 * far, found.design.stated or 0), 400).astype(np.int64))
    for met, colour in zip(found.meetings, COLOURS, strict=False):
        bound = [min(1.0, float(excess(met, int(steps)).mean())) for steps in grid]
        ax.plot(grid, bound, color=colour, label=f"at most, lag {met.lag:,}", linewidth=1.3)
    limit = [tv_bound(found.meetings[-1], int(steps), CONFIDENCE).upper for steps in grid]
    last = COLOURS[len(found.meetings) - 1]
    ax.plot(grid, limit, ":", color=last, label="the same, 99 % limit", linewidth=1.3)
    steps, norms = zip(*found.norms.items(), strict=True)
    ax.plot(
        steps,
        [kolmogorov(n, found.truth.distribution) for n in norms],
        "o-",
        color=GREEN,
        markersize=3.5,
        label="at least, by the norm",
    )
    ax.axhline(floor(norms[0].size), color=GREEN, linewidth=0.8, linestyle="--")
    if found.design.stated is not None:
        ax.axvline(found.design.stated, color=GREY, linewidth=1, linestyle="--")
        ax.text(found.design.stated * 0.93, 0.96, "the paper", color=GREY, ha="right", va="top", rotation=90)
    ax.set_xscale("log")
    ax.set_ylim(0, 1.03)
    ax.set_xlabel("steps")
    ax.set_title(found.design.name)
    ax.grid(alpha=0.3)
