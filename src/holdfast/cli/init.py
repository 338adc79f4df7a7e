"""`holdfast init`: a commented example that runs as it is."""

from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.arguments import Json, Quiet
from holdfast.cli.reports import print_values
from holdfast.cli.terminal import terminal
from holdfast.spec.example import write_example


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write the example.")] = Path(),
    full: Annotated[
        bool, typer.Option("--full", help="A larger one, with every kind of invariant and its weights.")
    ] = False,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="The same as DIR.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the example files, none of which may exist."""
    spec, *tables = write_example(folder if out is None else out, full=full)
    if as_json:
        print_values(spec=spec, files=[str(path) for path in (spec, *tables)])
        return
    console = terminal()
    console.print(f"Wrote {spec} and its {_tables(tables)}.", soft_wrap=True)
    console.print(f"Next: holdfast release {spec} --out release", soft_wrap=True)


def _tables(paths: list[Path]) -> str:
    names = " and ".join(map(str, paths))
    return f"table {names}" if len(paths) == 1 else f"tables {names}"
