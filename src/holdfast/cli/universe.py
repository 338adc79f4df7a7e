"""`holdfast audit universe`."""

from typing import TYPE_CHECKING

from rich.table import Table

from holdfast import audit
from holdfast.cli.arguments import Json, Quiet, ReportFile, SpecFile
from holdfast.cli.reports import deliver, require_new_file
from holdfast.cli.terminal import terminal, warn_each
from holdfast.system.files import require_file
from holdfast.system.progress import doing

if TYPE_CHECKING:
    from holdfast.audit.universes import UniverseReport, UniverseReports

ONE_TABLE = "The invariants leave one possible table: nothing is left to protect."


def command(spec: SpecFile, out: ReportFile = None, as_json: Json = False, quiet: Quiet = False) -> None:
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
        f"With the invariants of all tables one {whom.one}'s change takes at most"
        f" {whom.amount(whom.records * report.labelled)}.",
        soft_wrap=True,
    )
    if report.semi_adjacency == 0:
        terminal().print(ONE_TABLE)


def _words(report: "UniverseReport") -> None:
    """Print a line for each number."""
    from holdfast.spec.privacy import ProtectedUnit

    adjacency, sensitivity = report.semi_adjacency, report.sensitivity
    whom = ProtectedUnit(report.unit, report.records_per_unit)
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
        ("Nearest two files, a_min", _or_open(people.a_min)),
        ("Farthest nearest file, a_maxmin", _or_open(people.a_maxmin)),
        (f"One {whom.one}'s change takes", whom.amount(apart)),
        ("Sensitivity, l1", sensitivity.l1),
        ("Sensitivity, l2 squared", sensitivity.l2_squared),
        ("Sensitivity, largest cell", sensitivity.linf),
    ):
        table.add_row(name, str(value))
    console = terminal()
    console.print(table)
    if adjacency.worst_case == 0:
        console.print(ONE_TABLE)


def _or_open(value: int | None) -> str:
    return "not known" if value is None else str(value)
