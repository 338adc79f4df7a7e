"""Errors by the true size of a count: mean errors, which show bias, and mean absolute errors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import NamedTuple, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter
from numpy.typing import NDArray

from holdfast.lattice.arrays import IntArray
from studies.outcome import Number, mean
from studies.picture import BLUE, BROWN, GREEN, GREY, ORANGE
from studies.topdown.blocks import ALONE, LATTICE, LINEAR, TOPDOWN, Floats

N = TypeVar("N", np.int64, np.float64)

LOOKS = {TOPDOWN: (ORANGE, "o"), ALONE: (BROWN, "D"), LATTICE: (BLUE, "s"), LINEAR: (GREEN, "^")}
BIASED = (TOPDOWN, ALONE)
FEW = 20
"""Fewer runs do not tell how runs vary."""
SOME = 10
"""A class of fewer counts is left out."""
APART = 0.2
"""How far the points of two ways stand apart in a picture."""


class Table(NamedTuple):
    """Counts of a level, totals or cells, and where their classes of size begin."""

    name: str
    level: str
    totals: bool
    begins: tuple[int, ...]

    def of(self, tables: Sequence[NDArray[N]], levels: Sequence[str]) -> NDArray[N]:
        """Return these counts of all nodes, in one row."""
        table = tables[levels.index(self.level)]
        return np.asarray(table.sum(axis=1) if self.totals else table.ravel())

    @property
    def classes(self) -> tuple[str, ...]:
        """What the classes are called."""
        ends = [
            f"{low:,}" if high == low + 1 else f"{low:,}-{high - 1:,}" for low, high in pairwise(self.begins)
        ]
        return (*ends, f"{self.begins[-1]:,}+")


TABLES = (
    Table("totals of blocks", "block", True, (0, 1, 10, 50, 100, 500)),
    Table("cells of blocks", "block", False, (0, 1, 5, 20, 100)),
    Table("totals of tracts", "tract", True, (0, 2_000, 4_000, 6_000)),
    Table("cells of tracts", "tract", False, (0, 1, 10, 100, 1_000)),
)


@dataclass(frozen=True, eq=False)
class BySize:
    """Errors of one table by one way: a row for each run, a column for each class; NaN for an empty one."""

    table: Table
    way: str
    number: IntArray
    """How many counts each class has."""
    errors: Floats
    sizes: Floats
    squares: Floats

    @property
    def classes(self) -> Iterator[tuple[int, str]]:
        """The places and names of classes that have some counts."""
        return ((place, name) for place, name in enumerate(self.table.classes) if self.number[place] >= SOME)

    def numbers(self) -> dict[str, Number]:
        """Return the mean error of each class, 0 for what has no bias, and the mean absolute error."""
        truth = None if self.way in BIASED else 0.0
        found = {}
        for place, name in self.classes:
            found[f"{self.way}: error of {self.table.name}, {name}"] = self.mean(self.errors, place, truth)
            found[f"{self.way}: |error| of {self.table.name}, {name}"] = self.mean(self.sizes, place)
        return found

    def mean(self, sample: Floats, place: int, truth: float | None = None) -> Number:
        """Return the mean of errors, or of absolute ones, in a class.

        Its standard error is that between runs. Few runs say little of that; then counts are taken as
        independent, which they nearly are.
        """
        of_runs = sample[:, place]
        if of_runs.size >= FEW:
            return mean(of_runs, truth)
        value, number = float(of_runs.mean()), int(self.number[place]) * of_runs.size
        spread = float(self.squares[:, place].mean()) - value**2
        return Number(value, sqrt(max(spread, 0.0) / number), truth)


def by_size(table: Table, way: str, true: IntArray, error: Floats) -> BySize:
    """Return the errors of one run by the class of the true count."""
    place = np.searchsorted(table.begins, true, side="right") - 1
    number = np.bincount(place, minlength=len(table.begins))
    with np.errstate(invalid="ignore"):
        means = [np.bincount(place, of, number.size) / number for of in (error, np.abs(error), error**2)]
    return BySize(table, way, number, *(each[None] for each in means))


def joined(runs: Sequence[BySize]) -> BySize:
    """Return several runs of one table as one."""
    parts = [[each.errors, each.sizes, each.squares] for each in runs]
    return BySize(runs[0].table, runs[0].way, runs[0].number, *map(np.concatenate, zip(*parts, strict=True)))


def log_scale(ax: Axes) -> None:
    """Draw errors on a log scale, with plain numbers beside it."""
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def draw(ax: Axes, found: Sequence[BySize], *, absolute: bool) -> None:
    """Draw mean errors with bars of two standard errors, or mean absolute errors on a log scale."""
    for shift, each in zip(np.linspace(-APART, APART, len(found)), found, strict=True):
        colour, marker = LOOKS[each.way]
        sample = each.sizes if absolute else each.errors
        places = [place for place, _ in each.classes]
        means = [each.mean(sample, place) for place in places]
        ax.errorbar(
            np.array(places) + shift,
            [one.value for one in means],
            [2 * one.error for one in means],
            color=colour,
            marker=marker,
            markersize=5,
            linewidth=0.8,
            linestyle=":",
            elinewidth=1.2,
            label=each.way,
        )
    if absolute:
        log_scale(ax)
    else:
        ax.axhline(0, color=GREY, linewidth=0.8)
    table = found[0].table
    labels = [f"{name}\n({found[0].number[place]:,})" for place, name in enumerate(table.classes)]
    ax.set_xticks(range(len(labels)), labels, fontsize=8)
    ax.grid(axis="y", alpha=0.3)
