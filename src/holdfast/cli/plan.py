"""`holdfast plan`."""

from fractions import Fraction
from math import isfinite, sqrt
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

import holdfast as hf
from holdfast.cli.arguments import Json, Quiet, ReportFile, SpecFile, Strict
from holdfast.cli.console import columns
from holdfast.cli.reports import deliver, require_new_file
from holdfast.cli.terminal import terminal, warn_each
from holdfast.system.files import require_file
from holdfast.system.progress import doing
from holdfast.system.text import plain_number, rational

if TYPE_CHECKING:
    from holdfast.releases.expected import ExpectedError
    from holdfast.releases.plan import PartPlan, PlanReport

KINDS = {
    "exact": "Exact: integers and proved enclosures decide every draw.",
    "estimated": "Estimated: the distance from the law was measured at public tables and charged to delta.",
    "floating": "Floating: real numbers in floating point, for studies and not for a release.",
}


def command(
    spec: SpecFile,
    what_if: Annotated[
        str | None,
        typer.Option(metavar="BUDGETS", help="Errors at other budgets, too: epsilon=1/2,1,2."),
    ] = None,
    out: ReportFile = None,
    strict: Strict = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say how a release would be drawn, how far its counts would be off, how long it takes, and why."""
    require_new_file(out)
    require_file(spec)
    with doing("planning"):
        report = hf.plan(spec, what_if=None if what_if is None else _budgets(what_if), strict=strict)
    warn_each(report.warnings)
    deliver(report, _words, as_json=as_json, out=out)


def _budgets(text: str) -> dict[str, list[str]]:
    """Return what `epsilon=1/2,1,2` names."""
    name, _, values = text.partition("=")
    return {name.strip(): [value.strip() for value in values.split(",") if value.strip()]}


def _words(report: "PlanReport") -> None:
    """Print the plan of the one part, or of each of several tables and then of all together."""
    from holdfast.cli.summary import meaning

    if report.budget is not None:
        terminal().print(report.budget.words, soft_wrap=True)
    for name, part in report.parts.items():
        if name in report.shares:
            share = " and ".join(f"{key} {rational(value)}" for key, value in report.shares[name].items())
            terminal().print(f"{name}, with {share} of the budget:", style="bold", soft_wrap=True)
        _part_words(part, shared=report.budget is not None)
    if report.shares:
        terminal().print(f"All together: {meaning(report.verdict)}", soft_wrap=True)


def _part_words(report: "PartPlan", *, shared: bool) -> None:
    """Print it for people."""
    from holdfast.cli.summary import meaning, print_summary

    if report.certificate is not None and report.costs is not None:
        print_summary(report.certificate, terminal())
        terminal().print(
            f"A release takes about {_time(report.costs.release)} of computing on this machine and"
            f" {report.costs.memory / 1e6:,.0f} MB of memory."
        )
        return
    console, mechanism = terminal(), report.mechanism
    for method in mechanism.methods:
        console.print(f"{method.words[:1].upper()}{method.words[1:]}.")
        if method.basis:
            console.print(f"    Why: {method.basis}.")
    _print_measured(report)
    _print_expected(report, shared=shared)
    console.print(KINDS[mechanism.traits.kind])
    console.print(meaning(report.verdict), soft_wrap=True)
    if mechanism.guarantee.intensity.standard not in ("pure", "approximate"):
        console.print(f"The noise is worth {mechanism.guarantee.tight.words}.")
    if not mechanism.traits.additive and report.costs is None:
        console.print("The law depends on the confidential table, and so does the time: it is not told.")
    elif report.costs is not None:
        costs = report.costs
        if report.work is not None:
            console.print(f"One draw takes about {report.work:,.0f} random numbers.")
        console.print(
            f"A release takes about {_time(costs.release)} of computing on this machine (reading and planning"
            f" {_time(costs.plan)}, drawing {_time(costs.draw)}, certificate {_time(costs.certificate)}) and"
            f" {costs.memory / 1e6:,.0f} MB of memory;"
            f" intervals for every cell take up to {(costs.listed or 0) / 1e6:,.0f} MB."
        )


def _print_measured(report: "PartPlan") -> None:
    """Print what is measured of each level, how much noise that gets, and in which passes counts follow."""
    measured = report.details.get("measurements", [])
    if not measured:
        return
    table = Table()
    for name in ("level", "nodes", "query", "share", "standard deviation"):
        table.add_column(name, justify="left" if name in ("level", "query") else "right")
    total = sum(Fraction(each["loss"]) for each in measured)
    for each in measured:
        share = f"{float(Fraction(each['loss']) / total):.1%}"
        table.add_row(
            each["level"], f"{each['nodes']:,}", each["query"], share, f"{sqrt(each['variance']):.3g}"
        )
    terminal().print(table)
    passes = report.details.get("estimated")
    terminal().print(
        f"Estimated one pass after another, and what a pass found stays: {passes}."
        if passes
        else "Estimated from all of these at once: the spec names no passes.",
        soft_wrap=True,
    )


def _print_expected(report: "PartPlan", *, shared: bool) -> None:
    """Print how far counts are expected to be off, at this budget and at others."""
    expected, console = report.expected, terminal()
    if report.budget is not None:
        for line in report.budget.rows() if shared else report.budget.words():
            console.print(line, soft_wrap=True)
    if expected is None:
        console.print("How far counts are off is not told: it depends on the confidential table.")
        return
    exact = [each.of.words for each in expected if each.exact]
    if exact:
        console.print(f"Kept exactly: {', '.join(exact)}.", soft_wrap=True)
    apart = [place for place, each in enumerate(expected) if not each.exact]
    of = "estimates" if report.mechanism.estimated else "counts"
    names = ("standard deviation", "mean error", "95 % within")
    if not report.what_if:
        table = columns((of,), names, title="Expected errors")
        for place in apart:
            table.add_row(expected[place].of.words, *_sizes(expected[place]))
        console.print(table)
        return
    budgets = [f"{each.name} {rational(each.budget)}" for each in report.what_if]
    for number, name in enumerate(names):
        table = columns((of,), budgets, title=f"Expected errors: {name}")
        for place in apart:
            row = (_sizes(each.expected[place])[number] for each in report.what_if)
            table.add_row(expected[place].of.words, *row)
        console.print(table)


def _sizes(error: "ExpectedError") -> tuple[str, ...]:
    sizes = (error.standard_deviation, error.mean_absolute, error.within_95)
    return tuple(plain_number(size) if isfinite(size) else "not measured" for size in sizes)


def _time(seconds: float) -> str:
    for unit, size in (("minutes", 60.0), ("seconds", 1.0), ("milliseconds", 1e-3)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return "a moment"
