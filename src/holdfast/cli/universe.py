"""`holdfast audit universe`, and `holdfast audit exposure`: what invariants leave, and what they reveal."""

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from holdfast import audit
from holdfast.cli.arguments import Json, Quiet, ReportFile, SpecFile
from holdfast.cli.console import columns
from holdfast.cli.reports import deliver, require_new_file
from holdfast.cli.terminal import terminal, warn_each
from holdfast.system.files import require_file
from holdfast.system.progress import doing
from holdfast.system.text import counted, rational

if TYPE_CHECKING:
    from holdfast.audit.side_information import Protection, SideInformation
    from holdfast.audit.universes import Exposed, ExposureReport, UniverseReport, UniverseReports
    from holdfast.spec.privacy import ProtectedUnit
    from holdfast.universe.labelled import Labelled


ONE_LEFT = "Who knows this knows the whole table: nothing is left to protect from them."
ONE_TABLE = "The invariants leave one possible table: nothing is left to protect."


def universe(spec: SpecFile, out: ReportFile = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """Print what the invariants of a spec leave to protect."""
    require_new_file(out)
    require_file(spec)
    with doing("working out what is left to protect"):
        report = audit.universe(spec)
    warn_each(report.warnings)
    deliver(report, _any_words, as_json=as_json, out=out)


def _any_words(report: "UniverseReport | UniverseReports") -> None:
    """Print the numbers of one table, or of several and then of all together."""
    from holdfast.audit.universes import UniverseReport

    if isinstance(report, UniverseReport):
        _words(report)
        return
    for name, one in report.tables.items():
        terminal().print(f"{name}:", style="bold", soft_wrap=True)
        _words(one)
    whom = report.unit.whom
    terminal().print(
        f"With the invariants of all tables one {whom.one}'s {_moved(whom)} takes at most"
        f" {whom.apart(whom.records * report.labelled)}.",
        soft_wrap=True,
    )
    if report.semi_adjacency == 0:
        terminal().print(ONE_TABLE)


def _words(report: "UniverseReport") -> None:
    """Print a line for each number."""
    adjacency, sensitivity = report.semi_adjacency, report.sensitivity
    whom = report.whom
    people, apart = report.labelled, report.labelled.worst_case * whom.records
    bound = "" if adjacency.exact else " (an upper bound)"
    worst = f"{adjacency.worst_case}{bound}"
    if people.worst_case != adjacency.worst_case:
        worst = f"{worst} for this table; {people.worst_case} for people who may exchange places"
    table = Table.grid(padding=(0, 2))
    for name, value in (
        ("Cells", report.cells),
        ("Independent invariants", report.invariants),
        ("Dimensions left open", report.dimension),
        ("Separate blocks", report.blocks),
        ("Totally unimodular", {True: "yes", False: "no", None: "not known"}[report.totally_unimodular]),
        ("Semi-adjacency, worst case", worst),
        ("Semi-adjacency, literal reading", adjacency.literal),
        *(() if whom.presence else _files(people)),
        (f"One {whom.one}'s {_moved(whom)} takes", whom.apart(apart)),
        ("Sensitivity, l1", sensitivity.l1),
        ("Sensitivity, l2 squared", sensitivity.l2_squared),
        ("Sensitivity, largest cell", sensitivity.linf),
    ):
        table.add_row(name, str(value))
    console = terminal()
    console.print(table)
    if adjacency.worst_case == 0:
        console.print(ONE_TABLE)


def _moved(whom: "ProtectedUnit") -> str:
    """Return what of a person is protected."""
    return "presence" if whom.presence else "change"


def _files(people: "Labelled") -> tuple[tuple[str, str], ...]:
    """Return how near the files of people are who may have other values."""
    return (
        ("Nearest two files, a_min", _or_open(people.a_min)),
        ("Farthest nearest file, a_maxmin", _or_open(people.a_maxmin)),
    )


def _or_open(value: int | None) -> str:
    return "not known" if value is None else str(value)


CURATOR = (
    "For the curator only: this is read off the confidential invariants. Show it to nobody who may not"
    " see them."
)
DETERMINED = 30  # cells named on the terminal; --json names all
NARROWEST = 10


KnownFile = Annotated[
    Path | None,
    typer.Option(
        "--known",
        metavar="FILE",
        help="A CSV file of what somebody knows beside them: records, or counts of cells, 0 for none.",
    ),
]


def exposure(
    spec: SpecFile,
    known: KnownFile = None,
    out: ReportFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print the cells that the invariants of a spec reveal, and how much they tell of the others."""
    require_new_file(out)
    require_file(spec)
    if known is not None:
        require_file(known)
    with doing("looking for cells that the invariants reveal"):
        report = audit.exposure(spec, known=known)
    warn_each(report.warnings)
    deliver(report, _exposed, as_json=as_json, out=out)


def _exposed(report: "ExposureReport") -> None:
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
        console.print(_cells([(cell, (cell.low,)) for cell in determined[:DETERMINED]], "count"))
        _more(len(determined) - DETERMINED)
    else:
        console.print(f"{report.known} reveal none of the {counted(report.cells, 'cell')}.", soft_wrap=True)
    if intervals:
        console.print()
        two = len(report.nearly_revealed)
        have = f"{counted(two, 'other cell')} {'has' if two == 1 else 'have'}"
        console.print(f"{have} only two possible counts. The narrowest intervals:", soft_wrap=True)
        console.print(_cells([(cell, (cell.low, cell.high)) for cell in intervals[:NARROWEST]], "from", "to"))
        _more(len(intervals) - NARROWEST)
    if report.side is not None:
        console.print()
        _side(report.side, report.whom)
    if not report.exact:
        console.print()
        console.print(
            "Some intervals could not be narrowed further: the true ones lie within.", soft_wrap=True
        )


def _side(side: "SideInformation", whom: "ProtectedUnit") -> None:
    """Print what the knowledge changes, line by line, and the two values that are farthest apart."""
    console = terminal()
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for name in ("", "the invariants alone", "with what is known"):
        table.add_column(name)
    before, after = side.before, side.after
    for title, (one, other) in {
        "Dimensions left open": (before.dimension, after.dimension),
        "Cells with one possible count": (before.determined, after.determined),
        f"{whom.many.capitalize()} in them": (before.people, after.people),
        f"One {whom.one}'s {_moved(whom)} takes": (_takes(before, whom), _takes(after, whom)),
        "The target, for noise that is added": (_target(before), _target(after)),
        "Verdict": (before.level or "none", after.level or "none"),
    }.items():
        table.add_row(title, str(one), str(other))
    known = f"{counted(side.records, 'record')} and {counted(side.counts, 'count')}"
    console.print(f"Beside the invariants {known} are known.", soft_wrap=True)
    console.print(table)
    if after.semi_adjacency == 0:
        console.print(ONE_LEFT, soft_wrap=True)
    elif after.worst is not None:
        one, other = (", ".join(cell.values()) for cell in after.worst)
        console.print(f"Farthest apart: from {one} to {other}.", soft_wrap=True)


def _takes(found: "Protection", whom: "ProtectedUnit") -> str:
    if found.semi_adjacency is None:
        return "not known"
    bound = "" if found.exact else "at most "
    return "nobody is left" if found.semi_adjacency == 0 else f"{bound}{whom.apart(found.semi_adjacency)}"


def _target(found: "Protection") -> str:
    if found.parameters is None:
        return "not told"
    return ", ".join(f"{name} {rational(Fraction(value))}" for name, value in found.parameters.items())


def _more(left: int) -> None:
    if left > 0:
        terminal().print(f"... and {left:,} more: --json names all.")


def _cells(rows: "list[tuple[Exposed, tuple[int | None, ...]]]", *ends: str) -> Table:
    """Return the cells by their levels, with their count or the ends of their interval."""
    table = columns(rows[0][0].cell, ends)
    for row, numbers in rows:
        table.add_row(*row.cell.values(), *("any" if n is None else f"{n:,}" for n in numbers))
    return table
