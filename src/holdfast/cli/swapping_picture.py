"""Epsilon by swap rate as a picture: the curves of the slides, for strata of several sizes."""

from fractions import Fraction
from math import exp, log
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.audit.swapping import SwappingReport
from holdfast.figures import save_figure
from holdfast.privacy.swapping import LEAST_RATE, Bound, epsilon, least_epsilon, turns
from holdfast.spec.rational import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZES = (2, 10, 100, 10_000, 264_331)
"""Sizes that are drawn beside the given one; the last is the largest stratum of the slides' example."""
APART = 0.6
"""Curves nearer than this to the given one are left out: their names would cover each other."""
NAMED_AT = (Fraction(1, 5), Fraction(1, 3), Fraction(9, 20))
"""Rates at which curves may have their names."""
GIVEN, TIGHT, OTHERS, ASKED = "#1f5a73", "#e09f3e", "#8aa9b7", "#b5452c"


def draw(report: SwappingReport, path: Path) -> None:
    """Draw the curves, the smallest epsilon of each, and what was asked."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    size, named_at = report.stratum_size, _free_place(report)
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for one in SIZES:
        if abs(log((one + 1) / (size + 1))) > APART:
            _curve(axes, one, "slides", color=OTHERS, linewidth=1.1)
            _smallest(axes, one, "slides", OTHERS)
            _name(axes, one, named_at, color="#54707d")
    _curve(axes, size, "slides", color=GIVEN, linewidth=2.6, label=f"slides' bound, b = {size:,}")
    _curve(axes, size, "tight", color=TIGHT, linewidth=1.3, linestyle="--", label=f"tight, b = {size:,}")
    _smallest(axes, size, "tight", TIGHT)
    _smallest(axes, size, "slides", GIVEN, label="smallest epsilon")
    _name(axes, size, named_at, color=GIVEN, weight="bold")
    top = float(epsilon(max(*SIZES, size), Fraction(1, 100)))
    top = max(top, *_asked(axes, report, top)) * 1.04
    axes.set(xlim=(0, 1.09), ylim=(0, top), xlabel="swap rate", ylabel="epsilon per record of distance")
    axes.set_xticks([tenth / 10 for tenth in range(11)])
    axes.set_title(
        "Permutation swapping: the larger the stratum (b records), the larger the epsilon;\n"
        "every epsilon above the smallest has two swap rates",
        fontsize=10,
    )
    axes.legend(fontsize=8, frameon=False, loc="upper right", bbox_to_anchor=(0.9, 1))
    axes.spines[["top", "right"]].set_visible(False)
    save_figure(figure, path)


def _curve(axes: "Axes", size: int, bound: Bound, **how: Any) -> None:
    """Draw an epsilon by rate, at steps of ln o: it bends most near 0 and 1; and at each of its turns."""
    steps = sorted({*(step / 10 for step in range(-200, 201)), *turns(size, bound)})
    rates = [_rate(log_odds) for log_odds in steps]
    axes.plot([float(rate) for rate in rates], [float(epsilon(size, rate, bound)) for rate in rates], **how)


def _rate(log_odds: float) -> Fraction:
    return min(max(Fraction(1 / (1 + exp(-log_odds))), LEAST_RATE), 1 - LEAST_RATE)


def _smallest(axes: "Axes", size: int, bound: Bound, color: str, **how: Any) -> None:
    """Mark the smallest epsilon, where ln o is epsilon, too; below and right of it nothing is drawn."""
    least = float(least_epsilon(size, bound))
    place = float(_rate(least))
    axes.plot([place], [least], "o", markersize=5.5, color=color, zorder=4, clip_on=False, **how)
    if bound == "slides":
        axes.annotate(
            f"{least:.2f}",
            (place, least),
            xytext=(7, -4),
            textcoords="offset points",
            fontsize=8,
            color=color,
            va="center",
        )


def _name(axes: "Axes", size: int, at: Fraction, **how: Any) -> None:
    """Write the size on its curve."""
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    place = float(at), float(epsilon(size, at))
    axes.text(*place, f"b = {size:,}", fontsize=8.5, ha="center", va="center", bbox=box, zorder=5, **how)


def _free_place(report: SwappingReport) -> Fraction:
    """Return the rate for names that is farthest from what is marked."""
    marked = [*(report.wanted.rates if report.wanted else ())]
    if report.given is not None and report.given.rate is not None:
        marked.append(report.given.rate)
    return max(NAMED_AT, key=lambda at: min((abs(at - one) for one in marked), default=Fraction(1)))


def _asked(axes: "Axes", report: SwappingReport, top: float) -> list[float]:
    """Mark the given rate and the rates of the target, if not far above all; returns how high they are."""
    high = [0.0]

    def tell(words: str, rate: float, level: float, side: str) -> None:
        away = (6 if side == "left" else -6, 7)
        axes.annotate(
            words, (rate, level), xytext=away, textcoords="offset points", fontsize=8.5, color=ASKED, ha=side
        )
        high.append(level)

    if (at := report.given) is not None and at.rate is not None:
        rate, level = float(at.rate), float(at.epsilon)
        axes.plot([rate], [level], "D", markersize=6, color=ASKED, zorder=6)
        tell(f"rate {short(str(at.rate))}: {level:.2f}", rate, level, "left")
    if (wanted := report.wanted) is not None and (level := float(wanted.epsilon)) < 2 * top:
        low, up = map(float, wanted.rates)
        axes.plot([low, up], [level] * 2, "s:", markersize=5, linewidth=1, color=ASKED, zorder=6)
        upper = f"{up:.4g}" if up < 0.999 else f"1 - {1 - up:.2g}"
        tell(f"epsilon {level:g}: rates {low:.4g} and {upper}", up, level, "right")
    return high
