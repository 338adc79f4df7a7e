"""What if 2020 had swapped: epsilon for several keys and rates, with strata of the size of a nation.

The slides tell the nominal epsilon that swapping would have had in 2020, by key, swapped column and rate;
their numbers are not in the text that we have. Epsilon follows from the rate and from the largest stratum
alone [swapping-slides], so a nation is made up whose strata have the sizes that count: **it is synthetic**.

- The population of each state is that of the 2020 census; everything below is made up.
- There are 2.5 persons to a household, and households have the shares of sizes of `SHARES`, alike everywhere.
- A state has 62 counties, 3,162 in all, of sizes that fall off as 1 / rank.
- A tract has 4,000 persons, a block group 1,400.

Nothing is drawn. A nominal epsilon is for each household in which two files with the same invariants
differ; the more the key has, the smaller it is, and the more is published exactly.
"""

import csv
from fractions import Fraction
from math import log
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from holdfast.mechanisms.swapping.bounds import epsilon, least_epsilon
from studies.outcome import Bar, Number, Outcome
from studies.picture import BLUE, BROWN, GREEN, GREY, ORANGE, RED, VIOLET, panels

TITLE = "What if 2020 had swapped: a synthetic nation"
STATES = Path(__file__).parents[2] / "docs" / "gallery" / "census-audit" / "states.csv"
PERSONS = Fraction(5, 2)
SHARES = {"1": 276, "2": 344, "3": 152, "4": 130, "5": 60, "6": 23, "7 or more": 15}
"""Households by size, in a thousand."""
OWNED = Fraction(13, 20)
"""The part of households that own their home."""
COUNTIES, TRACT, BLOCK_GROUP = 62, 4_000, 1_400
RATES = (1, 2, 5, 10, 50)
"""In percent."""


class Key(NamedTuple):
    """What records must agree in to swap, what they swap, and the people of its largest place."""

    key: str
    swap: str
    place: str
    tenure: bool


KEYS = (
    Key("size", "state", "nation", False),
    Key("state, size", "county", "state", False),
    Key("state, size, tenure", "county", "state", True),
    Key("county, size", "tract", "county", False),
    Key("county, size, tenure", "tract", "county", True),
    Key("tract, size", "block", "tract", False),
    Key("block group, size, tenure", "block", "block group", True),
)
COLOURS = (RED, ORANGE, BROWN, BLUE, VIOLET, GREEN, GREY)


class Size(NamedTuple):
    """Points of a curve; nothing is drawn at random."""

    points: int


QUICK, FULL = Size(60), Size(400)


def people() -> dict[str, Fraction]:
    """Return how many live in the largest place of each kind."""
    with STATES.open(encoding="utf-8", newline="") as file:
        states = [int(row["people"]) for row in csv.DictReader(file)]
    first = 1 / sum((Fraction(1, rank) for rank in range(1, COUNTIES + 1)), Fraction())
    return {
        "nation": Fraction(sum(states)),
        "state": Fraction(max(states)),
        "county": max(states) * first,
        "tract": Fraction(TRACT),
        "block group": Fraction(BLOCK_GROUP),
    }


def largest_stratum(key: Key) -> int:
    """Return the households of the largest stratum of a key: two persons, who own where tenure counts."""
    share = Fraction(max(SHARES.values()), sum(SHARES.values())) * (OWNED if key.tenure else 1)
    return int(people()[key.place] / PERSONS * share)


def study(size: Size, bar: Bar[int]) -> Outcome:  # noqa: ARG001 - parts are called alike
    """Convert rates for the strata of each key."""
    numbers: dict[str, Number] = {}
    for key in KEYS:
        b = largest_stratum(key)
        numbers[f"largest stratum, {key.key}"] = Number(b, truth=b)
        numbers[f"least epsilon, {key.key}"] = Number(float(least_epsilon(b)), truth=log(b + 1) / 2)
        for percent in RATES:
            rate = Fraction(percent, 100)
            truth = log(b + 1) - log(rate / (1 - rate))
            numbers[f"epsilon at {percent}%, {key.key}"] = Number(float(epsilon(b, rate)), truth=truth)
    return Outcome(numbers, _lines(), {"what_if": _picture(size)})


def _lines() -> tuple[str, ...]:
    rates = " ".join(f"{f'{percent}%':>7}" for percent in RATES)
    rows = []
    for key in KEYS:
        b = largest_stratum(key)
        told = " ".join(f"{float(epsilon(b, Fraction(percent, 100))):>7.2f}" for percent in RATES)
        rows.append(f"  {key.key:<26} {key.swap:<7} {b:>11,} {told} {float(least_epsilon(b)):>7.2f}")
    return (
        "Nominal epsilon of a synthetic nation with the 2020 populations of states:",
        f"  {'key':<26} {'swapped':<7} {'stratum':>11} {rates}   least",
        *rows,
    )


def _picture(size: Size) -> Figure:
    figure, axes = panels(1, 1, (8, 4.8))
    shares = np.linspace(0.002, 0.998, size.points)
    for key, colour in zip(KEYS, COLOURS, strict=True):
        b = largest_stratum(key)
        odds = np.log(shares / (1 - shares))
        axes[0].plot(shares, np.maximum(log(b + 1) - odds, odds), color=colour, label=f"{key.key} ({b:,})")
    axes[0].set_xlabel("swap rate")
    axes[0].set_ylabel("epsilon (slides' bound)")
    axes[0].set_title("a synthetic nation: epsilon by key and rate")
    axes[0].legend(title="key (largest stratum)", fontsize=8, title_fontsize=8)
    return figure
