"""[integer-subspace-dp, Section 5], first example: three crossing counts over 14 cells, l1 and l2 noise.

The text gives the parameters and says that chains converge after 10^5 and 10^6 steps; the noise and the
couplings are in an appendix that it lacks. Here are the exact laws, exact draws, and the chain beside them.
"""

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from holdfast.lab.shells import RadialLaw, ShellLattice
from holdfast.lattice.arrays import IntArray
from holdfast.sampling.entropy import SeededEntropy
from studies.integer_subspace import convergence
from studies.integer_subspace.convergence import Effort, Truth, distribution_of
from studies.integer_subspace.designs import CROSSING, CROSSING_FRAME, CROSSING_L1, CROSSING_L2, Design
from studies.integer_subspace.fourier import NoiseLaw, crossing_law
from studies.integer_subspace.identity import ratios
from studies.outcome import Bar, Number, Outcome, mean
from studies.picture import BLUE, GREEN, ORANGE, panels

TITLE = "14 cells, three crossing counts: the noise, and the chain beside exact draws"
KINDS = {
    "a cell in one count or in three": tuple(np.flatnonzero(CROSSING.sum(axis=0) != 2).tolist()),
    "a cell in two counts": tuple(np.flatnonzero(CROSSING.sum(axis=0) == 2).tolist()),
}
"""Cells that are alike; that one count and three are is a symmetry of the lattice."""
MOVE = np.array([1, -1, *[0] * 12])
"""Within a region: the shortest move."""
EARLY = 100

Floats = NDArray[np.float64]


class Size(NamedTuple):
    """Exact draws, the largest ||z||^2 that is counted, and what is run of each chain; l2 takes long."""

    draws: int
    most: int
    l1: Effort
    l2: Effort | None


QUICK = Size(20_000, 10_000, Effort((5_000,), 60, 1_000, (10, EARLY), (2_000,)), None)
FULL = Size(
    400_000,
    40_000,
    Effort(
        lags=(1_000, 5_000, 20_000),
        pairs=200,
        chains=10_000,
        steps=(1, 3, 10, 30, EARLY, 200, 300, 500, 1_000, 2_000),
        compared=(2_000, 10_000),
    ),
    Effort(
        lags=(20_000, 100_000),
        pairs=200,
        chains=10_000,
        steps=(1, 10, EARLY, 300, 1_000, 2_000, 3_000, 5_000, 10_000),
        compared=(50_000, 100_000),
    ),
)


def study(size: Size, bar: Bar[int]) -> Outcome:
    """Hold exact draws against the exact laws, and the chain against both."""
    entropy = SeededEntropy(1)
    drawn = {
        str(design.norm): design.law.sample(entropy, size.draws) for design in (CROSSING_L1, CROSSING_L2)
    }
    l1 = crossing_law(CROSSING, KINDS, CROSSING_L1.epsilon)
    l2 = radial_law(CROSSING_L2, CROSSING_FRAME, size.most)
    cases = [(CROSSING_L1, size.l1, Truth(distribution_of(CROSSING_L1.norms(drawn["l1"])), l1.mean_norm))]
    if size.l2 is not None:
        cases.append((CROSSING_L2, size.l2, Truth(norm_distribution(l2), l2.mean_norm)))
    chains = convergence.study(cases, 2, bar)
    early = convergence.follow(CROSSING_L1, size.l1.chains, (EARLY,), entropy, bar)[EARLY]
    return Outcome(
        {**_exact(drawn, l1, l2), **chains.numbers},
        chains.lines,
        {
            "crossing_noise": _picture(drawn, l1, l2, early),
            "crossing_convergence": chains.pictures["convergence"],
        },
    )


def radial_law(design: Design, frame: IntArray, most: int) -> RadialLaw:
    """Return the exact law of the norm of l2 noise."""
    lattice = ShellLattice.of(design.kernel("reduced").basis, frame, most)
    return RadialLaw.laplace(lattice, float(design.epsilon))


def norm_distribution(law: RadialLaw) -> Floats:
    """Return P(||z||^2 <= 0), P(||z||^2 <= 1), ... as far as was counted."""
    shares = np.zeros(len(law.lattice.counts))
    shares[np.rint(law.lattice.norms**2).astype(np.int64)] = law.weights / law.normaliser
    return np.asarray(np.cumsum(shares))


def _exact(drawn: dict[str, IntArray], l1: NoiseLaw, l2: RadialLaw) -> dict[str, Number]:
    numbers = {
        "counts that differ": Number(float(np.count_nonzero(CROSSING @ drawn["l1"].T)), truth=0),
        "l1: E norm": mean(np.abs(drawn["l1"]).sum(axis=1), l1.mean_norm),
        "l2: E norm": mean(np.sqrt(CROSSING_L2.norms(drawn["l2"])), l2.mean_norm),
    }
    for kind, cells in KINDS.items():
        zeros = (drawn["l1"][:, cells] == 0).mean(axis=1)
        numbers[f"l1: P(z = 0) of {kind}"] = mean(zeros, float(l1.cells[kind][0]))
    for least in (40, 80):
        tail = float(l2.tails[np.searchsorted(l2.lattice.norms, least)])
        reached = np.asarray(CROSSING_L2.norms(drawn["l2"]) >= least**2)
        numbers[f"l2: P(norm >= {least})"] = mean(reached, tail)
    for design in (CROSSING_L1, CROSSING_L2):
        numbers[f"{design.norm}: E q(z + u) / q(z)"] = mean(ratios(design, drawn[design.norm], MOVE), 1)
    return numbers


def _picture(drawn: dict[str, IntArray], l1: NoiseLaw, l2: RadialLaw, early: IntArray) -> Figure:
    figure, axes = panels(1, 3, (13.5, 4))
    for ax, (kind, cells) in zip(axes, KINDS.items(), strict=False):
        _cell(ax, l1.cells[kind], drawn["l1"][:, cells].ravel())
        ax.set_title(f"l1 noise of {kind}")
    axes[0].set_ylabel("probability")
    axes[0].legend(fontsize=9)
    edges = np.arange(0, 131, 2)
    for label, values, colour in (
        ("l1, exact draws", CROSSING_L1.norms(drawn["l1"]), BLUE),
        ("l2, exact draws", np.sqrt(CROSSING_L2.norms(drawn["l2"])), GREEN),
        (f"l1, chains after {EARLY} steps", early, ORANGE),
    ):
        shares, _ = np.histogram(values, edges)
        axes[2].stairs(shares / values.size, edges, color=colour, label=label)
    counted, _ = np.histogram(l2.lattice.norms, edges, weights=l2.weights / l2.normaliser)
    axes[2].plot(edges[:-1] + 1, counted, ".", color="black", markersize=3, label="l2, counted")
    axes[2].set_title("norm of the noise, in its own norm")
    axes[2].set_xlabel("norm, in steps of 2")
    axes[2].legend(fontsize=9)
    return figure


def _cell(ax: Axes, law: Floats, noise: IntArray) -> None:
    reach = 20
    values = np.arange(-reach, reach + 1)
    seen = np.array([(noise == value).mean() for value in values])
    ax.bar(values, seen, color=BLUE, alpha=0.35, width=0.85, label="exact draws")
    ax.plot(values, law[np.abs(values)], ".", color="black", markersize=4, label="law, by Fourier sums")
    ax.set_xlabel("noise")
