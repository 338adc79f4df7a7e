"""[partially-private-data, Figures 1 to 3]: cases and deaths of 67 counties and 24 months, four ways.

Figure 1 has the rates of three counties, Figure 2 the relative errors of all. Figure 3 counts what
post-processing contracts [holdfast, processing/contraction.py], and how often the mechanisms that agree with
what is public by themselves are at the same bounds, where the truth is not.
"""

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator
from numpy.typing import NDArray

from holdfast.lattice.arrays import IntArray
from holdfast.processing.contraction import Contractions, contractions
from studies.outcome import Bar, Number, Outcome, mean
from studies.partially_private.counties import FILE, MONTHS, Counties, invented, read
from studies.partially_private.methods import (
    BOUNDED,
    CONGENIAL,
    EPSILONS,
    METHODS,
    NAIVE,
    NORMS,
    PRIOR,
    PROCESSED,
    SETTINGS,
    Norm,
    Setting,
    month_of,
)
from studies.partially_private.workers import spread
from studies.picture import BLUE, GREEN, GREY, ORANGE, RED, panels

__all__ = ["FILE", "invented", "read"]

TITLE = "Figures 1 to 3: cases and deaths of Pennsylvania, four ways to release them"
STAND_IN = "Figures 1 to 3 on a stand-in: invented counties with a tenth of the people"
LOOKS = {PROCESSED: ORANGE, NAIVE: GREY, CONGENIAL: GREEN, PRIOR: BLUE}
SHOWN = ("Allegheny", "Erie", "Cameron")
GROUP = 10
"""Counties among the most and the least populous."""
MIDDLE = 15
GROUPS = ("least populous", "most populous")
EFFECTS = {
    "contracted_case_zeros": "cases at 0",
    "contracted_death_zeros": "deaths at 0",
    "contracted_rates": "all cases dead",
}
ONE = 3
"""The month that the quick run has: June 2020."""
Floats = NDArray[np.float64]


class Size(NamedTuple):
    """Months by their number, and draws of each."""

    months: tuple[int, ...]
    draws: int


QUICK, FULL = Size((ONE,), 25), Size(tuple(range(MONTHS)), 100)


class Task(NamedTuple):
    """A month to be released in one setting."""

    month: int
    setting: Setting


class Drawn(NamedTuple):
    """Releases of a month by method, one a row, and the seconds that they took."""

    task: Task
    releases: dict[str, IntArray]
    seconds: dict[str, float]


def drawn(counties: Counties, draws: int, task: Task) -> Drawn:
    """Draw one month in one setting."""
    seconds: dict[str, float] = {}
    return Drawn(task, month_of(counties, task.month, task.setting, draws, seconds), seconds)


def everything(counties: Counties, size: Size, bar: Bar[Any]) -> list[Drawn]:
    """Draw all months in all settings, the longest first, on all processors."""
    tasks = [Task(month, setting) for setting in SETTINGS for month in size.months]
    tasks.sort(key=lambda task: (NORMS.index(task.setting.norm), -int(counties.cases[task.month].sum())))
    return spread(partial(drawn, counties, size.draws), tasks, bar, "releases")


class Releases(NamedTuple):
    """All releases of a setting by method: draws x months x (cases, deaths) x counties."""

    months: tuple[int, ...]
    by_method: dict[str, IntArray]

    @classmethod
    def of(cls, every: Sequence[Drawn], setting: Setting) -> "Releases":
        """Collect those of a setting."""
        own = sorted(
            (each for each in every if each.task.setting == setting), key=lambda each: each.task.month
        )
        by_method = {
            method: np.stack([np.stack(np.split(one.releases[method], 2, axis=1), 1) for one in own], axis=1)
            for method in METHODS
        }
        return cls(tuple(each.task.month for each in own), by_method)

    def only(self, month: int) -> "Releases":
        """Return those of one month."""
        at = self.months.index(month)
        return Releases((month,), {name: each[:, at : at + 1] for name, each in self.by_method.items()})


