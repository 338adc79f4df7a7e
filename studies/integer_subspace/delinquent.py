"""[integer-subspace-dp, Section 5], second example: a 4 x 4 table with both margins; Figure 1 and Table 1.

The table is fictitious, delinquent children by county and education [fcsm2005, Table 4]. Table 1 is one draw
of l1 noise; Figure 1 bounds how far the chain is from its law, by 200 pairs of coupled chains.
"""

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.lab.shells import RadialLaw
from holdfast.lattice.arrays import IntArray
from holdfast.sampling.entropy import SeededEntropy
from holdfast.universe.semi_adjacency import semi_adjacency
from holdfast.universe.sensitivity import sensitivity
from holdfast.universe.universe import Universe
from studies.integer_subspace import convergence
from studies.integer_subspace.convergence import Effort, Truth, distribution_of
from studies.integer_subspace.crossing import norm_distribution, radial_law
from studies.integer_subspace.designs import (
    CHILDREN,
    CHILDREN_L1,
    CHILDREN_L2,
    COUNTY,
    EDUCATION,
    MARGINS,
    MARGINS_FRAME,
    PUBLISHED,
    SIDE,
)
from studies.integer_subspace.fourier import NoiseLaw, margins_law
from studies.integer_subspace.identity import ratios
from studies.outcome import Bar, Number, Outcome, mean
from studies.picture import BLUE, ORANGE, RED, panels

