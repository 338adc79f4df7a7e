"""[congenial-dp, Figures 2 and 3]: the published sampler's acceptance and traces, exact draws beside them.

The sampler proposes Y from q and moves from X with probability min(1, w(Y) / w(X)), w = p / q
[congenial-dp, Algorithm 1]. Once it has converged X has the law p*, so its acceptance is

    E min(1, w(Y) / w(X)),   X from p*, Y from q, independent.

X is drawn exactly here, by dynamic programming, so this is estimated without running a chain: the mean over
all pairs of a sample of each. A chain that starts at the confidential table, as any must that has no other
point to start from, accepts more often at first.
"""

import time
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from holdfast.lab.autocorrelation import autocorrelation_time
from holdfast.lab.independent import IndependentChain, free_cells
from holdfast.lattice.arrays import IntArray
from holdfast.sampling.chains.kernel import LaplaceTarget, non_negative
from holdfast.sampling.entropy import Entropy, SeededEntropy
from studies.congenial_dp.design import CONFIDENTIAL, FREE, MATRIX, conditional_law
from studies.outcome import Bar, Number, Outcome, mean
from studies.picture import BLUE, GREEN, GREY, ORANGE, panels

TITLE = "Figures 2 and 3: the published sampler beside exact draws"
EPSILON = Fraction(1, 2)
RATE = Fraction(3, 5)
"""The proposal's rate that the paper finds best."""
ACCEPTANCE = 0.0168
"""The paper's acceptance at that rate."""
GRID = tuple(Fraction(k, 20) for k in range(7, 21))
BATCHES = 10
EARLY = 1_000
CHECKED = (Fraction(2, 5), Fraction(1, 2), RATE, Fraction(7, 10), Fraction(4, 5))

Floats = NDArray[np.float64]


class Size(NamedTuple):
    """Exact draws and proposals a batch and rate; chains and the steps of each."""

    draws: int
    chains: int
    steps: int


QUICK, FULL = Size(3_000, 200, EARLY), Size(40_000, 400, 10_000)


class Runs(NamedTuple):
    """Chains side by side.

    Attributes:
        accepted: steps x chains.
        distance: steps x chains, ||y - x||_1.
        cells: steps x 2, the second and the first cell of the first chain.
        seconds: what it took.

    """

    accepted: NDArray[np.bool_]
    distance: IntArray
    cells: IntArray
    seconds: float


def kernel(counts: IntArray, epsilon: Fraction, rate: Fraction) -> IndependentChain:
    """Return the published sampler around a table."""
    target = LaplaceTarget(epsilon, counts, constraint=non_negative)
    return IndependentChain(free_cells(MATRIX, FREE), target, rate)


def acceptance(chain: IndependentChain, exact: IntArray, entropy: Entropy) -> Number:
    """Estimate E min(1, w(Y) / w(X)) from exact noise, in batches, with as many proposals."""
    batches = np.split(exact, BATCHES)
    estimates = np.array([_all_pairs(chain, noise, entropy) for noise in batches])
    return mean(estimates)


def _all_pairs(chain: IndependentChain, noise: IntArray, entropy: Entropy) -> float:
    """Return the mean of min(1, w_j / w_i) over all pairs, by sorting the proposals' weights."""
    at = chain.log_weight(chain.init(noise[:, chain.cells.free]))
    shape = (noise.shape[0], chain.cells.free.size)
    proposed = chain.completed(chain.law.sample(entropy, shape[0] * shape[1]).reshape(shape))
    to = np.sort(chain.log_weight(proposed))
    to = to[np.isfinite(to)]
    if not to.size:
        return 0.0
    sums = np.concatenate([[0.0], np.cumsum(np.exp(to - to[-1]))])
    below = np.searchsorted(to, at)
    # sums exp(top) is at most its count times w_i, so the product does not overflow
    smaller = np.exp(np.log(np.maximum(sums[below], 1e-300)) + to[-1] - at)
    return float((np.where(below > 0, smaller, 0.0) + to.size - below).mean() / shape[0])


