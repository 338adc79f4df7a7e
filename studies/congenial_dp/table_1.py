"""[congenial-dp, Table 1]: a confidential table and a non-negative release that keeps its totals."""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.entropy import SeededEntropy
from studies.congenial_dp.design import (
    ADULT_FROM,
    ADULTS,
    AGES,
    COLUMNS,
    CONFIDENTIAL,
    MATRIX,
    PUBLISHED,
    WOMEN,
    conditional_law,
)
from studies.outcome import Bar, Number, Outcome, mean
from studies.picture import panels

TITLE = "Table 1: a release of the 2 x 23 table"
EPSILON = Fraction(1, 2)
"""A cell."""


class Size(NamedTuple):
    """How many releases are drawn, ten times as many as this."""

    draws: int


QUICK, FULL = Size(2_000), Size(100_000)


def study(size: Size, bar: Bar[int]) -> Outcome:
    """Draw releases of the paper's table from the exact law, and place the paper's release among them."""
    law, entropy = conditional_law(CONFIDENTIAL, EPSILON), SeededEntropy(1)
    noise = np.concatenate([law.sample(entropy, size.draws) for _ in bar(range(10), "exact draws")])
    l1 = np.abs(noise).sum(axis=1)
    published = int(np.abs(PUBLISHED - CONFIDENTIAL).sum())
    lower = float((l1 < published).mean() + (l1 == published).mean() / 2)
    numbers = {
        "population": Number(float(CONFIDENTIAL.sum()), truth=256),
        "women": Number(float(WOMEN @ CONFIDENTIAL), truth=130),
        "adults": Number(float(ADULTS @ CONFIDENTIAL), truth=213),
        "paper's release: totals that differ": Number(
            float(np.count_nonzero(MATRIX @ (PUBLISHED - CONFIDENTIAL))), truth=0
        ),
        "our releases: totals that differ": Number(float(np.count_nonzero(noise @ MATRIX.T)), truth=0),
        "our releases: least count": Number(float((CONFIDENTIAL + noise).min()), truth=0),
        "paper's release: L1": Number(float(published), truth=82),
        "L1": mean(l1),
        "L2": mean(np.sqrt((noise**2).sum(axis=1))),
        "unchanged cells": mean((noise == 0).mean(axis=1)),
    }
    lines = (
        f"All totals are kept in {l1.size:,} exact releases: 256 people, 130 women, 213 adults.",
        (
            f"L1 distance from the confidential table: {l1.mean():.2f} on average, standard deviation"
            f" {l1.std():.2f}; the paper's release has {published}, more than {lower:.0%} of ours."
        ),
    )
    return Outcome(numbers, lines, {"table_1": _picture(CONFIDENTIAL + noise[0])})


def _picture(release: IntArray) -> Figure:
    figure, axes = panels(3, 1, (11.5, 5.6))
    for ax, table, title in zip(
        axes,
        (CONFIDENTIAL, PUBLISHED, release),
        ("Confidential table", "The paper's release", "A release of the exact law"),
        strict=True,
    ):
        _table(ax, table, title)
    axes[-1].set_xticks(range(COLUMNS), AGES, rotation=45, ha="right", rotation_mode="anchor", fontsize=9)
    return figure


def _table(ax: Axes, table: IntArray, title: str) -> None:
    moved = (table - CONFIDENTIAL).reshape(2, COLUMNS)
    ax.imshow(moved, cmap="RdBu_r", vmin=-9, vmax=9, aspect="auto", alpha=0.75)
    for (row, column), count in np.ndenumerate(table.reshape(2, COLUMNS)):
        dark = abs(int(moved[row, column])) > 7
        ax.text(column, row, str(count), ha="center", va="center", color="white" if dark else "black")
    ax.axvline(ADULT_FROM - 0.5, color="black", linewidth=1)
    ax.set_yticks([0, 1], [f"women {WOMEN @ table}", f"men {table.sum() - WOMEN @ table}"])
    ax.set_xticks([])
    adults = ADULTS @ table
    distance = "" if not moved.any() else f", L1 distance {np.abs(moved).sum()}"
    ax.set_title(f"{title}: {table.sum() - adults} minors and {adults} adults{distance}")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
