"""[integer-subspace-dp, Section 5], third example: 102 counties with a fixed total, the noise alone.

The noise does not depend on the counts, so this part needs no data. Its law is known in closed form
(one_total.py). The paper kept 1,000 vectors of one chain, one in 10,000 steps.
"""

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.chains.coupling import MeetingTimes, meeting_times
from holdfast.sampling.entropy import SeededEntropy
from studies.integer_subspace.convergence import floor, follow, kolmogorov
from studies.integer_subspace.designs import COUNTIES
from studies.integer_subspace.fourier import mean_size
from studies.integer_subspace.identity import ratios
from studies.integer_subspace.one_total import cell_law, norm_law
from studies.outcome import Bar, Number, Outcome, mean
from studies.picture import BLUE, GREEN, GREY, ORANGE, panels

TITLE = "102 counties, one total: the noise of Figure 2"
CELLS = COUNTIES.matrix.shape[1]
MOVE = np.array([1, -1, *[0] * (CELLS - 2)])
REACH = 150
"""Beyond it a cell's noise has a chance below 1e-12."""
LAG = 1_000

Floats = NDArray[np.float64]


class Size(NamedTuple):
    """Exact draws, chains and when they are looked at; pairs of coupled chains and their longest run."""

    draws: int
    chains: int
    steps: tuple[int, ...]
    pairs: int
    longest: int


QUICK = Size(5_000, 200, (10, 100), 0, 0)
FULL = Size(200_000, 2_000, (10, 30, 100, 300, 1_000, 2_000, 3_000, 5_000, 8_000), 20, 30_000)


def study(size: Size, bar: Bar[int]) -> Outcome:
    """Hold exact draws against the closed form, and follow the chain."""
    entropy = SeededEntropy(7)
    exact = COUNTIES.law.sample(entropy, size.draws)
    cell, norm = cell_law(CELLS, COUNTIES.epsilon, REACH), norm_law(CELLS, COUNTIES.epsilon)
    mean_norm = float(2 * np.arange(norm.size) @ norm)
    numbers = {
        "draws whose total is not 0": Number(float(np.count_nonzero(exact.sum(axis=1))), truth=0),
        "E norm": mean(np.abs(exact).sum(axis=1), mean_norm),
        "E |z| of a county": mean(np.abs(exact).mean(axis=1), mean_size(cell)),
        "P(z = 0) of a county": mean((exact == 0).mean(axis=1), float(cell[0])),
        "P(|z| <= 3) of a county": mean(
            (np.abs(exact) <= 3).mean(axis=1), 2 * float(cell[:4].sum()) - float(cell[0])
        ),
        "E q(z + u) / q(z)": mean(ratios(COUNTIES, exact, MOVE), 1),
    }
    chain = follow(COUNTIES, size.chains, size.steps, SeededEntropy(8), bar)
    distribution = np.repeat(np.cumsum(norm), 2)  # norms are even
    for steps, norms in chain.items():
        numbers[f"mean norm of chains after {steps:,} steps"] = mean(norms)
    away = [steps for steps, norms in chain.items() if kolmogorov(norms, distribution) > floor(size.chains)]
    lines = [
        (
            f"A county's noise is {numbers['E |z| of a county'].value:.3f} on average in absolute value"
            f" (closed form {mean_size(cell):.3f})."
        ),
        (
            f"The norms of {size.chains:,} chains are told from the law (mean {mean_norm:.1f}) up to"
            f" {max(away, default=0):,} steps."
        ),
    ]
    if size.pairs:
        met = _couple(size, entropy)
        numbers[f"pairs that met in {size.longest:,} steps"] = Number(float(met.runs - met.unmet))
        lines.append(
            f"Of {met.runs} coupled pairs {met.runs - met.unmet} met in {size.longest:,} steps: with 101"
            " coordinates coupled one by one, the couplings of Figure 1 show nothing."
        )
    return Outcome(numbers, tuple(lines), {"counties": _picture(exact, cell, chain, distribution)})


def _couple(size: Size, entropy: SeededEntropy) -> MeetingTimes:
    return meeting_times(
        COUNTIES.kernel(), lag=LAG, runs=size.pairs, max_iterations=size.longest, entropy=entropy
    )


def _picture(exact: IntArray, cell: Floats, chain: dict[int, IntArray], distribution: Floats) -> Figure:
    figure, axes = panels(1, 2, (11, 4))
    values = np.arange(-30, 31)
    seen = np.array([(exact == value).mean() for value in values])
    axes[0].bar(values, seen, color=BLUE, alpha=0.35, width=0.85, label="exact draws")
    axes[0].plot(values, cell[np.abs(values)], ".", color="black", markersize=4, label="law, closed form")
    axes[0].set_title("noise of one county")
    axes[0].legend(fontsize=9)
    _norms(axes[1], chain, distribution)
    return figure


def _norms(ax: Axes, chain: dict[int, IntArray], distribution: Floats) -> None:
    steps = list(chain)
    ax.plot(
        steps,
        [kolmogorov(chain[s], distribution) for s in steps],
        "o-",
        color=ORANGE,
        markersize=4,
        label="at least this far, by the norm",
    )
    ax.axhline(floor(next(iter(chain.values())).size), color=GREEN, linestyle="--", linewidth=0.8)
    ax.axvline(COUNTIES.stated or 0, color=GREY, linestyle="--", linewidth=1)
    ax.text(9_300, 0.96, "the paper keeps one in 10,000", color=GREY, ha="right", va="top", rotation=90)
    ax.set_xscale("log")
    ax.set_ylim(0, 1.03)
    ax.set_xlabel("steps of the chain")
    ax.set_title("total variation distance of the chain")
    ax.legend(fontsize=9, loc="lower left")
    ax.grid(alpha=0.3)
