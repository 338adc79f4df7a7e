"""[congenial-dp, Figure 1]: how far releases are from the confidential table, method by method.

Twenty confidential tables with cells from NegativeBinomial(100, .05), a hundred releases of each by

* raw: independent double geometric noise, epsilon 1 or 1/2 a cell, which keeps nothing;
* projected: raw with epsilon 1, then the nearest table without negative counts that keeps the totals;
* conditioned: the law of raw with epsilon 1/2 given the totals and counts of at least 0, drawn exactly.

The paper leaves open what these guarantee. Between tables that share the totals, a projection loses no more
than the raw release [semi-dp, Proposition 23], 1 for each unit of l1. What conditioning loses is bounded by
mechanisms/truncation/congeniality.py: 1/2 (1 + gamma) a unit, gamma at most 0.605 here and not 1. So two
methods are added that lose 1 a unit as well: conditioned with a larger parameter, and noise given the totals
alone, which is free [theory, 4] and unbiased but may go below 0.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import exp
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.estimation.conforming import Conforming
from holdfast.estimation.l2 import nonnegative_l2
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.conditioned import Conditioned
from holdfast.mechanisms.truncation.congeniality import Congeniality, congeniality
from holdfast.privacy.intensity import Pure
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.sampling.numbers.exponential import DoubleGeometric
from studies.congenial_dp.design import CELLS, CONFIDENTIAL, MATRIX, conditional_law, premises
from studies.outcome import Bar, Number, Outcome, mean
from studies.picture import BLUE, BROWN, GREEN, GREY, ORANGE, VIOLET, panels

TITLE = "Figure 1: distances from the confidential table"
EPSILON, HALF = Fraction(1), Fraction(1, 2)
RAW, PROJECTED, CONDITIONED, RAW_HALF, EQUAL, TOTALS = (
    "raw, 1",
    "projected, 1",
    "conditioned, 1/2",
    "raw, 1/2",
    "conditioned, loss 1",
    "totals alone, 1",
)
COLOURS = {
    RAW: GREY,
    PROJECTED: BLUE,
    CONDITIONED: ORANGE,
    RAW_HALF: BROWN,
    EQUAL: VIOLET,
    TOTALS: GREEN,
}
FEW, MANY = 2, 9
"""Counts up to the first and from the second on are looked at for bias."""

Floats = NDArray[np.float64]


class Size(NamedTuple):
    """Confidential tables, and releases of each."""

    tables: int
    releases: int


QUICK, FULL = Size(10, 12), Size(20, 100)


class Releases:
    """Releases of one table by each method: errors y - x, one release a row."""

    def __init__(self, counts: IntArray, size: int, equal: Fraction, entropy: SeededEntropy) -> None:
        raw = DoubleGeometric(EPSILON).sample(entropy, size * counts.size).reshape(size, counts.size)
        wide = DoubleGeometric(HALF).sample(entropy, raw.size).reshape(raw.shape)
        conforming = Conforming.of(csr_array(MATRIX), MATRIX @ counts)
        projected = np.array([nonnegative_l2(counts + z, conforming).values for z in raw]) - counts
        self.counts = counts
        drawn: dict[str, NDArray[Any]] = {
            RAW: raw,
            PROJECTED: projected,
            CONDITIONED: conditional_law(counts, HALF).sample(entropy, size),
            RAW_HALF: wide,
            EQUAL: conditional_law(counts, equal).sample(entropy, size),
            TOTALS: LatticeLaplaceLaw(csr_array(MATRIX), EPSILON, "l1").sample(entropy, size),
        }
        self.errors: dict[str, Floats] = {m: e.astype(np.float64) for m, e in drawn.items()}

    def l1(self, method: str) -> float:
        """Return the mean L1 distance."""
        return float(np.abs(self.errors[method]).sum(axis=1).mean())

    def l2(self, method: str) -> float:
        """Return the mean L2 distance."""
        return float(np.sqrt((self.errors[method] ** 2).sum(axis=1)).mean())

    def bias(self, method: str, where: NDArray[np.bool_]) -> float:
        """Return the mean error of some cells."""
        return float(self.errors[method][:, where].mean())


def equal_parameter() -> Fraction:
    """Return the parameter at which conditioning loses 1 a unit of l1, which is 2 a record."""
    target = Pure(2 * EPSILON)
    on = premises(CONFIDENTIAL, "unit")
    found = Conditioned.calibrate(on, intensity=target, nonnegative=True)
    return found.kappa


def cost() -> Congeniality:
    """Return what conditioning costs noise of 1/2 a cell, for each record of distance."""
    return congeniality(premises(CONFIDENTIAL, "unit"), HALF, nonnegative=True)


def confidential_tables(count: int) -> Iterator[IntArray]:
    """Yield the confidential tables; the paper's .05 is the chance of a count, not of the end."""
    seeded = np.random.default_rng(20)
    for _ in range(count):
        yield seeded.negative_binomial(100, 0.95, CELLS).astype(np.int64)


