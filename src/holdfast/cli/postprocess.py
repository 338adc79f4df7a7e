"""`holdfast postprocess`."""

import json
from pathlib import Path

import typer
from rich.table import Table

from holdfast.certificate.published import read_published
from holdfast.certificate.verify import verify
from holdfast.certificate.write import refuse_to_overwrite
from holdfast.cli import verify as verify_command
from holdfast.cli.terminal import terminal
from holdfast.errors import SpecError
from holdfast.postprocess.methods import method_of
from holdfast.postprocess.processed import STATEMENT, Processed, process


def run(folder: Path, method: str, output: Path, *, bias_draws: int, as_json: bool) -> None:
    """Process a verified release into a new folder, and say what it costs and how it is off."""
    chosen = method_of(method)
    if bias_draws == 1:
        raise SpecError("--bias-draws is 1: ask for 2 or more, or for 0 to leave the bias out.")
    refuse_to_overwrite(output)
    if not verify(folder).kept:
        verify_command.run(folder, as_json=as_json)  # says what is wrong, and exits with 1
    console = terminal()
    with console.status("Processing ..."):
        processed = process(read_published(folder), chosen, bias_draws=bias_draws)
        processed.write(output)
    if as_json:
        typer.echo(json.dumps(processed.record, indent=2))
        return
    console.print(f"{chosen.name}: {chosen.words}.", soft_wrap=True)
    console.print(STATEMENT, soft_wrap=True)
    _print_bias(processed)
    for path in sorted(output.iterdir()):
        console.print(f"Wrote {path}", soft_wrap=True)


def _print_bias(processed: Processed) -> None:
    console = terminal()
    if processed.bias is None or processed.rough is None:
        console.print(f"The bias was not measured: {processed.unmeasured}", soft_wrap=True)
        return
    table = Table(title=f"Bias, measured on public stand-ins with {processed.bias.draws} draws each")
    for title in ("stand-in", "", "mean count", "processed", "release"):
        table.add_column(title, justify="left" if title in ("stand-in", "") else "right")
    for kind, found in (("fitted to the invariants", processed.bias), ("near the release", processed.rough)):
        for name, mean in (("smallest cells", found.small), ("largest cells", found.large)):
            off = f"{mean.bias:+.2f} +- {mean.standard_error:.2f}"
            table.add_row(kind, f"{mean.cells:,} {name}", f"{mean.stand_in:.1f}", off, "unbiased")
    console.print(table)