def relative(releases: Releases, method: str, counties: Counties) -> Floats:
    """Return |released - true| / true cases in percent, a row for each draw; counts of 0 have none."""
    truth = counties.cases[list(releases.months)]
    some = truth > 0
    apart = np.abs(releases.by_method[method][:, :, 0] - truth)[:, some]
    return np.asarray(100 * apart / truth[some])


def at_bounds(releases: Releases, method: str, counties: Counties) -> Contractions:
    """Return what processing contracts, or which counts are at a bound where the truth is not."""
    months = list(releases.months)
    after = releases.by_method[method]
    if method == PROCESSED:
        before = releases.by_method[NAIVE]
    else:
        before = np.broadcast_to(np.stack([counties.cases[months], counties.deaths[months]], 1), after.shape)
    return contractions(before[:, :, 0], before[:, :, 1], after[:, :, 0], after[:, :, 1])


def extremes(counties: Counties) -> dict[str, IntArray]:
    """Return the least and the most populous counties."""
    order = counties.by_size
    return dict(zip(GROUPS, (order[:GROUP], order[-GROUP:]), strict=True))


def violated(releases: Releases, counties: Counties) -> dict[str, int]:
    """Count releases that contradict what is public, of methods that must not."""
    totals = counties.cases[list(releases.months)].sum(axis=1)
    found = np.stack([releases.by_method[method] for method in BOUNDED])
    cases, deaths = found[..., 0, :], found[..., 1, :]
    return {
        "releases with another sum of cases": int((cases.sum(axis=-1) != totals).sum()),
        "counts with more deaths than cases": int((deaths > cases).sum()),
        "counts below 0": int((deaths < 0).sum()),
    }


def numbers_of(releases: Releases, counties: Counties) -> dict[str, Number]:
    """Return errors and effects; draws are independent, so each number is a mean over them."""
    truth = counties.cases[list(releases.months)]
    dead = counties.deaths[list(releases.months)]
    found: dict[str, Number] = {}
    for method in METHODS:
        each = releases.by_method[method]
        off = relative(releases, method, counties)
        found |= {
            f"{method}: |error| of cases": mean(np.abs(each[:, :, 0] - truth).mean(axis=(1, 2))),
            f"{method}: |error| of deaths": mean(np.abs(each[:, :, 1] - dead).mean(axis=(1, 2))),
            f"{method}: median relative error, percent": mean(np.median(off, axis=1)),
            f"{method}: 95th percentile of relative errors": mean(np.quantile(off, 0.95, axis=1)),
        }
    for method in BOUNDED:
        flags = at_bounds(releases, method, counties)
        kinds = dict(zip(EFFECTS.values(), (flags.case_zeros, flags.death_zeros, flags.rates), strict=True))
        for group, places in extremes(counties).items():
            found |= {
                f"{method}: {kind}, {group}": _share(each[:, :, places]) for kind, each in kinds.items()
            }
    return found


def _share(flags: NDArray[np.bool_]) -> Number:
    """Return a share of counts, by draw, month and place; its error is no less than that of one count."""
    found = mean(flags.mean(axis=(1, 2)))
    return replace(found, error=max(found.error, 1 / flags.size))


def study(source: Counties, size: Size, bar: Bar[Any], *, name: str = "synthesis") -> Outcome:
    """Release all months by all methods, and compare them with the truth."""
    began = time.perf_counter()
    every = everything(source, size, bar)
    took = time.perf_counter() - began
    by_setting = {setting: Releases.of(every, setting) for setting in SETTINGS}
    wrong = [violated(releases, source) for releases in by_setting.values()]
    numbers = {what: Number(float(sum(one[what] for one in wrong)), truth=0) for what in wrong[0]}
    numbers["cases"] = Number(float(source.cases.sum()))
    what = f"{source.people.size} counties, {len(size.months)} months"
    lines = [f"{source.title}: {what}, {size.draws} draws of each."]
    for setting, releases in by_setting.items():
        parts = {source.months[ONE]: releases.only(ONE)}
        if len(releases.months) > 1:
            parts["all months"] = releases
        for when, part in parts.items():
            told = numbers_of(part, source)
            numbers |= {f"{setting.title}, {when}, {what}": number for what, number in told.items()}
        lines += _told(setting, when, told)
    seconds = _seconds(every)
    speeds = {"seconds of the clock": took, **seconds}
    lines.append("  CPU seconds: " + ", ".join(f"{what} {each:.0f}" for what, each in seconds.items()))
    lines.append(f"  {took:.0f} seconds by the clock, {os.cpu_count()} processors")
    pictures = {
        f"{name}_figure_2": figure_2(source, by_setting),
        f"{name}_figure_3": figure_3(source, by_setting),
    }
    for norm in NORMS:
        if len(size.months) > 1:
            pictures[f"{name}_figure_1_{norm}"] = figure_1(source, by_setting, norm)
    return Outcome(numbers, tuple(lines), pictures, speeds)


