"""Intervals from the measurements: how often they hold the truth, and how long they are with invariants.

On a small tree (3 counties, 9 tracts, 36 blocks, 2 x 2 cells) all nodes are measured many times, and the 90
percent intervals of the best linear estimates are compared with the truth, by the county totals and as if
these were not known. On Rhode Island the same is done a few times for all 26,246 nodes. Lengths depend on the
geography and the noise alone, so nothing is random in them: no interval may be longer with invariants.
"""

import tomllib
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from holdfast import SeededEntropy, Spec, prepare
from holdfast.estimation.tree.normal import intervals_at
from holdfast.estimation.tree.passes import Estimates
from holdfast.inference.node_intervals import best_linear
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.topdown.file import Values
from holdfast.mechanisms.topdown.mechanism import TopDown
from studies.outcome import Bar, Number, Outcome, mean
from studies.picture import BLUE, GREY, ORANGE, panels
from studies.topdown import rhode_island
from studies.topdown.blocks import TOPDOWN, Blocks, Floats, Releases
from studies.topdown.rhode_island import FILE

__all__ = ["FILE"]

TITLE = "Coverage and length of 90 percent intervals, with invariants and without"
STAND_IN = "Coverage and length of 90 percent intervals, a tenth as many invented blocks for Rhode Island"
LEVEL = 0.9
MAY_BE_OFF = 0.02
WITH, WITHOUT = "with invariants", "without"
KINDS = {WITH: (BLUE, "o"), WITHOUT: (ORANGE, "s")}
ROUNDING = 1e-9
MANY = 100
"""Of fewer intervals a few runs say nothing."""
SPEC = """\
[data]
path = "tree.csv"
cells = ["age", "sex"]
count = "people"

[data.geography]
column = "block"
prefixes = { state = 1, county = 2, tract = 3, block = 4 }

[[invariants]]
total = true
level = "county"

[privacy]
standard = "zcdp"
rho = "1/5"
adjacency = "unit"

[mechanism]
name = "topdown"
allocation = { state = "1/10", county = "2/10", tract = "3/10", block = "4/10" }
"""


class Size(NamedTuple):
    """Runs on the small tree, and on blocks."""

    runs: int
    of_blocks: int


QUICK, FULL = Size(500, 4), Size(2_000, 20)


def read(folder: Path) -> Blocks:
    """Return the blocks of Rhode Island."""
    return rhode_island.read(folder)


def invented() -> Blocks:
    """Return a tenth as many blocks."""
    return rhode_island.invented()


class Group(NamedTuple):
    """Cells, or totals, of a level: the queries over the cells of a node."""

    level: str
    what: str
    queries: Floats

    @property
    def name(self) -> str:
        """What it is called."""
        return f"{self.what} of {self.level.replace('_', ' ')}"


class Lengths(NamedTuple):
    """Lengths with invariants and without of all intervals of a group; 0 where invariants fix the count."""

    kept: Floats
    free: Floats

    @property
    def ratio(self) -> Floats:
        """How long an interval is with invariants, beside its length without."""
        return self.kept / self.free


def groups(mechanism: TopDown) -> list[Group]:
    """Return cells and totals of every level, root first."""
    regions = mechanism.design.regions
    queries = {"cells": np.eye(regions.width), "totals": np.ones((1, regions.width))}
    return [Group(level, what, rows) for what, rows in queries.items() for level in regions.levels]


def held(estimates: Estimates, group: Group, truth: IntArray) -> float:
    """Return the share of intervals that hold the truth; a point must be it, within rounding."""
    found = intervals_at(estimates, group.level, group.queries, LEVEL)
    off = np.abs(found.estimate - truth @ group.queries.T)
    return float((off <= found.half_width + 1e-6 * found.determined).mean())


def lengths(mechanism: TopDown, values: Values) -> dict[str, Lengths]:
    """Return the lengths of all intervals by group, with invariants and without."""
    both = [best_linear(mechanism, values, invariants=invariants) for invariants in (True, False)]
    return {
        group.name: Lengths(
            *(2 * intervals_at(each, group.level, group.queries, LEVEL).half_width.ravel() for each in both)
        )
        for group in groups(mechanism)
    }


def small() -> tuple[TopDown, IntArray, tuple[IntArray, ...]]:
    """Return the mechanism of the small tree, its counts, and its true tables by level."""
    codes = [f"1{a}{b}{c}" for a, b, c in product("123", "123", "1234")]
    people = np.random.default_rng(5).poisson(12, 4 * len(codes))
    frame = pl.DataFrame(
        {
            "block": np.repeat(codes, 4),
            "age": ["minor", "minor", "adult", "adult"] * len(codes),
            "sex": ["f", "m"] * (2 * len(codes)),
            "people": people,
        }
    )
    ready = prepare(Spec.model_validate(tomllib.loads(SPEC)), data=frame)
    assert isinstance(ready.mechanism, TopDown)
    return ready.mechanism, ready.counts, ready.mechanism.design.regions.sums(ready.counts)


def covered(
    mechanism: TopDown, counts: IntArray, truth: tuple[IntArray, ...], runs: int, bar: Bar[int], what: str
) -> dict[str, dict[str, Floats]]:
    """Return the share of intervals that hold the truth in each run, by group and kind."""
    law, asked, levels = mechanism.law(counts), groups(mechanism), mechanism.design.regions.levels
    found: dict[str, dict[str, list[float]]] = {g.name: {kind: [] for kind in KINDS} for g in asked}
    for seed in bar(range(runs), what):
        values = law.measure(SeededEntropy(seed))
        for kind in KINDS:
            estimates = best_linear(mechanism, values, invariants=kind == WITH)
            for group in asked:
                found[group.name][kind].append(held(estimates, group, truth[levels.index(group.level)]))
    return {name: {kind: np.array(each) for kind, each in kinds.items()} for name, kinds in found.items()}


