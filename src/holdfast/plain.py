"""Plain names and plain files: what may be opened.

A pipe would be waited for, a device read without end, and a name with a slash would lead out of its folder.
"""

import errno
import os
import stat
from pathlib import Path

from holdfast.visible import visible

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFLNK: "a link",
}


def plain_name(name: object) -> bool:
    """Return whether this is the name of a file inside of its folder, and of no other place.

    >>> plain_name("table.csv"), plain_name("../table.csv"), plain_name("C:table.csv")
    (True, False, False)
    """
    return (
        isinstance(name, str)
        and name not in ("", ".", "..")
        and not any(sign in name for sign in "/\\:")
        and visible(name) == name
    )


def special(path: Path, *, links: bool = True) -> str | None:
    """Return what stands at a path in words, "a pipe", where it is not a plain file; None where it is.

    A link counts as what it leads to, unless ``links`` are not to be followed. Raises OSError.
    """
    try:
        mode = path.stat(follow_symlinks=links).st_mode
    except ValueError:  # a NUL in the name, or half a character
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(path)) from None
    return None if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "no file")
