"""`holdfast postprocess`."""

from pathlib import Path

from rich.table import Table

from holdfast.cli.terminal import print_json, terminal, warn_each
from holdfast.cli.verify import violations
from holdfast.postprocess.form import STATEMENT
from holdfast.postprocess.processed import Processed, postprocess_release


def run(folder: Path, method: str, output: Path, *, bias_draws: int | None, as_json: bool) -> None:
    """Process a verified release into a new folder, and say what it costs and how it is off."""
    console = terminal()
    with violations(as_json=as_json), console.status("Processing ..."):
        processed = postprocess_release(folder, method, output, bias_draws=bias_draws)
    warn_each(processed.warnings)
    if as_json:
        print_json(processed)
        return
    console.print(f"{processed.method.name}: {processed.method.words}.", soft_wrap=True)
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
