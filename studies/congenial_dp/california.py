"""The same on real tables: sex by age in the 58 counties of California, 2010 [congenial-dp, Section 3].

The paper simulates its tables after census table P12. Here are P12's own counts, with the same totals kept.
Beside the methods of Figure 1 stand the bureau's demonstration counts of March 2022, made by its TopDown
algorithm with another budget and other invariants: how far they are off is shown for scale, not as a contest.

Counties are larger than the simulated tables, so counts of 0 are hardly ever in reach of noise of 1/2 a cell.
For the smallest, Alpine, wider noise shows the bias that bounds bring, next to the law that keeps the totals
alone, which has none [theory, 5].
"""

from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.estimation.conforming import Conforming
from holdfast.estimation.l2 import nonnegative_l2
from holdfast.lattice.arrays import IntArray
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.sampling.numbers.exponential import DoubleGeometric
from holdfast.system.errors import DataError
from studies.congenial_dp import sampler
from studies.congenial_dp.design import CELLS, COLUMNS, MATRIX, conditional_law
from studies.congenial_dp.distances import (
    COLOURS,
    CONDITIONED,
    EQUAL,
    HALF,
    PROJECTED,
    RAW,
    TOTALS,
    Releases,
    equal_parameter,
    expected_l1,
)
from studies.outcome import Bar, Number, Outcome, mean
from studies.picture import BLUE, GREEN, ORANGE, RED, panels

TITLE = "California: the same on the 58 counties of census table P12"
FILE = "california_2010_p12.csv"
SMALLEST, SMALL, LARGEST = "Alpine County", "Sierra County", "Los Angeles County"
LOW = Fraction(1, 5)
"""The noise of the bias panel: half of it a cell under bounds, so that nothing loses more than 1/5 a unit."""
FEW = 8
"""Alpine's cells up to this count are looked at for bias."""
LATTICE, BOUNDED, NEAREST = "totals alone, 1/5", "conditioned, 1/10", "projected, 1/5"

Floats = NDArray[np.float64]


class Size(NamedTuple):
    """Counties besides the three that are always taken, releases of each, and of Alpine for its bias."""

    counties: int
    releases: int
    bias: int


QUICK, FULL = Size(3, 10, 150), Size(55, 100, 1_000)


class County(NamedTuple):
    """A table and the bureau's counts for it."""

    name: str
    counts: IntArray
    bureau: IntArray


def read(folder: Path) -> list[County]:
    """Return the counties by population, smallest first."""
    frame = pl.read_csv(folder / FILE).with_columns(
        cell=pl.col("age_index") + COLUMNS * (pl.col("sex") == "Male")
    )
    found = []
    for (name,), rows in frame.sort("cell").group_by("county", maintain_order=True):
        if rows["cell"].to_list() != list(range(CELLS)):
            raise DataError(f"{FILE} does not list each of the {CELLS} cells of {name} once: get it anew.")
        found.append(
            County(
                str(name),
                rows["count"].to_numpy().astype(np.int64),
                rows["das_demonstration_2022"].to_numpy().astype(np.int64),
            )
        )
    return sorted(found, key=lambda county: int(county.counts.sum()))


def chosen(counties: list[County], others: int) -> list[County]:
    """Return the three counties of the numbers, and others spread over the sizes."""
    always = [c for c in counties if c.name in (SMALLEST, SMALL, LARGEST)]
    rest = [c for c in counties if c.name not in (SMALLEST, SMALL, LARGEST)]
    places = np.unique(np.linspace(0, len(rest) - 1, min(others, len(rest))).round().astype(int))
    return sorted([*always, *(rest[i] for i in places)], key=lambda county: int(county.counts.sum()))


class Released(NamedTuple):
    """One county: releases by each method, and the published sampler's acceptance."""

    county: County
    releases: Releases
    acceptance: Number


