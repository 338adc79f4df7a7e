"""`holdfast doctor`: what this machine has of all that is needed, and the cure for what it lacks."""

from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.arguments import Json, Quiet, ReportFile
from holdfast.cli.console import columns
from holdfast.cli.reports import deliver
from holdfast.cli.terminal import terminal
from holdfast.health import Finding, Health, examine

CURES = {
    "python": "install Python 3.11 or newer, and make the environment anew with it.",
    "entropy": "release nothing on this machine: noise would not be random. Look at its kernel or container.",
    "solver": "install highspy anew: python -m pip install --force-reinstall highspy",
    "compiler": "install numba anew, or set NUMBA_CACHE_DIR to a folder of yours alone.",
    "spark": "only for --engine spark: python -m pip install 'holdfast-dp[spark]', and Java 17 or newer.",
    "folder": "change to a folder that you may write to: releases and ledgers are written there.",
    "temporary files": "set TMPDIR to a folder that you may write to.",
    "private files": "mount the folder of temporary files with permissions, or set TMPDIR to another.",
    "browser": "only for pages that are opened by themselves: open their files in any browser.",
    "ledger": "restore the last copy of ledger and salt; `holdfast ledger verify` says what is wrong.",
    "ledger's file": "give yourself the right to write to it and its folder: charges are written there.",
    "ledger's salt": "give the salt back to its place, and to you alone: chmod 600 FILE.ledger.salt",
}


def command(
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Look at this ledger and its salt, too.")
    ] = None,
    as_json: Json = False,
    out: ReportFile = None,
    quiet: Quiet = False,
) -> None:
    """Print what was found; exit code 1 where something is broken."""
    health = examine(ledger)
    deliver(health, _words, as_json=as_json, out=out)
    if not health.well:
        raise typer.Exit(1)


def cure(finding: Finding) -> str:
    """Return what helps, "" where nothing is wrong."""
    if finding.state == "fine":
        return ""
    if finding.name.startswith("extra "):
        return (
            f"only if you need it: python -m pip install 'holdfast-dp[{finding.name.removeprefix('extra ')}]'"
        )
    return CURES.get(finding.name, f"python -m pip install --upgrade {finding.name}")


def _words(health: Health) -> None:
    console = terminal()
    table = columns(("what", "state", "found"), ())
    for finding in health.findings:
        table.add_row(finding.name, finding.state, finding.found)
    console.print(table)
    for finding in health.findings:
        if help_ := cure(finding):
            console.print(f"{finding.name}: {help_}", soft_wrap=True)
    console.print(
        "All that is needed is there." if health.well else "Something is broken: see its cure above."
    )
