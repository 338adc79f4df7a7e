"""`holdfast keygen`, and `holdfast certificate schema`."""

from pathlib import Path
from typing import Annotated

import typer

from holdfast.certificate.schema import schema_text
from holdfast.certificate.sign import generate_keys
from holdfast.cli.arguments import Json, Quiet
from holdfast.cli.reports import print_values, require_new_file, write_text
from holdfast.cli.terminal import terminal


def keygen(
    key: Annotated[
        Path, typer.Argument(metavar="KEY", help="The new private key; the public one gets .pub at its end.")
    ] = Path("holdfast.key"),
    out: Annotated[Path | None, typer.Option(metavar="KEY", help="The same as KEY.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a pair of keys, and say what each is for."""
    private, public = generate_keys(key if out is None else out)
    if as_json:
        print_values(private=private, public=public)
        return
    console = terminal()
    console.print(
        f"Wrote {private}: keep it secret; sign with holdfast release --sign {private}", soft_wrap=True
    )
    console.print(
        f"Wrote {public}: publish it where readers trust it; they check with"
        f" holdfast verify DIR --public-key {public}",
        soft_wrap=True,
    )


def schema(
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write to this new .json file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, as without it.")] = False,
    quiet: Quiet = False,
) -> None:
    """Print the JSON schema of certificates, or write it to a new file."""
    require_new_file(out)
    write_text(schema_text(), out)