def study(folder: Path, size: Size, bar: Bar[County]) -> Outcome:
    """Release each county, and measure the bias in the smallest one."""
    counties, entropy, equal = read(folder), SeededEntropy(7), equal_parameter()
    found = []
    for county in bar(chosen(counties, size.counties), "counties"):
        releases = Releases(county.counts, size.releases, equal, entropy)
        exact = conditional_law(county.counts, HALF).sample(entropy, sampler.BATCHES * 10 * size.releases)
        chain = sampler.kernel(county.counts, HALF, sampler.RATE)
        found.append(Released(county, releases, sampler.acceptance(chain, exact, entropy)))
    alpine = next(c for c in counties if c.name == SMALLEST)
    errors = alpine_errors(alpine.counts, size.bias, entropy)
    numbers = {
        "population": Number(float(sum(c.counts.sum() for c in counties)), truth=37_253_956),
        "population of the bureau's counts": Number(
            float(sum(c.bureau.sum() for c in counties)), truth=37_253_956
        ),
        "mean L1 of the bureau's counts": Number(
            float(np.mean([np.abs(c.bureau - c.counts).sum() for c in counties]))
        ),
    }
    for county, releases, accepted in found:
        if county.name not in (SMALLEST, SMALL, LARGEST):
            continue
        for method in COLOURS:
            numbers[f"L1, {county.name}, {method}"] = mean(
                np.abs(releases.errors[method]).sum(axis=1), expected_l1(method)
            )
        numbers[f"acceptance at rate 0.6, {county.name}"] = accepted
    few = alpine.counts <= FEW
    for name, error in errors.items():
        truth = 0.0 if name == LATTICE else None
        numbers[f"bias of cells up to {FEW} in Alpine, {name}"] = mean(error[:, few].mean(axis=1), truth)
    return Outcome(numbers, _lines(found, numbers), {"california": _picture(found, alpine, errors)})


def alpine_errors(counts: IntArray, size: int, entropy: SeededEntropy) -> dict[str, Floats]:
    """Return y - x of releases with much noise: without bounds, with them, and projected."""
    shape = (size, counts.size)
    raw = DoubleGeometric(LOW).sample(entropy, size * counts.size).reshape(shape)
    conforming = Conforming.of(csr_array(MATRIX), MATRIX @ counts)
    return {
        LATTICE: LatticeLaplaceLaw(csr_array(MATRIX), LOW, "l1").sample(entropy, size).astype(np.float64),
        BOUNDED: conditional_law(counts, LOW / 2).sample(entropy, size).astype(np.float64),
        NEAREST: np.array([nonnegative_l2(counts + z, conforming).values for z in raw]) - counts,
    }


def _lines(found: list[Released], numbers: dict[str, Number]) -> tuple[str, ...]:
    accepted = [r.acceptance.value for r in found]
    bureau = numbers["mean L1 of the bureau's counts"].value
    biases = "; ".join(
        f"{name}: {numbers[f'bias of cells up to {FEW} in Alpine, {name}'].value:+.2f}"
        for name in (LATTICE, BOUNDED, NEAREST)
    )
    return (
        f"{len(found)} counties. Mean L1: "
        + "; ".join(f"{m}: {np.mean([r.releases.l1(m) for r in found]):.1f}" for m in COLOURS)
        + f"; the bureau's demonstration counts: {bureau:.0f}.",
        f"The published sampler would accept {min(accepted):.2%} to {max(accepted):.2%} at the rate 0.6.",
        f"Mean error of Alpine's cells with up to {FEW} people, at a loss of 1/5 a unit or less: {biases}.",
    )


def _picture(found: list[Released], alpine: County, errors: dict[str, Floats]) -> Figure:
    figure, axes = panels(1, 3, (13.5, 4.2))
    people = [int(r.county.counts.sum()) for r in found]
    for method in (CONDITIONED, EQUAL, PROJECTED, RAW, TOTALS):
        distances = [r.releases.l1(method) for r in found]
        axes[0].plot(people, distances, ".", color=COLOURS[method], label=method)
    bureau = [np.abs(r.county.bureau - r.county.counts).sum() for r in found]
    axes[0].plot(people, bureau, "+", color=RED, label="the bureau, 2022")
    axes[0].set_yscale("log")
    axes[0].set_title("mean L1 distance of each county")
    axes[1].errorbar(
        people,
        [100 * r.acceptance.value for r in found],
        yerr=[200 * r.acceptance.error for r in found],
        fmt=".",
        color=BLUE,
        elinewidth=0.8,
    )
    axes[1].set_ylim(0)
    axes[1].set_title("acceptance of the published sampler, %")
    for ax in axes[:2]:
        ax.set_xscale("log")
        ax.set_xlabel("people in the county")
        ax.grid(axis="y", alpha=0.3)
    axes[0].legend(fontsize=8.5, loc="upper left", ncols=2)
    axes[0].set_ylim(20, 9000)
    _bias_points(axes[2], alpine, errors)
    return figure


def _bias_points(ax: Axes, alpine: County, errors: dict[str, Floats]) -> None:
    for (name, error), colour in zip(errors.items(), (GREEN, ORANGE, BLUE), strict=True):
        ax.plot(alpine.counts, error.mean(axis=0), ".", color=colour, label=name)
    ax.axhline(0, color="black", linewidth=0.8)
    ax.set_title("mean error of Alpine's cells")
    ax.set_xlabel("count of the cell")
    ax.legend(fontsize=8.5)
    ax.grid(axis="y", alpha=0.3)
