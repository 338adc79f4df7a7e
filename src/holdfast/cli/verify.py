"""`holdfast verify`: nothing heavy is loaded for a quick one."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from holdfast.certificate.sign import SIGNATURE
from holdfast.certificate.text import require_release
from holdfast.cli.arguments import QUIET, Json, Quiet, ReportFile
from holdfast.cli.reports import deliver, require_new_file
from holdfast.cli.terminal import terminal, warn_each
from holdfast.publication.place import facts_of
from holdfast.system.checks import Verification, ViolatedError
from holdfast.system.errors import ReleaseError
from holdfast.system.machine import short_of_memory
from holdfast.system.progress import doing
from holdfast.system.text import visible


def command(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="The folder of a release, or the facts of an audit, a .json file."
        ),
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="Check files and invariants only; derive no guarantee.")
    ] = False,
    public_key: Annotated[
        Path | None, typer.Option(metavar="KEY", help="Check the signature with the publisher's public key.")
    ] = None,
    out: ReportFile = None,
    release: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="For a processed table: the release that it was made of."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Verify a folder; exit 0 if all is kept and 1 if not."""
    require_new_file(out)
    facts = facts_of(folder)
    if facts is None:
        require_release(folder)
    what = "checking the files" if quick or facts else "deriving what the certificate claims"
    with doing(what), remembering(folder):
        from holdfast.verification.verify import verify

        found = verify(folder, quick=quick, public_key=public_key, release=release)
    if public_key is None and not as_json and (folder / SIGNATURE).exists():
        terminal().print(f"{SIGNATURE} is there and was not checked: give --public-key.")
    report(found, as_json=as_json, out=out)


@contextmanager
def remembering(place: Path) -> Iterator[None]:
    """Say that a machine is too small to verify something: this is no verdict on it."""
    try:
        yield
    except (MemoryError, OSError) as error:
        if not short_of_memory(error):
            raise
        raise ReleaseError(
            f"there is not enough memory to verify {place}, and nothing is said of it: use a larger machine."
        ) from None


@contextmanager
def violations(*, as_json: bool) -> Iterator[None]:
    """Tell what is wrong with a release that should be used, and exit with 1."""
    try:
        yield
    except ViolatedError as error:
        if QUIET.get():
            sys.stderr.write(f"error: {visible(str(error))}\n")
        report(error.verification, as_json=as_json)


def report(verification: Verification, *, as_json: bool, out: Path | None = None) -> None:
    """Print a verification; exit 1 unless all is kept."""
    warn_each(verification.warnings)
    deliver(verification, lambda found: print_verification(found, terminal()), as_json=as_json, out=out)
    if not verification.kept:
        raise typer.Exit(1)


def print_verification(verification: Verification, console: Console) -> None:
    """One line a check, in the order of files, table and claims; and the verdict."""
    for check in verification.checks:
        mark, style = ("kept    ", "green") if check.holds else ("VIOLATED", "bold red")
        console.print(mark, style=style, end=" ")
        console.print(check.name + (f": {check.detail}" if check.detail else ""), soft_wrap=True)
    console.print(f"{verification.folder}: {verification.verdict}.", soft_wrap=True)
