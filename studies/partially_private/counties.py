"""Monthly cases and deaths of counties: those of Pennsylvania, and invented ones."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from holdfast.lattice.arrays import IntArray

FILE = "pennsylvania_covid.csv"
COUNTIES, MONTHS = 67, 24
WAVES = ((1.5, 1.2, 0.3), (9.0, 1.6, 1.0), (13.5, 1.2, 0.4), (21.5, 1.8, 1.6))
"""Of invented waves: the month of the peak, the deviation in months, the percent of people at the peak."""
FATAL = 0.016


class Counties(NamedTuple):
    """Counties with their people, and cases and deaths by month and county: never more deaths than cases."""

    title: str
    names: tuple[str, ...]
    people: IntArray
    months: tuple[str, ...]
    cases: IntArray
    deaths: IntArray

    def past(self, month: int) -> IntArray:
        """Return the cases of the month before, which are public; before the first there are none."""
        return self.cases[month - 1] if month else np.zeros_like(self.people)

    def table(self, month: int) -> IntArray:
        """Return the confidential table of a month: all cases, then all deaths."""
        return np.concatenate([self.cases[month], self.deaths[month]])

    @property
    def by_size(self) -> IntArray:
        """The counties, the smallest first."""
        return np.argsort(self.people, kind="stable")


def read(folder: Path) -> Counties:
    """Return the counties of Pennsylvania, March 2020 to February 2022."""
    frame = pl.read_csv(folder / FILE).sort("month", "county")
    cases, deaths, people = (
        frame[name].to_numpy().astype(np.int64).reshape(MONTHS, COUNTIES)
        for name in ("cases", "deaths", "population")
    )
    names = tuple(frame["county"].head(COUNTIES))
    months = tuple(frame["month"].unique(maintain_order=True))
    return Counties("Pennsylvania", names, people[0], months, cases, deaths)


def invented() -> Counties:
    """Return as many counties with a tenth of the people, through waves that they share."""
    generator = np.random.default_rng(67)
    people = generator.permutation(np.geomspace(450, 160_000, COUNTIES).astype(np.int64))
    at = np.arange(MONTHS)[:, None]
    percent = 0.05 + sum(top * np.exp(-(((at - peak) / width) ** 2) / 2) for peak, width, top in WAVES)
    own = generator.gamma(20, 1 / 20, COUNTIES) * generator.gamma(30, 1 / 30, (MONTHS, COUNTIES))
    cases = generator.poisson(percent / 100 * own * people)
    names = tuple(f"County {number:02}" for number in range(1, COUNTIES + 1))
    months = tuple(f"{2020 + (month + 2) // 12}-{(month + 2) % 12 + 1:02}" for month in range(MONTHS))
    return Counties("Invented counties", names, people, months, cases, generator.binomial(cases, FATAL))
