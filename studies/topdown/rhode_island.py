"""Rhode Island, 2010: how far counts of blocks and tracts are off, from the top down and without bias.

Each run measures all 26,246 nodes once. From the same measurements come the top-down counts (whole, none
below zero, adding up, county totals exact) and the best linear unbiased estimates (real, some below zero).
Another one measures cells alone, with all of the budget, to show what measured totals are for. Beside them
stands the partner of the same spec: exact noise on the lattice of the county totals, at the same rho, all of
which goes to the cells of blocks.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from studies.outcome import Bar, Number, Outcome, mean
from studies.picture import panels
from studies.topdown import blocks
from studies.topdown.blocks import LINEAR, SMALL, TOPDOWN, WAYS, Blocks, Floats, Releases
from studies.topdown.sizes import APART, BIASED, LOOKS, TABLES, BySize, by_size, draw, joined, log_scale

TITLE = "Rhode Island, 2010: errors of top-down counts by size, beside unbiased ones"
STAND_IN = "Stand-in for Rhode Island: errors by size on a tenth as many invented blocks"
FILE = "rhode_island_2010_blocks.csv"
COUNTY = 1
"""The place of counties among the levels."""


class Size(NamedTuple):
    """Runs of each way."""

    runs: int


QUICK, FULL = Size(8), Size(40)


def read(folder: Path) -> Blocks:
    """Return the blocks of Rhode Island."""
    return blocks.read(folder / FILE, "Rhode Island, 2010")


def invented() -> Blocks:
    """Return a tenth as many blocks."""
    return blocks.invented(SMALL)


class Runs(NamedTuple):
    """Errors of all runs by table and way; mean absolute ones of cells and totals by level and way."""

    by_size: list[list[BySize]]
    levels: dict[str, dict[str, Floats]]
    changed: int
    """County totals that are not the true ones, in whole counts of all runs."""
    adding: int
    """Counts that are not the sum of those below them."""
    negative: int


def study(source: Blocks, size: Size, bar: Bar[int], *, name: str = "rhode_island") -> Outcome:
    """Estimate each way several times."""
    found = runs(Releases.of(source), size, bar)
    numbers = {
        "county totals that differ, of all whole counts": Number(found.changed, truth=0),
        "counts that are not the sum of those below": Number(found.adding, truth=0),
        "counts from the top down below 0": Number(found.negative, truth=0),
    }
    for each in found.by_size:
        for one in each:
            numbers |= one.numbers()
    for what, ways in found.levels.items():
        for way, sample in ways.items():
            numbers[f"{way}: |error| of {what}"] = mean(sample)
    pictures = {name: _by_size(source, found, size), f"{name}_levels": _levels(source, found)}
    return Outcome(numbers, tuple(_lines(source, found, size)), pictures)


def runs(releases: Releases, size: Size, bar: Bar[int]) -> Runs:
    """Run each way several times."""
    levels, truth = releases.regions.levels, releases.truth
    sizes = [table.of(truth, levels) for table in TABLES]
    kept: dict[tuple[int, str], list[BySize]] = {(k, way): [] for k in range(len(TABLES)) for way in WAYS}
    absolute: dict[str, dict[str, list[float]]] = {
        f"{what} of {level}": {way: [] for way in WAYS} for what in ("cells", "totals") for level in levels
    }
    changed = adding = negative = 0
    for seed in bar(range(size.runs), "runs"):
        for way, errors in releases.errors(seed).items():
            for k, table in enumerate(TABLES):
                kept[k, way].append(by_size(table, way, sizes[k], table.of(errors, levels)))
            for level, error in zip(levels, errors, strict=True):
                absolute[f"cells of {level}"][way].append(float(np.abs(error).mean()))
                absolute[f"totals of {level}"][way].append(float(np.abs(error.sum(axis=1)).mean()))
            if way in BIASED:
                whole = [table + true for table, true in zip(errors, truth, strict=True)]
                negative += sum(int(np.count_nonzero(table < 0)) for table in whole)
                below = releases.regions.sums(np.asarray(errors[-1], dtype=np.int64))
                adding += sum(int(np.count_nonzero(a != b)) for a, b in zip(errors, below, strict=True))
            if way != LINEAR:
                changed += int(np.count_nonzero(errors[COUNTY].sum(axis=1)))
    by_class = [[joined(kept[k, way]) for way in WAYS] for k in range(len(TABLES))]
    told = {what: {way: np.array(each) for way, each in ways.items()} for what, ways in absolute.items()}
    return Runs(by_class, told, changed, adding, negative)


def _lines(source: Blocks, found: Runs, size: Size) -> list[str]:
    lines = [f"{source.name}, {size.runs} runs; mean error and mean |error| by the true size of a count:"]
    for each in found.by_size:
        lines.append(f"  {each[0].table.name:<18}{'':>10}" + "".join(f"{one.way:>22}" for one in each))
        for place, name in each[0].classes:
            told = "".join(
                f"{one.errors[:, place].mean():>+13.2f}{one.sizes[:, place].mean():>9.2f}" for one in each
            )
            lines.append(f"  {name:>18}{each[0].number[place]:>10,}{told}")
    lines.append(f"  {'mean |error|':<28}" + "".join(f"{way:>22}" for way in WAYS))
    for what, ways in found.levels.items():
        lines.append(f"  {what:>28}" + "".join(f"{ways[way].mean():>22.2f}" for way in WAYS))
    return lines


def _by_size(source: Blocks, found: Runs, size: Size) -> Figure:
    figure, axes = panels(2, len(TABLES), (17, 8), width_ratios=[len(table.begins) for table in TABLES])
    for column, each in enumerate(found.by_size):
        top, low = axes[column], axes[len(TABLES) + column]
        draw(top, each, absolute=False)
        draw(low, each, absolute=True)
        top.set_title(each[0].table.name)
        low.set_xlabel("true count (how many)")
    axes[0].set_ylabel("mean error (bars: 2 standard errors)")
    axes[len(TABLES)].set_ylabel("mean |error|")
    axes[0].legend(fontsize=9)
    figure.suptitle(f"{source.name}: {size.runs} runs at rho = 2.56, county totals exact")
    return figure


def _levels(source: Blocks, found: Runs) -> Figure:
    figure, axes = panels(1, 2, (11, 4.2))
    for ax, what in zip(axes, ("cells", "totals"), strict=True):
        told = {name.rpartition(" ")[2]: ways for name, ways in found.levels.items() if name.startswith(what)}
        shown = {level: ways for level, ways in told.items() if ways[TOPDOWN].max() > 0}
        for shift, way in zip(np.linspace(-APART, APART, len(WAYS)), WAYS, strict=True):
            colour, marker = LOOKS[way]
            values = [ways[way].mean() for ways in shown.values()]
            ax.plot(np.arange(len(shown)) + shift, values, marker, color=colour, markersize=7, label=way)
        log_scale(ax)
        ax.set_xticks(range(len(shown)), [level.replace("_", " ") for level in shown])
        ax.set_xlim(-0.5, len(shown) - 0.5)
        ax.grid(axis="y", alpha=0.3)
        ax.set_title(f"{source.name}: {what} of each level")
    axes[0].set_ylabel("mean |error|")
    axes[0].legend(fontsize=9)
    return figure
