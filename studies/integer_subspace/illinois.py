"""[integer-subspace-dp, Figure 2]: noise for the counties of Illinois, by population. The noise side alone.

The paper draws the errors of the bureau's demonstration counts of November 2020 beside the noise, and sees a
bias that grows with the population. Those counts are not among our data; the populations are.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import DataError
from studies.integer_subspace.counties import CELLS
from studies.integer_subspace.designs import COUNTIES
from studies.outcome import Bar, Number, Outcome, mean
from studies.picture import BLUE, GREY, panels

TITLE = "Figure 2: the counties of Illinois, 2010"
FILE = "illinois_counties.csv"
LARGEST = 10

Floats = NDArray[np.float64]


class Size(NamedTuple):
    """Noise vectors; the paper has 1,000."""

    draws: int


QUICK, FULL = Size(1_000), Size(100_000)
SHOWN = 1_000


def read(folder: Path) -> tuple[list[str], IntArray]:
    """Return the counties and their populations, the smallest first."""
    frame = pl.read_csv(folder / FILE).sort("pop2010")
    if frame.height != CELLS:
        raise DataError(f"{FILE} has {frame.height} rows where Illinois has {CELLS} counties: get it anew.")
    return frame["county"].to_list(), frame["pop2010"].to_numpy().astype(np.int64)


def study(folder: Path, size: Size, bar: Bar[int]) -> Outcome:  # noqa: ARG001 - parts are called alike
    """Draw noise for all counties and compare it with their populations."""
    names, people = read(folder)
    noise = COUNTIES.law.sample(SeededEntropy(9), size.draws)
    by_size = slopes(noise, np.log10(people))
    numbers = {
        "population": Number(float(people.sum()), truth=12_830_632),
        "releases with another total": Number(
            float(np.count_nonzero((people + noise).sum(axis=1) - people.sum())), truth=0
        ),
        "least count of all releases below 0": Number(float(min(0, (people + noise).min())), truth=0),
        f"bias of the {LARGEST} largest counties": mean(noise[:, -LARGEST:].mean(axis=1), 0),
        "slope of the noise by log10 of the population": mean(by_size, 0),
        "E |z| over the population of the smallest": mean(np.abs(noise[:, 0]) / people[0]),
    }
    lines = (
        f"{CELLS} counties from {names[0]} ({people[0]:,}) to {names[-1]} ({people[-1]:,}).",
        (
            f"Noise in the {LARGEST} largest counties is"
            f" {numbers[f'bias of the {LARGEST} largest counties'].value:+.3f} on average, and does not grow"
            f" with the population; in {names[0]} its size is"
            f" {numbers['E |z| over the population of the smallest'].value:.2%} of the population."
        ),
        "The bureau's counts of November 2020 (red dots of Figure 2) are not among the data: left out.",
    )
    return Outcome(numbers, lines, {"figure_2": _picture(noise[:SHOWN], people)})


def slopes(noise: IntArray, size: Floats) -> Floats:
    """Return the least-squares slope of each noise vector; its sum is 0, so the mean size cancels."""
    centred = size - size.mean()
    return np.asarray(noise @ centred / (centred @ centred))


def boxes(ax: Axes, noise: IntArray) -> None:
    """Draw a box for each county, with whiskers of 1.5 times its height."""
    ax.boxplot(
        noise,
        positions=np.arange(noise.shape[1]),
        widths=0.6,
        showfliers=True,
        flierprops={"marker": "x", "markersize": 2.5, "markeredgecolor": GREY},
        medianprops={"color": "black"},
        boxprops={"linewidth": 0.7},
        whiskerprops={"linewidth": 0.7},
        capprops={"linewidth": 0.7},
        manage_ticks=False,
    )


def _picture(noise: IntArray, people: IntArray) -> Figure:
    figure, axes = panels(2, 1, (13, 6), height_ratios=(2.2, 1), sharex=True)
    places = np.arange(CELLS)
    boxes(axes[0], noise)
    axes[0].plot(places, noise[0], "s", color=BLUE, markersize=3.5, label="one exact draw")
    axes[0].axhline(0, color=GREY, linewidth=0.8)
    axes[0].set_ylabel("noise")
    axes[0].set_title(
        f"{noise.shape[0]:,} exact noise vectors with a total of 0, epsilon = 0.192 a unit of l1"
    )
    axes[0].legend(fontsize=9, loc="upper left")
    axes[1].semilogy(places, people, ".", color=GREY, markersize=4)
    axes[1].set_ylabel("population, 2010")
    axes[1].set_xlabel("counties of Illinois, by population")
    axes[1].grid(axis="y", alpha=0.3)
    return figure
