"""Real persons: 1,052,567 people of Rhode Island swap census blocks within their county.

Block counts by race and voting age expand to one record a person. With race and voting age both in the swap
key a person could only swap with one who has the same of both: the file would stay as it is, and nothing
would be protected. So one of the two is the key with the county, and the other one is held:

    race held        strata are county x voting age; block x race changes, block x voting age is exact,
    voting age held  strata are county x race; block x voting age changes, block x race is exact.

Tables of tracts and counties are sums of blocks. Counties are exact, as nobody leaves one.
"""

from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from holdfast.lattice.arrays import IntArray
from holdfast.system.errors import DataError
from studies.outcome import Bar, Number, Outcome
from studies.picture import panels
from studies.swapping.experiment import FULL, QUICK, Size, Step, boxes, percent, said, swaps
from studies.swapping.microdata import Microdata, TwoWay

__all__ = ["FULL", "QUICK", "Size"]

TITLE = "Rhode Island, 2010: persons swap blocks within a county"
FILE = "rhode_island_2010_blocks.csv"
RACES = ("white", "black", "hisp", "aian", "asian", "nhpi", "other", "two")
TRACT, COUNTY = 10**4, 10**10
"""A block's 15 digits, divided by these, are the numbers of its tract and its county."""
RACE, AGE = "race", "voting age"
LOCATIONS = ("white", "black", "hisp", "asian")
"""The race by location table has the tract where most people of each of these live."""
SHOWN = tuple(Fraction(percent, 100) for percent in (1, 10, 50))
SEEDS = {RACE: 2010, AGE: 2011}


class Persons(NamedTuple):
    """A person's block, race and whether of voting age; and the number of each block."""

    block: IntArray
    race: IntArray
    adult: IntArray
    blocks: IntArray

    def areas(self, divisor: int) -> IntArray:
        """Return the area of each block, from 0."""
        return np.unique(self.blocks // divisor, return_inverse=True)[1]

    def strata(self, held: str) -> Microdata:
        """Return the records where race, or voting age, is held."""
        county = self.areas(COUNTY)[self.block]
        key, kept = (self.adult, self.race) if held == RACE else (self.race, self.adult)
        return Microdata.of(county * len(RACES) + key, self.block, {held: kept})


def read(folder: Path) -> Persons:
    """Expand the counts of blocks to persons."""
    frame = pl.read_csv(folder / FILE)
    everybody = frame.select([f"pop_{race}" for race in RACES]).to_numpy().astype(np.int64)
    adults = frame.select([f"vap_{race}" for race in RACES]).to_numpy().astype(np.int64)
    if (adults > everybody).any():
        raise DataError(f"{FILE} has more people of voting age than people in a block: get it anew.")
    counts = np.stack([everybody - adults, adults], axis=2)
    code = np.repeat(np.arange(counts.size), counts.ravel())
    block, race, adult = np.unravel_index(code, counts.shape)
    return Persons(block, race, adult, frame["block"].to_numpy().astype(np.int64))


def study(folder: Path, size: Size, bar: Bar[Step]) -> Outcome:
    """Swap at each rate, with race held and with voting age held."""
    persons = read(folder)
    levels = {
        "block": np.arange(persons.blocks.size),
        "tract": persons.areas(TRACT),
        "county": persons.areas(COUNTY),
    }
    numbers: dict[str, Number] = {}
    lines: list[str] = []
    figure, axes = panels(2, 2, (14, 9.2))
    for row, held in enumerate((RACE, AGE)):
        before = persons.strata(held)
        tables = {f"{level} x {held}": TwoWay(held, areas) for level, areas in levels.items()}
        found = swaps(before, tables, size, SEEDS[held], bar, f"swaps, {held} held")
        exact = f"county x {held}"
        for name, number in found.numbers().items():
            if exact not in name:
                numbers[f"{held} held: {name}"] = number
        numbers[f"MAPE of {exact}"] = Number(float(found.errors[exact].max()), truth=0)
        lines += [
            f"{before.swap.size:,} persons, {held} held. {found.strata()}",
            *(said(found, name) for name in tables if name != exact),
            f"Largest MAPE of {exact} in all runs: {found.errors[exact].max():g}.",
        ]
        if held == RACE:
            lines += by_location(persons, before)
        for ax, name in zip(axes[2 * row : 2 * row + 2], tables, strict=False):
            boxes(ax, found, name)
            key = AGE if held == RACE else RACE
            ax.set_title(f"Rhode Island, 2010: error of {name}\n(swapped within county x {key})")
    return Outcome(numbers, tuple(lines), {"rhode_island": figure})


def by_location(persons: Persons, before: Microdata) -> list[str]:
    """Return race by location: the counts of a few tracts, and their means over all swaps at some rates."""
    table = TwoWay(RACE, persons.areas(TRACT))
    tracts = np.unique(persons.blocks // TRACT)
    true = table.counts(before)
    means = {f"mean at {percent(rate)}": table.expected(before, rate) for rate in SHOWN}
    races = [RACES.index(race) for race in LOCATIONS if RACES.index(race) < true.shape[1]]
    places = dict.fromkeys(int(true[:, race].argmax()) for race in races)
    lines = ["Race by location, tracts where most people of a race live:"]
    lines.append(f"  {'':<26}" + "".join(f"{RACES[race]:>9}" for race in races) + f"{'all':>9}")
    for place in places:
        for what, counts in {"true": true, **means}.items():
            cells = "".join(f"{counts[place, race]:>9,.0f}" for race in races)
            lines.append(f"  {tracts[place]} {what:<14}{cells}{counts[place].sum():>9,.0f}")
    return lines
