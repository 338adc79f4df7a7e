"""`holdfast postprocess`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import holdfast as hf
from holdfast.certificate.text import require_release
from holdfast.cli.arguments import DRAWS, Json, Quiet, ReleaseFolder
from holdfast.cli.console import columns
from holdfast.cli.terminal import print_json, terminal, warn_each
from holdfast.cli.verify import violations

if TYPE_CHECKING:
    from holdfast.processing.processed import Processed


def command(
    folder: ReleaseFolder,
    method: Annotated[
        str,
        typer.Option(metavar="NAME", help="nonnegative-l2, nonnegative-weighted, integers-l1 or rounded-l2."),
    ],
    out: Annotated[
        Path, typer.Option("--out", "--output", metavar="DIR", help="The new folder of the processed table.")
    ],
    bias_draws: Annotated[
        int | None,
        typer.Option(
            parser=DRAWS,
            metavar="N",
            help="Simulated releases to measure the bias with; up to 200 unless given.",
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Process a verified release into a new folder, and say what it costs and how it is off."""
    require_release(folder)
    console = terminal()
    with violations(as_json=as_json), console.status("Processing ..."):
        processed = hf.postprocess(folder, method, out, bias_draws=bias_draws)
    warn_each(processed.warnings)
    if as_json:
        print_json(processed)
        return
    console.print(f"{processed.method.name}: {processed.method.words}.", soft_wrap=True)
    console.print(processed.certificate.caveats[0].words, soft_wrap=True)
    _print_bias(processed)
    for path in sorted(out.iterdir()):
        console.print(f"Wrote {path}", soft_wrap=True)


def _print_bias(processed: "Processed") -> None:
    from holdfast.certificate.page import UNMEASURED

    console = terminal()
    if processed.bias is None or processed.rough is None:
        console.print(
            f"The bias was not measured: {UNMEASURED[processed.unmeasured or 'not asked']}.", soft_wrap=True
        )
        return
    title = f"Bias, measured on public stand-ins with {processed.bias.draws} draws each"
    table = columns(("stand-in", ""), ("mean count", "processed", "release"), title=title)
    for kind, found in (("fitted to the invariants", processed.bias), ("near the release", processed.rough)):
        for name, mean in (("smallest cells", found.small), ("largest cells", found.large)):
            off = f"{mean.bias:+.2f} +- {mean.standard_error:.2f}"
            table.add_row(kind, f"{mean.cells:,} {name}", f"{mean.stand_in:.1f}", off, "unbiased")
    console.print(table)
