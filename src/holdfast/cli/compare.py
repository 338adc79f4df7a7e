"""`holdfast compare`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

import holdfast as hf
from holdfast.cli.arguments import DRAWS, Json, Quiet, ReportFile, SimulationSeed, SpecFile, drawing
from holdfast.cli.console import columns
from holdfast.cli.reports import deliver, require_new_file
from holdfast.cli.terminal import terminal
from holdfast.system.files import require_file, require_picture
from holdfast.system.progress import doing
from holdfast.system.text import counted, plain_number

if TYPE_CHECKING:
    from holdfast.comparison.cell_keys import KeyedComparison
    from holdfast.comparison.place_errors import PlaceComparison
    from holdfast.comparison.swap_report import SwapComparison
    from holdfast.comparison.tables import Comparison

MOST_MARGINS = 6
"""Margins that have a column on the screen; JSON has all of them."""
WIDEST = 32
"""Letters of a building block in one line."""


def command(
    spec: SpecFile,
    mechanisms: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="As in lattice-laplace,k-norm; all that fit unless given."),
    ] = None,
    draws: Annotated[int, typer.Option(parser=DRAWS, metavar="N", help="Simulated draws of each.")] = 1000,
    seed: SimulationSeed = 0,
    cell_key: Annotated[
        Path | None,
        typer.Option(metavar="PTABLE", help="A cell-key table, put beside noise of its largest change."),
    ] = None,
    picture: Annotated[Path | None, drawing()] = None,
    out: ReportFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare mechanisms for a spec and print a table or JSON, and draw it."""
    require_new_file(out)
    require_file(spec)
    if picture is not None:
        require_picture(picture)
    names = None
    if mechanisms is not None:
        names = [name.strip() for name in mechanisms.split(",") if name.strip()]
    with doing("comparing"):
        comparison = hf.compare(spec, names, draws=draws, seed=seed, cell_key=cell_key)
    from holdfast.comparison.pictures import draw

    deliver(comparison, _words, as_json=as_json, out=out, picture=picture, draw=draw)


def _words(comparison: "Comparison | SwapComparison") -> None:
    if isinstance(comparison, hf.Comparison):
        _print_tables(comparison)
    else:
        _print_swaps(comparison)


def _print_tables(comparison: "Comparison") -> None:
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
    if comparison.cell_keys is not None:
        _print_cell_keys(comparison.cell_keys)


def _print_cell_keys(found: "KeyedComparison") -> None:
    """Print a cell-key table beside lattice noise that changes no count by more."""
    console = terminal()
    table = columns(
        ["noise"],
        ("at most", "delta", "cell", "adds up"),
        title=f"A cell-key table beside lattice noise of its largest change, at epsilon {found.epsilon}",
    )
    for row in found.rows:
        told = ["none" if value is None else f"{value:.4g}" for value in (row.delta, row.cell)]
        table.add_row(row.name, f"{row.largest_change:,}", *told, _yes(row.adds_up))
    console.print(table)
    for row in found.rows:
        console.print(f"{row.name}: {row.note.rstrip('.')}.", soft_wrap=True)
    console.print(
        f"One record is in {found.counts_of_one:,} counts, its cell and all margins of it, each of which cell"
        " keys perturb and publish: what these lose adds up. The lattice noise keeps what is to be exact.",
        soft_wrap=True,
    )


def _errors(comparison: "Comparison") -> Table:
    from holdfast.comparison.terms import format_intensity

    whom = comparison.whom
    pairs = f"at most {whom.apart(comparison.distance)} apart"
    if comparison.target.adjacency == "unit":
        pairs = f"for {whom.amount(whom.records) if whom.records > 1 else f'each {whom.record}'} of distance"
    title = f"Expected errors at {format_intensity(comparison.intensity)}, {pairs}"
    sizes = ("L1", "L2", "max", "cell")
    table = columns(("mechanism", "guarantee", "keeps", "whole"), sizes, title=title)
    table.columns[0].no_wrap = True
    for row in comparison.rows:
        if row.contender is None or row.deviation is None:
            table.add_row(row.name, "cannot be used")
            continue
        found = row.deviation
        table.add_row(
            row.name,
            format_intensity(row.contender.mechanism.guarantee.intensity).removeprefix("pure "),
            _yes(row.contender.mechanism.traits.keeps_invariants),
            _yes(row.contender.mechanism.traits.whole),
            *(size.words for size in (found.l1, found.l2, found.largest, found.cell)),
        )
    return table


