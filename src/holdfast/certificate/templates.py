"""The templates of pages, compiled once, and kept where Python keeps the compiled modules of the package.

What was kept is found again by the text of its template, the versions of Python and Jinja, and the settings
here. It is code, so it is read only where nobody else can have put it, and where nothing can be kept each
process compiles for itself.
"""

import os
import sys
from contextlib import suppress
from hashlib import sha256
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import jinja2
from jinja2.bccache import Bucket

from holdfast.system.private import only_ours

BLOCKS: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True}
"""How lines with blocks are written."""
STAMP = sha256(repr((jinja2.__version__, "autoescape", BLOCKS)).encode()).hexdigest()[:16]


class Templates(jinja2.BytecodeCache):
    """Compiled templates in the folder of compiled modules."""

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        """Return where a template is kept; nowhere if it is no file, or Python keeps nothing."""
        del name
        try:
            place = Path(cache_from_source(filename or ""))
        except NotImplementedError:
            return ""
        return str(place.with_suffix(f".{STAMP}.jinja")) if filename else ""

    def load_bytecode(self, bucket: Bucket) -> None:
        """Read what was kept, if it is there; Jinja looks whether it is of this text."""
        place = Path(bucket.key)
        if bucket.key and place.is_file() and only_ours(place):
            with suppress(Exception), place.open("rb") as file:  # a damaged file is made anew
                bucket.load_bytecode(file)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what was compiled; a file that is not whole is never seen."""
        place = Path(bucket.key)
        if sys.dont_write_bytecode or not bucket.key or not only_ours(place):
            return
        new = place.with_name(f"{place.name}.{os.getpid()}")
        with suppress(OSError):
            place.parent.mkdir(exist_ok=True)
            new.write_bytes(bucket.bytecode_to_string())
            new.replace(place)
