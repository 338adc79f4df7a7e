"""[partially-private-data, Figure 4]: how far one answer moves a count, by how much it tells of others.

Given that one person says 1, each other says 1 with probability at most z_1; given 0, with probability at
least z_0. Delta_z is the largest gap between quantiles of the two laws of the count [theory, 7], in whole
numbers. Given the answer of the one person the others are independent: with the printed bounds alone, and any
dependence between the others, Delta_z is n wherever z_0 < z_1.
"""

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from holdfast.privacy.pufferfish.families.dependent_counts import DependentCounts
from studies.outcome import Bar, Number, Outcome
from studies.picture import BLUE, BROWN, GREEN, ORANGE, RED, panels

TITLE = "Figure 4: Delta_z of counts whose answers depend on each other"
PEOPLE = (10, 100, 1_000)
STEPS = 20
CURVES = (
    (Fraction(1, 2), Fraction(1, 2), BROWN),
    (Fraction(9, 20), Fraction(11, 20), GREEN),
    (Fraction(1, 4), Fraction(3, 4), BLUE),
    (Fraction(1, 20), Fraction(19, 20), ORANGE),
    (Fraction(1, 1000), Fraction(999, 1000), RED),
)
"""z_0, z_1 and the colour of a curve over n."""


class Size(NamedTuple):
    """The numbers of people whose tables are made, and the largest on a curve."""

    people: tuple[int, ...]
    curves: tuple[int, ...]


QUICK = Size(PEOPLE[:2], (1, 2, 5, 10, 20, 50, 100))
FULL = Size(PEOPLE, (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1_000))


def delta(n: int, z0: Fraction, z1: Fraction) -> int:
    """Return Delta_z of the class in which the others are independent."""
    low, high = DependentCounts(n, z0, z1).bounds
    if low != high:
        raise ValueError(f"Delta_z of {n:,} people is between {low:,} and {high:,}.")
    return high


def table(n: int, steps: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return Delta_z for z_0 by row and z_1 by column, in equal steps from 0 to 1; none where z_0 > z_1."""
    found = np.full((steps + 1, steps + 1), np.nan)
    for one in range(steps + 1):
        for other in range(one, steps + 1):
            found[one, other] = delta(n, Fraction(one, steps), Fraction(other, steps))
    return found


def study(size: Size, bar: Bar[Any]) -> Outcome:
    """Compute Delta_z over n, z_0 and z_1."""
    tables = {n: table(n, STEPS) for n in bar(size.people, "Delta_z")}
    curves = {(z0, z1): [delta(n, z0, z1) for n in size.curves] for z0, z1, _ in CURVES}
    numbers = {
        f"n = {n:,}, z0 = {z0}, z1 = {z1}": Number(float(value))
        for (z0, z1), values in curves.items()
        for n, value in zip(size.curves, values, strict=True)
        if n in PEOPLE
    }
    for n, found in tables.items():
        at_ends = [found[0, 1:], found[:-1, -1]]
        numbers |= {
            f"n = {n:,}: Delta_z where z0 = z1": Number(float(np.diag(found)[1:-1].max()), truth=1),
            f"n = {n:,}: least Delta_z where z0 = 0 or z1 = 1": Number(
                float(np.concatenate(at_ends).min()), truth=n
            ),
            f"n = {n:,}: mean Delta_z": Number(float(np.nanmean(found))),
        }
    lines = ["Delta_z by z0, z1 and n:"]
    lines.append("  " + " " * 20 + "".join(f"{n:>7,}" for n in size.curves))
    for (z0, z1), values in curves.items():
        lines.append(f"  {f'{float(z0):g}, {float(z1):g}':<20}" + "".join(f"{value:>7,}" for value in values))
    return Outcome(numbers, tuple(lines), {"figure_4": _picture(tables, size, curves)})


def _picture(
    tables: dict[int, np.ndarray[Any, np.dtype[np.float64]]],
    size: Size,
    curves: dict[tuple[Fraction, Fraction], list[int]],
) -> Figure:
    figure, axes = panels(1, len(tables) + 1, (4.3 * (len(tables) + 1), 4.6))
    for ax, (n, found) in zip(axes, tables.items(), strict=False):
        _shades(ax, n, found)
    ax = axes[-1]
    for z0, z1, colour in CURVES:
        label = f"z0 = {float(z0):g}, z1 = {float(z1):g}"
        ax.plot(size.curves, curves[z0, z1], "o-", color=colour, markersize=3, linewidth=1.3, label=label)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("people, n")
    ax.set_ylabel("Delta_z")
    ax.set_title("Delta_z by the number of people")
    ax.grid(alpha=0.3)
    ax.legend(fontsize=8)
    return figure


def _shades(ax: Axes, n: int, found: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    """Draw Delta_z as a share of n, with some of the numbers."""
    ax.imshow(found / n, origin="lower", cmap="Blues", vmin=0, vmax=1.25, extent=(-0.025, 1.025) * 2)
    for one in range(0, STEPS + 1, 4):
        for other in range(one, STEPS + 1, 4):
            share = found[one, other] / n
            ax.text(
                other / STEPS,
                one / STEPS,
                f"{found[one, other]:.0f}",
                ha="center",
                va="center",
                fontsize=7,
                rotation=90 if other == STEPS else 0,
                color="white" if share > 0.7 else "black",
            )
    ax.set_xlabel("z1: at most, given 1")
    ax.set_ylabel("z0: at least, given 0")
    ax.set_title(f"Delta_z of {n:,} people")