def run(
    chain: IndependentChain, start: IntArray, steps: int, entropy: Entropy, bar: Bar[int], what: str
) -> Runs:
    """Run chains from given noise."""
    state = chain.init(start[:, chain.cells.free])
    accepted = np.empty((steps, start.shape[0]), dtype=np.bool_)
    distance = np.empty((steps, start.shape[0]), dtype=np.int64)
    cells = np.empty((steps, 2), dtype=np.int64)
    started = time.perf_counter()
    for step in bar(range(steps), what):
        state, info = chain.step(state, entropy)
        accepted[step], distance[step] = info.accepted > 0, state.statistic
        cells[step] = state.points[0, [1, 0]]
    return Runs(accepted, distance, cells, time.perf_counter() - started)


def study(size: Size, bar: Bar[int]) -> Outcome:
    """Estimate the acceptance for each rate, run the published sampler, and draw exactly."""
    entropy, law = SeededEntropy(2), conditional_law(CONFIDENTIAL, EPSILON)
    exact = law.sample(entropy, BATCHES * size.draws)
    curve = [
        acceptance(kernel(CONFIDENTIAL, EPSILON, GRID[k]), exact, entropy)
        for k in bar(range(len(GRID)), "acceptance by rate")
    ]
    chain = kernel(CONFIDENTIAL, EPSILON, RATE)
    centre = np.zeros((size.chains, exact.shape[1]), dtype=np.int64)
    cold = run(chain, centre, size.steps, entropy, bar, "chains from the confidential table")
    warm = run(chain, exact[: size.chains], size.steps, entropy, bar, "chains from exact draws")
    l1 = mean(np.abs(exact).sum(axis=1))
    found = {
        f"acceptance at rate {float(rate):g}": number
        for rate, number in zip(GRID, curve, strict=True)
        if rate in CHECKED
    }
    found |= {
        "acceptance at rate 0.6 of chains from exact draws, 1,000 steps": mean(
            warm.accepted[:EARLY].mean(axis=0)
        ),
        "acceptance at rate 0.6 of chains from the table, 1,000 steps": mean(
            cold.accepted[:EARLY].mean(axis=0)
        ),
        "L1 of exact draws": l1,
        "L1 of chains from the table after 100 steps": mean(cold.distance[99]),
        "L1 of chains from the table after 1,000 steps": mean(cold.distance[EARLY - 1]),
    }
    lines = [
        (
            f"Converged, the published sampler accepts {_percent(curve[GRID.index(RATE)])} at the rate 0.6;"
            f" the paper reports {ACCEPTANCE:.2%}. The best rate of the grid is"
            f" {float(GRID[int(np.argmax([c.value for c in curve]))]):g}."
        ),
    ]
    share = cold.accepted.mean(axis=0)
    if size.steps > EARLY:
        found["acceptance at rate 0.6 of chains from the table, 10,000 steps"] = mean(share)
        found["spread of that acceptance between chains"] = _spread(share)
        found["share of such chains that accept at least 1.68 %"] = mean(share >= ACCEPTANCE)
        found["L1 of chains from the table after 10,000 steps"] = mean(cold.distance[-1])
    lines += [
        (
            f"{size.chains} runs of {size.steps:,} steps from that table accept {share.mean():.2%}"
            f" on average, with a standard deviation of {share.std(ddof=1):.2%} between runs;"
            f" {(share >= ACCEPTANCE).mean():.0%} of them accept at least the paper's share."
        ),
        (
            f"L1 distance after {size.steps:,} steps: {cold.distance[-1].mean():.2f} on average; the law has"
            f" {l1.value:.2f}."
        ),
    ]
    speeds = _speeds(law.sample, warm, l1.value, size)
    lines.append(
        f"Exact: {speeds['exact draws a second']:,.0f} draws a second. Published sampler:"
        f" {speeds['chain steps a second']:,.0f} steps a second, {size.chains} chains at once; its"
        f" autocorrelation time is {speeds['autocorrelation time in steps']:,.0f} steps or more, so"
        f" {speeds['effective chain draws a second']:,.0f} effective draws a second."
    )
    pictures = {"figure_2": _acceptance_picture(curve), "figure_3": _traces(cold, CONFIDENTIAL + exact)}
    return Outcome(found, tuple(lines), pictures, speeds)


