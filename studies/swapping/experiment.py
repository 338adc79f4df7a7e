"""One experiment for all files: swap at each rate several times, and measure what two-way tables lose."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from holdfast.mechanisms.swapping.bounds import epsilon
from holdfast.sampling.entropy import SeededEntropy
from studies.outcome import Bar, Number, mean
from studies.picture import BLUE, GREY, ORANGE
from studies.swapping.microdata import Floats, Microdata, TwoWay, broken, mape, move_probability

RATES = tuple(Fraction(percent, 100) for percent in (1, 2, 5, 10, 20, 30, 40, 50))
MOST = RATES[-1]
Step = tuple[Fraction, int]


def percent(rate: Fraction) -> str:
    """Return a rate as it is said."""
    return f"{100 * rate}%"


class Size(NamedTuple):
    """Runs at each rate; the slides have 20."""

    runs: int


QUICK, FULL = Size(8), Size(20)


@dataclass(frozen=True, eq=False)
class Found:
    """Runs of one file: by rate and run the errors of each table, and the share moved; cells at 50 percent.

    The cell of a table is the one that swapping changes most on average. It comes with that average.
    """

    before: Microdata
    tables: Mapping[str, TwoWay]
    errors: Mapping[str, Floats]
    cells: Mapping[str, tuple[Floats, float]]
    moved: Floats
    broken: int

    @property
    def largest(self) -> int:
        """Records of the largest stratum."""
        return self.before.largest

    def strata(self) -> str:
        """Return a sentence on the strata."""
        sizes = self.before.sizes
        return (
            f"The largest of {sizes.size} strata has {self.largest:,} records, {self.before.alone} have one."
        )

    def numbers(self) -> dict[str, Number]:
        """Return what is compared: errors, and what formulas give."""
        total = int(self.before.sizes.sum())
        numbers = {
            "records": Number(total),
            "strata": Number(self.before.sizes.size),
            "largest stratum": Number(self.largest),
            "records alone in their stratum": Number(self.before.alone),
            "invariants that a run broke": Number(self.broken, truth=0),
        }
        for rate, shares in zip(RATES, self.moved, strict=True):
            chance = float(self.before.sizes @ move_probability(self.before.sizes, rate)) / total
            error = sqrt(chance * (1 - chance) / (total * shares.size))
            numbers[f"share moved at {percent(rate)}"] = Number(float(shares.mean()), error, chance)
        for name, errors in self.errors.items():
            for rate, sample in zip(RATES, errors, strict=True):
                numbers[f"MAPE of {name} at {percent(rate)}"] = mean(sample)
        for name, (counts, truth) in self.cells.items():
            numbers[f"cell of {name} that changes most, at {percent(MOST)}"] = mean(counts, truth)
        return numbers


def swaps(
    before: Microdata, tables: Mapping[str, TwoWay], size: Size, seed: int, bar: Bar[Step], what: str
) -> Found:
    """Swap ``size.runs`` times at each rate."""
    entropy = SeededEntropy(seed)
    true = {name: table.counts(before) for name, table in tables.items()}
    expected = {name: table.expected(before, MOST) for name, table in tables.items()}
    cell = {name: int(np.abs(expected[name] - true[name]).argmax()) for name in tables}
    shape = len(RATES), size.runs
    errors = {name: np.empty(shape) for name in tables}
    counts = {name: np.empty(size.runs) for name in tables}
    moved, wrong = np.empty(shape), 0
    for rate, run in bar(list(product(RATES, range(size.runs))), what):
        after = before.swapped(rate, entropy)
        at = RATES.index(rate)
        moved[at, run] = after.moved / before.swap.size
        wrong += len(broken(before, after.records))
        for name, table in tables.items():
            found = table.counts(after.records)
            errors[name][at, run] = mape(true[name], found)
            counts[name][run] = found.flat[cell[name]]
    cells = {name: (counts[name], float(expected[name].flat[cell[name]])) for name in tables}
    return Found(before, tables, errors, cells, moved, wrong)


def boxes(ax: Axes, found: Found, name: str) -> None:
    """Draw the errors of a table against the rate, with epsilon below each rate."""
    places = np.arange(len(RATES))
    errors, table = found.errors[name], found.tables[name]
    ax.boxplot(
        errors.T,
        positions=places,
        widths=0.55,
        patch_artist=True,
        boxprops={"facecolor": BLUE, "alpha": 0.45, "linewidth": 0.8},
        medianprops={"color": "black"},
        flierprops={"marker": ".", "markersize": 4, "markeredgecolor": GREY},
        manage_ticks=False,
    )
    true = table.counts(found.before)
    bias = [mape(true, table.expected(found.before, rate)) for rate in RATES]
    look: dict[str, Any] = {
        "color": ORANGE,
        "marker": "D",
        "markersize": 5,
        "markeredgecolor": "white",
        "linestyle": "none",
    }
    ax.plot(places, bias, zorder=3, **look)
    ax.set_xticks(
        places,
        [f"{percent(rate)}\n{float(epsilon(found.largest, rate)):.2f}" for rate in RATES],
        fontsize=9,
    )
    ax.set_xlabel(f"swap rate; below it epsilon, the largest stratum having {found.largest:,} records")
    ax.set_ylabel("MAPE, percent")
    ax.set_ylim(0)
    ax.grid(axis="y", alpha=0.3)
    ax.legend(
        [Patch(facecolor=BLUE, alpha=0.45), Line2D([], [], **look)],
        [f"errors of {errors.shape[1]} runs", "error of the mean table of all possible runs"],
        loc="upper left",
        fontsize=9,
    )


def said(found: Found, name: str) -> str:
    """Return the errors of a table in one line."""
    each = ", ".join(
        f"{row.mean():.2f} ({percent(rate)})" for rate, row in zip(RATES, found.errors[name], strict=True)
    )
    return f"MAPE of {name}, percent, mean of {found.moved.shape[1]} runs: {each}."