def _margins(comparison: "Comparison") -> Table | None:
    """Return the errors by margin, where some mechanism has one."""
    rows = [(row, row.deviation.margins) for row in comparison.rows if row.deviation is not None]
    if all(size.exact for _, sizes in rows for size in sizes.values()):
        return None
    names = list(rows[0][1])[:MOST_MARGINS]
    table = columns(["mechanism"], names, title="Mean absolute error of margins")
    for row, sizes in rows:
        table.add_row(row.name, *(sizes[name].words for name in names))
    return table


def _print_swaps(comparison: "SwapComparison") -> None:
    """Print the building blocks, the errors, and how each two guarantees are related."""
    from holdfast.comparison.swap_report import FOR_WHOM, NOTE

    console = terminal()
    console.print(FOR_WHOM, style="bold", soft_wrap=True)
    console.print(_blocks(comparison))
    for words in comparison.standards:
        console.print(f"{words[:1].upper()}{words[1:]}.", soft_wrap=True)
    for names, words in comparison.notes:
        console.print(f"{'; '.join(names)}: {words.rstrip('.')}.", soft_wrap=True)
    console.print(_swap_errors(comparison))
    if comparison.places is not None:
        _print_places(comparison.places, comparison.whom.counted)
    console.print(f"Note: {NOTE}", soft_wrap=True)
    for pair in comparison.pairs:
        verdict = "not comparable" if not pair.comparable else "the same" if pair.stronger is None else None
        title = verdict or f"{pair.stronger} is the stronger"
        console.print(f"{pair.one} and {pair.other}: {title}. {pair.why}", soft_wrap=True)


def _blocks(comparison: "SwapComparison") -> Table:
    """Return the building blocks of each guarantee, one column a mechanism."""
    table = columns(["guarantee"], title="Building blocks")
    for row in comparison.usable:
        table.add_column(row.label, max_width=WIDEST)
    for name, each in comparison.building_blocks.items():
        table.add_row(name, *each)
    return table


def _swap_errors(comparison: "SwapComparison") -> Table:
    of = counted(comparison.records, comparison.whom.record, comparison.whom.counted)
    title = (
        f"Errors of {' by '.join(comparison.attributes)}: {counted(comparison.cells, 'cell')}, {of};"
        f" margins that the swap keeps: {', '.join(comparison.kept)}"
    )
    table = columns(("mechanism", "margins", "below 0"), ("cell", "percent", "draws"), title=title)
    table.columns[0].no_wrap = True
    for row in comparison.rows:
        if row.errors is None:
            table.add_row(row.label, "cannot be used")
            continue
        found = row.errors
        margins = "exact" if found.kept else "with noise"
        sign = "never" if row.nonnegative else "possible"
        sizes = (found.cell.words, found.percentage.words, f"{found.draws:,}")
        table.add_row(row.label, margins, sign, *sizes)
    return table


def _print_places(places: "PlaceComparison", whom: str) -> None:
    """Print errors by population, bias by size of count, segregation, and what each leaves open."""
    console, names = terminal(), [row.mechanism for row in places.rows]
    table = columns(("level", whom), ("places", *names), title="Mean absolute error of cells, by population")
    for each in zip(*(row.by_population for row in places.rows), strict=True):
        errors = [plain_number(one.mean_absolute_error) for one in each]
        table.add_row(each[0].level, _span(each[0].low, each[0].high), f"{each[0].places:,}", *errors)
    console.print(table)
    table = columns(("level", "count"), ("cells", *names), title="Bias of counts, by their size")
    for bias in zip(*(row.bias for row in places.rows), strict=True):
        told = [one.words for one in bias]
        table.add_row(bias[0].level, _span(bias[0].low, bias[0].high), f"{bias[0].counts:,}", *told)
    console.print(table)
    table = columns(("level", "of", "index"), ("data", *names), title="Segregation, mean over draws")
    for index in zip(*(row.segregation for row in places.rows), strict=True):
        means = [f"{one.mean:.3g}" for one in index]
        table.add_row(index[0].level, index[0].attribute, index[0].index, f"{index[0].true:.3g}", *means)
    console.print(table)
    for row in places.rows:
        if row.negative:
            console.print(f"{row.mechanism}: {row.negative}.", soft_wrap=True)
    for about, words in places.left_open:
        console.print(f"Left open by {'; '.join(about)}: {words}.", soft_wrap=True)


def _span(low: int, high: int | None) -> str:
    return f"{low:,} or more" if high is None else f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _yes(so: bool) -> str:
    return "yes" if so else "no"
