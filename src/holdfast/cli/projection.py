"""`holdfast audit projection`."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.table import Table

from holdfast.audit.projection import audit_projection, audit_table_projection
from holdfast.cli.options import number, real
from holdfast.cli.reports import deliver, require_new_file
from holdfast.cli.terminal import terminal
from holdfast.errors import SpecError
from holdfast.inference.projected_power import PowerReport
from holdfast.inference.projected_table import TableReport
from holdfast.words import counted

MOST_ROWS = 12
"""Differences of tables that are shown."""
NOTHING = 1e-9
"""What float rounding makes of no loss."""


def run(
    people: int | None,
    epsilon: str,
    null: str | None,
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
    if people is None or null is None or not alternatives:
        raise SpecError("give --people, --null and --alternative, or a spec: whose projection is looked at?")
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


def run_table(
    spec: Path,
    epsilon: str,
    projection: str,
    others: Mapping[str, object],
    *,
    level: str,
    as_json: bool,
    out: Path | None,
) -> None:
    """Print the powers of the best tests of two tables of one's own, before and after projection."""
    require_new_file(out)
    if (wrong := [name for name, value in others.items() if value]) != []:
        raise SpecError(f"{wrong[0]} is for people, and a spec is given: leave out one of the two.")
    report = audit_table_projection(
        spec, number("--epsilon", epsilon), projection=projection, level=real("--level", level)
    )
    deliver(report, _table_words, as_json=as_json, out=out)


def _table_words(report: TableReport) -> None:
    """Print a row for each difference of tables, those that lose most first."""
    table = Table()
    for column in ("difference", "records", "pairs", "released", "projected", "lost"):
        table.add_column(column, justify="left" if column == "difference" else "right")
    for one in report.told[:MOST_ROWS]:
        numbers = (one.released, one.projected, 0.0 if one.lost < NOTHING else one.lost)
        steps = " ".join(f"{step:+d}" if step else "0" for step in one.difference)
        table.add_row(steps, f"{one.records:,}", f"{one.pairs:,}", *(f"{value:.4f}" for value in numbers))
    console = terminal()
    console.print(table)
    if len(report.told) > MOST_ROWS:
        console.print(f"... and {len(report.told) - MOST_ROWS:,} more: --json names all.")
    lost = max(one.lost for one in report.told)
    console.print(
        f"The projection {report.projection} of {counted(report.cells, 'cell')} onto"
        f" {counted(report.dimension, 'dimension')} costs a test at the level {report.level:g} "
        + (f"up to {lost:.4f} of power." if lost > NOTHING else "no power.")
    )
