"""`holdfast export`."""

from pathlib import Path
from typing import Annotated

import typer

import holdfast as hf
from holdfast.certificate.text import require_release
from holdfast.cli.arguments import Json, Quiet, ReleaseFolder, TableName
from holdfast.cli.reports import say_wrote
from holdfast.cli.terminal import print_json
from holdfast.cli.verify import violations


def command(
    folder: ReleaseFolder,
    to: Annotated[
        str,
        typer.Option(
            metavar="FORMAT",
            help="csv, parquet, xlsx, csvw, json-stat, sdmx-csv, rocrate, registry, in-toto or assessment.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The new file, or folder of an RO-Crate.")],
    table: TableName = None,
    sign: Annotated[
        Path | None, typer.Option(metavar="KEY", help="The private key that signs an in-toto statement.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Verify a folder, write it in another format, and say which files there are."""
    require_release(folder)
    with violations(as_json=as_json):
        found = hf.export(folder, to, out, table=table, key=sign)
    if as_json:
        print_json(found)
        return
    say_wrote(*found.files)
