"""`holdfast verify`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console

from holdfast.certificate.verify import Verification, ViolatedError, verify
from holdfast.cli.terminal import print_json, terminal


def run(folder: Path, *, as_json: bool) -> None:
    """Verify a folder; exit 0 if all is kept and 1 if not."""
    report(verify(folder), as_json=as_json)


@contextmanager
def violations(*, as_json: bool) -> Iterator[None]:
    """Tell what is wrong with a release that should be used, and exit with 1."""
    try:
        yield
    except ViolatedError as error:
        report(error.verification, as_json=as_json)


def report(verification: Verification, *, as_json: bool) -> None:
    """Print a verification; exit 1 unless all is kept."""
    if as_json:
        print_json(verification)
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
