"""`holdfast audit exposure`."""

from typing import TYPE_CHECKING

from rich.table import Table

from holdfast import audit
from holdfast.cli.arguments import Json, Quiet, ReportFile, SpecFile
from holdfast.cli.console import columns
from holdfast.cli.reports import deliver, require_new_file
from holdfast.cli.terminal import terminal, warn_each
from holdfast.system.files import require_file
from holdfast.system.progress import doing
from holdfast.system.text import counted

if TYPE_CHECKING:
    from holdfast.audit.exposed_cells import Exposed, ExposureReport

CURATOR = (
    "For the curator only: this is read off the confidential invariants. Show it to nobody who may not"
    " see them."
)
DETERMINED = 30  # cells named on the terminal; --json names all
NARROWEST = 10


def command(spec: SpecFile, out: ReportFile = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """Print the cells that the invariants of a spec reveal, and how much they tell of the others."""
    require_new_file(out)
    require_file(spec)
    with doing("looking for cells that the invariants reveal"):
        report = audit.exposure(spec)
    warn_each(report.warnings)
    deliver(report, _words, as_json=as_json, out=out)


def _words(report: "ExposureReport") -> None:
    """Print the cells that are revealed, and the narrowest intervals."""
    determined, intervals = report.determined, report.open
    console = terminal()
    console.print(CURATOR, soft_wrap=True)
    console.print()
    if determined:
        console.print(
            f"{report.known} reveal {len(determined):,} of {counted(report.cells, 'cell')},"
            f" with {report.whom.amount(report.people_exposed)} in them. No noise can protect these:",
            soft_wrap=True,
        )
        console.print(_table([(cell, (cell.low,)) for cell in determined[:DETERMINED]], "count"))
        _more(len(determined) - DETERMINED)
    else:
        console.print(f"{report.known} reveal none of the {counted(report.cells, 'cell')}.", soft_wrap=True)
    if intervals:
        console.print()
        two = len(report.nearly_revealed)
        have = f"{counted(two, 'other cell')} {'has' if two == 1 else 'have'}"
        console.print(f"{have} only two possible counts. The narrowest intervals:", soft_wrap=True)
        console.print(_table([(cell, (cell.low, cell.high)) for cell in intervals[:NARROWEST]], "from", "to"))
        _more(len(intervals) - NARROWEST)
    if not report.exact:
        console.print()
        console.print(
            "Some intervals could not be narrowed further: the true ones lie within.", soft_wrap=True
        )


def _more(left: int) -> None:
    if left > 0:
        terminal().print(f"... and {left:,} more: --json names all.")


def _table(rows: "list[tuple[Exposed, tuple[int | None, ...]]]", *ends: str) -> Table:
    """Return the cells by their levels, with their count or the ends of their interval."""
    table = columns(rows[0][0].cell, ends)
    for row, numbers in rows:
        table.add_row(*row.cell.values(), *("any" if n is None else f"{n:,}" for n in numbers))
    return table
