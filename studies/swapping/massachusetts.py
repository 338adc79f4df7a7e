"""Ownership of dwellings by county: the slides' demonstration on Massachusetts, 1940 [swapping-slides].

The slides swap the county of all households of the state, within strata of equal household size, at rates
from 1 to 50 percent, 20 times each; owned or rented is held. The full count of 1940 is not among the data.
Each county's number of owners and tenants is, and its mean household size. So each of the 1,120,694
households has its real county and tenure, and a size that is drawn: the sizes are synthetic, and tenure does
not depend on them.

Without the file a stand-in runs: fourteen invented counties, a tenth as many households.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import DataError
from studies.outcome import Bar, Number, Outcome
from studies.picture import panels
from studies.swapping import sizes
from studies.swapping.experiment import FULL, MOST, QUICK, Size, Step, boxes, percent, said, swaps
from studies.swapping.microdata import Microdata, TwoWay, cross

__all__ = ["FULL", "QUICK", "Size"]

TITLE = "Massachusetts, 1940: ownership by county, household sizes synthetic"
STAND_IN = "Stand-in for Massachusetts: ownership in fourteen invented counties"
FILE = "massachusetts_1940_tenure.csv"
COUNTIES = 14
TENURES = ("owned", "rented")
TABLE = "county x tenure"
SEEDS = {"sizes": 1940, "runs": 41, "one": 42}
WIDEST = 60.0
"""Percent of change that is coloured most."""


class Counties(NamedTuple):
    """Dwellings by county and tenure, and persons per household in each county."""

    names: list[str]
    dwellings: IntArray
    persons: list[float]


def read(folder: Path) -> Counties:
    """Return the fourteen counties."""
    frame = pl.read_csv(folder / FILE)
    if frame.height != COUNTIES:
        raise DataError(
            f"{FILE} has {frame.height} rows where Massachusetts has {COUNTIES} counties: get it anew."
        )
    return Counties(
        frame["COUNTY"].to_list(),
        frame.select("owner", "tenant").to_numpy().astype(np.int64),
        frame["persons_per_occupied"].to_list(),
    )


def invented() -> Counties:
    """Return fourteen counties that grow by half from one to the next, and have ever fewer owners."""
    places = np.arange(COUNTIES)
    households = (200 * 1.5**places).astype(np.int64)
    owned = (households * np.linspace(0.7, 0.22, COUNTIES)).astype(np.int64)
    return Counties(
        [f"County {letter}" for letter in "ABCDEFGHIJKLMN"],
        np.column_stack([owned, households - owned]),
        np.linspace(3.4, 4.0, COUNTIES).tolist(),
    )


def households(counties: Counties) -> Microdata:
    """Return a record of each household: stratum its size, swapped its county, held its tenure."""
    per_county = counties.dwellings.sum(axis=1)
    cells = np.arange(counties.dwellings.size)
    county, tenure = np.divmod(np.repeat(cells, counties.dwellings.ravel()), len(TENURES))
    persons = sizes.draw(counties.persons, per_county, SeededEntropy(SEEDS["sizes"]))
    return Microdata.of(persons, county, {"tenure": tenure})


def study(counties: Counties, size: Size, bar: Bar[Step], *, name: str = "massachusetts") -> Outcome:
    """Swap at each rate, and once at 50 percent for the table."""
    before = households(counties)
    table = TwoWay("tenure", np.arange(COUNTIES))
    found = swaps(before, {TABLE: table}, size, SEEDS["runs"], bar, "swaps")
    one = before.swapped(MOST, SeededEntropy(SEEDS["one"])).records
    kept = invariants(before, one)
    after = table.counts(one)
    numbers = found.numbers()
    numbers["invariants of one run that differ"] = Number(list(kept.values()).count(False), truth=0)
    for tenure, true in zip(TENURES, counties.dwellings.sum(axis=0).tolist(), strict=True):
        numbers[f"dwellings {tenure}"] = Number(true)
    lines = (
        f"{before.swap.size:,} households, sizes synthetic. {found.strata()}",
        said(found, TABLE),
        f"One run at {percent(MOST)}: "
        + ", ".join(f"{what} {'kept' if ok else 'BROKEN'}" for what, ok in kept.items()),
        *_rows(counties, after),
    )
    what = "Massachusetts, 1940" if name == "massachusetts" else "Fourteen invented counties"
    figure, axes = panels(1, 1, (9, 5))
    boxes(axes[0], found, TABLE)
    axes[0].set_title(
        f"{what}: error of dwelling ownership by county\n"
        f"{before.swap.size:,} households with "
        + ("real" if name == "massachusetts" else "invented")
        + " county and tenure, household sizes are synthetic"
    )
    pictures = {name: figure, f"{name}_table": _tables(counties, after, what)}
    return Outcome(numbers, lines, pictures)


def invariants(before: Microdata, after: Microdata) -> dict[str, bool]:
    """Return whether each table that swapping keeps is the same, in integers."""
    tables = {
        "county x size": [cross(data.strata, data.swap) for data in (before, after)],
        "tenure x size": [cross(data.strata, data.held["tenure"]) for data in (before, after)],
        "county totals": [np.bincount(data.swap) for data in (before, after)],
        "tenure totals": [np.bincount(data.held["tenure"]) for data in (before, after)],
    }
    return {name: bool((old == new).all()) for name, (old, new) in tables.items()}


def _rows(counties: Counties, after: IntArray) -> list[str]:
    head = f"  {'':<12}{'owned':>10}{'rented':>10}{'total':>11}   {'owned':>10}{'rented':>10}{'total':>11}"
    rows = [
        f"  {name:<12}{old[0]:>10,}{old[1]:>10,}{old.sum():>11,}   {new[0]:>10,}{new[1]:>10,}{new.sum():>11,}"
        for name, old, new in zip(
            [*counties.names, "all"], _with_total(counties.dwellings), _with_total(after), strict=True
        )
    ]
    return [f"  {'':<12}{'before':>31}   {f'after one run at {percent(MOST)}':>31}", head, *rows]


def _with_total(table: IntArray) -> IntArray:
    return np.vstack([table, table.sum(axis=0)])


def _tables(counties: Counties, after: IntArray, what: str) -> Figure:
    figure, axes = panels(1, 2, (11.5, 6), width_ratios=(1.3, 1))
    true = _with_total(counties.dwellings)
    _table(axes[0], true, true, [*counties.names, "all"])
    axes[0].set_title(f"{what}: true counts")
    _table(axes[1], _with_total(after), true, [])
    axes[1].set_title(f"after one run at {percent(MOST)} (household sizes synthetic)")
    return figure


def _table(ax: Axes, counts: IntArray, true: IntArray, names: list[str]) -> None:
    """Write a table, cells coloured by how far they are off; columns owned, rented, and the exact total."""
    off = 100 * (counts / true - 1)
    shown = np.column_stack([off, np.zeros(len(off))])
    ax.imshow(shown, cmap="RdBu_r", vmin=-WIDEST, vmax=WIDEST, aspect="auto", alpha=0.6)
    for (row, column), change in np.ndenumerate(shown):
        count = counts[row].sum() if column == 2 else counts[row, column]
        mark = f"  ({change:+.1f}%)" if change else ""
        ax.text(column, row, f"{count:,}{mark}", ha="center", va="center", fontsize=9)
    ax.axhline(len(off) - 1.5, color="black", linewidth=0.8)
    ax.xaxis.tick_top()
    ax.set_xticks(range(3), [*TENURES, "total"])
    ax.set_yticks(range(len(names)), names)
    if not names:
        ax.set_yticks([])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