def _told(setting: Setting, when: str, told: dict[str, Number]) -> list[str]:
    heads = (
        "|error| of cases",
        "|error| of deaths",
        "median relative error, percent",
        "95th percentile of relative errors",
    )
    lines = [
        f"  {setting.title}, {when}: |error| of cases, of deaths; relative error, median and 95th percentile"
    ]
    for method in METHODS:
        each = [told[f"{method}: {head}"].value for head in heads]
        lines.append(f"    {method:<16}" + "".join(f"{value:>12,.1f}" for value in each))
    return lines


def _seconds(every: Sequence[Drawn]) -> dict[str, float]:
    """Return CPU seconds by norm and method."""
    found: dict[str, float] = {}
    for one in every:
        for method, seconds in one.seconds.items():
            what = f"{one.task.setting.norm} {method}"
            found[what] = found.get(what, 0.0) + seconds
    return dict(sorted(found.items()))


def shown(counties: Counties) -> list[int]:
    """Return a large county, one in the middle, and the smallest."""
    if set(SHOWN) <= set(counties.names):
        return [counties.names.index(county) for county in SHOWN]
    order = counties.by_size
    return [int(order[place]) for place in (-1, -MIDDLE, 0)]


def figure_1(counties: Counties, by_setting: dict[Setting, Releases], norm: Norm) -> Figure:
    """Draw the rates of three counties: boxes over draws, and the truth."""
    figure, axes = panels(
        len(METHODS), len(EPSILONS), (14, 13), sharex=True, sharey="row", height_ratios=(1, 1.5, 1, 1)
    )
    for row, method in enumerate(METHODS):
        for column, epsilon in enumerate(EPSILONS):
            ax = axes[row * len(EPSILONS) + column]
            releases = by_setting[Setting(norm, epsilon)]
            _rates(ax, counties, releases.by_method[method][:, :, 0], legend=row == 0 and column == 1)
            ax.set_title(f"{method}, epsilon {float(epsilon):g}")
            if column == 0:
                ax.set_ylabel("cases, percent of people")
    draws = len(next(iter(by_setting.values())).by_method[NAIVE])
    figure.suptitle(
        f"Figure 1. {counties.title}: case rates of three counties by month, {norm} loss;"
        f" boxes: {draws} exact draws (whiskers 5 to 95 percent), lines: the truth",
        fontsize=12,
    )
    return figure


def _rates(ax: Axes, counties: Counties, cases: IntArray, *, legend: bool) -> None:
    for number, (place, colour) in enumerate(zip(shown(counties), (RED, GREEN, BLUE), strict=True)):
        people = int(counties.people[place])
        at = np.arange(len(counties.months)) + 0.26 * (number - 1)
        line = {"color": colour, "linewidth": 0.7}
        ax.boxplot(
            100 * cases[:, :, place] / people,
            positions=at,
            widths=0.2,
            whis=(5, 95),
            showfliers=False,
            boxprops=line,
            whiskerprops=line,
            medianprops=line,
            showcaps=False,
            manage_ticks=False,
        )
        truth = 100 * counties.cases[:, place] / people
        label = f"{counties.names[place]}, {people:,} people"
        ax.plot(at, truth, color=colour, linewidth=1.1, alpha=0.8, label=label)
    ax.set_yscale("symlog", linthresh=0.1, linscale=0.6)
    below = bool((cases < 0).any())
    ax.set_ylim(-200 if below else -0.03, 200)
    ticks = [0, 0.1, 1, 10, 100]
    ax.set_yticks([*(-tick for tick in ticks if below and tick >= 1), *ticks])
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.axhline(0, color=GREY, linewidth=0.6)
    ax.set_xticks(range(0, MONTHS, 4), counties.months[::4], fontsize=8)
    ax.grid(axis="y", alpha=0.25)
    if legend:
        ax.legend(fontsize=8, loc="upper left", ncols=3)


