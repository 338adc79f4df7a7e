"""`holdfast audit cell-key`."""

from pathlib import Path
from typing import Annotated

import typer

from holdfast import audit
from holdfast.audit.cell_keys import CellKeyReport
from holdfast.cli.arguments import Json, Quiet, ReportFile, number
from holdfast.cli.console import columns
from holdfast.cli.reports import deliver, require_new_file
from holdfast.cli.terminal import terminal
from holdfast.system.errors import SpecError
from holdfast.system.text import counted

FORMATS = {
    "ptable": "of the R package ptable (i, j, p, v)",
    "ons": "of the ONS package (pcv, ckey, pvalue)",
    "cantabular": "a lookup of counts and keys, as Cantabular has it",
}


def command(
    table: Annotated[Path, typer.Argument(metavar="PTABLE", help="A cell-key table, a CSV file.")],
    epsilon: Annotated[
        list[str] | None, typer.Option(metavar="NUMBER", help="Tell delta at this epsilon; repeat for more.")
    ] = None,
    levels: Annotated[
        list[str] | None,
        typer.Option(metavar="D,D,...", help="A table by its levels, as 10,20: what cells and margins say."),
    ] = None,
    out: ReportFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print what a cell-key table gives away between neighbouring counts, and by averaging."""
    require_new_file(out)
    asked = None if epsilon is None else [number("--epsilon", text) for text in epsilon]
    shapes = None if levels is None else [_levels(text) for text in levels]
    deliver(audit.cell_key(table, asked, shapes), _words, as_json=as_json, out=out)


def _levels(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.strip().isascii() and part.strip().isdigit() and len(part) < 12 for part in parts):
        raise SpecError(f"--levels is {text[:40]!r}: give whole numbers with commas between, such as 10,20.")
    return tuple(map(int, parts))


def _words(report: CellKeyReport) -> None:
    console, table = terminal(), report.table
    console.print(f"A table {FORMATS[table.format]}: counts from 0 to {len(table.laws) - 1:,}.")
    beyond = "its last row" if table.repeats == 1 else f"its last {counted(table.repeats, 'row')} in turn"
    console.print(f"Counts beyond take {beyond}. Keys are taken as secret and equally likely.")
    losses = columns([], ("epsilon", "delta", "between the counts"))
    for one in report.losses:
        losses.add_row(str(one.epsilon), f"{one.delta:.6g}", f"{one.between[0]:,} and {one.between[1]:,}")
    low, high = report.certain.between
    losses.add_row("any", f"{report.certain.delta:.6g}", f"{low:,} and {high:,}")
    console.print(losses)
    if report.deterministic:
        console.print(
            "Deterministic: every count has one published value, whatever its key, so that delta is 1 where"
            " two"
            " neighbouring counts have two: no secret is kept by chance."
        )
    elif report.certain.delta:
        console.print(
            f"With a probability of {report.certain.delta:.3g} the published count of {low:,} or {high:,}"
            f" is one"
            " that the other can never have: no epsilon holds with delta 0."
        )
    else:
        console.print(f"With delta 0 the least epsilon is {report.epsilon:.6g}.")
    console.print(
        f"No count is changed by more than {report.largest_change:,}; the variance is at most"
        f" {report.variance:.4g}, and the mean of a change is {report.bias:.3g} where it is farthest from 0."
    )
    if report.unperturbed and not report.deterministic:
        some = ", ".join(map(str, report.unperturbed[:10]))
        console.print(f"Published as they are: {counted(len(report.unperturbed), 'count')} ({some}).")
    means = columns(["table"], ("alone", "with its margins", "worth"), title="Standard deviation of one cell")
    for each in report.averaging:
        worth = each.to_dict()["worth"]
        name = " x ".join(f"{level:,}" for level in each.levels)
        means.add_row(name, f"{each.alone:.4g}", f"{each.combined:.4g}", f"{worth:.3g} times as many draws")
    console.print(means)
    console.print(
        "Cells and margins are perturbed one by one: they do not add up, they estimate each other, and what"
        " one"
        " record loses adds up over all published cells that count it."
    )