def expected_l1(method: str) -> float | None:
    """Return the mean L1 distance of raw noise, E |z| = 2 a / (1 - a^2) a cell with a = exp(-epsilon)."""
    if method not in (RAW, RAW_HALF):
        return None
    a = exp(-(EPSILON if method == RAW else HALF))
    return CELLS * 2 * a / (1 - a * a)


def study(size: Size, bar: Bar[IntArray]) -> Outcome:
    """Simulate, release, and compare."""
    entropy, equal = SeededEntropy(4), equal_parameter()
    tables = list(confidential_tables(size.tables))
    found = [Releases(counts, size.releases, equal, entropy) for counts in bar(tables, "tables")]
    gamma = cost().gamma
    numbers = {
        "gamma at 1/2, at most": Number(float(gamma)),
        "parameter for a loss of 1 a unit": Number(float(equal)),
    }
    for method in COLOURS:
        numbers[f"L1, {method}"] = mean(np.array([r.l1(method) for r in found]), expected_l1(method))
        numbers[f"L2, {method}"] = mean(np.array([r.l2(method) for r in found]))
    for method in (PROJECTED, CONDITIONED, EQUAL, TOTALS):
        # tables without such cells have none to average
        truth_of = 0.0 if method == TOTALS else None
        numbers[f"bias of cells up to {FEW}, {method}"] = _bias(found, method, lambda x: x <= FEW, truth_of)
        numbers[f"bias of cells from {MANY}, {method}"] = _bias(found, method, lambda x: x >= MANY, truth_of)
    lines = (
        "Mean L1 (L2): "
        + "; ".join(
            f"{method}: {numbers[f'L1, {method}'].value:.1f} ({numbers[f'L2, {method}'].value:.1f})"
            for method in COLOURS
        )
        + ".",
        (
            f"Conditioning loses at most {float(HALF * (1 + gamma)):.3f} a unit of l1 (gamma ="
            f" {float(gamma):.3f}), so at the loss of the first two methods it may use {float(equal):.3f}."
        ),
        (
            f"Cells with up to {FEW} people are too large by"
            f" {numbers[f'bias of cells up to {FEW}, {PROJECTED}'].value:.2f} (projected) and"
            f" {numbers[f'bias of cells up to {FEW}, {CONDITIONED}'].value:.2f} (conditioned) on average."
        ),
    )
    return Outcome(numbers, lines, {"figure_1": _picture(found)})


def _bias(
    found: list[Releases],
    method: str,
    where: Callable[[IntArray], NDArray[np.bool_]],
    truth: float | None,
) -> Number:
    return mean(np.array([r.bias(method, where(r.counts)) for r in found if where(r.counts).any()]), truth)


def _picture(found: list[Releases]) -> Figure:
    figure, axes = panels(1, 3, (12.5, 4.6), width_ratios=(1, 1, 1.1))
    _boxes(axes[0], {m: [r.l1(m) for r in found] for m in COLOURS})
    axes[0].set_title("mean L1 distance of each table")
    _boxes(axes[1], {m: [r.l2(m) for r in found] for m in COLOURS})
    axes[1].set_title("mean L2 distance of each table")
    _bias_lines(axes[2], found)
    return figure


def _boxes(ax: Axes, values: dict[str, list[float]]) -> None:
    """Draw one box a method."""
    drawn = ax.boxplot(list(values.values()), patch_artist=True, widths=0.6, medianprops={"color": "black"})
    for box, method in zip(drawn["boxes"], values, strict=True):
        box.set_facecolor(COLOURS[method])
        box.set_alpha(0.7)
    places = range(1, len(values) + 1)
    ax.set_xticks(places, list(values), rotation=35, ha="right", rotation_mode="anchor", fontsize=9)
    ax.set_ylim(0)
    ax.grid(axis="y", alpha=0.3)


def _bias_lines(ax: Axes, found: list[Releases]) -> None:
    counts = np.concatenate([r.counts for r in found])
    for method in (PROJECTED, CONDITIONED, EQUAL, TOTALS):
        errors = np.concatenate([r.errors[method].mean(axis=0) for r in found])
        shown = [c for c in range(13) if (counts == c).sum() >= 3]
        ax.plot(
            shown,
            [errors[counts == c].mean() for c in shown],
            color=COLOURS[method],
            marker="o",
            markersize=3.5,
            label=method,
        )
    ax.axhline(0, color="black", linewidth=0.8)
    ax.set_title("mean error of a cell, by its count")
    ax.set_xlabel("confidential count")
    ax.legend(fontsize=8.5)
    ax.grid(axis="y", alpha=0.3)
