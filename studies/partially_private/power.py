"""[partially-private-data, Theorem 15], computed: what a test loses when it sees the projected release.

n people of a county are tested, S of them are cases, and H_0: theta <= theta_0 is about their rate. Two
designs [holdfast, inference/projected_power.py]:

    total     n is public; cases and the others are released with noise of their own, and projected to
              counts with the sum n
    bounds    0 <= S <= n is public; cases are released, and moved into these bounds

Powers are those of the most powerful tests at each alternative, summed over laws; simulated tests are beside
them. The theorem says that the projected test is strictly worse wherever the projection moves anything. It is
so in the first design, and not in the second with double geometric noise, where nothing is lost at all
[theory, 7].
"""

from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from holdfast.inference.projected_power import PowerReport, ProjectionDesign, ProjectionNoise, projected_power
from studies.outcome import Bar, Number, Outcome
from studies.picture import BLUE, GREY, ORANGE, panels

TITLE = "Theorem 15: the power of tests from a release, and from its projection"
PEOPLE = 50
NULL, LEVEL = 0.3, 0.05
CASES: tuple[tuple[ProjectionDesign, ProjectionNoise, float, str], ...] = (
    ("total", "geometric", 1.0, "both counts, epsilon 1 a unit"),
    ("total", "geometric", 0.1, "both counts, epsilon 0.1 a unit"),
    ("bounds", "geometric", 0.1, "one count, epsilon 0.1 a unit"),
    ("bounds", "gaussian", 1 / 900, "one count, discrete Gaussian of sigma 30"),
)
MARKED = (0.4, 0.5, 0.7)
"""Alternatives whose powers are compared with the expected ones."""


class Size(NamedTuple):
    """Alternatives on a curve, and simulated releases for each."""

    alternatives: int
    draws: int


QUICK, FULL = Size(9, 4_000), Size(24, 100_000)


def report(design: ProjectionDesign, noise: ProjectionNoise, rate: float, size: Size) -> PowerReport:
    """Return the powers of one design."""
    curve = np.linspace(NULL + 0.02, 0.98, size.alternatives).tolist()
    alternatives = sorted({*(round(each, 4) for each in curve), *MARKED})
    return projected_power(
        PEOPLE,
        rate,
        NULL,
        alternatives,
        level=LEVEL,
        design=design,
        noise=noise,
        draws=size.draws,
        seed=15,
    )


def study(size: Size, bar: Bar[Any]) -> Outcome:
    """Compute the powers of both tests."""
    found = {case: report(case[0], case[1], case[2], size) for case in bar(CASES, "powers")}
    numbers: dict[str, Number] = {}
    lines = [f"{PEOPLE} people, H_0: at most {NULL:g} are cases, level {LEVEL:g}; power released, projected:"]
    for (design, noise, rate, title), each in found.items():
        key = f"{design}, {noise} {rate:.3g}"
        powers = {one.theta: one for one in each.powers if one.theta in MARKED}
        lines.append(
            f"  {title:<42}"
            + "   ".join(
                f"{theta:g}: {one.released:.3f} {one.projected:.3f}" for theta, one in powers.items()
            )
            + f"   moved {each.moved:.0%}"
        )
        numbers[f"{key}: chance that the projection moves"] = Number(each.moved)
        for theta, one in powers.items():
            numbers[f"{key}: power at {theta:g}, released"] = Number(one.released)
            numbers[f"{key}: power at {theta:g}, projected"] = Number(one.projected)
            for end, power, share in (
                ("released", one.released, one.simulated_released),
                ("projected", one.projected, one.simulated_projected),
            ):
                numbers[f"{key}: simulated power at {theta:g}, {end}"] = Number(
                    share or 0.0, sqrt(power * (1 - power) / size.draws), truth=power
                )
    numbers["largest loss of one count with geometric noise"] = Number(
        max(abs(one.lost) for one in found[CASES[2]].powers), 1e-10, truth=0
    )
    return Outcome(numbers, tuple(lines), {"power": _picture(found)})


def _picture(found: dict[tuple[ProjectionDesign, ProjectionNoise, float, str], PowerReport]) -> Figure:
    figure, axes = panels(
        2, len(found), (4.1 * len(found), 6), sharex=True, sharey="row", height_ratios=(2, 1)
    )
    for number, ((*_, title), each) in enumerate(found.items()):
        top, below = axes[number], axes[len(found) + number]
        theta = [one.theta for one in each.powers]
        top.plot(theta, [one.released for one in each.powers], color=BLUE, label="from (Y, Z)")
        top.plot(theta, [one.projected for one in each.powers], "--", color=ORANGE, label="from projected Y*")
        top.plot(theta, [one.simulated_released or 0 for one in each.powers], "o", color=BLUE, markersize=3)
        top.plot(
            theta, [one.simulated_projected or 0 for one in each.powers], "s", color=ORANGE, markersize=2.5
        )
        top.axhline(LEVEL, color=GREY, linewidth=0.7)
        top.set_title(f"{title};\nmoved: {each.moved:.0%} of releases under H_0", fontsize=10)
        below.fill_between(theta, [one.lost for one in each.powers], color=ORANGE, alpha=0.5)
        below.set_xlabel("true rate of cases")
        for ax in (top, below):
            ax.grid(alpha=0.3)
    axes[0].set_ylabel(f"power at level {LEVEL:g}; dots are simulated")
    axes[len(found)].set_ylabel("power lost")
    axes[1].legend(fontsize=8, loc="upper left")
    return figure
