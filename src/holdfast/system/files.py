"""Files that stay: what was reported as written survives a crash of the machine.

A file is on the disk once it was synced, and its name once its folder was. `write_new` gives a file its name
only when it is whole: a reader never sees a part of it, and a killed run leaves a hidden draft at most.

Only plain files with plain names are opened: a pipe would be waited for, a device read without end, and a
name with a slash would lead out of its folder.
"""

import errno
import os
import secrets
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.system.errors import ReleaseError, SpecError
from holdfast.system.text import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

if sys.platform != "win32":
    import fcntl

PREFIX = ".holdfast-"
"""How the names of drafts begin."""
JOURNAL = "-journal"
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
        sync_handle(handle)
    finally:
        os.close(handle)


def sync_handle(handle: int) -> None:
    """Force the names in an open folder to the disk, where that can be done."""
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise


def hold(handle: int) -> bool:
    """Take an open file or folder for this process; False where another has it.

    The hold ends with the handle, at the latest with the process: what is not held is in nobody's hands.
    """
    try:
        if sys.platform != "win32":
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def held(path: Path) -> int | None:
    """Return a handle that holds a file; None where another process does, or removed it meanwhile."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return None
    if hold(handle) and leads_to(path, handle):
        return handle
    os.close(handle)
    return None


def leads_to(path: Path, handle: int) -> bool:
    """Whether a path still leads to the file or folder of a handle."""
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except (OSError, ValueError):  # there is no such name, or there can be none
        return False


def write_new(path: Path, write: Callable[[Path], None], *, mode: int = 0o666, replace: bool = False) -> None:
    """Let ``write`` fill a file that then appears under its name, whole and synced; raises OSError.

    FileExistsError where the name is taken, unless ``replace`` allows to take its place. Of the mode the
    umask takes its part. What killed runs left of such files in that folder is removed.
    """
    folder = path.absolute().parent
    sweep(folder)
    draft, handle = _draft(folder, path.suffix, mode)
    try:
        write(draft)
        sync_file(draft)
        if replace:
            draft.replace(path)
        else:
            os.link(draft, path)  # fails where the name is taken, unlike a move
        sync_folder(folder)
    finally:
        draft.unlink(missing_ok=True)
        os.close(handle)


def _draft(folder: Path, suffix: str, mode: int) -> tuple[Path, int]:
    """Return a new hidden file, held by this process."""
    new = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
    while True:
        path = folder / f"{PREFIX}{secrets.token_hex(8)}{suffix}"
        handle = os.open(path, new, mode)
        if hold(handle) and leads_to(path, handle):  # a sweep may come between
            return path, handle
        os.close(handle)


def sweep(folder: Path) -> None:
    """Remove the hidden files that killed runs left, with the journals of databases among them."""
    with suppress(OSError):
        for path in folder.glob(f"{PREFIX}*"):
            if path.is_symlink() or not path.is_file():
                continue
            if path.name.endswith(JOURNAL):
                if not path.with_name(path.name.removesuffix(JOURNAL)).exists():
                    path.unlink(missing_ok=True)
            elif (handle := held(path)) is not None:
                path.unlink(missing_ok=True)
                path.with_name(path.name + JOURNAL).unlink(missing_ok=True)
                os.close(handle)


def write_new_text(path: Path, text: str, *, mode: int = 0o666, replace: bool = False) -> None:
    """Write a text to a new file, whole and synced; raises OSError."""
    write_new(path, lambda draft: _write_text(draft, text), mode=mode, replace=replace)


def _write_text(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(text)


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


def require_file(path: Path, what: str = "spec") -> None:
    """Raise SpecError unless a plain file of a spec, or of what else is asked for, is at a path."""
    try:
        kind = special(path)
    except (FileNotFoundError, NotADirectoryError):
        raise SpecError(f"{path} does not exist: check its path.") from None
    except OSError as error:
        raise SpecError(f"{path} cannot be read ({error.strerror}): check its permissions.") from None
    if kind is not None:
        raise SpecError(f"{path} is {kind}: name the {what} file{' in it' if kind == 'a folder' else ''}.")


def written(out: Path, write: Callable[[], None]) -> None:
    """Write, and say in one sentence what keeps it from being written."""
    try:
        write()
    except FileExistsError:
        raise ReleaseError(f"{out} exists already: name a new file.") from None
    except OSError as error:
        raise ReleaseError(f"{out} cannot be written ({error.strerror}): name another place.") from None


def write_new_bytes(path: Path, content: bytes) -> None:
    """Write a new file that somebody named; raises ReleaseError where it cannot be written."""

    def fill(draft: Path) -> None:
        draft.write_bytes(content)

    written(path, lambda: write_new(path, fill))


PICTURES = (".png", ".svg", ".pdf")


def require_picture(path: Path) -> None:
    """Raise ReleaseError unless the name is that of a picture; called before anything is drawn."""
    if path.suffix not in PICTURES:
        raise ReleaseError(f"{path} is not a picture: end its name with {', '.join(PICTURES)}.")


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a picture, whole and synced; raises ReleaseError where it cannot be written."""
    written(path, lambda: write_new(path, lambda draft: figure.savefig(draft, dpi=160), replace=True))