def study(source: Blocks, size: Size, bar: Bar[int], *, name: str = "coverage") -> Outcome:
    """Count how often intervals hold the truth, and compare their lengths."""
    tree, counts, truth = small()
    releases = Releases.of(source, (TOPDOWN,))
    large = releases.mechanism()
    numbers: dict[str, Number] = {}
    lines: list[str] = []
    shares: dict[str, dict[str, dict[str, Floats]]] = {}
    sizes: dict[str, dict[str, Lengths]] = {}
    for where, mechanism, all_counts, tables, runs in (
        ("small tree", tree, counts, truth, size.runs),
        (source.name, large, releases.prepared[TOPDOWN].counts, releases.truth, size.of_blocks),
    ):
        told = "small tree" if mechanism is tree else "blocks"
        shares[where] = covered(mechanism, all_counts, tables, runs, bar, where)
        sizes[where] = lengths(mechanism, mechanism.law(all_counts).measure(SeededEntropy(0)))
        longer = sum(int((each.kept > each.free * (1 + ROUNDING)).sum()) for each in sizes[where].values())
        numbers[f"{told}: intervals that are longer with invariants"] = Number(longer, truth=0)
        lines.append(
            f"{where}, {runs:,} runs: coverage {WITH} and {WITHOUT}; mean length {WITH} and {WITHOUT}"
        )
        for group, each in sizes[where].items():
            points = bool((each.kept == 0).all())
            for kind, sample in shares[where][group].items():
                if mechanism is large and each.kept.size < MANY:
                    continue
                exact = 1.0 if points and kind == WITH else LEVEL if mechanism is tree else None
                numbers[f"{told}: coverage of {group}, {kind}"] = mean(sample, exact)
            for kind, length in zip(KINDS, each, strict=True):
                numbers[f"{told}: mean length of {group}, {kind}"] = Number(float(length.mean()))
            both = shares[where][group]
            lines.append(
                f"  {group:<22}{both[WITH].mean():>8.4f}{both[WITHOUT].mean():>8.4f}"
                f"{each.kept.mean():>10.3f}{each.free.mean():>8.3f}   ratio {each.ratio.min():.4f} to"
                f" {each.ratio.max():.4f}"
            )
    return Outcome(numbers, tuple(lines), {name: _picture(shares, sizes)})


def _picture(shares: dict[str, dict[str, dict[str, Floats]]], sizes: dict[str, dict[str, Lengths]]) -> Figure:
    figure, axes = panels(2, 2, (14, 9), width_ratios=(1, 1.2))
    for row, where in enumerate(shares):
        left, right = axes[2 * row], axes[2 * row + 1]
        _coverage(left, shares[where], sizes[where])
        _ratios(right, sizes[where])
        left.set_title(f"{where}: coverage of 90 percent intervals")
        right.set_title(f"{where}: length with the county totals, beside that without")
    axes[0].legend(fontsize=9, loc="lower left")
    return figure


def _coverage(ax: Axes, shares: dict[str, dict[str, Floats]], sizes: dict[str, Lengths]) -> None:
    names = [
        name
        for name, each in sizes.items()
        if (each.kept > 0).any() and each.kept.size * shares[name][WITH].size >= MANY * MANY // 4
    ]
    ax.axhspan(LEVEL - MAY_BE_OFF, LEVEL + MAY_BE_OFF, color=GREY, alpha=0.15, linewidth=0)
    ax.axhline(LEVEL, color=GREY, linewidth=0.8)
    for shift, (kind, (colour, marker)) in zip((-0.12, 0.12), KINDS.items(), strict=True):
        found = [mean(shares[name][kind]) for name in names]
        ax.errorbar(
            np.arange(len(names)) + shift,
            [each.value for each in found],
            [2 * each.error for each in found],
            color=colour,
            marker=marker,
            linestyle="none",
            label=f"{kind} (bars: 2 standard errors)",
        )
    ax.set_ylim(0.86, 0.94)
    _name(ax, names)


def _ratios(ax: Axes, sizes: dict[str, Lengths]) -> None:
    ax.boxplot(
        [each.ratio for each in sizes.values()],
        positions=np.arange(len(sizes)),
        whis=(0, 100),
        widths=0.5,
        patch_artist=True,
        boxprops={"facecolor": BLUE, "alpha": 0.45, "linewidth": 0.8},
        medianprops={"color": "black"},
        manage_ticks=False,
    )
    for place, each in enumerate(sizes.values()):
        middle = float(np.median(each.ratio))
        ax.annotate(
            f"{middle:.3g}" if middle < 0.995 else f"{middle:.4f}",
            (place, float(each.ratio.min())),
            (0, -12),
            textcoords="offset points",
            ha="center",
            fontsize=8,
        )
    ax.axhline(1, color=GREY, linewidth=0.8)
    ax.set_ylim(-0.1, 1.05)
    _name(ax, list(sizes))


def _name(ax: Axes, names: list[str]) -> None:
    ax.set_xticks(range(len(names)), [name.replace(" of ", "\nof ") for name in names], fontsize=8)
    ax.set_xlim(-0.6, len(names) - 0.4)
    ax.grid(axis="y", alpha=0.3)
