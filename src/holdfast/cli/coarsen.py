"""`holdfast coarsen`."""

from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.arguments import Json, Quiet, SpecFile
from holdfast.cli.console import columns
from holdfast.cli.reports import say_wrote
from holdfast.cli.terminal import print_json, terminal
from holdfast.publication.coarsening.coarsen import coarsen
from holdfast.publication.coarsening.report import CoarseningReport, Way
from holdfast.publication.report import PublicationReport
from holdfast.system.text import counted


def command(
    spec: SpecFile,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="suppression, recoding or rounding; all three unless one is named."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="The new folder of the coarser tables and their audit."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print the least coarsening and what it loses; write the coarser tables with their audit."""
    found = coarsen(spec, method=method, out=out)
    if as_json:
        print_json(found)
    else:
        _words(found)
        if out is not None:
            say_wrote(*sorted(path for path in out.rglob("*") if path.is_file()))
    if not found.reached:
        raise typer.Exit(1)


def _words(found: CoarseningReport) -> None:
    console = terminal()
    truth = found.truth
    console.print("For the curator only: what is lost is told of confidential tables.")
    console.print(
        f"{counted(truth.asked.count, 'cell')} by {', '.join(truth.asked.attributes)}:"
        f" {truth.protected.size:,} of them must not be known within less than {truth.narrow}."
    )
    table = columns(("method", "what is lost"), ("cost", "no less than", "mean width"))
    for way in found.reached:
        width = "" if way.lost["mean_width"] is None else f"{way.lost['mean_width']:.4g}"
        if way.lost["without_end"]:
            width = f"{width}, {way.lost['without_end']:,} without end".removeprefix(", ")
        table.add_row(way.method, _lost(way), f"{way.cost:,}", f"{way.bound:,}", width)
    if found.reached:
        console.print(table)
    for way in found.ways:
        if way.tables is None or way.evidence is None:
            console.print(f"{way.method}: not reached, {way.why}.", soft_wrap=True)
        else:
            proof = (
                "nothing less is enough" if way.optimal else f"within {way.cost - way.bound:,} of the least"
            )
            console.print(f"{way.method}: {proof}; {_still(way.evidence)}.", soft_wrap=True)
    console.print("What readers know besides, and tables that are published later, can undo this.")


def _still(evidence: PublicationReport) -> str:
    """Say how many cells are known exactly all the same, and why: none of them was to be protected."""
    exact, found = int(evidence.determined.size), int(evidence.worked_out.size)
    if not exact:
        return "by these tables no cell is determined"
    why = f"{exact - found:,} printed as they are" + (f" and {found:,} that follow" if found else "")
    told = f"{counted(exact, 'cell')} {'is' if exact == 1 else 'are'} still determined"
    return f"by these tables {told}, which need not be hidden: {why}"


def _lost(way: Way) -> str:
    lost = way.lost
    if way.method == "suppression":
        more = f"{lost['by_the_rule']:,} by the rule and {lost['with_them']:,} with them"
        return f"{lost['hidden']:,} of {counted(lost['numbers'], 'number')} hidden, {more}"
    if way.method == "rounding":
        return f"all rounded to {lost['base']:,}, by {lost['mean_change']:.3g} on average"
    levels = [f"{name} {one['before']} to {one['after']}" for name, one in lost["levels"].items()]
    return f"levels of {', '.join(levels)}" if levels else "nothing"
