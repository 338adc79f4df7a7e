"""Rates and what they lose: the slides' table for Massachusetts, and epsilon by rate for several strata.

The slides' bound and the tight one stand side by side. They differ by about 1.5 / b, so only small strata
show it. As the slides note: each b has a least epsilon; every larger one belongs to two rates; and at one
rate epsilon grows with b.
"""

from fractions import Fraction
from math import exp, log
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from holdfast.mechanisms.swapping.bounds import EpsilonBound, epsilon, least_epsilon, rates
from studies.outcome import Bar, Number, Outcome
from studies.picture import BLUE, BROWN, GREEN, GREY, ORANGE, RED, VIOLET, panels

TITLE = "Conversion of swap rates to epsilon"
LARGEST = 264_331
"""Two-person households of Massachusetts, 1940, the largest stratum of the slides."""
PRINTED = {1: 17.08, 5: 15.43, 10: 14.68, 50: 12.48}
"""Epsilon by the rate in percent [swapping-slides]."""
STRATA = {10: GREEN, 100: BROWN, 1_000: VIOLET, 10_000: GREY, LARGEST: BLUE, 10_000_000: RED}
SMALL = range(2, 13)
TARGET = Fraction(14)
LEFT, RIGHT = 1e-4, 1 - 1e-7
"""The rates of the picture."""


class Size(NamedTuple):
    """Points of a curve; nothing is drawn at random."""

    points: int


QUICK, FULL = Size(60), Size(400)


def study(size: Size, bar: Bar[int]) -> Outcome:  # noqa: ARG001 - parts are called alike
    """Convert rates of several strata."""
    numbers: dict[str, Number] = {}
    for percent, printed in PRINTED.items():
        rate = Fraction(percent, 100)
        odds = log(rate / (1 - rate))
        slides, tight = (float(epsilon(LARGEST, rate, bound)) for bound in ("slides", "tight"))
        numbers[f"epsilon at {percent}%, as printed"] = Number(round(slides, 2), truth=printed)
        numbers[f"epsilon at {percent}%"] = Number(slides, truth=log(LARGEST + 1) - odds)
        truth = (log(LARGEST) + log(LARGEST - 1)) / 2 - odds
        numbers[f"tight epsilon at {percent}%"] = Number(tight, truth=truth)
    for b in STRATA:
        numbers[f"least epsilon, b = {b:,}"] = Number(float(least_epsilon(b)), truth=log(b + 1) / 2)
    both = rates(LARGEST, TARGET)
    numbers[f"lower rate of epsilon {TARGET}"] = Number(float(both.lower))
    numbers[f"upper rate of epsilon {TARGET}, missing to 1"] = Number(float(1 - both.upper))
    for b in (2, 3, 4, 5):
        numbers[f"tight epsilon at 50%, b = {b}"] = Number(
            float(epsilon(b, Fraction(1, 2), "tight")), truth=TIGHT_AT_HALF[b]
        )
    return Outcome(numbers, _lines(), {"conversion": _picture(size)})


TIGHT_AT_HALF = {2: 0.0, 3: log(2) / 2, 4: log(3), 5: log(22) / 2}
"""d_2/d_0 = 1, d_4/d_2 = 9, d_5/d_3 = 22; a stratum of three has a law of its own."""


def _lines() -> tuple[str, ...]:
    table = [
        f"  {percent:>3}% {float(epsilon(LARGEST, Fraction(percent, 100))):>12.6f}"
        f" {float(epsilon(LARGEST, Fraction(percent, 100), 'tight')):>12.6f}"
        for percent in PRINTED
    ]
    both = rates(LARGEST, TARGET)
    least = ", ".join(f"{float(least_epsilon(b)):.2f} (b = {b:,})" for b in STRATA)
    return (
        f"Epsilon of strata of up to {LARGEST:,} records:",
        f"  rate {'slides':>12} {'tight':>12}",
        *table,
        f"Epsilon {TARGET} is met by the rates {float(both.lower):.4%} and {float(both.upper):.6%}.",
        f"Least epsilon: {least}.",
    )


def _picture(size: Size) -> Figure:
    figure, axes = panels(1, 3, (15, 4.8), width_ratios=(1, 1.5, 0.85))
    _by_rate(axes[0], np.linspace(0.002, 0.998, size.points))
    axes[0].set_title("epsilon by the swap rate")
    axes[0].set_xticks(np.linspace(0, 1, 6), [f"{share:.0%}" for share in np.linspace(0, 1, 6)])
    axes[0].set_ylim(0, 24)
    odds = np.linspace(_logit(LEFT), _logit(RIGHT), size.points)
    _by_rate(axes[1], 1 / (1 + np.exp(-odds)))
    _two_rates(axes[1])
    axes[1].legend(
        title="largest stratum b", fontsize=8.5, title_fontsize=8.5, loc="upper right", reverse=True
    )
    for ax in axes[:2]:
        ax.set_xlabel("swap rate")
    _small(axes[2])
    axes[0].set_ylabel("epsilon (slides' bound)")
    return figure


def _logit(rate: float) -> float:
    return log(rate / (1 - rate))


def _by_rate(ax: Axes, shares: NDArray[np.float64]) -> None:
    for b, colour in STRATA.items():
        losses = [float(epsilon(b, Fraction(share))) for share in shares]
        ax.plot(shares, losses, color=colour, label=f"{b:,}")
    ax.grid(alpha=0.3)


def _two_rates(ax: Axes) -> None:
    for b, colour in STRATA.items():
        least = float(least_epsilon(b))
        at = 1 / (1 + exp(-least))  # ln o = epsilon there
        ax.plot([at], [least], "o", color=colour, markersize=5)
        ax.annotate(f"{least:.2f}", (at, least), (7, -2), textcoords="offset points", va="top", fontsize=9)
    both = rates(LARGEST, TARGET)
    ends = [float(both.lower), float(both.upper)]
    ax.plot(ends, [float(TARGET)] * 2, "s--", color=BLUE, markersize=5, linewidth=1)
    for rate, text, to, side in zip(
        ends, (f"{ends[0]:.2%}", f"{ends[1]:.4%}"), ((4, 4), (-4, 4)), ("left", "right"), strict=True
    ):
        ax.annotate(
            text, (rate, float(TARGET)), to, textcoords="offset points", ha=side, color=BLUE, fontsize=9
        )
    ax.set_xscale("logit")
    ticks = (0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.999999)
    ax.set_xticks(ticks, [f"{100 * tick:.6g}%" for tick in ticks], fontsize=8)
    ax.minorticks_off()
    ax.set_xlim(LEFT, RIGHT)
    ax.set_ylim(0, 24)
    ax.set_title(f"on the scale of odds: least epsilons, and the two rates of epsilon {TARGET}")


def _small(ax: Axes) -> None:
    half = Fraction(1, 2)
    looks: tuple[tuple[EpsilonBound, str, str], ...] = (("slides", ORANGE, "s"), ("tight", BLUE, "o"))
    for bound, colour, marker in looks:
        losses = [float(epsilon(b, half, bound)) for b in SMALL]
        ax.plot(list(SMALL), losses, f"{marker}-", color=colour, markersize=4, linewidth=1, label=bound)
    ax.set_ylim(0)
    ax.set_xticks(list(SMALL))
    ax.set_xlabel("b")
    ax.set_title("small strata at a rate of 50%, both bounds")
    ax.legend(fontsize=9, loc="lower right")
    ax.grid(alpha=0.3)
