"""The commands, and how errors leave the program."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from holdfast.errors import HoldfastError
from holdfast.version import VERSION

app = typer.Typer(
    name="holdfast",
    help="Publish some statistics exactly; protect everyone behind the rest.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
audit = typer.Typer(
    help="Say what invariants leave to protect, and what guarantees are worth.", no_args_is_help=True
)
app.add_typer(audit, name="audit")

SpecFile = Annotated[Path, typer.Argument(metavar="SPEC", help="The spec, a TOML file.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"holdfast {VERSION}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Publish some statistics exactly; protect everyone behind the rest."""
    del version


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="Where to write the example.")] = Path(),
) -> None:
    """Write a commented example: holdfast.toml and its table children.csv."""
    from holdfast.cli.init import run  # noqa: PLC0415

    run(folder)


@app.command()
def release(
    spec: SpecFile,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The new folder of the release.")],
    parquet: Annotated[bool, typer.Option("--parquet", help="Write the table as Parquet.")] = False,
    seed: Annotated[
        int | None, typer.Option(min=0, help="For tests and studies only: such a release is NOT private.")
    ] = None,
) -> None:
    """Draw a release that keeps every invariant, and certify it."""
    from holdfast.cli.release import run  # noqa: PLC0415

    run(spec, out, parquet=parquet, seed=seed)


@app.command()
def verify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a release.")],
    as_json: Json = False,
) -> None:
    """Check a release against its certificate: exit 0 if all is kept, 1 if not."""
    from holdfast.cli.verify import run  # noqa: PLC0415

    run(folder, as_json=as_json)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="The new folder of the demo.")] = Path(
        "demo-release"
    ),
    seed: Annotated[
        int | None, typer.Option(min=0, help="Repeat a demo: such a release is NOT private.")
    ] = None,
) -> None:
    """Release a table of four counties with both margins kept, and verify it."""
    from holdfast.cli.demo import run  # noqa: PLC0415

    run(out, seed=seed)


@audit.command()
def universe(spec: SpecFile, as_json: Json = False) -> None:
    """Say what the invariants of a spec leave to protect. It reads the confidential table."""
    from holdfast.cli.universe import run  # noqa: PLC0415

    run(spec, as_json=as_json)


def main() -> None:
    """Run the command line."""
    try:
        app()
    except HoldfastError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
