"""Loops that vectors cannot do, compiled; what was compiled is kept where nobody else can put anything.

What numba keeps is code that it runs when it finds it again. It looks in a folder of NUMBA_CACHE_DIR, beside
the package, or in one of the user's. Where another user owns or may write to such a folder, or one above it,
they could put other code there: then nothing is kept and nothing read, and each process compiles for itself.
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any]) -> Any:
    """Return a function of arrays and numbers, compiled when it is first called."""
    try:
        kept = njit(cache=True, nogil=True)(function)
    except RuntimeError:  # there is no folder to keep it in
        return njit(nogil=True)(function)
    place = kept.stats.cache_path
    return kept if place is not None and only_ours(Path(place)) else njit(nogil=True)(function)


def only_ours(folder: Path) -> bool:
    """Whether nobody but this user, and the system, can put anything under the name of a folder.

    All on the way belong to either, and others may not write there; in a sticky folder they cannot replace
    what is not theirs.
    """
    if os.name != "posix":
        return True
    private = (0, os.geteuid())  # the groups of the system, and of this user alone, by their numbers
    path = Path(os.path.abspath(folder))  # noqa: PTH100 - links on the way are looked at, not resolved
    for place in (path, *path.parents):
        try:
            info = place.lstat()
        except FileNotFoundError:
            continue  # it will be made by this user, in what is looked at next
        except OSError:
            return False
        if info.st_uid not in (0, os.geteuid()):
            return False
        if stat.S_ISLNK(info.st_mode):
            if not only_ours(place.resolve()):
                return False
            continue
        sticky = bool(info.st_mode & stat.S_ISVTX) and place != path
        if info.st_mode & 0o002 and not sticky:
            return False
        if info.st_mode & 0o020 and info.st_gid not in private and not sticky:
            return False
    return True