TITLE = "4 x 4 delinquent children: Table 1, and Figure 1 beside exact draws"
MOVE = np.array([[1, -1, 0, 0], [-1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]).ravel()
"""A basic move, the shortest."""

Floats = NDArray[np.float64]


class Size(NamedTuple):
    """Exact draws, the largest ||z||^2 that is counted, and what is run of each chain; l2 takes long."""

    draws: int
    most: int
    l1: Effort
    l2: Effort | None


QUICK = Size(20_000, 10_000, Effort((1_000,), 60, 1_000, (10, 100), (1_000,)), None)
FULL = Size(
    400_000,
    40_000,
    Effort(
        lags=(100, 1_000, 5_000),
        pairs=200,
        chains=10_000,
        steps=(1, 3, 10, 30, 100, 200, 300, 500, 1_000, 2_000),
        compared=(1_000, 2_000),
    ),
    Effort(
        lags=(5_000, 20_000),
        pairs=200,
        chains=10_000,
        steps=(1, 10, 100, 300, 1_000, 2_000, 3_000, 5_000),
        compared=(10_000, 20_000),
    ),
)


def study(size: Size, bar: Bar[int]) -> Outcome:
    """Hold exact draws against the exact laws, look at Table 1, and follow the chain."""
    entropy = SeededEntropy(4)
    drawn = {
        str(design.norm): design.law.sample(entropy, size.draws) for design in (CHILDREN_L1, CHILDREN_L2)
    }
    l1 = margins_law(SIDE, SIDE, CHILDREN_L1.epsilon)
    l2 = radial_law(CHILDREN_L2, MARGINS_FRAME, size.most)
    numbers = {**_table_1(drawn["l1"]), **_exact(drawn, l1, l2), **_loss()}
    cases = [(CHILDREN_L1, size.l1, Truth(distribution_of(CHILDREN_L1.norms(drawn["l1"])), l1.mean_norm))]
    if size.l2 is not None:
        cases.append((CHILDREN_L2, size.l2, Truth(norm_distribution(l2), l2.mean_norm)))
    chains = convergence.study(cases, 5, bar)
    return Outcome(
        {**numbers, **chains.numbers},
        (*_lines(numbers), *chains.lines),
        {"table_1": _picture(drawn["l1"]), "figure_1": chains.pictures["convergence"]},
    )


def _table_1(exact: IntArray) -> dict[str, Number]:
    """Return what the published draw is like among exact ones."""
    size = int(np.abs(PUBLISHED).sum())
    released = CHILDREN.ravel() + exact
    return {
        "Table 1: margins that differ": Number(float(np.count_nonzero(MARGINS @ PUBLISHED.ravel())), truth=0),
        "Table 1: L1": Number(float(size), truth=44),
        "Table 1: least released count": Number(float((CHILDREN + PUBLISHED).min()), truth=-2),
        f"l1: P(norm >= {size})": mean(np.asarray(CHILDREN_L1.norms(exact) >= size)),
        "l1: releases with a negative count": mean(np.asarray((released < 0).any(axis=1))),
        "l1: negative counts in a release": mean((released < 0).sum(axis=1)),
    }


def _exact(drawn: dict[str, IntArray], l1: NoiseLaw, l2: RadialLaw) -> dict[str, Number]:
    (law,) = l1.cells.values()
    numbers = {
        "margins that differ": Number(float(np.count_nonzero(MARGINS @ drawn["l1"].T)), truth=0),
        "l1: E norm": mean(np.abs(drawn["l1"]).sum(axis=1), l1.mean_norm),
        "l1: P(z = 0) of a cell": mean((drawn["l1"] == 0).mean(axis=1), float(law[0])),
        "l1: P(|z| = 1) of a cell": mean((np.abs(drawn["l1"]) == 1).mean(axis=1), 2 * float(law[1])),
        "l2: E norm": mean(np.sqrt(CHILDREN_L2.norms(drawn["l2"])), l2.mean_norm),
    }
    for design in (CHILDREN_L1, CHILDREN_L2):
        numbers[f"{design.norm}: E q(z + u) / q(z)"] = mean(ratios(design, drawn[design.norm], MOVE), 1)
    return numbers


def _loss() -> dict[str, Number]:
    """Return what epsilon for a unit of l1 comes to for one child whose cell is protected."""
    universe = Universe.of(csr_array(MARGINS), MARGINS @ CHILDREN.ravel())
    records = semi_adjacency(universe).worst_case
    reach = sensitivity(universe, records).l1
    return {
        "records that change with one": Number(float(records), truth=3),
        "l1 between such tables": Number(float(reach), truth=6),
        "l1: loss for one child": Number(float(CHILDREN_L1.epsilon * reach), truth=1.5),
    }


def _lines(numbers: dict[str, Number]) -> tuple[str, ...]:
    return (
        (
            f"Table 1 keeps every margin; {numbers['l1: P(norm >= 44)'].value:.1%} of exact draws reach its"
            f" L1 norm of 44 (mean {numbers['l1: E norm'].value:.2f})."
        ),
        (
            f"Added to the table it gives a count of -2. Of exact releases"
            f" {numbers['l1: releases with a negative count'].value:.0%} have a negative count."
        ),
        (
            f"Epsilon is for a unit of l1: one child can take two others along, which moves six cells and"
            f" loses {numbers['l1: loss for one child'].value:g}."
        ),
    )


def _picture(exact: IntArray) -> Figure:
    figure, axes = panels(1, 4, (14.5, 3.6), width_ratios=(1, 1, 1, 1.25))
    for ax, (title, table) in zip(
        axes,
        (
            ("the table", CHILDREN),
            ("noise of Table 1", PUBLISHED),
            ("an exact draw", exact[0].reshape(SIDE, SIDE)),
        ),
        strict=False,
    ):
        _table(ax, title, table)
    axes[0].set_yticks(range(SIDE), COUNTY)
    sizes = np.abs(exact).sum(axis=1)
    edges = np.arange(-1, 101, 2)
    axes[3].stairs(np.histogram(sizes, edges)[0] / sizes.size, edges, color=BLUE, label="exact draws")
    axes[3].axvline(int(np.abs(PUBLISHED).sum()), color=ORANGE, label="Table 1")
    axes[3].set_title("L1 norm of the noise")
    axes[3].legend(fontsize=9)
    return figure


def _table(ax: Axes, title: str, table: IntArray) -> None:
    reach = int(np.abs(table).max())
    noise = bool((table < 0).any())
    deepest = 1.6 * reach
    ax.imshow(
        table, cmap="RdBu_r" if noise else "Greys", vmin=-deepest if noise else 0, vmax=deepest, alpha=0.7
    )
    for (i, j), value in np.ndenumerate(table):
        ax.text(j, i, f"{value:+d}" if noise and value else f"{value}", ha="center", va="center")
    if noise:
        for i, j in np.argwhere(CHILDREN + table < 0):
            ax.add_patch(_box(int(j), int(i)))
        ax.set_xlabel("framed: released below 0", fontsize=9)
    ax.set_title(title)
    ax.set_xticks(range(SIDE), EDUCATION, fontsize=8)
    ax.set_yticks(range(SIDE), [""] * SIDE)
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)


def _box(x: int, y: int) -> Rectangle:
    """Return a frame around a cell that is released below zero."""
    return Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, fill=False, edgecolor=RED, linewidth=1.6)
