"""`holdfast ledger`: open, show, verify, export."""

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

import holdfast as hf
from holdfast.cli.arguments import Json, LedgerFile, Quiet, ReportFile
from holdfast.cli.console import titled
from holdfast.cli.reports import deliver, print_values, require_new_file, write_text
from holdfast.cli.terminal import terminal, warn
from holdfast.cli.verify import remembering
from holdfast.ledger import (
    MEASURES,
    ChargeStandard,
    Ledger,
    LedgerError,
    LedgerReport,
    export_csv,
    export_json,
    ledger_report,
    salt_path,
)
from holdfast.ledger.report import DIGITS
from holdfast.ledger.store import require_ledger
from holdfast.system.progress import doing
from holdfast.system.text import counted, rational

if TYPE_CHECKING:
    from holdfast.ledger.verify import LedgerCheck

MOST_PROBLEMS = 20
WIDE = 200  # a row stays on its line, also where the terminal is not known


def open_ledger(
    file: LedgerFile,
    budget: Annotated[str | None, typer.Option(metavar="EPSILON", help="A budget of epsilon.")] = None,
    rho: Annotated[str | None, typer.Option(metavar="RHO", help="A budget of rho, for zCDP.")] = None,
    mu: Annotated[str | None, typer.Option(metavar="MU", help="A budget of mu, for Gaussian DP.")] = None,
    tp: Annotated[
        str | None, typer.Option(metavar="EPSILON", help="A budget of epsilon-TP, given public facts.")
    ] = None,
    rho_tp: Annotated[
        str | None, typer.Option(metavar="RHO", help="A budget of rho-TP: zCDP, given public facts.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Open a new account with a budget of epsilon, rho or mu, or of epsilon-TP or rho-TP."""
    options: tuple[tuple[ChargeStandard, str, str | None], ...] = (
        ("pure", "budget", budget),
        ("zcdp", "rho", rho),
        ("gaussian", "mu", mu),
        ("tp", "tp", tp),
        ("rho-tp", "rho-tp", rho_tp),
    )
    asked = [(standard, option, text) for standard, option, text in options if text is not None]
    if len(asked) != 1:
        raise LedgerError(
            "a ledger has one budget: give exactly one of --budget, --rho, --mu, --tp and --rho-tp."
        )
    standard, option, text = asked[0]
    ledger = Ledger.create(file, standard=standard, budget=_positive(f"--{option}", text))
    if as_json:
        print_values(file=file, salt=salt_path(file), standard=standard, budget=ledger.budget)
        return
    console = terminal()
    console.print(f"Opened {file}: {MEASURES[standard]} {rational(ledger.budget)}.", soft_wrap=True)
    console.print(
        f"Keep {salt_path(file)} secret, and a copy of it: without it nothing can be charged.",
        soft_wrap=True,
    )


def show(file: LedgerFile, out: ReportFile = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """Print the budget, what is spent and left, and a row a release."""
    require_new_file(out)
    report = ledger_report(file)
    _warn(report.warnings)
    deliver(report, _words, as_json=as_json, out=out)


def _words(report: LedgerReport) -> None:
    """Print the account, and a line for each row."""
    console, measure = terminal(), MEASURES[report.opening.standard]
    budget = f"{measure} {rational(report.opening.budget)}"
    account = [("Budget", budget), ("Spent", rational(report.spent)), ("Left", rational(report.left))]
    if report.opening.standard != "pure" and report.tight is not None:  # of epsilon it says nothing new
        account.append(("Worth", report.tight.words))
    console.print(titled(account))
    if report.rows:
        console.width = max(console.width, WIDE)
        console.print(_table(report))
    else:
        console.print("No release is charged yet.")


def verify(
    file: LedgerFile,
    release: Annotated[
        list[Path] | None, typer.Option(metavar="DIR", help="A release that must be in it; repeat for more.")
    ] = None,
    without_salt: Annotated[
        bool, typer.Option("--without-salt", help="Leave the seals unchecked, where the salt is not at hand.")
    ] = False,
    out: ReportFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Recompute the account, and hold releases against their rows; exit 0 if all is kept and 1 if not."""
    require_new_file(out)
    require_ledger(file)
    with doing("composing all rows again"), remembering(file):
        check = hf.verify_ledger(file, releases=release or [], without_salt=without_salt)
    _warn(check.warnings)
    deliver(check, lambda found: _print_check(file, found, terminal()), as_json=as_json, out=out)
    if not check.kept:
        raise typer.Exit(1)


def export(
    file: LedgerFile,
    csv: Annotated[bool, typer.Option("--csv", help="Write CSV instead of JSON.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON, as without --csv.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write to a new file.")] = None,
    quiet: Quiet = False,
) -> None:
    """Write all rows as JSON or CSV, to a new file or to standard output."""
    if csv and as_json:
        raise LedgerError("the rows are written in one form: give --csv or --json.")
    write_text(export_csv(file) if csv else export_json(file), out)


def _warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        warn(warning)


def _positive(option: str, text: str) -> Fraction:
    from holdfast.spec.values import parse_rational, positive

    try:
        return positive(parse_rational(text))
    except ValueError as error:
        raise LedgerError(f"{option} {error}.") from None


def _table(report: LedgerReport) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("row", "time", "file", "scope", "intensity", "total", "release"):
        table.add_column(title, justify="right" if title == "row" else "left", overflow="fold")
    each = zip(report.rows, report.files, report.released, report.repeats, strict=True)
    for row, name, released, repeats in each:
        time, charge = row.time[:19].replace("T", " "), row.charge
        other = "" if charge.standard == report.opening.standard else f"{MEASURES[charge.standard]} "
        alone = other + rational(charge.intensity)
        if repeats is not None:
            alone = f"as row {repeats}"
        state = "released" if released else f"not released: --resume {row.index}"
        table.add_row(str(row.index), time, name, charge.scope[:DIGITS], alone, rational(row.total), state)
    return table


def _print_check(file: Path, check: "LedgerCheck", console: Console) -> None:
    for problem in check.problems[:MOST_PROBLEMS]:
        console.print("VIOLATED", style="bold red", end=" ")
        console.print(problem, soft_wrap=True)
    if (more := len(check.problems) - MOST_PROBLEMS) > 0:
        console.print(f"and {more} more")
    for release in check.releases:
        for note in release["notes"]:
            console.print(f"Note: {release['folder']}: {note}.", soft_wrap=True)
    if not check.sealed:
        console.print(f"Note: without {salt_path(file)} the seals are not checked.", soft_wrap=True)
    verdict = (
        f"{counted(check.rows, 'row')}, every check holds"
        if check.kept
        else "this is not the account as it was kept"
    )
    console.print(f"{file}: {verdict}.", soft_wrap=True)
