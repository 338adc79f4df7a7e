"""[partially-private-data, Theorem 11, Corollary 13 and Lemma 14], computed, with what has to be corrected.

*Theorem 11*: a gradient mechanism is off by O_P(1 / n). The mean of n values in an interval of width 1, each
other value possible given one of them: exp(-kappa n |y - y*| / Delta_z) on a grid, kappa = 1/2. n times the
expected error stays at 2 where Delta_z is 1. It does not where Delta_z grows, which is what the theorem's
condition Delta_z >= Delta allows; nor on a grid with steps of n^(-1/2), which converges to the line as the
theorem asks of its base measures.

*Corollary 13*: noise of one rate in d_1 dimensions, projected to d_2 of them, beside noise on these alone.
Drawn, and in closed form (closed_forms.py).

*Lemma 14*: expected posterior variances from a release and from its projection, in the designs of `power`.
"""

from fractions import Fraction
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from holdfast.calculus import congenial_errors
from holdfast.inference.projected_power import ProjectionDesign, ProjectionNoise
from holdfast.privacy.pufferfish.families import DependentCounts
from studies.outcome import Bar, Number, Outcome, mean
from studies.partially_private.closed_forms import projected_variance
from studies.picture import BLUE, GREY, ORANGE, panels

TITLE = "Theorem 11, Corollary 13 and Lemma 14: errors and posterior variances"
PEOPLE = (10, 100, 1_000)
KAPPA = 0.5
FINE, REACH = 1 / 64, 60.0
"""Steps of the grid and its end, in units of Delta_z / n."""
DIMENSIONS = ((67, 66), (67, 20), (67, 7), (6, 3))
THETAS = tuple((place + 0.5) / 20 for place in range(20))
CASES: tuple[tuple[ProjectionDesign, ProjectionNoise, float, str], ...] = (
    ("total", "geometric", 0.1, "both counts, epsilon 0.1 a unit"),
    ("bounds", "geometric", 0.1, "one count, epsilon 0.1 a unit"),
    ("bounds", "gaussian", 1 / 900, "one count, discrete Gaussian of sigma 30"),
)
TESTED = 20
ROUNDING = 1e-9
"""Of sums over grids, relative."""


class Size(NamedTuple):
    """Draws of noise for each pair of dimensions."""

    draws: int


QUICK, FULL = Size(2_000), Size(40_000)


def scaled_error(n: int, delta: float, step: float, offset: float = 0.0) -> float:
    """Return n E|Y - y*| on a grid of a step whose nearest point is ``offset`` of a step away."""
    reach = int(REACH * delta / (KAPPA * n * step)) + 2
    off = np.abs(np.arange(-reach, reach + 1) + offset) * step
    mass = np.exp(-KAPPA * n * (off - off.min()) / delta)
    return float(n * (mass @ off) / mass.sum())


def errors(n: int) -> dict[str, float]:
    """Return n times the error: records that move alone, dependent ones, and a grid that is too coarse."""
    delta = float(DependentCounts(n, Fraction(1, 4), Fraction(3, 4)).delta.finite)
    return {
        "Delta_z 1": scaled_error(n, 1.0, FINE / n),
        "dependent answers, z0 1/4 and z1 3/4": scaled_error(n, delta, FINE * delta / n),
        "Delta_z 1, steps of n^(-1/2)": scaled_error(n, 1.0, 1 / sqrt(n), 0.5),
    }


def noise(dimensions: int, congenial: int, draws: int, seed: int) -> tuple[Number, Number]:
    """Return drawn squared errors of noise of rate 1: projected, and from the start on few dimensions."""
    rng, truth = np.random.default_rng(seed), congenial_errors(dimensions, congenial, Fraction(1))
    found = []
    for size, exact in ((dimensions, truth.projected), (congenial, truth.congenial)):
        direction = rng.standard_normal((draws, size))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        drawn = rng.gamma(size, size=(draws, 1)) * direction
        found.append(mean((drawn[:, :congenial] ** 2).sum(axis=1), float(exact)))
    return found[0], found[1]


def study(size: Size, bar: Bar[Any]) -> Outcome:
    """Compute all three."""
    numbers: dict[str, Number] = {}
    curves = {n: errors(n) for n in bar(PEOPLE, "errors")}
    lines = ["Theorem 11, n times the expected error of a mean, epsilon 1:"]
    for n, found in curves.items():
        numbers |= {
            f"{what}: n |error|, n = {n}": Number(value, ROUNDING * value) for what, value in found.items()
        }
        lines.append(f"  n = {n:>5,}: " + "; ".join(f"{what}: {value:.3g}" for what, value in found.items()))
    lines.append("Corollary 13, squared errors of noise of rate 1, projected and congenial:")
    for place, (dimensions, congenial) in enumerate(DIMENSIONS):
        drawn = noise(dimensions, congenial, size.draws, place)
        for what, each in zip(("projected", "congenial"), drawn, strict=True):
            numbers[f"{congenial} of {dimensions} dimensions, {what}"] = each
        told = ", ".join(f"{each.value:.4g} ({each.truth:g})" for each in drawn)
        lines.append(f"  {congenial} of {dimensions} dimensions: {told}")
    lines.append(
        f"Lemma 14, expected posterior variance of a share, {TESTED} people, released and projected:"
    )
    for design, kind, rate, title in CASES:
        released, projected = projected_variance(TESTED, rate, THETAS, design=design, noise=kind)
        key = f"{design}, {kind} {rate:.3g}"
        numbers[f"{key}: posterior variance, released"] = Number(released)
        numbers[f"{key}: posterior variance, projected"] = Number(projected)
        lines.append(f"  {title:<42} {released:.5f} {projected:.5f}")
    return Outcome(numbers, tuple(lines), {"asymptotics": _picture(curves)})


def _picture(curves: dict[int, dict[str, float]]) -> Figure:
    figure, (ax,) = panels(1, 1, (6.4, 3.8))
    for what, colour in zip(next(iter(curves.values())), (BLUE, ORANGE, GREY), strict=True):
        ax.loglog(list(curves), [found[what] for found in curves.values()], "o-", color=colour, label=what)
    ax.set_xlabel("people, n")
    ax.set_ylabel("n times the expected error")
    ax.set_title("Theorem 11: errors of order 1 / n need Delta_z bounded above", fontsize=10)
    ax.grid(alpha=0.3)
    ax.legend(fontsize=8)
    return figure
