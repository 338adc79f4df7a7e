"""The pictures of the study. Blue is what is right, red what is printed, grey what is naive."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from studies.semi_dp import figure_2, figure_3, power, real_costs, real_tests
from studies.semi_dp.designs import MODELS
from studies.semi_dp.numbers import Number

BLUE, RED, GREEN, GREY, LIGHT, DARK = "#1f5fa8", "#c8452f", "#2b8a57", "#8a8a8a", "#b9b9b9", "#333333"
STYLE: dict[Any, Any] = {
    "axes.edgecolor": "#999999",
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "figure.dpi": 130,
    "font.size": 9,
    "grid.color": "#e6e6e6",
    "legend.frameon": False,
}
GAUSSIANS = {
    "naive": (GREY, "o", "-"),
    "naive, projected": (LIGHT, "s", "-"),
    "semi, as printed": (RED, "v", "--"),
    "semi, correct": (BLUE, "o", "-"),
    "semi, integers": (GREEN, "x", ":"),
}
K_NORMS = {
    "naive linf": (LIGHT, "D"),
    "naive l2": (GREY, "s"),
    "naive l1": (DARK, "^"),
    "K-norm, as printed": (RED, "v"),
    "K-norm, correct": (BLUE, "o"),
    "K-norm, integers": (GREEN, "X"),
}
POWERS = {
    "Fisher, randomised": (LIGHT, "-"),
    "Fisher": (DARK, "-"),
    "semi-private": (BLUE, "-"),
    "naive private": (GREY, "--"),
}
Found = dict[tuple[str, str, str], Number]


def style() -> AbstractContextManager[None]:
    """Return the context in which all pictures are drawn."""
    return mpl.rc_context(STYLE)


def draw_figure_2(numbers: Iterable[Number], path: Path) -> None:
    """Draw mean costs by the size of the table, one panel a model."""
    found = _by_name(numbers, figure_2.PART)
    figure, panels = _panels(1, 2, (9.2, 4.3), sharey=True)
    for model, axes in zip(MODELS, panels, strict=True):
        for series, (colour, marker, line) in GAUSSIANS.items():
            points = [found[series, f"k = {k}", model] for k in figure_2.SIZES]
            axes.plot(figure_2.SIZES, [p.value for p in points], line, color=colour, linewidth=1.2)
            axes.errorbar(
                figure_2.SIZES,
                [p.first for p in points],
                yerr=[2 * p.spread for p in points],
                fmt=marker,
                color=colour,
                markersize=4.5,
                elinewidth=0.8,
                label=series,
            )
        axes.set(title=f"Model {model}", xlabel="rows and columns, k", ylim=(0, None))
        axes.set_xticks(list(figure_2.SIZES))
    panels[0].set_ylabel("mean L2 cost, mu = 1")
    panels[0].legend(loc="upper left")
    _save(figure, path)


def draw_figure_3(numbers: Iterable[Number], path: Path) -> None:
    """Draw mean costs by epsilon, one panel a size; models are full and hollow marks."""
    found = _by_name(numbers, figure_3.PART)
    figure, panels = _panels(1, 2, (10.4, 4.8), sharey=True)
    for k, axes in zip(figure_3.SIZES, panels, strict=True):
        for group, epsilon in enumerate(figure_3.EPSILONS):
            for place, (series, (colour, marker)) in enumerate(K_NORMS.items()):
                for model, shift, face in (("I", -0.032, colour), ("II", 0.032, "white")):
                    number = found[series, figure_3.setting(k, epsilon), model]
                    at = group + (place - 2.5) * 0.15 + shift
                    axes.errorbar(
                        at,
                        number.first,
                        yerr=2 * number.spread,
                        fmt=marker,
                        color=colour,
                        markerfacecolor=face,
                        markersize=5,
                        elinewidth=0.8,
                    )
                    axes.plot([at - 0.03, at + 0.03], [number.value] * 2, color=colour, linewidth=1)
        axes.set(title=f"{k} x {k}", xlabel="epsilon", yscale="log", ylim=(0.7, 900))
        axes.set_xticks(range(3), [f"{float(epsilon):g}" for epsilon in figure_3.EPSILONS])
        axes.grid(visible=False, axis="x")
    panels[0].set_ylabel("mean L2 cost")
    marks = [Line2D([], [], color=c, marker=m, linestyle="", label=s) for s, (c, m) in K_NORMS.items()]
    models = [
        Line2D([], [], color=DARK, marker="o", markerfacecolor=face, linestyle="", label=f"model {model}")
        for model, face in (("I", DARK), ("II", "white"))
    ]
    long_run = Line2D([], [], color=DARK, linewidth=1, label="mean of all draws")
    figure.legend(handles=[*marks, *models, long_run], loc="outside lower center", ncols=5, fontsize=8)
    _save(figure, path)


def draw_power(numbers: Iterable[Number], path: Path) -> None:
    """Draw power by odds ratio: a row for each number of records, a column for each epsilon."""
    found = _by_name(numbers, power.PART)
    figure, panels = _panels(2, 3, (10.2, 5.8), sharex=True, sharey=True)
    for axes, (records, epsilon) in zip(
        panels, ((n, e) for n in power.DESIGNS for e in figure_3.EPSILONS), strict=True
    ):
        for series, (colour, line) in POWERS.items():
            curve = [found[series, power.setting(records, epsilon, odds), ""].value for odds in power.ODDS]
            axes.plot(power.ODDS, curve, line, color=colour, label=series, linewidth=1.5)
        for series, colour, marker in (("semi-private, simulated", BLUE, "o"), ("plug-in", RED, "X")):
            shares = [
                found[series, power.setting(records, epsilon, odds), ""].value for odds in power.CHECKED
            ]
            label = "plug-in: size not kept" if series == "plug-in" else series
            axes.plot(power.CHECKED, shares, marker, color=colour, label=label, markersize=5, clip_on=False)
        axes.axhline(power.LEVEL, color=DARK, linewidth=0.6, linestyle=":")
        axes.set(title=f"n = {records}, epsilon = {float(epsilon):g}", xscale="log", ylim=(0, 1.02))
        axes.set_xticks([1, 2, 4, 8], ["1", "2", "4", "8"])
        axes.minorticks_off()
    for axes in panels[3:]:
        axes.set_xlabel("odds ratio w")
    for axes in panels[::3]:
        axes.set_ylabel("chance to reject w ≤ 1")
    _legend_below(figure, panels[0], 6)
    _save(figure, path)


def draw_real_costs(numbers: Iterable[Number], path: Path) -> None:
    """Draw relative costs, a row for each table."""
    found = _by_name(numbers, real_costs.PART)
    names = list(dict.fromkeys(setting for _, setting, _ in found))
    figure, panels = _panels(1, 2, (10.6, 0.5 * len(names) + 1.8), sharey=True)
    gaussians = {series: (colour, marker) for series, (colour, marker, _) in GAUSSIANS.items()}
    for axes, kind, title, series in (
        (panels[0], "Gaussian", "Gaussian, mu = 1", gaussians),
        (panels[1], "pure", "pure, epsilon = 1", K_NORMS),
    ):
        for place, (name, (colour, marker)) in enumerate(series.items()):
            costs = [100 * found[f"{kind}: {name}", table, ""].value for table in names]
            heights = [row + (place - 2.5) * 0.12 for row in range(len(names))]
            axes.plot(costs, heights, marker, color=colour, label=name, markersize=5)
        axes.set(title=title, xlabel="L2 cost, percent of the table's L2 norm", xscale="log")
        axes.legend(loc="upper center", bbox_to_anchor=(0.45, -1.0 / len(names)), ncols=2, fontsize=8)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].invert_yaxis()
    _save(figure, path)


def draw_real_tests(numbers: Iterable[Number], path: Path) -> None:
    """Draw the middle 90 percent of private p-values, a row for each table."""
    found = _by_name(numbers, real_tests.PART)
    names = list(dict.fromkeys(setting for _, setting, _ in found))
    figure, panels = _panels(1, 2, (10.4, 0.36 * len(names) + 1.4), sharey=True)
    for axes, epsilon in zip(panels, real_tests.EPSILONS, strict=True):
        for row, name in enumerate(names):
            for series, colour, shift in (("semi-private", BLUE, -0.14), ("naive", GREY, 0.14)):
                whole = f"{series}, epsilon = {float(epsilon):g}"
                low, median, high = (
                    max(found[f"{whole}: {what}", name, ""].value, real_tests.LEAST)
                    for what in ("low", "median", "high")
                )
                axes.plot([low, high], [row + shift] * 2, color=colour, linewidth=2, alpha=0.55)
                axes.plot(
                    median, row + shift, "o", color=colour, markersize=4, label=series if row == 0 else None
                )
            plain = max(found["Fisher: median", name, ""].value, real_tests.LEAST)
            axes.plot(plain, row, "D", color=DARK, markersize=4.5, label="Fisher" if row == 0 else None)
        axes.axvline(real_tests.LEVEL, color=RED, linewidth=0.8, linestyle="--")
        axes.set(title=f"epsilon = {float(epsilon):g}", xlabel="two-sided p-value", xscale="log")
        axes.set_xlim(real_tests.LEAST / 3, 2)
        axes.set_xticks([10.0**-e for e in range(12, -1, -3)], ["≤ 1e-12", "1e-9", "1e-6", "1e-3", "1"])
        axes.minorticks_off()
    panels[0].set_yticks(range(len(names)), names)
    panels[0].invert_yaxis()
    panels[1].legend(loc="lower left", fontsize=8)
    _save(figure, path)


def _panels(
    rows: int, columns: int, size: tuple[float, float], *, sharex: bool = False, sharey: bool = False
) -> tuple[Figure, Sequence[Axes]]:
    figure, panels = plt.subplots(
        rows, columns, figsize=size, sharex=sharex, sharey=sharey, layout="constrained", squeeze=False
    )
    return figure, panels.ravel().tolist()


def _legend_below(figure: Figure, axes: Axes, columns: int) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=8)


def _by_name(numbers: Iterable[Number], part: str) -> Found:
    return {(n.series, n.setting, n.model): n for n in numbers if n.part == part}


def _save(figure: Figure, path: Path) -> None:
    figure.savefig(path)
    plt.close(figure)
