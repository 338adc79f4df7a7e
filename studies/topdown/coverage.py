"""Intervals from the measurements: how often they hold the truth, and how long they are with invariants.

On a small tree (3 counties, 9 tracts, 36 blocks, 2 x 2 cells) all nodes are measured many times, and the 90
percent intervals of the best linear estimates are compared with the truth, by the county totals and as if
these were not known. Ends are those of a normal law, which noise as wide as this has nearly; what `holdfast
intervals` prints comes from the discrete law and is about a hundredth longer. On Rhode Island the same is
done a few times for all 26,246 nodes. Lengths depend on the geography and the noise alone, so nothing is
random in them: no interval may be longer with invariants.
"""

import tomllib
from itertools import product
from math import sqrt
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from holdfast import SeededEntropy, Spec, prepare
from holdfast.estimation.hierarchy.linear import Estimates
from holdfast.estimation.hierarchy.variances import variances
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.topdown.best_linear import best_linear
from holdfast.mechanisms.topdown.measurements import Values
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
SCALE = 1e-8, 900.0
"""Percent that are drawn."""
SOME, MANY = 20, 500
"""Of fewer intervals a few runs on blocks say nothing: in one run, and in all of them."""
SMALL = "small tree"
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


def held(estimates: Estimates, group: Group, truth: IntArray, length: Floats) -> float:
    """Return the share of intervals that hold the truth; a point must be it, within rounding."""
    wrong = np.abs((estimates.at(group.level) - truth) @ group.queries.T).ravel()
    return float((wrong <= np.where(length > 0, length / 2, 1e-6)).mean())


def lengths(mechanism: TopDown, values: Values) -> dict[str, Lengths]:
    """Return the lengths of all intervals by group, with invariants and without; values do not matter."""
    both = [best_linear(mechanism, values, invariants=invariants) for invariants in (True, False)]
    both_ends = 2 * NormalDist().inv_cdf((1 + LEVEL) / 2)
    return {
        group.name: Lengths(
            *(both_ends * np.sqrt(variances(each, group.level, group.queries)).ravel() for each in both)
        )
        for group in groups(mechanism)
    }


class Place(NamedTuple):
    """A geography with its true counts: what it is called in pictures and among numbers."""

    name: str
    short: str
    mechanism: TopDown
    counts: IntArray

    @property
    def truth(self) -> dict[str, IntArray]:
        """The true tables of the nodes of each level."""
        regions = self.mechanism.design.regions
        return dict(zip(regions.levels, regions.sums(self.counts), strict=True))

    def measured(self, seed: int) -> Values:
        """Return the measurements of one run."""
        return self.mechanism.law(self.counts).measure(SeededEntropy(seed))


def small() -> Place:
    """Return the small tree, with 12 people a cell about."""
    codes = [f"1{a}{b}{c}" for a, b, c in product("123", "123", "1234")]
    frame = pl.DataFrame(
        {
            "block": np.repeat(codes, 4),
            "age": ["minor", "minor", "adult", "adult"] * len(codes),
            "sex": ["f", "m"] * (2 * len(codes)),
            "people": np.random.default_rng(5).poisson(12, 4 * len(codes)),
        }
    )
    ready = prepare(Spec.model_validate(tomllib.loads(SPEC)), data=frame)
    assert isinstance(ready.mechanism, TopDown)
    return Place(SMALL, SMALL, ready.mechanism, ready.counts)


def large(source: Blocks) -> Place:
    """Return blocks, as they are released from the top down."""
    releases = Releases.of(source, (TOPDOWN,))
    return Place(source.name, "blocks", releases.mechanism(), releases.prepared[TOPDOWN].counts)


