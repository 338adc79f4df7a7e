"""`holdfast release`."""

import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import holdfast as hf
from holdfast.cli.arguments import (
    JOBS,
    QUIET,
    ROW,
    ChargedLedger,
    Json,
    NoProtection,
    Quiet,
    ReleaseSeed,
    SpecFile,
    Strict,
)
from holdfast.cli.reports import say_wrote
from holdfast.cli.terminal import print_json, terminal, warn_each
from holdfast.system.errors import ReleaseError
from holdfast.system.files import require_file
from holdfast.system.progress import doing
from holdfast.system.text import rational

if TYPE_CHECKING:
    from holdfast.ledger.account import Ledger
    from holdfast.ledger.rows import Row
    from holdfast.releases.handover import Written


def command(
    spec: SpecFile,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The new folder of the release.")],
    parquet: Annotated[bool, typer.Option("--parquet", help="Write the table as Parquet.")] = False,
    seed: ReleaseSeed = None,
    ledger: ChargedLedger = None,
    resume: Annotated[
        int | None,
        typer.Option(parser=ROW, metavar="ROW", help="Draw for a row that was charged and never released."),
    ] = None,
    sign: Annotated[
        Path | None, typer.Option(metavar="KEY", help="Sign the certificate with this private key.")
    ] = None,
    quote_formulas: Annotated[
        bool, typer.Option("--quote-formulas", help="Put ' before names that a spreadsheet would run.")
    ] = False,
    engine: Annotated[
        str,
        typer.Option(metavar="NAME", help="For swapped records and top-down releases: embedded, or spark."),
    ] = "embedded",
    jobs: Annotated[
        int | None,
        typer.Option(
            parser=JOBS, metavar="N", help="For top-down releases: so many processes; one a core by default."
        ),
    ] = None,
    utility: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="For swapped records: the curator's report, beside DIR unless given."
        ),
    ] = None,
    microdata: Annotated[
        bool, typer.Option("--microdata", help="For top-down releases: write one record a person, too.")
    ] = False,
    accept_no_protection: NoProtection = False,
    strict: Strict = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Prepare, draw, write, and say what was done."""
    require_file(spec)
    account = None if ledger is None else hf.Ledger.open(ledger)
    with doing("working out what can be protected, drawing and certifying"):
        written = hf.release(
            spec,
            out,
            parquet=parquet,
            seed=seed,
            ledger=account,
            resume=resume,
            key=sign,
            quote_formulas=quote_formulas,
            engine=engine,
            jobs=jobs,
            utility=utility,
            microdata=microdata,
            accept_no_protection=accept_no_protection,
            strict=strict,
        )
    warn_each(written.warnings)
    try:
        if as_json:
            print_json(written)
        elif not QUIET.get():
            _print(written, account, again=resume is not None or written.continued)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        row = "" if written.row is None else f" and charged as row {written.row.index} of {ledger}"
        raise ReleaseError(
            f"{out} is written{row}, but that cannot be printed ({error.strerror}): look there."
        ) from None


def _print(written: "Written", account: "Ledger | None", *, again: bool) -> None:
    """Print what the certificate says, what was charged, and which files there are."""
    from holdfast.cli.summary import print_summary

    print_summary(written.certificate, terminal())
    if account is not None and written.row is not None and written.left is not None:
        print_charge(account, written.row, written.left, again=again, repeats=written.repeats)
    if written.continued:
        terminal().print("It goes on from what was measured before: no new noise was drawn.")
    say_wrote(*sorted(written.folder.iterdir()))
    if (report := written.report) is not None:
        say_wrote(report)
        terminal().print("That file is for the curator's eyes only: keep it out of the release.")


def print_charge(
    account: "Ledger", row: "Row", left: Fraction, *, again: bool = False, repeats: int | None = None
) -> None:
    """Say what a release was charged, and what is left."""
    from holdfast.ledger.rows import MEASURES

    total = account.budget - left
    spent = f"{MEASURES[account.standard]} {rational(total)} of {rational(account.budget)} spent"
    how = (
        f"Drawn for row {row.index} of {account.path}, charged before"
        if again
        else f"Charged to {account.path}"
    )
    if repeats is not None:
        how = f"The noise of row {repeats} of {account.path} once more, which costs nothing"
    terminal().print(f"{how}: {spent}, {rational(left)} left.", soft_wrap=True)
