"""What lies in the folder of a release beside it: files that the certificate does not name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.certificate.sign import SIGNATURE
from holdfast.certificate.text import CERTIFICATE
from holdfast.system.text import in_quotes

SHOWN = 5
"""Names that are told."""


def unlisted_files(folder: Path, content: Mapping[str, Any]) -> tuple[str, ...]:
    """Say what a folder holds that its certificate does not name; nothing where there is nothing.

    Such a file may have come with the release or be put there later: no hash speaks for it.
    """
    files = content.get("files")
    known = {CERTIFICATE, SIGNATURE, *(files if isinstance(files, dict) else ())}
    try:
        names = sorted({each.name for each in folder.iterdir()} - known)
    except OSError:
        return ()
    if not names:
        return ()
    told = ", ".join(in_quotes(name) for name in names[:SHOWN])
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    verb, them = ("is", "it") if len(names) == 1 else ("are", "them")
    said = (
        f"{told}{more} {verb} in the folder, and the certificate does not name {them}: no part of the"
        f" release, and nothing is claimed of {them}."
    )
    return (said,)
