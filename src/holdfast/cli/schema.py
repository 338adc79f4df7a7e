"""`holdfast certificate schema`."""

from pathlib import Path
from typing import Annotated

import typer

from holdfast.certificate.schema import schema_text
from holdfast.cli.arguments import Quiet
from holdfast.cli.reports import require_new_file, write_text


def command(
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write to this new .json file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, as without it.")] = False,
    quiet: Quiet = False,
) -> None:
    """Print the JSON schema of certificates, or write it to a new file."""
    require_new_file(out)
    write_text(schema_text(), out)
