"""`holdfast estimate`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.arguments import Json, Quiet, RowsFile
from holdfast.cli.console import columns
from holdfast.cli.reports import ROWS, deliver_rows, require_new_file
from holdfast.cli.terminal import terminal, warn_each
from holdfast.system.progress import doing
from holdfast.system.text import counted

if TYPE_CHECKING:
    from holdfast.inference.opened.counts import EstimatedCounts

MOST_ROWS = 40


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Measurements that were opened.")],
    level: Annotated[
        str | None, typer.Option(metavar="NAME", help="A level of the geography; the lowest unless given.")
    ] = None,
    passes: Annotated[
        list[str] | None,
        typer.Option(
            "--pass",
            metavar="NAMES",
            help="Queries that are estimated together; repeat in order, others come with the last.",
        ),
    ] = None,
    out: RowsFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print whole counts that keep all that is known, from measurements that were opened."""
    import holdfast as hf

    require_new_file(out, ROWS)
    turns = [[name.strip() for name in each.split(",")] for each in passes or ()]
    with doing("estimating counts"):
        report = hf.estimate(folder, level=level, passes=turns)
    warn_each(report.notes)
    deliver_rows(report, _words, as_json=as_json, out=out)


def _words(report: "EstimatedCounts") -> None:
    from holdfast.inference.opened.counts import COUNT, STATEMENT

    console, frame = terminal(), report.to_frame()
    table = columns(frame.columns[:-1], [COUNT])
    for row in frame.head(MOST_ROWS).iter_rows():
        table.add_row(*row[:-1], f"{row[-1]:,}")
    console.print(table)
    if frame.height > MOST_ROWS:
        console.print(f"{counted(frame.height - MOST_ROWS, 'more row')}: --json and --out give all.")
    console.print(
        f"{counted(report.kept, 'number')} known exactly: all are kept. {STATEMENT}", soft_wrap=True
    )
