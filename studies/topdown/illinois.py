"""[integer-subspace-dp, Figure 2], both sides: noise for the counties of Illinois, and top-down errors.

The paper draws noise with a total of 0 at epsilon = 0.192 for a unit of l1, and beside it the errors of the
bureau's demonstration counts of November 2020: below 0 in large counties, as non-negative cells and areas
below them are estimated. Those counts are not among our data, so the other side is estimated here, with the
state total invariant and the same epsilon on the populations of counties:

    two levels    state and counties, their populations alone. No population is near 0, so nothing binds.
    with cells    the same populations, in 252 cells whose shares are invented (voting age, hispanic, 63 races
                  that fall off as rank^-2). Populations get 0.3 of the budget of counties and cells the rest,
                  as 0.192 = 4 x 0.16 x 0.3 in the paper; the state's cells get as much as the county's.

A record that moves changes two counts: epsilon for one record is twice that for a unit of l1.
"""

import tomllib
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from holdfast import Prepared, SeededEntropy, Spec, prepare
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.lattice_laplace import LatticeLaplace
from holdfast.mechanisms.topdown.estimate import estimated
from holdfast.mechanisms.topdown.mechanism import TopDown
from studies.integer_subspace import illinois
from studies.integer_subspace.counties import CELLS
from studies.integer_subspace.designs import COUNTIES
from studies.integer_subspace.illinois import FILE, boxes, slopes
from studies.outcome import Bar, Number, Outcome, mean
from studies.picture import BLUE, BROWN, GREY, ORANGE, panels

__all__ = ["FILE"]

TITLE = "Figure 2: the counties of Illinois, unbiased noise and top-down errors"
STAND_IN = "Stand-in for Illinois: 102 invented counties, unbiased noise and top-down errors"
NOISE, TWO, WITH_CELLS = "lattice-laplace", "top-down, two levels", "top-down, with cells"
SOME = 10
SLOPE = "slope by log10 of the population"
SHOWN = 1_000
LOOKS = {NOISE: (BLUE, "s"), TWO: (BROWN, "D"), WITH_CELLS: (ORANGE, "o")}
TICKS = (5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000)
RACES = 63
COUNTY = COUNTIES.epsilon / Fraction(3, 10)
"""Epsilon of counties for a unit of l1: populations have 0.3 of it."""
SPEC = """\
[data]
path = "counties.csv"
cells = [{cells}]
count = "people"

[data.geography]
column = "county"
prefixes = {{ state = 2, county = 5 }}

[[invariants]]
total = true
level = "state"

[privacy]
standard = "pure"
epsilon = "{epsilon}"
adjacency = "unit"

[mechanism]
"""
MECHANISM = {
    NOISE: 'name = "lattice-laplace"\n',
    TWO: 'name = "topdown"\nallocation = { state = "0", county = "1" }\n',
    WITH_CELLS: """\
name = "topdown"
allocation = { state = "1/2", county = "1/2" }

[[mechanism.queries]]
marginal = []
weight = "3"

[[mechanism.queries]]
marginal = ["age", "hispanic", "race"]
weight = "7"
""",
}


class Size(NamedTuple):
    """Draws by each way; the paper has 1,000 of noise."""

    draws: int


QUICK, FULL = Size(60), Size(1_000)


class Counties(NamedTuple):
    """What the counties are called, and their populations, in the order of their names."""

    name: str
    people: IntArray


def read(folder: Path) -> Counties:
    """Return the counties of Illinois."""
    names, people = illinois.read(folder)
    return Counties("Illinois, 2010", people[np.argsort(names)])


def invented() -> Counties:
    """Return as many counties, each larger than another by the same share, in any order."""
    people = np.geomspace(4_000, 1_000_000, CELLS).astype(np.int64)
    return Counties("Invented counties", np.random.default_rng(17).permutation(people))


def frame(counties: Counties, *, cells: bool) -> pl.DataFrame:
    """Return a row for each county, or for each of its cells: the people nearest to the invented shares."""
    codes = [f"17{2 * place + 1:03}" for place in range(CELLS)]
    if not cells:
        return pl.DataFrame({"county": codes, "people": counties.people})
    levels = list(product(("minor", "adult"), ("no", "yes"), map(str, range(RACES))))
    shares = np.multiply.outer(np.multiply.outer([0.24, 0.76], [0.84, 0.16]), np.arange(1, RACES + 1) ** -2.0)
    shares = shares.ravel() / shares.sum()
    generator = np.random.default_rng(17)
    people = np.array([generator.multinomial(n, shares) for n in counties.people.tolist()])
    columns = {
        name: [level[k] for level in levels] * CELLS for k, name in enumerate(("age", "hispanic", "race"))
    }
    return pl.DataFrame({"county": np.repeat(codes, shares.size), **columns, "people": people.ravel()})


def prepared(counties: Counties, way: str) -> Prepared:
    """Return the release of the counties by one of the ways."""
    cells = way == WITH_CELLS
    epsilon = 2 * (2 * COUNTY if cells else COUNTIES.epsilon)
    told = SPEC.format(cells='"age", "hispanic", "race"' if cells else "", epsilon=epsilon)
    return prepare(
        Spec.model_validate(tomllib.loads(told + MECHANISM[way])), data=frame(counties, cells=cells)
    )


