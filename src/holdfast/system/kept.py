"""Whether code that was kept by a run before may be run again: only where nobody else can have put it."""

import os
import stat
from pathlib import Path


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
