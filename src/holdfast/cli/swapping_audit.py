"""`holdfast audit swapping`."""

from fractions import Fraction
from math import ceil, exp, inf, log
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast import audit
from holdfast.audit.swap_rates import SwappingReport, SwapReading
from holdfast.audit.targeting import USUAL_SIZE, TargetingReport
from holdfast.cli.arguments import RECORDS, Json, Quiet, ReportFile, drawing, optional
from holdfast.cli.console import columns
from holdfast.cli.reports import deliver, require_new_file
from holdfast.cli.terminal import terminal
from holdfast.mechanisms.swapping.bounds import LEAST_RATE, EpsilonBound, epsilon, least_epsilon, turns
from holdfast.spec.values import short
from holdfast.system.errors import SpecError
from holdfast.system.files import save_figure
from holdfast.system.text import counted

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
    from matplotlib.figure import Figure

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
    top = max(top, *_mark_targets(axes, report, top)) * 1.04
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


def _curve(axes: "Axes", size: int, bound: EpsilonBound, **how: Any) -> None:
    """Draw an epsilon by rate, at steps of ln o: it bends most near 0 and 1; and at each of its turns."""
    steps = sorted({*(step / 10 for step in range(-200, 201)), *turns(size, bound)})
    rates = [_at_odds(log_odds) for log_odds in steps]
    axes.plot([float(rate) for rate in rates], [float(epsilon(size, rate, bound)) for rate in rates], **how)


def _at_odds(log_odds: float) -> Fraction:
    return min(max(Fraction(1 / (1 + exp(-log_odds))), LEAST_RATE), 1 - LEAST_RATE)


def _smallest(axes: "Axes", size: int, bound: EpsilonBound, color: str, **how: Any) -> None:
    """Mark the smallest epsilon, where ln o is epsilon, too; below and right of it nothing is drawn."""
    least = float(least_epsilon(size, bound))
    place = float(_at_odds(least))
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


def _mark_targets(axes: "Axes", report: SwappingReport, top: float) -> list[float]:
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


DECIMALS = 5
SCOPE = (
    "Epsilon is lost for each record in which two datasets differ, and only among datasets that agree on what"
    " swapping keeps: stratum by swapped variables, and stratum by all that is held."
)
LARGEST = "At the same rate a larger stratum has a larger epsilon: the largest stratum decides."
ATTAINED = (
    "The tight epsilon is attained where no two records of a stratum share a held or a swapped value; where"
    " some do, no more is lost."
)
TWO_RATES = (
    "Both rates, and all between them, lose at most the epsilon asked for; fewer records move at the lowest,"
    " so it distorts the data least."
)


