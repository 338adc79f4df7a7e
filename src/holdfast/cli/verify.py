"""`holdfast verify`."""

import json
from dataclasses import asdict
from pathlib import Path

import typer
from rich.console import Console

from holdfast.certificate.verify import Verification, verify
from holdfast.cli.terminal import terminal


def run(folder: Path, *, as_json: bool) -> None:
    """Verify a folder; exit 0 if all is kept and 1 if not."""
    verification = verify(folder)
    if as_json:
        checks = [asdict(check) for check in verification.checks]
        typer.echo(json.dumps({"kept": verification.kept, "checks": checks}, indent=2))
    else:
        print_verification(verification, terminal())
    if not verification.kept:
        raise typer.Exit(1)


def print_verification(verification: Verification, console: Console) -> None:
    """One line a check, and the verdict."""
    for check in verification.checks:
        mark, style = ("kept    ", "green") if check.holds else ("VIOLATED", "bold red")
        console.print(mark, style=style, end=" ")
        console.print(check.name + (f": {check.detail}" if check.detail else ""), soft_wrap=True)
    verdict = "every check holds" if verification.kept else "this is not the certified release"
    console.print(f"{verification.folder}: {verdict}.", soft_wrap=True)
