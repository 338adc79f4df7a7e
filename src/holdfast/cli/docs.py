"""`holdfast docs`: the documentation of this version, opened from this machine, without a network."""

import json
import shutil
import webbrowser
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.arguments import Json, Quiet
from holdfast.cli.terminal import terminal
from holdfast.system.drafts import require_new
from holdfast.system.errors import ReleaseError

MISSING = (
    "the documentation is not installed: python -m pip install 'holdfast-dp[docs]', or run `make docs` in the"
    " source of Holdfast."
)


def site() -> Path:
    """Return the folder of the documentation: that of the package, or of the source that this runs from."""
    found = find_spec("holdfast_docs")
    places = [Path(place) / "site" for place in (found.submodule_search_locations or ())] if found else []
    places.append(Path(__file__).parents[3] / "site")
    for place in places:
        if (place / "index.html").is_file():
            return place
    raise ReleaseError(MISSING)


def command(
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Copy it to this new folder, and open nothing.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Open the first page, or say where it is."""
    place = site()
    if out is not None:
        require_new(out)
        shutil.copytree(place, out)
        place = out
    page = (place / "index.html").resolve()
    if as_json:
        typer.echo(json.dumps({"page": str(page)}, indent=2))
        return
    opened = out is None and _open(page)
    terminal().print(f"{'Opened' if opened else 'Open'} {page}", soft_wrap=True)


def _open(page: Path) -> bool:
    try:
        return webbrowser.get() is not None and webbrowser.open(page.as_uri())
    except webbrowser.Error:
        return False