def command(
    stratum_size: Annotated[
        int | None, typer.Option(parser=RECORDS, metavar="B", help="Records of the largest stratum.")
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="A swap rate, such as 1/20: what it loses.")
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="An epsilon: the two rates that give it.")
    ] = None,
    targeted: Annotated[
        bool, typer.Option("--targeted", help="Say why selecting records at risk has no such guarantee.")
    ] = False,
    risk_rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="With --targeted: the rate of those at risk.")
    ] = None,
    picture: Annotated[Path | None, drawing("epsilon by swap rate")] = None,
    out: ReportFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print what a swap rate loses, and which rates lose no more than an epsilon; draw the curves."""
    require_new_file(out, picture=picture)
    if targeted:
        if epsilon is not None or picture is not None:
            raise SpecError("--targeted is for rates, and has no curve: leave out --epsilon and --picture.")
        asked = {"rate": optional("--rate", rate), "risk_rate": optional("--risk-rate", risk_rate)}
        given = {name: value for name, value in asked.items() if value is not None}
        size = USUAL_SIZE if stratum_size is None else stratum_size
        deliver(audit.targeted_swapping(size, **given), _targeted_words, as_json=as_json, out=out)
        return
    if stratum_size is None:
        raise SpecError("--stratum-size is missing: give the records of the largest stratum, or --targeted.")
    if risk_rate is not None:
        raise SpecError("--risk-rate goes with --targeted: add it, or leave the rate out.")
    report = audit.swapping(stratum_size, optional("--rate", rate), optional("--epsilon", epsilon))
    deliver(report, _words, as_json=as_json, out=out, picture=picture, draw=draw)


def _words(report: SwappingReport) -> None:
    """Print both bounds side by side, and what they mean."""
    console = terminal()
    title = f"Permutation swapping in strata of up to {counted(report.stratum_size, 'record')}"
    table = columns([""], ("slides' bound", "tight"), title=title)
    readings = report.usual if report.given is None else (report.given,)
    for at in readings:
        table.add_row(f"epsilon at rate {_rate(at)}", _near(at.epsilon), _near(at.epsilon_tight))
    smallest = report.smallest
    table.add_row("smallest epsilon of any rate", _up(smallest.epsilon), _up(smallest.epsilon_tight))
    if (wanted := report.wanted) is not None:
        asked = f"{float(wanted.epsilon):.10g}"
        for name, one, other in zip(("lowest", "highest"), wanted.rates, wanted.rates_tight, strict=True):
            table.add_row(f"{name} rate for epsilon {asked}", repr(float(one)), repr(float(other)))
    console.print(table)
    for sentence in (SCOPE, LARGEST, ATTAINED, *(() if report.wanted is None else (TWO_RATES,))):
        console.print(sentence)


TARGETED = (
    "Four households share a key: two homes in North and two in South, two households own and two rent. At"
    " risk is who alone in its place has its tenure. All files with these counts, and all permutations, are"
    " listed; epsilon is for each record in which two files differ."
)
NO_GUARANTEE = (
    "Who is at risk depends on where households live, which is what a swap hides: other files select others."
    " Under the first rule nobody is at risk or all four are, and every file is released as it is: no epsilon"
    " holds."
)
SOFTER = (
    "Under the second rule everything is possible, and an epsilon is finite where all files can be listed;"
    " the bounds of a swap say nothing of it."
)
WORSE = (
    "It loses more than a swap of everybody at either of its rates may lose: what moved shows who was at"
    " risk."
)
PROXY = (
    "A public proxy, as small strata or some places, gives rates by stratum (rates of permutation-swapping)."
    " The loss is that of the stratum that loses most, and all records of a marked stratum are selected"
    " alike, at risk or not."
)


def _targeted_words(report: TargetingReport) -> None:
    """Print the example, rule by rule, and what a proxy costs."""
    console = terminal()
    console.print(TARGETED)
    rules = columns(
        ["selected"],
        ("epsilon", "tight bound", "delta at any epsilon"),
        title="Lost between two files of the example",
    )
    for rule in report.rules:
        finite = "none" if rule.epsilon == inf else f"{rule.epsilon:.5f}"
        bound = "none" if rule.bound is None else f"{rule.bound:.5f}"
        rules.add_row(rule.rule, finite, bound, f"{rule.delta:.6g}")
    console.print(rules)
    console.print(NO_GUARANTEE)
    console.print(SOFTER)
    if report.rules[1].epsilon > max(rule.bound or 0.0 for rule in report.rules):
        console.print(WORSE)
    of = counted(report.stratum_size, "record")
    proxy = columns(["strata"], ("slides' bound", "tight", "selected"), title=f"A proxy, in strata of {of}")
    for name, one in zip(("marked", "others"), report.proxy, strict=True):
        label = f"{name}, at rate {short(str(one.rate))}"
        proxy.add_row(label, _near(one.epsilon), _near(one.epsilon_tight), f"{float(one.selected):,.4g}")
    slides, tight = report.proxy_epsilon
    proxy.add_row("both together", _near(slides), _near(tight), "")
    console.print(proxy)
    console.print(PROXY)


def _rate(reading: SwapReading) -> str:
    rate = reading.rate or Fraction(0)
    percent = 100 * rate
    return short(str(rate)) if percent.denominator > 1 else f"{rate} ({percent}%)"


def _near(value: Fraction) -> str:
    return f"{float(value):.{DECIMALS}f}"


def _up(value: Fraction) -> str:
    """Return an epsilon that can be asked for: at or above the smallest."""
    return f"{ceil(value * 10**DECIMALS) / 10**DECIMALS:.{DECIMALS}f}"
