"""`holdfast audit census-2020`."""

from pathlib import Path
from textwrap import fill
from typing import Annotated

from rich.table import Table

from holdfast import audit
from holdfast.audit.census import DELTA, SOURCES, CensusReport, Line
from holdfast.audit.census_systems import NOTES, numbers_of
from holdfast.audit.census_systems import SOURCES as SYSTEM_SOURCES
from holdfast.cli.arguments import Json, Quiet, ReportFile, drawing
from holdfast.cli.console import columns
from holdfast.cli.reports import deliver, require_new_file
from holdfast.cli.terminal import terminal
from holdfast.system.files import save_figure

LABEL = 44
"""Letters of a line beside a bar."""
WIDTHS = {"system": 20, "domain": 11, "scope": 22, "unit": 13, "standard": 8, "intensity": 18, "source": 6}
"""Letters of the columns of systems, so that a row fits 120."""


def command(
    as_json: Json = False,
    picture: Annotated[Path | None, drawing()] = None,
    out: ReportFile = None,
    quiet: Quiet = False,
) -> None:
    """Print the story as a table or JSON, and draw it."""
    require_new_file(out, picture=picture)
    deliver(audit.census_2020(), _words, as_json=as_json, out=out, picture=picture, draw=draw)


def _words(report: CensusReport) -> None:
    """Print a line for each product and level of invariants."""
    lines = report.lines
    console = terminal()
    title = f"2020 US census: advertised and effective, epsilon at delta = {float(DELTA):g}"
    table = columns(("product", "kept exactly"), ("a", "rho", "epsilon", "tight", "Gaussian"), title=title)
    for previous, line in zip((None, *lines), lines, strict=False):
        first = previous is None or previous.product != line.product
        if first and previous is not None:
            table.add_section()
        effective = line.effective.to_dict()
        table.add_row(
            line.product if first else "",
            line.level.invariants + ("" if line.level.published else _aside(line)),
            str(line.level.semi_adjacency),
            f"{effective['rho']:g}",
            f"{effective['epsilon']:.5f}",
            f"{effective['epsilon_tight']:.5f}",
            f"{effective['epsilon_gaussian']:.5f}",
        )
    console.print(table)
    console.print(
        "The first line of each product is what is advertised: it holds if nothing is published exactly. With"
        " the invariants, one person's change takes a records, and rho grows by a squared."
    )
    console.print(
        "epsilon and tight follow from rho, whatever noise it is of; Gaussian is what normal noise of that"
        " rho is worth, neither more nor less. Integer noise in many measurements comes near to it."
    )
    for total in report.totals:
        console.print(total.words)
    _print_systems(report)
    for source in SOURCES:
        console.print(f"Source: {source}.")


def _print_systems(report: CensusReport) -> None:
    """Print a row for each system: its five building blocks, and where they are told."""
    table = Table(title="The systems by their five building blocks")
    for name, width in WIDTHS.items():
        table.add_column(name, max_width=width, overflow="fold")
    for system in report.systems:
        if table.row_count:
            table.add_row()
        table.add_row(f"{system.product}: {system.method}", *system.blocks.values(), numbers_of(system))
    console = terminal()
    console.print(table)
    for note in NOTES:
        console.print(note)
    for number, source in enumerate(SYSTEM_SOURCES, 1):
        console.print(f"{number}  {source}")


def draw(report: CensusReport, path: Path) -> None:
    """Draw epsilon by product and level of invariants."""
    from matplotlib.figure import Figure

    lines, figure = report.lines, Figure(figsize=(8, 4.6), layout="constrained")
    axes = figure.subplots()
    names = [f"{line.product}\n{_kept(line)}" for line in lines]
    values = [line.effective.epsilon or 0.0 for line in lines]
    shades = [
        "#9bb8c5" if line.level.semi_adjacency == 1 else "#1f5a73" if _holds_in_2020(line) else "#c9d3d8"
        for line in lines
    ]
    places = range(len(lines), 0, -1)
    bars = axes.barh(
        list(places), values, color=shades, hatch=["" if _holds_in_2020(line) else "//" for line in lines]
    )
    axes.bar_label(bars, [f"{value:.1f}" for value in values], padding=3, fontsize=8)
    axes.set_yticks(list(places), names, fontsize=7)
    axes.set_xlabel(f"epsilon at delta = {float(DELTA):g}, classic bound")
    axes.set_title(
        "2020 US census: pale as advertised, dark under invariants, hatched if there were more", fontsize=9
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.1)
    save_figure(figure, path)


def _kept(line: Line) -> str:
    return fill("nothing kept exactly" if line.level.semi_adjacency == 1 else line.level.invariants, LABEL)


def _holds_in_2020(line: Line) -> bool:
    return line.level.published or line.level.semi_adjacency == 1


def _aside(line: Line) -> str:
    return " (as advertised)" if line.level.semi_adjacency == 1 else " (if it were)"
