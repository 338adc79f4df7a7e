"""The program as certificates name it: its version and, where that is known, the wheel it came from.

An installer that was given a wheel, by its path or address, writes down the hash of it. One that was given a
name does not, and whoever runs it may say the hash in the environment.
"""

import json
import os
import re
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from holdfast.certificate.head import Software
from holdfast.system.errors import ReleaseError
from holdfast.version import VERSION

DISTRIBUTION = "holdfast-dp"
WHEEL = "HOLDFAST_WHEEL_SHA256"
"""The variable of the environment."""
SHA256 = re.compile(r"[0-9a-f]{64}")


def this_software() -> Software:
    """Return the program; raises ReleaseError where the environment says a hash that is none."""
    said = os.environ.get(WHEEL, "").strip().lower()
    if said and not SHA256.fullmatch(said):
        raise ReleaseError(f"{WHEEL} is no SHA-256: give its 64 digits of 0 to 9 and a to f, or unset it.")
    return Software(name="holdfast", version=VERSION, wheel=said or _installed_from())


@cache
def _installed_from() -> str | None:
    try:
        return wheel_of(distribution(DISTRIBUTION))
    except PackageNotFoundError:
        return None


def wheel_of(installed: Distribution) -> str | None:
    """Return the hash of the wheel of a distribution, as its installer wrote it down."""
    try:
        origin = json.loads(installed.read_text("direct_url.json") or "{}")
        found = origin["archive_info"]["hashes"]["sha256"]
    except (ValueError, LookupError, TypeError):
        return None
    wheel = str(origin.get("url", "")).endswith(".whl") and isinstance(found, str)
    # the version is looked up last: that parses all of the metadata
    return found if wheel and SHA256.fullmatch(found) and installed.version == VERSION else None