def figure_2(counties: Counties, by_setting: dict[Setting, Releases]) -> Figure:
    """Draw which share of counts is off by more than so many percent."""
    figure, axes = panels(len(NORMS), len(EPSILONS), (12, 8), sharex=True, sharey=True)
    for ax, (setting, releases) in zip(axes, by_setting.items(), strict=True):
        for method in METHODS:
            off = np.sort(relative(releases, method, counties).ravel())
            share = 1 - np.arange(off.size) / off.size
            step = max(1, off.size // 2_000)
            keep = np.unique(np.concatenate([np.arange(0, off.size, step), off.size - 1 - np.arange(50)]))
            label = f"{method}: 95th percentile {np.quantile(off, 0.95):,.0f} %"
            ax.plot(np.maximum(off[keep], 1e-2), share[keep], color=LOOKS[method], linewidth=1.5, label=label)
        ax.set_xscale("log")
        ax.set_xlim(1e-1, 1e6)
        ax.set_yscale("log")
        ax.set_ylim(1e-3, 1.1)
        ax.set_title(f"{setting.norm} loss, epsilon {float(setting.epsilon):g}")
        ax.grid(alpha=0.25)
        ax.legend(fontsize=8, loc="lower left")
    for ax in axes[-len(EPSILONS) :]:
        ax.set_xlabel("relative error of cases, percent")
    for ax in axes[:: len(EPSILONS)]:
        ax.set_ylabel("share of counts with a larger error")
    months = len(next(iter(by_setting.values())).months)
    when = f"all {months} months" if months > 1 else counties.months[ONE]
    figure.suptitle(
        f"Figure 2. {counties.title}: relative errors of cases, all counties, {when}", fontsize=12
    )
    return figure


def figure_3(counties: Counties, by_setting: dict[Setting, Releases]) -> Figure:
    """Draw how often counts are at a bound, for the smallest and the largest counties."""
    figure, axes = panels(len(NORMS), len(EPSILONS), (12, 8), sharey=True)
    looks = {PROCESSED: ORANGE, CONGENIAL: GREEN, PRIOR: BLUE}
    for ax, (setting, releases) in zip(axes, by_setting.items(), strict=True):
        for number, method in enumerate(BOUNDED):
            flags = at_bounds(releases, method, counties)
            kinds = (flags.case_zeros, flags.death_zeros, flags.rates)
            for kind, each in enumerate(kinds):
                for side, places in enumerate(extremes(counties).values()):
                    share = float(each[:, :, places].mean())
                    at = 2 * kind + side + 0.26 * (number - 1)
                    label = method if kind == side == 0 else None
                    ax.bar(
                        at, 100 * share, 0.24, color=looks[method], alpha=1.0 if side else 0.65, label=label
                    )
                    ax.text(at, 100 * share + 1, f"{100 * share:.0f}", ha="center", fontsize=7)
        ticks = [f"{kind}\n{group}" for kind in EFFECTS.values() for group in ("least", "most")]
        ax.set_xticks(range(len(ticks)), ticks, fontsize=8)
        ax.set_title(f"{setting.norm} loss, epsilon {float(setting.epsilon):g}")
        ax.set_ylim(0, 108)
        ax.grid(axis="y", alpha=0.25)
    axes[0].legend(fontsize=8, loc="upper right")
    for ax in axes[:: len(EPSILONS)]:
        ax.set_ylabel("percent of counts")
    figure.suptitle(
        f"Figure 3. {counties.title}: counts that post-processing contracts, and counts at the same bounds"
        f" without it;\nthe {GROUP} least and the {GROUP} most populous counties",
        fontsize=12,
    )
    return figure
