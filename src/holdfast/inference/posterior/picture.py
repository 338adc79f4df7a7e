"""Posterior intervals and those of the naive analysis, side by side."""

from pathlib import Path

import numpy as np

from holdfast.figures import save_figure
from holdfast.inference.posterior.results import Posterior
from holdfast.visible import visible

MOST_SHOWN = 70
WIDE = 100
"""Rates that are farther apart than this factor stand on a logarithmic axis."""
OURS, NAIVE = "#1f5a73", "#c98b4b"


def draw(posterior: Posterior, path: Path) -> None:
    """Draw the rates or proportions, the largest on top; of many, as many as can be read."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - loaded late

    one = posterior.quantities[0]
    summary = posterior.summaries[one.name]
    order = np.argsort(summary["mean"])
    every = order.size
    if every > MOST_SHOWN:  # evenly over all of them
        order = order[np.linspace(0, every - 1, MOST_SHOWN).round().astype(np.int64)]
    figure = Figure(figsize=(8, 1.8 + 0.22 * order.size), layout="constrained")
    axes = figure.subplots()
    places = np.arange(order.size)
    for shift, colour, label, keys in (
        (0.16, OURS, "posterior, with the noise", ("low", "mean", "high")),
        (-0.16, NAIVE, "naive, release taken for true", ("naive_low", "naive_mean", "naive_high")),
    ):
        low, mean, high = (summary[key][order] for key in keys)
        axes.hlines(places + shift, low, high, color=colour, linewidth=1.6, label=label)
        axes.plot(mean, places + shift, "o", color=colour, markersize=3)
    labels = [_short(visible(one.named.labels[at])) for at in order]
    axes.set_yticks(places, labels, fontsize=7)
    axes.set_ylim(-0.8, order.size - 0.2)
    per = posterior.spec.model.per
    axes.set_xlabel(one.name + (f" per {per:,g}" if per != 1 else ""))
    if one.name == "rate" and summary["mean"].max() > WIDE * summary["mean"].min():
        axes.set_xscale("log")
    shown = "" if order.size == every else f", {order.size} of {every:,}"
    axes.set_title(f"{posterior.level:.0%} intervals{shown}", fontsize=10)
    axes.legend(fontsize=8, frameon=False, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
    save_figure(figure, path)


def _short(label: str) -> str:
    return (label if len(label) <= 40 else f"{label[:38]}...").replace("$", r"\$")
