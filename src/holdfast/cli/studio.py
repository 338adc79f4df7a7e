"""`holdfast studio`: the page where a curator decides, on a port of this machine."""

import json
import sys
import webbrowser
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.arguments import Json, Quiet, whole
from holdfast.cli.reports import print_values, require_new_file, say_wrote
from holdfast.cli.terminal import terminal, warn
from holdfast.system.errors import SpecError
from holdfast.system.files import write_new_text, written

PORT = whole(0, 65535)
NEEDED = ("starlette", "uvicorn", "python_multipart")
SHORTEST = 12
"""Letters of a password."""


def command(
    target: Annotated[
        Path,
        typer.Argument(metavar="[FOLDER|SPEC|RELEASE]", help="What to open, by default this folder."),
    ] = Path(),
    port: Annotated[
        int, typer.Option(parser=PORT, metavar="N", help="The port; a free one unless given.")
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Open no browser: print the address.")
    ] = False,
    expose: Annotated[
        bool,
        typer.Option("--expose", help="Let other machines in, with the password; the way is not encrypted."),
    ] = False,
    password: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            envvar="HOLDFAST_STUDIO_PASSWORD",
            help="What others have to enter, with --expose.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the address to this new file.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Serve the studio until it is stopped."""
    if any(find_spec(name) is None for name in NEEDED):
        raise SpecError("the studio needs more than Holdfast alone: install holdfast-dp[web].")
    require_new_file(out)
    if expose and not password:
        raise SpecError(
            "--expose lets other machines in, which have to know a password: set HOLDFAST_STUDIO_PASSWORD, or"
            " --password."
        )
    if password and not expose:
        raise SpecError("--password is for other machines: give --expose with it, or leave it out.")
    if password and len(password) < SHORTEST:
        raise SpecError(f"--password has {len(password)} letters: take {SHORTEST} or more.")
    from holdfast.studio.desk import Desk
    from holdfast.studio.server import opened

    studio = opened(Desk.at(target), port=port, password=password)
    values = {"address": studio.address, "folder": str(target.absolute())}
    if out is not None:
        written(out, lambda: write_new_text(out, f"{json.dumps(values, indent=2)}\n", mode=0o600))
    if studio.elsewhere is not None:
        warn("what others see goes over the network as it is: lead the port here by SSH, where you can.")
    console = terminal()
    if as_json:
        print_values(**values)
    else:
        console.print(f"The studio is at {studio.address}", soft_wrap=True, highlight=False)
        if studio.elsewhere is not None:
            console.print(f"Other machines enter with the password at {studio.elsewhere}", soft_wrap=True)
        console.print("The address works once. Ctrl-C ends the studio.")
        say_wrote(*([] if out is None else [out]))
    sys.stdout.flush()
    if not no_browser:
        with suppress(webbrowser.Error):
            webbrowser.open(studio.address)
    studio.run()
