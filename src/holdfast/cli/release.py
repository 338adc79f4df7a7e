"""`holdfast release`."""

from pathlib import Path

from holdfast.cli.summary import print_summary
from holdfast.cli.terminal import terminal
from holdfast.privacy.ledger import MEASURES, Ledger
from holdfast.privacy.ledger.canonical import shown
from holdfast.release import Release, make_release


def run(spec: Path, out: Path, *, parquet: bool, seed: int | None, ledger: Path | None) -> None:
    """Prepare, draw, write, and say what was done."""
    console = terminal()
    account = None if ledger is None else Ledger.open(ledger)
    with console.status("Working out what can be protected, drawing and certifying ..."):
        written = make_release(spec, out, parquet=parquet, seed=seed, ledger=account)
    print_summary(written.release.certificate, console)
    if account is not None:
        print_charge(account, written.release)
    for path in sorted(written.folder.iterdir()):
        console.print(f"Wrote {path}", soft_wrap=True)


def print_charge(account: Ledger, charged: Release) -> None:
    """Say what a release was charged, and what is left."""
    if charged.row is not None:
        total, budget = charged.row.total, account.budget
        measure = f"{MEASURES[account.standard]} {shown(total)} of {shown(budget)} spent"
        terminal().print(
            f"Charged to {account.path}: {measure}, {shown(budget - total)} left.", soft_wrap=True
        )