def errors(counties: Counties, way: str, draws: int, bar: Bar[int]) -> IntArray:
    """Return the errors of populations, a row for each draw."""
    ready = prepared(counties, way)
    if way == NOISE:
        assert isinstance(ready.mechanism, LatticeLaplace)
        return np.asarray(ready.sample(SeededEntropy(9), draws) - counties.people)
    mechanism = ready.mechanism
    assert isinstance(mechanism, TopDown)
    law = mechanism.law(ready.counts)
    found = [
        estimated(mechanism.design, mechanism.measurements, law.measure(SeededEntropy(seed)))[-1].sum(axis=1)
        for seed in bar(range(draws), way)
    ]
    return np.array(found) - counties.people


def study(source: Counties, size: Size, bar: Bar[int], *, name: str = "illinois") -> Outcome:
    """Draw noise, and estimate counties from the top down."""
    order = np.argsort(source.people, kind="stable")
    people = source.people[order]
    found = {way: errors(source, way, size.draws, bar) for way in MECHANISM}
    by_size = {way: each[:, order] for way, each in found.items()}
    numbers = {
        "population": Number(float(people.sum())),
        "releases with another total": Number(
            float(sum(np.count_nonzero(each.sum(axis=1)) for each in found.values())), truth=0
        ),
    }
    lines = [
        f"{source.name}: {CELLS} counties, {people.sum():,} people, the total exact; {size.draws:,} draws."
    ]
    for way, each in by_size.items():
        truth = 0.0 if way == NOISE else None
        told = {
            SLOPE: mean(slopes(each, np.log10(people)), truth),
            f"error of the {SOME} smallest": mean(each[:, :SOME].mean(axis=1), truth),
            f"error of the {SOME} largest": mean(each[:, -SOME:].mean(axis=1), truth),
            f"error of the {SOME} first by name": mean(found[way][:, :SOME].mean(axis=1), truth),
            f"error of the {SOME} last by name": mean(found[way][:, -SOME:].mean(axis=1), truth),
            "|error|": mean(np.abs(each).mean(axis=1)),
        }
        numbers |= {f"{way}: {what}": number for what, number in told.items()}
        lines.append(f"  {way}")
        lines += [f"    {what:<36}{one.value:>8.3f} ({one.error:.3f})" for what, one in told.items()]
    return Outcome(numbers, tuple(lines), {name: _picture(source.name, people, by_size)})


def _picture(name: str, people: IntArray, found: dict[str, IntArray]) -> Figure:
    figure, axes = panels(4, 1, (13, 14), height_ratios=(1, 1, 1, 1.15))
    titles = {
        NOISE: "exact noise with a total of 0, by lattice-laplace",
        TWO: "top-down, the populations of state and counties alone",
        WITH_CELLS: "top-down, populations measured as before and 252 invented cells beside them",
    }
    largest = max(int(np.abs(each[:SHOWN]).max()) for each in found.values()) + 5
    for ax, (way, each) in zip(axes[:-1], found.items(), strict=True):
        _boxes(ax, each[:SHOWN], people)
        ax.set_ylim(-largest, largest)
        number = min(len(each), SHOWN)
        ax.set_title(f"{name}: {titles[way]}; {number:,} draws, epsilon = 0.192 a unit of l1")
    axes[0].legend(fontsize=9, loc="upper left", ncols=2)
    _bias(axes[-1], people, found)
    return figure


def _boxes(ax: Axes, sample: IntArray, people: IntArray) -> None:
    boxes(ax, sample)
    ax.plot(np.arange(CELLS), sample[0], "s", color=BLUE, markersize=3, label="one draw")
    ax.axhline(0, color=GREY, linewidth=0.8)
    at = np.searchsorted(people, TICKS).tolist()
    ax.set_xticks(at, [f"{tick:,}" for tick in TICKS], fontsize=8)
    ax.set_xlim(-1, CELLS)
    ax.set_ylabel("error of the population")
    ax.grid(axis="y", alpha=0.3)


def _bias(ax: Axes, people: IntArray, found: dict[str, IntArray]) -> None:
    """Draw the mean error of each county by its population, and the line of least squares."""
    size = np.log10(people)
    for way, each in found.items():
        colour, marker = LOOKS[way]
        slope = mean(slopes(each, size))
        spread = each.std(axis=0, ddof=1) / np.sqrt(len(each))
        ax.errorbar(
            people,
            each.mean(axis=0),
            2 * spread,
            color=colour,
            marker=marker,
            markersize=3.5,
            linestyle="none",
            elinewidth=0.6,
            label=f"{way}: slope {slope.value:+.2f} (standard error {slope.error:.2f})",
        )
        ax.plot(people, slope.value * (size - size.mean()), color=colour, linewidth=1.2)
    ax.axhline(0, color=GREY, linewidth=0.8)
    ax.set_xscale("log")
    ax.set_xticks(TICKS, [f"{tick:,}" for tick in TICKS], fontsize=8)
    ax.set_xticks([], minor=True)
    ax.set_xlabel("population; above, counties stand in its order")
    ax.set_ylabel("mean error (bars: 2 standard errors)")
    ax.set_title("mean error of each county, and least squares on the logarithm of the population")
    ax.grid(axis="y", alpha=0.3)
    ax.legend(fontsize=9, loc="upper right")
