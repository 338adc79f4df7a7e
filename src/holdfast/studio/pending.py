"""What was begun and not seen to its end: a note in the folder, from a confirmation to the release.

It holds what was asked for and nothing of the data. A server that is killed leaves it, and whoever comes back
is told what is true of it then, by the ledger and the folder, and never by the note.
"""

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from holdfast.ledger.account import Ledger
from holdfast.studio.place import CERTIFICATE, Place
from holdfast.system.drafts import draft_path
from holdfast.system.errors import HoldfastError

NOTE = ".studio.holdfast.json"


@dataclass(frozen=True)
class Confirmed:
    """A release that was confirmed."""

    nonce: str
    spec: str
    out: str
    ledger: str = ""
    parquet: bool = False
    accepted: bool = False
    quoted: bool = False


def note(place: Place, wanted: Confirmed) -> None:
    """Note that a release begins."""
    place.write(NOTE, json.dumps(asdict(wanted)), replace=True)


def forget(place: Place) -> None:
    """Take the note away."""
    (place.folder / NOTE).unlink(missing_ok=True)


def noted(place: Place) -> Confirmed | None:
    """Return what was begun, if there is such a note, and its names lead into the folder."""
    path = place.folder / NOTE
    if path.is_symlink() or not path.is_file():
        return None
    try:
        found = Confirmed(**json.loads(path.read_text(encoding="utf-8")))
        for name in (found.spec, found.out, *([found.ledger] if found.ledger else [])):
            place.inside(name)
    except (OSError, ValueError, TypeError, AttributeError, HoldfastError):
        return None
    return found


@dataclass(frozen=True)
class Left:
    """What is true of a release that was begun: it is whole, or a row was charged for it, or nothing was."""

    wanted: Confirmed
    whole: bool = False
    row: int | None = None


def left(place: Place) -> Left | None:
    """Look what became of the release that was begun."""
    wanted = noted(place)
    if wanted is None:
        return None
    out = place.inside(wanted.out)
    if (out / CERTIFICATE).is_file():
        return Left(wanted, whole=True)
    return Left(wanted, row=charged_row(place, wanted.ledger, out) if wanted.ledger else None)


def charged_row(place: Place, ledger: str, out: Path) -> int | None:
    """Return the last row that was charged for a folder which is not there, if it can be gone on with."""
    draft = draft_path(out)
    try:
        account = Ledger.open(place.inside(ledger))
        for row in reversed(account.rows()):
            if account.draft(row.index) == draft:
                return row.index if account.completion(row.index) is None or draft.is_dir() else None
    except HoldfastError:
        return None
    return None


def resumable(problem: str) -> int | None:
    """Return the row that a sentence about a charge names.

    >>> resumable("row 3 of a.ledger is charged, and nothing was released by this run (...)"), resumable("no")
    (3, None)
    """
    found = re.match(r"row (\d{1,9}) of .* is charged", problem)
    return None if found is None else int(found[1])
