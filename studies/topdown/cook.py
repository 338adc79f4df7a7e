"""Cook County, 2010: 99,042 blocks at once, from the top down, for scale.

Seconds by phase depend on the machine: they are told and kept, and compared with nothing. The state and the
county are one node here, whose total is invariant.
"""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from matplotlib.figure import Figure

from holdfast.system.text import counted
from studies.outcome import Bar, Number, Outcome
from studies.picture import panels
from studies.topdown import blocks
from studies.topdown.blocks import COOK, LINEAR, TOPDOWN, Blocks, Releases, off
from studies.topdown.sizes import TABLES, BySize, by_size, draw, joined

TITLE = "Cook County, 2010: one run at scale"
STAND_IN = "Stand-in for Cook County: one run on as many invented blocks"
FILE = "cook_county_2010_blocks.csv"
WAYS = (TOPDOWN, LINEAR)

T = TypeVar("T")


class Size(NamedTuple):
    """Runs; one shows enough, as there are many blocks."""

    runs: int


QUICK, FULL = Size(1), Size(3)


def read(folder: Path) -> Blocks:
    """Return the blocks of Cook County."""
    return blocks.read(folder / FILE, "Cook County, 2010")


def invented() -> Blocks:
    """Return as many blocks."""
    return blocks.invented(COOK)


def study(source: Blocks, size: Size, bar: Bar[int], *, name: str = "cook") -> Outcome:
    """Estimate all nodes, and tell how long each phase takes."""
    speeds: dict[str, float] = {}
    releases = _timed(speeds, "prepare", partial(Releases.of, source, (TOPDOWN,)))
    levels, truth = releases.regions.levels, releases.truth
    kept: dict[str, list[list[BySize]]] = {way: [[] for _ in TABLES] for way in WAYS}
    sizes = [table.of(truth, levels) for table in TABLES]
    wrong = 0
    for seed in bar(range(size.runs), "runs"):
        values = _timed(speeds, "measure", partial(releases.measured, seed))
        counts = _timed(speeds, "estimate and round", partial(releases.counts, values))
        linear = _timed(speeds, "best linear", partial(releases.linear, values))
        wrong += int(counts[0].sum() != truth[0].sum()) + int(min(table.min() for table in counts) < 0)
        wrong += sum(
            int((table != below).any())
            for table, below in zip(counts, releases.regions.sums(counts[-1]), strict=True)
        )
        for way, tables in ((TOPDOWN, counts), (LINEAR, linear.tables)):
            errors = off(tables, truth)
            for place, table in enumerate(TABLES):
                kept[way][place].append(by_size(table, way, sizes[place], table.of(errors, levels)))
    found = [[joined(kept[way][place]) for way in WAYS] for place in range(len(TABLES))]
    numbers = {
        "people": Number(float(truth[0].sum())),
        "blocks": Number(float(releases.regions.sizes[-1])),
        "levels that are wrong in a total, a sum or a sign": Number(wrong, truth=0),
    }
    lines = [
        f"{source.name}: {releases.regions.sizes[-1]:,} blocks, {counted(size.runs, 'run')}; errors by size:"
    ]
    for each in found:
        lines.append(f"  {each[0].table.name}")
        for one in each:
            numbers |= one.numbers()
            told = ", ".join(f"{one.errors[:, k].mean():+.2f} ({label})" for k, label in one.classes)
            lines.append(f"    {one.way:<12}{told}")
    lines.append("Seconds: " + ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in speeds.items()) + ".")
    return Outcome(numbers, tuple(lines), {name: _picture(source, found)}, speeds)


def _timed(speeds: dict[str, float], phase: str, work: Callable[[], T]) -> T:
    """Do some work, and keep the least seconds that it took in any run."""
    started = time.perf_counter()
    done = work()
    took = time.perf_counter() - started
    speeds[phase] = round(min(took, speeds.get(phase, took)), 3)
    return done


def _picture(source: Blocks, found: list[list[BySize]]) -> Figure:
    figure, axes = panels(1, len(TABLES), (17, 4.4), width_ratios=[len(table.begins) for table in TABLES])
    for ax, each in zip(axes, found, strict=True):
        draw(ax, each, absolute=False)
        ax.set_title(f"{source.name}: {each[0].table.name}")
        ax.set_xlabel("true count (how many)")
    axes[0].set_ylabel("mean error (bars: 2 standard errors)")
    axes[0].legend(fontsize=9)
    return figure
