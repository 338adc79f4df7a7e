"""`holdfast compare` for records that are swapped."""

from rich.table import Table

from holdfast.cli.terminal import terminal
from holdfast.compare.swapped import FOR_WHOM, NOTE, SwapComparison, SwapRow
from holdfast.mechanisms.accuracy import Size
from holdfast.words import counted


def print_swapped(comparison: SwapComparison) -> None:
    """Print the building blocks, the errors, and how each two guarantees are related."""
    console = terminal()
    console.print(FOR_WHOM, style="bold", soft_wrap=True)
    for row in comparison.rows:
        console.print(row.label, style="bold")
        if row.promise is not None:
            console.print(_blocks(row))
        if row.note:
            console.print(f"  {row.note.rstrip('.')}.", soft_wrap=True)
    console.print(_errors(comparison))
    console.print(f"Note: {NOTE}", soft_wrap=True)
    for pair in comparison.pairs:
        verdict = "not comparable" if not pair.comparable else "the same" if pair.stronger is None else None
        title = verdict or f"{pair.stronger} is the stronger"
        console.print(f"{pair.one} and {pair.other}: {title}. {pair.why}", soft_wrap=True)


def _blocks(row: SwapRow) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for name, words in row.blocks.items():
        grid.add_row(f"  {name}", words)
    return grid


def _errors(comparison: SwapComparison) -> Table:
    of = counted(comparison.records, comparison.whom.record, comparison.whom.counted)
    table = Table(
        title=f"Errors of {' by '.join(comparison.attributes)}: {counted(comparison.cells, 'cell')}, {of};"
        f" margins that the swap keeps: {', '.join(comparison.kept)}"
    )
    for title in ("mechanism", "margins", "below 0"):
        table.add_column(title, no_wrap=title == "mechanism")
    for title in ("cell", "percent", "draws"):
        table.add_column(title, justify="right")
    for row in comparison.rows:
        if row.errors is None:
            table.add_row(row.label, "cannot be used")
            continue
        found = row.errors
        margins = "exact" if found.kept else "with noise"
        sign = "never" if row.nonnegative else "possible"
        sizes = (_number(found.cell), _number(found.percentage), f"{found.draws:,}")
        table.add_row(row.label, margins, sign, *sizes)
    return table


def _number(size: Size) -> str:
    return f"{size.value:.3g}" if size.value < 1000 else f"{size.value:,.0f}"
