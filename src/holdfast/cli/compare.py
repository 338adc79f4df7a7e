"""`holdfast compare`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from holdfast.cli.arguments import DRAWS, SEED, Json, Quiet, ReportFile, SpecFile
from holdfast.cli.compare_swapped import print_swapped
from holdfast.cli.reports import deliver, require_new_file, say_wrote
from holdfast.cli.terminal import terminal
from holdfast.compare.comparison import Comparison, compare_mechanisms
from holdfast.compare.contenders import usual
from holdfast.compare.picture import draw
from holdfast.compare.swapped import NAMES, compare_swapping
from holdfast.compare.swapped_picture import draw_swapped
from holdfast.compare.terms import shown
from holdfast.figures import require_picture
from holdfast.mechanisms.accuracy import Size
from holdfast.progress import doing
from holdfast.spec.load import read_spec

MOST_MARGINS = 6
"""Margins that have a column on the screen; JSON has all of them."""


def command(
    spec: SpecFile,
    mechanisms: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="As in lattice-laplace,k-norm; all that fit unless given."),
    ] = None,
    draws: Annotated[int, typer.Option(parser=DRAWS, metavar="N", help="Simulated draws of each.")] = 1000,
    seed: Annotated[int, typer.Option(parser=SEED, metavar="N", help="The seed of the simulation.")] = 0,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw it to this .png, .svg or .pdf file.")
    ] = None,
    out: ReportFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare mechanisms for a spec and print a table or JSON, and draw it."""
    require_new_file(out)
    if picture is not None:
        require_picture(picture)
    asked = read_spec(spec)
    names: list[str] = list(NAMES if asked.of_records else usual(asked.mechanism.name))
    if mechanisms is not None:
        names = [name.strip() for name in mechanisms.split(",") if name.strip()]
    if asked.of_records:
        with doing("comparing"):
            swapped = compare_swapping(asked, names, draws=draws, seed=seed)
        if picture is not None:
            draw_swapped(swapped, picture)
        deliver(swapped, print_swapped, as_json=as_json, out=out)
    else:
        with doing("comparing"):
            comparison = compare_mechanisms(asked, names, draws=draws, seed=seed)
        if picture is not None:
            draw(comparison, picture)
        deliver(comparison, _words, as_json=as_json, out=out)
    if picture is not None and not as_json:
        say_wrote(picture)


def _words(comparison: Comparison) -> None:
    """Print the errors, the margins where some are not exact, and the choice."""
    console = terminal()
    console.print(_errors(comparison))
    by_margin = _margins(comparison)
    if by_margin is not None:
        console.print(by_margin)
    for row in comparison.rows:
        converted = None if row.contender is None else row.contender.converted
        words = "; ".join(filter(None, (converted, row.note)))
        if words:
            console.print(f"{row.name}: {words.rstrip('.')}.", soft_wrap=True)
    chosen = "No choice" if comparison.choice is None else f"Choose {comparison.choice}"
    console.print(f"{chosen}: {comparison.why}", soft_wrap=True)


def _errors(comparison: Comparison) -> Table:
    whom = comparison.whom
    pairs = f"at most {whom.amount(comparison.distance)} apart"
    if comparison.target.adjacency == "unit":
        pairs = f"for {whom.amount(whom.records) if whom.records > 1 else f'each {whom.record}'} of distance"
    table = Table(title=f"Expected errors at {shown(comparison.intensity)}, {pairs}")
    for title in ("mechanism", "guarantee", "keeps", "whole"):
        table.add_column(title, no_wrap=title == "mechanism")
    for title in ("L1", "L2", "max", "cell"):
        table.add_column(title, justify="right")
    for row in comparison.rows:
        if row.contender is None or row.deviation is None:
            table.add_row(row.name, "cannot be used")
            continue
        found = row.deviation
        table.add_row(
            row.name,
            shown(row.contender.mechanism.guarantee.intensity).removeprefix("pure "),
            _yes(row.contender.mechanism.traits.keeps_invariants),
            _yes(row.contender.mechanism.traits.whole),
            *(_number(size) for size in (found.l1, found.l2, found.largest, found.cell)),
        )
    return table


def _margins(comparison: Comparison) -> Table | None:
    """Return the errors by margin, where some mechanism has one."""
    rows = [(row, row.deviation.margins) for row in comparison.rows if row.deviation is not None]
    if all(size.exact for _, sizes in rows for size in sizes.values()):
        return None
    names = list(rows[0][1])[:MOST_MARGINS]
    table = Table(title="Mean absolute error of margins")
    for title in ("mechanism", *names):
        table.add_column(title, justify="left" if title == "mechanism" else "right")
    for row, sizes in rows:
        table.add_row(row.name, *("exact" if sizes[name].exact else _number(sizes[name]) for name in names))
    return table


def _number(size: Size) -> str:
    return f"{size.value:.3g}" if size.value < 1000 else f"{size.value:,.0f}"


def _yes(so: bool) -> str:
    return "yes" if so else "no"
