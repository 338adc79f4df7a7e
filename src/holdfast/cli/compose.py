"""`holdfast audit compose`."""

from typing import Annotated

import typer

from holdfast import audit
from holdfast.audit.compositions import ComposeReport
from holdfast.cli.arguments import RECORDS, Json, Quiet, ReportFile, number
from holdfast.cli.console import columns
from holdfast.cli.reports import deliver, require_new_file
from holdfast.cli.terminal import terminal
from holdfast.privacy.intensity import GaussianDP, Intensity, Pure, ZeroConcentrated
from holdfast.system.text import counted


def command(
    delta: Annotated[str, typer.Option(metavar="NUMBER", help="Where epsilon is stated, such as 1e-10.")],
    epsilon: Annotated[list[str] | None, typer.Option(metavar="NUMBER", help="A pure release.")] = None,
    rho: Annotated[list[str] | None, typer.Option(metavar="NUMBER", help="A zCDP release.")] = None,
    mu: Annotated[list[str] | None, typer.Option(metavar="NUMBER", help="A Gaussian DP release.")] = None,
    semi_adjacency: Annotated[
        int, typer.Option(parser=RECORDS, metavar="A", help="Records that one change takes.")
    ] = 1,
    out: ReportFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print what several releases cost together under invariants, in both orders of the analysis."""
    require_new_file(out)
    releases: list[Intensity] = [
        *(Pure(number("--epsilon", text)) for text in epsilon or []),
        *(ZeroConcentrated(number("--rho", text)) for text in rho or []),
        *(GaussianDP(number("--mu", text)) for text in mu or []),
    ]
    report = audit.compose(releases, semi_adjacency, number("--delta", delta))
    deliver(report, _words, as_json=as_json, out=out)


def _words(report: ComposeReport) -> None:
    """Print both orders, and what one saves."""
    table = columns(["order"], [f"epsilon at delta = {report.delta:g}"])
    table.add_row("semi-DP first", f"{report.semi_first:.6g}")
    table.add_row("composition first", f"{report.composition_first:.6g}")
    console = terminal()
    console.print(table)
    records = counted(report.semi_adjacency, "record")
    saved = f" Weakening each release to {records} before composing saves {report.difference:.3g}."
    console.print(
        f"Both hold, so epsilon is at most {report.used:.6g}." + (saved if report.difference > 1e-6 else "")
    )
