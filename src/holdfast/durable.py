"""Files that stay: what was reported as written survives a crash of the machine.

A file is on the disk once it was synced, and its name once its folder was. `write_new` gives a file its name
only when it is whole: a reader never sees a part of it, and a killed run leaves a hidden draft at most.
"""

import errno
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

UNSUPPORTED = {errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES}
"""What file systems and platforms answer that cannot sync a folder."""


def sync_file(path: Path) -> None:
    """Force the content of a file to the disk."""
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """Force the names in a folder to the disk, where folders can be opened."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
    finally:
        os.close(handle)


def sync_tree(folder: Path) -> None:
    """Force a folder of plain files to the disk: each of them, then their names."""
    for path in sorted(folder.iterdir()):
        sync_file(path)
    sync_folder(folder)


def write_new(path: Path, write: Callable[[Path], None], *, mode: int = 0o644, replace: bool = False) -> None:
    """Let ``write`` fill a file that then appears under its name, whole and synced; raises OSError.

    FileExistsError where the name is taken, unless ``replace`` allows to take its place.
    """
    folder = path.absolute().parent
    handle, name = tempfile.mkstemp(prefix=".holdfast-", suffix=path.suffix, dir=folder)
    os.close(handle)
    draft = Path(name)
    try:
        write(draft)
        draft.chmod(mode)
        sync_file(draft)
        if replace:
            draft.replace(path)
        else:
            os.link(draft, path)  # fails where the name is taken, unlike a move
        sync_folder(folder)
    finally:
        draft.unlink(missing_ok=True)


def write_new_text(path: Path, text: str, *, mode: int = 0o644, replace: bool = False) -> None:
    """Write a text to a new file, whole and synced; raises OSError."""
    write_new(path, lambda draft: _write_text(draft, text), mode=mode, replace=replace)


def _write_text(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
