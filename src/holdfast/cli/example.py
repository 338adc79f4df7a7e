"""`holdfast demo`, the four counties of [fcsm2005], margins kept."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table as Grid

from holdfast.cli.arguments import SEED, Json, Quiet
from holdfast.cli.console import columns
from holdfast.cli.summary import print_summary
from holdfast.cli.terminal import print_json, terminal, warn_each
from holdfast.cli.verify import print_verification
from holdfast.releases.prepare import prepare
from holdfast.releases.prepared import Prepared
from holdfast.releases.release import Release
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.example import write_example
from holdfast.system.drafts import require_new
from holdfast.verification.verify import verify


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="The new folder of the demo.")] = Path(
        "demo-release"
    ),
    seed: Annotated[
        int | None,
        typer.Option(parser=SEED, metavar="N", help="Repeat a demo: such a release is NOT private."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Release the built-in table, show before and after, verify, and say what to open."""
    require_new(out)
    console = terminal(silent=as_json)
    console.print("Delinquent children by county and education of the household head (fictitious data).")
    console.print("Both margins must be published exactly; the cells behind them need protection.")
    console.print()
    with tempfile.TemporaryDirectory() as folder:
        spec, _ = write_example(folder)
        prepared = prepare(spec)
    release = prepared.release(None if seed is None else SeededEntropy(seed))
    release.write(out)
    console.print(_before_after(prepared, release))
    console.print("Each cell: true count, noise, released count. A curator sees this; nobody else does.")
    console.print()
    print_summary(release.certificate, console)
    console.print()
    verification = verify(out)
    warn_each(verification.warnings)
    if as_json:
        print_json(verification)
        return
    print_verification(verification, console)
    console.print()
    console.print("Open these:")
    for name, what in (
        ("certificate.html", "the page for everyone"),
        ("certificate.json", "the same for machines"),
        ("table.csv", "the release"),
    ):
        console.print(f"  {out / name}  {what}", soft_wrap=True)


def _before_after(prepared: Prepared, release: Release) -> Grid:
    schema = prepared.public.schema
    before = prepared.table.reading.table.counts.reshape(schema.shape)
    after = release.table.counts.reshape(schema.shape)
    rows, across = schema.attributes
    grid = columns([rows.name], (*across.levels, "Total"), title="Before and after")
    for i, level in enumerate(rows.levels):
        cells = [f"{b} {a - b:+d} = {a}" for b, a in zip(before[i], after[i], strict=True)]
        grid.add_row(level, *cells, str(after[i].sum()))
    grid.add_section()
    grid.add_row("Total", *map(str, after.sum(axis=0)), str(after.sum()))
    return grid
