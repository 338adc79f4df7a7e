"""`holdfast release`."""

from pathlib import Path

from holdfast.certificate.write import refuse_to_overwrite
from holdfast.cli.ledger import MEASURES
from holdfast.cli.summary import print_summary
from holdfast.cli.terminal import terminal
from holdfast.privacy.ledger.account import Ledger
from holdfast.privacy.ledger.canonical import shown
from holdfast.release import prepare
from holdfast.sampling.entropy import SeededEntropy


def run(spec: Path, out: Path, *, parquet: bool, seed: int | None, ledger: Path | None) -> None:
    """Prepare, draw, write, and say what was done."""
    refuse_to_overwrite(out)
    console = terminal()
    account = None if ledger is None else Ledger.open(ledger)
    with console.status("Working out what can be protected ..."):
        prepared = prepare(spec)
    with console.status("Drawing and certifying ..."):
        release = prepared.release(None if seed is None else SeededEntropy(seed), ledger=account)
        folder = release.write(out, parquet=parquet)
    print_summary(release.certificate.content, console)
    if account is not None and release.row is not None:
        total, budget = release.row.total, account.budget
        measure = f"{MEASURES[account.standard]} {shown(total)} of {shown(budget)} spent"
        console.print(f"Charged to {ledger}: {measure}, {shown(budget - total)} left.", soft_wrap=True)
    for path in sorted(folder.iterdir()):
        console.print(f"Wrote {path}", soft_wrap=True)
