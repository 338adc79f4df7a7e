"""`holdfast audit projection`."""

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from holdfast.audit.projection import audit_projection
from holdfast.cli.options import number, real
from holdfast.cli.reports import deliver, require_new_file
from holdfast.cli.terminal import terminal
from holdfast.inference.projected_power import PowerReport
from holdfast.words import counted

NOTHING = 1e-9
"""What float rounding makes of no loss."""


def run(
    people: int,
    epsilon: str,
    null: str,
    alternatives: Sequence[str],
    *,
    design: str,
    delta_z: str,
    level: str,
    draws: int,
    seed: int,
    as_json: bool,
    out: Path | None,
) -> None:
    """Print the powers of the best tests before and after projection."""
    require_new_file(out)
    report = audit_projection(
        people,
        number("--epsilon", epsilon),
        real("--null", null),
        [real("--alternative", text) for text in alternatives],
        design=design,
        delta_z=number("--delta-z", delta_z),
        level=real("--level", level),
        draws=draws,
        seed=seed,
    )
    deliver(report, _words, as_json=as_json, out=out)


def _words(report: PowerReport) -> None:
    """Print a row for each alternative."""
    simulated = report.powers[0].standard_error is not None
    table = Table()
    for column in ("share", "released", "projected", "lost", *(("simulated",) * 2 if simulated else ())):
        table.add_column(column, justify="right")
    for one in report.powers:
        exact = (one.released, one.projected, 0.0 if one.lost < NOTHING else one.lost)
        both = (one.simulated_released, one.simulated_projected) if simulated else ()
        table.add_row(f"{one.theta:g}", *(f"{value:.4f}" for value in (*exact, *(v or 0.0 for v in both))))
    console = terminal()
    console.print(table)
    lost = max(one.lost for one in report.powers)
    console.print(
        f"Of {counted(report.n, 'person', 'people')}: the projection changes {report.moved:.1%} of releases"
        f" where the share is {report.null:g}, and costs "
        + (f"up to {lost:.4f} of power." if lost > NOTHING else "no power.")
    )
