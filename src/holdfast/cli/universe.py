"""`holdfast audit universe`."""

from pathlib import Path

from rich.table import Table

from holdfast.audit.universe import audit_universe
from holdfast.cli.terminal import print_json, terminal


def run(spec: Path, *, as_json: bool) -> None:
    """Print what the invariants of a spec leave to protect."""
    report = audit_universe(spec)
    if as_json:
        print_json(report)
        return
    adjacency, sensitivity = report.semi_adjacency, report.sensitivity
    bound = "" if adjacency.exact else " (an upper bound)"
    table = Table.grid(padding=(0, 2))
    for name, value in (
        ("Cells", report.cells),
        ("Independent invariants", report.invariants),
        ("Dimensions left open", report.dimension),
        ("Separate blocks", report.blocks),
        ("Totally unimodular", {True: "yes", False: "no", None: "not known"}[report.totally_unimodular]),
        ("Semi-adjacency, worst case", f"{adjacency.worst_case}{bound}"),
        ("Semi-adjacency, literal reading", adjacency.literal),
        ("Sensitivity, l1", sensitivity.l1),
        ("Sensitivity, l2 squared", sensitivity.l2_squared),
        ("Sensitivity, largest cell", sensitivity.linf),
    ):
        table.add_row(name, str(value))
    console = terminal()
    console.print(table)
    if adjacency.worst_case == 0:
        console.print("The invariants leave one possible table: nothing is left to protect.")
