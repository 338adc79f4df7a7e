"""Real households: the state of a household is swapped with that of one of the same size in the same region.

The file has households of the Current Population Survey of three years, as records, without weights. Strata
are region by number of persons; all else about a household is held. Two tables by state change: how many
children the households have, and how old their heads are.
"""

from pathlib import Path

import numpy as np
import polars as pl

from holdfast.system.errors import DataError
from studies.outcome import Bar, Outcome
from studies.picture import panels
from studies.swapping.experiment import FULL, QUICK, Size, Step, boxes, said, swaps
from studies.swapping.microdata import Microdata, TwoWay
from studies.swapping.regions import REGION_OF

__all__ = ["FULL", "QUICK", "Size"]

TITLE = "Current Population Survey: households swap states within a region"
FILE = "cps_households.csv"
CHILDREN = ("none", "1", "2", "3 or more")
AGES = (30, 45, 65)
"""Heads of household are under 30, 30-44, 45-64, or older."""
SEED = 2012


def read(folder: Path) -> Microdata:
    """Return the households: strata region by persons, swapped the state."""
    frame = pl.read_csv(folder / FILE, columns=["state_fips", "persons", "children", "age_head"])
    states = frame["state_fips"].to_numpy()
    unknown = sorted(set(states.tolist()) - set(REGION_OF))
    if unknown:
        raise DataError(f"{FILE} has a state {unknown[0]} that is in no census region: get it anew.")
    persons = frame["persons"].to_numpy()
    region = np.array([REGION_OF.get(state, 0) for state in range(int(states.max()) + 1)])[states]
    held = {
        "children": np.minimum(frame["children"].to_numpy(), len(CHILDREN) - 1),
        "age of head": np.searchsorted(AGES, frame["age_head"].to_numpy(), side="right"),
    }
    codes = np.unique(states, return_inverse=True)[1]
    return Microdata.of(region * (int(persons.max()) + 1) + persons, codes, held)


def study(folder: Path, size: Size, bar: Bar[Step]) -> Outcome:
    """Swap at each rate."""
    before = read(folder)
    states = np.arange(int(before.swap.max()) + 1)
    tables = {f"state x {held}": TwoWay(held, states) for held in before.held}
    found = swaps(before, tables, size, SEED, bar, "swaps")
    lines = (
        f"{before.swap.size:,} households of {states.size} states. {found.strata()}",
        *(said(found, name) for name in tables),
    )
    figure, axes = panels(1, 2, (14, 4.8))
    for ax, name in zip(axes, tables, strict=True):
        boxes(ax, found, name)
        ax.set_title(f"CPS households, 2012-2014: error of {name}")
    return Outcome(found.numbers(), lines, {"cps": figure})