class Found(NamedTuple):
    """What intervals do: by group and kind the share that holds the truth in each run, and their lengths."""

    place: Place
    shares: dict[str, dict[str, Floats]]
    lengths: dict[str, Lengths]

    @classmethod
    def of(cls, place: Place, runs: int, bar: Bar[int]) -> "Found":
        """Measure a place several times."""
        asked, truth = groups(place.mechanism), place.truth
        sizes = lengths(place.mechanism, place.measured(0))
        shares: dict[str, dict[str, list[float]]] = {g.name: {kind: [] for kind in KINDS} for g in asked}
        for seed in bar(range(runs), place.name):
            values = place.measured(seed)
            for which, kind in enumerate(KINDS):
                estimates = best_linear(place.mechanism, values, invariants=kind == WITH)
                for group in asked:
                    length = sizes[group.name][which]
                    shares[group.name][kind].append(held(estimates, group, truth[group.level], length))
        told = {
            name: {kind: np.array(each) for kind, each in kinds.items()} for name, kinds in shares.items()
        }
        return cls(place, told, sizes)

    def share(self, group: str, kind: str, truth: float | None = None) -> Number:
        """Return the share of intervals that hold the truth; a few runs may be alike by chance."""
        sample, number = self.shares[group][kind], self.lengths[group].kept.size
        found = mean(sample, truth)
        alone = sqrt(LEVEL * (1 - LEVEL) / (number * sample.size)) if found.value < 1 else 0.0
        return Number(found.value, max(found.error, alone), truth)

    def numbers(self) -> dict[str, Number]:
        """Return shares and lengths. On the small tree the share must be the level."""
        short = self.place.short
        longer = sum(int((each.kept > each.free * (1 + ROUNDING)).sum()) for each in self.lengths.values())
        found = {f"{short}: intervals that are longer with invariants": Number(longer, truth=0)}
        for group, each in self.lengths.items():
            for kind, length in zip(KINDS, each, strict=True):
                if short == SMALL or each.kept.size >= SOME:
                    exact = 1.0 if not length.any() else LEVEL if short == SMALL else None
                    found[f"{short}: coverage of {group}, {kind}"] = self.share(group, kind, exact)
                found[f"{short}: mean length of {group}, {kind}"] = Number(float(length.mean()))
        return found

    def lines(self) -> list[str]:
        """Return shares and lengths in words."""
        runs = next(iter(self.shares.values()))[WITH].size
        told = [
            f"{self.place.name}, {runs:,} runs: coverage {WITH} and {WITHOUT}, mean lengths, their ratio:"
        ]
        for group, each in self.lengths.items():
            shares = "".join(f"{self.shares[group][kind].mean():>8.4f}" for kind in KINDS)
            told.append(
                f"  {group:<22}{shares}{each.kept.mean():>10.3f}{each.free.mean():>8.3f}"
                f"   {each.ratio.min():.4f} to {each.ratio.max():.4f}"
            )
        return told


def study(source: Blocks, size: Size, bar: Bar[int], *, name: str = "coverage") -> Outcome:
    """Count how often intervals hold the truth, and compare their lengths."""
    both = [Found.of(small(), size.runs, bar), Found.of(large(source), size.of_blocks, bar)]
    numbers = {key: number for found in both for key, number in found.numbers().items()}
    lines = [line for found in both for line in found.lines()]
    return Outcome(numbers, tuple(lines), {name: _picture(both)})


def _picture(both: list[Found]) -> Figure:
    figure, axes = panels(2, 2, (14, 9), width_ratios=(1, 1.2))
    for row, found in enumerate(both):
        left, right = axes[2 * row], axes[2 * row + 1]
        _coverage(left, found)
        _shorter(right, found.lengths)
        left.set_title(f"{found.place.name}: coverage of 90 percent intervals")
        right.set_title(f"{found.place.name}: how much shorter the county totals make intervals")
    axes[0].legend(fontsize=9, loc="lower left")
    return figure


def _coverage(ax: Axes, found: Found) -> None:
    names = [
        name
        for name, each in found.lengths.items()
        if each.kept.any() and each.kept.size * found.shares[name][WITH].size >= MANY
    ]
    ax.axhspan(LEVEL - MAY_BE_OFF, LEVEL + MAY_BE_OFF, color=GREY, alpha=0.15, linewidth=0)
    ax.axhline(LEVEL, color=GREY, linewidth=0.8)
    for shift, (kind, (colour, marker)) in zip((-0.12, 0.12), KINDS.items(), strict=True):
        shares = [found.share(name, kind) for name in names]
        ax.errorbar(
            np.arange(len(names)) + shift,
            [each.value for each in shares],
            [2 * each.error for each in shares],
            color=colour,
            marker=marker,
            linestyle="none",
            label=f"{kind} (bars: 2 standard errors)",
        )
    ax.set_ylim(0.86, 0.94)
    _name(ax, names)


def _shorter(ax: Axes, sizes: dict[str, Lengths]) -> None:
    """Draw by how many percent intervals are shorter: the mean, and bars from the least to the most."""
    for place, each in enumerate(sizes.values()):
        shorter = 100 * (1 - each.ratio)
        middle, ends = float(shorter.mean()), np.clip([shorter.min(), shorter.max()], SCALE[0] / 10, None)
        ax.plot([place] * 2, ends, color=BLUE, linewidth=1.2)
        ax.plot([place], [middle], "o", color=BLUE, markersize=6)
        ax.annotate(
            "a point" if (each.kept == 0).all() else f"{middle:.2g}%" if middle >= 0.001 else "",
            (place, float(ends[1])),
            (0, 6),
            textcoords="offset points",
            ha="center",
            fontsize=8,
        )
    ax.set_yscale("log")
    ax.set_ylim(*SCALE)
    ticks = {100.0: "100%", 1.0: "1%", 0.01: "0.01%", 1e-4: "0.0001%", 1e-6: "0.000001%"}
    ax.set_yticks(list(ticks), list(ticks.values()))
    ax.set_yticks([], minor=True)
    _name(ax, list(sizes))


def _name(ax: Axes, names: list[str]) -> None:
    ax.set_xticks(
        range(len(names)), [name.replace(" ", "\n").replace("of\n", "of ") for name in names], fontsize=8
    )
    ax.set_xlim(-0.6, len(names) - 0.4)
    ax.grid(axis="y", alpha=0.3)