def _spread(share: Floats) -> Number:
    """Return the standard deviation, with the error that normal numbers would have times two."""
    deviation = float(share.std(ddof=1))
    return Number(deviation, 2 * deviation / float(np.sqrt(2 * share.size)))


def _percent(number: Number) -> str:
    return f"{number.value:.2%} (standard error {number.error:.2%})"


def _speeds(
    sample: Callable[[Entropy, int], IntArray], warm: Runs, centre: float, size: Size
) -> dict[str, float]:
    started = time.perf_counter()
    sample(SeededEntropy(3), BATCHES * size.draws)
    exact = BATCHES * size.draws / (time.perf_counter() - started)
    steps = warm.accepted.size / warm.seconds
    length = autocorrelation_time(warm.distance.astype(np.float64), centre)
    return {
        "exact draws a second": exact,
        "chain steps a second": steps,
        "autocorrelation time in steps": length,
        "effective chain draws a second": steps / length,
    }


def _acceptance_picture(curve: list[Number]) -> Figure:
    figure, (ax,) = panels(1, 1, (6.4, 3.8))
    rates, values = [float(rate) for rate in GRID], np.array([100 * n.value for n in curve])
    errors = np.array([100 * n.error for n in curve])
    ax.fill_between(rates, values - 2 * errors, values + 2 * errors, color=BLUE, alpha=0.25, linewidth=0)
    ax.plot(rates, values, color=BLUE, marker="o", markersize=4, label="converged chain, from exact draws")
    ax.plot([float(RATE)], [100 * ACCEPTANCE], "D", color=ORANGE, label="the paper: 1.68 % at 0.6", zorder=3)
    ax.axvline(float(EPSILON), color=GREY, linestyle=":", linewidth=1)
    ax.text(float(EPSILON) - 0.008, 1.85, "the noise's own 0.5", color=GREY, ha="right")
    ax.set_ylim(0, 2.05)
    ax.set_xlabel("rate of the proposal")
    ax.set_ylabel("acceptance, %")
    ax.legend(loc="upper right", fontsize=9)
    ax.grid(axis="y", alpha=0.3)
    return figure


def _traces(cold: Runs, exact: IntArray) -> Figure:
    figure, axes = panels(2, 2, (10.5, 5.2), sharex="col", width_ratios=(4, 1))
    steps = np.arange(1, cold.cells.shape[0] + 1)
    for row, (cell, name) in enumerate(
        ((1, "second cell (women 6-10), proposed"), (0, "first cell (women < 5), solved for"))
    ):
        _trace(axes[2 * row], steps, cold.cells[:, row], name)
        _shares(axes[2 * row + 1], cold.cells[:, row], exact[:, cell])
        axes[2 * row + 1].set_ylim(axes[2 * row].get_ylim())
    axes[2].set_xlabel("step of one chain")
    axes[3].set_xlabel("share")
    axes[1].legend(loc="upper right", fontsize=8)
    return figure


def _trace(ax: Axes, steps: IntArray, values: IntArray, name: str) -> None:
    ax.step(steps, values, where="post", color=ORANGE, linewidth=0.9)
    ax.set_title(name)
    ax.set_ylabel("count")
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylim(-1, max(16, int(values.max()) + 1))


def _shares(ax: Axes, chain: IntArray, exact: IntArray) -> None:
    most = int(max(exact.max(), chain.max()))
    edges = np.arange(most + 2) - 0.5
    for values, colour, name in ((exact, GREEN, "exact"), (chain, ORANGE, "this chain")):
        share = np.bincount(values, minlength=most + 1) / values.size
        ax.stairs(share, edges, orientation="horizontal", color=colour, linewidth=1.4, label=name)
    ax.set_xlim(0)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
