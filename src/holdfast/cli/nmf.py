"""`holdfast nmf open` and `holdfast nmf write`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.certificate.text import require_release
from holdfast.cli.arguments import Json, Quiet, ReleaseFolder, TableName
from holdfast.cli.terminal import print_json, terminal, warn_each
from holdfast.cli.verify import violations
from holdfast.system.drafts import require_new
from holdfast.system.files import require_file
from holdfast.system.progress import doing
from holdfast.system.text import counted

if TYPE_CHECKING:
    from holdfast.data.nmf.opened import OpenedMeasurements

NewFolder = Annotated[Path, typer.Option("--as", "--out", metavar="DIR", help="The new folder.")]


def open_(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The files, of persons or of units.")],
    out: NewFolder,
    codebook: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Levels of attributes and what recodes put together, in TOML."),
    ] = None,
    invariants: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Totals that are published elsewhere: geocode, value and level."),
    ] = None,
    within: Annotated[
        list[str] | None,
        typer.Option(metavar="CODE...", help="Open what lies in these nodes of one level, and no more."),
    ] = None,
    noise: Annotated[
        str, typer.Option(metavar="NAME", help="gaussian, as of the 2020 products, or laplace.")
    ] = "gaussian",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Read noisy measurements of others into a folder, and say what is in it."""
    import holdfast as hf

    require_new(out)
    for each, what in ((codebook, "codebook"), (invariants, "invariants")):
        if each is not None:
            require_file(each, what)
    with doing("opening the measurements"):
        found = hf.open_measurements(
            folder, out, codebook=codebook, invariants=invariants, within=within or (), noise=noise
        )
    warn_each(found.warnings)
    if as_json:
        print_json(found)
        return
    _print(found, out)


def _print(found: "OpenedMeasurements", out: Path) -> None:
    console = terminal()
    levels = ", ".join(counted(len(each.levels), each.name, each.name) for each in found.spine.levels)
    cells = ", ".join(f"{name} ({len(each):,})" for name, each in found.histogram.levels.items())
    console.print(f"Nodes         {levels}", soft_wrap=True)
    console.print(f"Attributes    {cells or 'none: totals alone'}", soft_wrap=True)
    console.print(f"Queries       {'; '.join(each.name for each in found.queries)}", soft_wrap=True)
    number = sum(each.values.size for each in found.measured)
    console.print(f"Measured      {counted(number, 'value')} with discrete {found.noise.capitalize()} noise")
    exact = sum(each.values.size for each in found.known if each.sign == "=")
    bounds = sum(each.values.size for each in found.known) - exact
    console.print(f"Known         {counted(exact, 'number')} exactly, {counted(bounds, 'bound')}")
    console.print(
        f"Wrote {out}: holdfast intervals, infer and estimate work on it. What noise was added is"
        " believed as the"
        " files say it; nothing of them can be verified.",
        soft_wrap=True,
    )


def write(
    folder: ReleaseFolder,
    out: NewFolder,
    table: TableName = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the measurements of a top-down release in the layout of the 2020 products."""
    import holdfast as hf

    require_new(out)
    require_release(folder)
    with violations(as_json=as_json), doing("writing the measurements"):
        written = hf.write_measurements(folder, out, table=table)
    if as_json:
        print_json(written)
        return
    for name in written.files:
        terminal().print(f"Wrote {out / name}", soft_wrap=True)
