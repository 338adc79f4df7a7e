"""`holdfast ledger`: open, show, verify, export."""

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from holdfast.account.verify import verify_ledger
from holdfast.cli.reports import deliver, print_values, require_new_file, write_text
from holdfast.cli.terminal import terminal, warn
from holdfast.privacy.ledger import (
    MEASURES,
    Ledger,
    LedgerCheck,
    LedgerError,
    LedgerReport,
    Standard,
    export_csv,
    export_json,
    ledger_report,
    salt_path,
)
from holdfast.privacy.ledger.canonical import shown
from holdfast.privacy.ledger.report import DIGITS
from holdfast.progress import doing
from holdfast.spec.rational import parse_rational, positive
from holdfast.words import counted

MOST_PROBLEMS = 20
WIDE = 200  # a row stays on its line, also where the terminal is not known


def open_ledger(
    file: Path,
    *,
    budget: str | None,
    rho: str | None,
    mu: str | None,
    tp: str | None = None,
    rho_tp: str | None = None,
    as_json: bool = False,
) -> None:
    """Open a new account with a budget of epsilon, rho or mu, or of epsilon-TP or rho-TP."""
    options: tuple[tuple[Standard, str, str | None], ...] = (
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
    console.print(f"Opened {file}: {MEASURES[standard]} {shown(ledger.budget)}.", soft_wrap=True)
    console.print(
        f"Keep {salt_path(file)} secret, and a copy of it: without it nothing can be charged.",
        soft_wrap=True,
    )


def show(file: Path, *, as_json: bool, out: Path | None = None) -> None:
    """Print the budget, what is spent and left, and a row a release."""
    require_new_file(out)
    report = ledger_report(file)
    _warn(report.warnings)
    deliver(report, _words, as_json=as_json, out=out)


def _words(report: LedgerReport) -> None:
    """Print the account, and a line for each row."""
    console, measure = terminal(), MEASURES[report.opening.standard]
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    grid.add_row("Budget", f"{measure} {shown(report.opening.budget)}")
    grid.add_row("Spent", shown(report.spent))
    grid.add_row("Left", shown(report.left))
    console.print(grid)
    if report.rows:
        console.width = max(console.width, WIDE)
        console.print(_table(report))
    else:
        console.print("No release is charged yet.")


def verify(
    file: Path, releases: list[Path], *, without_salt: bool = False, as_json: bool, out: Path | None = None
) -> None:
    """Recompute the account, and hold releases against their rows; exit 0 if all is kept and 1 if not."""
    require_new_file(out)
    with doing("composing all rows again"):
        check = verify_ledger(file, releases=releases, without_salt=without_salt)
    _warn(check.warnings)
    deliver(check, lambda found: _print_check(file, found, terminal()), as_json=as_json, out=out)
    if not check.kept:
        raise typer.Exit(1)


def export(file: Path, *, as_csv: bool, as_json: bool = False, out: Path | None) -> None:
    """Write all rows as JSON or CSV, to a new file or to standard output."""
    if as_csv and as_json:
        raise LedgerError("the rows are written in one form: give --csv or --json.")
    write_text(export_csv(file) if as_csv else export_json(file), out)


def _warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        warn(warning)


def _positive(option: str, text: str) -> Fraction:
    try:
        return positive(parse_rational(text))
    except ValueError as error:
        raise LedgerError(f"{option} {error}.") from None


def _table(report: LedgerReport) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("row", "time", "file", "scope", "intensity", "total", "release"):
        table.add_column(title, justify="right" if title == "row" else "left", overflow="fold")
    for row, name, released in zip(report.rows, report.files, report.released, strict=True):
        time, charge = row.time[:19].replace("T", " "), row.charge
        other = "" if charge.standard == report.opening.standard else f"{MEASURES[charge.standard]} "
        alone = other + shown(charge.intensity)
        state = {True: "released", False: f"not released: --resume {row.index}", None: "not known"}[released]
        table.add_row(str(row.index), time, name, charge.scope[:DIGITS], alone, shown(row.total), state)
    return table


def _print_check(file: Path, check: LedgerCheck, console: Console) -> None:
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
