"""`holdfast audit projection`."""

from pathlib import Path
from typing import Annotated

import typer

from holdfast import audit
from holdfast.cli.arguments import (
    DRAWS,
    RECORDS,
    Json,
    Quiet,
    ReportFile,
    SimulationSeed,
    number,
    positive_float,
)
from holdfast.cli.console import columns
from holdfast.cli.reports import deliver, require_new_file
from holdfast.cli.terminal import terminal
from holdfast.inference.projected_power import PowerReport
from holdfast.inference.projected_table import TableReport
from holdfast.system.errors import SpecError
from holdfast.system.text import counted

MOST_ROWS = 12
"""Differences of tables that are shown."""
NOTHING = 1e-9
"""What float rounding makes of no loss."""


def command(
    epsilon: Annotated[str, typer.Option(metavar="NUMBER", help="The strength of the noise.")],
    spec: Annotated[
        Path | None, typer.Argument(metavar="[SPEC]", help="A small table of your own, instead of people.")
    ] = None,
    matrix: Annotated[
        str,
        typer.Option("--projection", metavar="NAME", help="Of that table: l2, or a file with a matrix."),
    ] = "l2",
    people: Annotated[
        int | None, typer.Option(parser=RECORDS, metavar="N", help="How many say yes or no.")
    ] = None,
    null: Annotated[
        str | None, typer.Option(metavar="SHARE", help="The share of yes that is tested.")
    ] = None,
    alternative: Annotated[
        list[str] | None, typer.Option(metavar="SHARE", help="A larger share; repeat for more.")
    ] = None,
    design: Annotated[
        str, typer.Option(metavar="NAME", help="What is public: bounds of one count, or the total of two.")
    ] = "bounds",
    delta_z: Annotated[str, typer.Option(metavar="NUMBER", help="How far a secret moves the count.")] = "1",
    level: Annotated[str, typer.Option(metavar="NUMBER", help="The level of the tests.")] = "0.05",
    draws: Annotated[
        int, typer.Option(parser=DRAWS, metavar="N", help="Simulated releases for each share.")
    ] = 0,
    seed: SimulationSeed = 0,
    out: ReportFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print the powers of the best tests before and after projection, of people or of one's own table."""
    require_new_file(out)
    if spec is None and (people is None or null is None or not alternative):
        raise SpecError("give --people, --null and --alternative, or a spec: whose projection is looked at?")
    report = audit.projection(
        spec,
        epsilon=number("--epsilon", epsilon),
        matrix=matrix,
        people=people,
        null=None if null is None else positive_float("--null", null),
        alternatives=[positive_float("--alternative", text) for text in alternative or []],
        design=design,
        delta_z=number("--delta-z", delta_z),
        level=positive_float("--level", level),
        draws=draws,
        seed=seed,
    )
    deliver(report, _words, as_json=as_json, out=out)


def _words(report: PowerReport | TableReport) -> None:
    if isinstance(report, PowerReport):
        _people_words(report)
    else:
        _table_words(report)


def _people_words(report: PowerReport) -> None:
    """Print a row for each alternative."""
    simulated = report.powers[0].standard_error is not None
    both_simulated = ("simulated",) * 2 if simulated else ()
    table = columns((), ("share", "released", "projected", "lost", *both_simulated))
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


def _table_words(report: TableReport) -> None:
    """Print a row for each difference of tables, those that lose most first."""
    table = columns(["difference"], ("records", "pairs", "released", "projected", "lost"))
    for one in report.powers[:MOST_ROWS]:
        numbers = (one.released, one.projected, 0.0 if one.lost < NOTHING else one.lost)
        steps = " ".join(f"{step:+d}" if step else "0" for step in one.difference)
        table.add_row(steps, f"{one.records:,}", f"{one.pairs:,}", *(f"{value:.4f}" for value in numbers))
    console = terminal()
    console.print(table)
    if len(report.powers) > MOST_ROWS:
        console.print(f"... and {len(report.powers) - MOST_ROWS:,} more: --json names all.")
    lost = max(one.lost for one in report.powers)
    console.print(
        f"The projection {report.projection} of {counted(report.cells, 'cell')} onto"
        f" {counted(report.dimension, 'dimension')} costs a test at the level {report.level:g} "
        + (f"up to {lost:.4f} of power." if lost > NOTHING else "no power.")
    )
