"""`holdfast ledger`: open, show, verify, export."""

import json
import sys
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from holdfast.certificate.read import CERTIFICATE, read_certificate
from holdfast.cli.terminal import terminal
from holdfast.privacy.ledger import (
    MEASURES,
    Ledger,
    LedgerCheck,
    LedgerError,
    Row,
    Standard,
    export_csv,
    export_json,
    files,
    salt_path,
    verify_ledger,
)
from holdfast.privacy.ledger.account import spent
from holdfast.privacy.ledger.canonical import shown
from holdfast.spec.rational import parse_rational

MOST_PROBLEMS = 20
DIGITS = 12
"""Of a scope's and a file's name, for people."""


def open_ledger(file: Path, *, budget: str | None, rho: str | None, mu: str | None) -> None:
    """Open a new account with a budget of epsilon, rho or mu."""
    asked: list[tuple[Standard, str, str]] = []
    for standard, option, text in (("pure", "budget", budget), ("zcdp", "rho", rho), ("gaussian", "mu", mu)):
        if text is not None:
            asked.append((standard, option, text))  # type: ignore[arg-type]
    if len(asked) != 1:
        raise LedgerError("a ledger has one budget: give exactly one of --budget, --rho and --mu.")
    standard, option, text = asked[0]
    ledger = Ledger.create(file, standard=standard, budget=_positive(f"--{option}", text))
    console = terminal()
    console.print(f"Opened {file}: {MEASURES[standard]} {shown(ledger.budget)}.", soft_wrap=True)
    console.print(
        f"Keep {salt_path(file)} secret, and a copy of it: without it nothing can be charged.",
        soft_wrap=True,
    )


def show(file: Path, *, as_json: bool) -> None:
    """Print the budget, what is spent and left, and a row a release."""
    ledger = Ledger.open(file)
    rows = ledger.rows()
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "opening": ledger.opening.to_dict(),
                    "budget": str(ledger.budget),
                    "spent": str(spent(rows)),
                    "left": str(ledger.budget - spent(rows)),
                    "rows": [
                        {**row.to_dict(), "file": name} for row, name in zip(rows, _files(rows), strict=True)
                    ],
                },
                indent=2,
            )
        )
        return
    console, measure = terminal(), MEASURES[ledger.standard]
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    grid.add_row("Budget", f"{measure} {shown(ledger.budget)}")
    grid.add_row("Spent", shown(spent(rows)))
    grid.add_row("Left", shown(ledger.budget - spent(rows)))
    console.print(grid)
    console.print(_table(rows, ledger.standard) if rows else "No release is charged yet.")


def verify(file: Path, releases: list[Path], *, as_json: bool) -> None:
    """Recompute the account, and look for the rows of releases in it; exit 0 if all is kept and 1 if not."""
    check = verify_ledger(file, known=dict(_row_of(folder) for folder in releases))
    if as_json:
        typer.echo(json.dumps(asdict(check), indent=2))
    else:
        _print_check(file, check, terminal())
    if not check.kept:
        raise typer.Exit(1)


def _row_of(folder: Path) -> tuple[int, str]:
    """Return the row that a release was charged as, from its certificate."""
    ledger = read_certificate(folder).ledger
    if ledger is None:
        raise LedgerError(f"{folder / CERTIFICATE} names no row of a ledger: the release was not charged.")
    return ledger.row, ledger.hash


def export(file: Path, *, as_csv: bool, out: Path | None) -> None:
    """Write all rows as JSON or CSV, to a new file or to standard output."""
    text = export_csv(file) if as_csv else export_json(file)
    if out is None:
        sys.stdout.write(text)
        return
    try:
        with out.open("x", encoding="utf-8", newline="") as stream:
            stream.write(text)
    except FileExistsError:
        raise LedgerError(f"{out} exists already: name a new file.") from None
    except OSError as error:
        raise LedgerError(f"{out} cannot be written ({error.strerror}): name another place.") from None
    terminal().print(f"Wrote {out}", soft_wrap=True)


def _positive(option: str, text: str) -> Fraction:
    try:
        value = parse_rational(text)
    except ValueError as error:
        raise LedgerError(f"{option} {error}.") from None
    if value <= 0:
        raise LedgerError(f'{option} is {text!r}: give a positive budget such as "1/2".')
    return value


def _table(rows: tuple[Row, ...], standard: Standard) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("row", "time", "file", "scope", "intensity", "total"):
        table.add_column(title, justify="right" if title == "row" else "left", overflow="fold")
    for row, name in zip(rows, _files(rows), strict=True):
        time = row.time[:19].replace("T", " ")
        other = "" if row.charge.standard == standard else f"{MEASURES[row.charge.standard]} "
        alone = other + shown(row.charge.intensity)
        table.add_row(str(row.index), time, name, row.charge.scope[:DIGITS], alone, shown(row.total))
    return table


def _files(rows: tuple[Row, ...]) -> list[str]:
    """Return one name for all rows of a file: the beginning of its last fingerprint."""
    charges = [row.charge for row in rows]
    names = {place: charges[places[-1]].dataset for places in files(charges) for place in places}
    return [names[place][:DIGITS] for place in range(len(rows))]


def _print_check(file: Path, check: LedgerCheck, console: Console) -> None:
    for problem in check.problems[:MOST_PROBLEMS]:
        console.print("VIOLATED", style="bold red", end=" ")
        console.print(problem, soft_wrap=True)
    if (more := len(check.problems) - MOST_PROBLEMS) > 0:
        console.print(f"and {more} more")
    if not check.sealed:
        console.print(f"Note: without {salt_path(file)} the seals are not checked.", soft_wrap=True)
    rows = "1 row" if check.rows == 1 else f"{check.rows:,} rows"
    verdict = f"{rows}, every check holds" if check.kept else "this is not the account as it was kept"
    console.print(f"{file}: {verdict}.", soft_wrap=True)
