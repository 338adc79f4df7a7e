"""Errors by the true size of a count: mean errors, which show bias, and mean absolute errors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from holdfast.lattice.arrays import IntArray
from studies.outcome import Number, mean
from studies.picture import BLUE, BROWN, GREEN, GREY, ORANGE
from studies.topdown.blocks import ALONE, LATTICE, LINEAR, TOPDOWN, Floats, Tables

LOOKS = {TOPDOWN: (ORANGE, "o"), ALONE: (BROWN, "D"), LATTICE: (BLUE, "s"), LINEAR: (GREEN, "^")}
BIASED = (TOPDOWN, ALONE)
APART = 0.2
"""How far the points of two ways stand apart in a picture."""


class Table(NamedTuple):
    """Counts of a level, totals or cells, and where their classes of size begin."""

    name: str
    level: str
    totals: bool
    begins: tuple[int, ...]

    def of(self, tables: Tables, levels: Sequence[str]) -> IntArray | Floats:
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

    @property
    def classes(self) -> Iterator[tuple[int, str]]:
        """The places and names of classes that have counts."""
        return ((place, name) for place, name in enumerate(self.table.classes) if self.number[place])

    def numbers(self) -> dict[str, Number]:
        """Return the mean error of each class, 0 for what has no bias, and the mean absolute error."""
        truth = None if self.way in BIASED else 0.0
        found = {}
        for place, name in self.classes:
            found[f"{self.way}: error of {self.table.name}, {name}"] = mean(self.errors[:, place], truth)
            found[f"{self.way}: |error| of {self.table.name}, {name}"] = mean(self.sizes[:, place])
        return found


def by_size(table: Table, way: str, true: IntArray, runs: Sequence[IntArray | Floats]) -> BySize:
    """Return the errors of some runs by the class of the true count."""
    place = np.searchsorted(table.begins, true, side="right") - 1
    number = np.bincount(place, minlength=len(table.begins))
    with np.errstate(invalid="ignore"):
        errors, sizes = (
            np.array([np.bincount(place, of(run), number.size) / number for run in runs])
            for of in (np.asarray, np.abs)
        )
    return BySize(table, way, number, errors, sizes)


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
        centre = sample[:, places].mean(axis=0)
        spread = (
            sample[:, places].std(axis=0, ddof=1) / np.sqrt(len(sample)) if len(sample) > 1 else 0 * centre
        )
        ax.errorbar(
            np.array(places) + shift,
            centre,
            2 * spread,
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
    labels = [
        f"{name}\n({found[0].number[place]:,})" if found[0].number[place] else name
        for place, name in enumerate(table.classes)
    ]
    ax.set_xticks(range(len(labels)), labels, fontsize=8)
    ax.grid(axis="y", alpha=0.3)
