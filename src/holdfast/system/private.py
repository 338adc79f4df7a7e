"""A folder of this user alone, used through its handle.

Others may write to the folder above it: they may have put something under a name before, or move it away
while it is used. So nothing is believed of a name. What was opened is looked at (owner, kind, mode), its
files are made by its handle and never through links, and what is not ours is refused and left alone.

The sticky bit, which says nothing where only one user may enter, marks folders that were made here: another
folder of this user that somebody moves to such a name is neither emptied nor filled.
"""

import errno
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader, BufferedWriter
from pathlib import Path
from typing import Self

from holdfast.system.files import hold, leads_to, sync_handle

OPEN = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Follow no link, and wait for no pipe."""
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
"""Make a file that is not there: neither a link nor a file of somebody else is ever written to."""
MARK, GROUP_STAYS = stat.S_ISVTX, stat.S_ISGID
TRIAL = "trial"


class ForeignError(OSError):
    """What stands under a name is not a folder that was made here by this user; says what it is instead."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(errno.EPERM, f"{path} {what}")


@dataclass(frozen=True)
class Private:
    """An open folder that only this user may enter."""

    path: Path
    """The name it had when it was opened: for messages, never to write to."""
    handle: int

    @classmethod
    def opened(cls, path: Path) -> Self:
        """Open what is there; raises FileNotFoundError, and ForeignError where it is not ours."""
        try:
            handle = os.open(path, OPEN | os.O_DIRECTORY)
        except (PermissionError, NotADirectoryError) as error:
            raise ForeignError(path, "is not a folder of yours") from error
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            raise ForeignError(path, "is a link") from error
        found = cls(path, handle)
        try:
            found._require_ours()
        except BaseException:
            found.close()
            raise
        return found

    @classmethod
    def made(cls, path: Path) -> Self:
        """Open a folder, made where there is none."""
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
        return cls.opened(path)

    def close_to_others(self) -> None:
        """Let nobody else enter from now on; raises OSError where the disk knows no such thing."""
        self.chmod(0o700 | MARK)
        if self.mode & 0o077:
            raise OSError(errno.EPERM, "its disk lets everyone read every file")

    def _require_ours(self) -> None:
        """Refuse a folder of another user, and one of ours that was made for something else."""
        info = os.fstat(self.handle)
        if info.st_uid != os.geteuid():
            raise ForeignError(self.path, "belongs to another user of this machine")
        # what was just made, and not marked yet, is empty
        marked = info.st_mode & MARK and not info.st_mode & 0o022
        if not marked and self.names:
            raise ForeignError(self.path, "is a folder that this program did not make")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the folder, and of the hold on it."""
        os.close(self.handle)

    def hold(self) -> bool:
        """Take the folder for this process until it is closed; False where another has it, or it is gone."""
        return hold(self.handle) and leads_to(self.path, self.handle)

    @property
    def names(self) -> list[str]:
        """What is in the folder."""
        return sorted(os.listdir(self.handle))  # noqa: PTH208 - paths know no handles

    @property
    def mode(self) -> int:
        """Who may do what, as the bits of chmod."""
        return stat.S_IMODE(os.fstat(self.handle).st_mode)

    def chmod(self, mode: int) -> None:
        """Say who may do what; whether new files take the folder's group stays as it is."""
        os.fchmod(self.handle, mode | (self.mode & GROUP_STAYS))

    def usual_mode(self) -> int:
        """Return the mode of a new folder here: what the umask of this process leaves."""
        with suppress(FileExistsError):  # a killed run had asked too
            os.mkdir(TRIAL, 0o777, dir_fd=self.handle)
        mode = os.stat(TRIAL, dir_fd=self.handle, follow_symlinks=False).st_mode
        os.rmdir(TRIAL, dir_fd=self.handle)
        return stat.S_IMODE(mode) & 0o777

    def create(self, name: str) -> BufferedWriter:
        """Open a new file to write; its mode is what the umask leaves. FileExistsError where it is there."""
        return os.fdopen(os.open(name, NEW, 0o666, dir_fd=self.handle), "wb")

    def write(self, name: str, content: bytes) -> None:
        """Write a new file."""
        with self.create(name) as file:
            file.write(content)

    def open(self, name: str) -> BufferedReader:
        """Open a plain file to read."""
        handle = os.open(name, OPEN, dir_fd=self.handle)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise OSError(errno.EINVAL, "it is no plain file", str(self.path / name))
        return os.fdopen(handle, "rb")

    def size(self, name: str) -> int:
        """Return how many bytes a file has."""
        return os.stat(name, dir_fd=self.handle, follow_symlinks=False).st_size

    def sha256(self, name: str) -> str:
        """Return the SHA-256 of a file."""
        with self.open(name) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.handle)

    def clear(self) -> None:
        """Remove all that is in the folder, and nothing that it links to."""
        for name in self.names:
            if stat.S_ISDIR(os.stat(name, dir_fd=self.handle, follow_symlinks=False).st_mode):
                shutil.rmtree(name, dir_fd=self.handle)
            else:
                os.unlink(name, dir_fd=self.handle)

    def discard(self) -> None:
        """Remove all that is in the folder, and the folder if it is where it was; raises OSError."""
        self.clear()
        if leads_to(self.path, self.handle):
            self.path.rmdir()

    def sync(self) -> None:
        """Force the plain files of the folder to the disk, then their names."""
        for name in self.names:
            with self.open(name) as file:
                os.fsync(file.fileno())
        sync_handle(self.handle)

    @contextmanager
    def shared(self, prefix: str) -> Iterator[Path]:
        """Make a folder inside, until the end, for other processes of this user that know names alone.

        Nobody else can guess its name, so it leads here or nowhere.
        """
        with tempfile.TemporaryDirectory(prefix=prefix, dir=self.path, ignore_cleanup_errors=True) as name:
            try:
                here = os.stat(Path(name).name, dir_fd=self.handle, follow_symlinks=False)
            except FileNotFoundError:
                raise ForeignError(self.path, "is not the folder it was") from None
            if not os.path.samestat(here, os.lstat(name)):
                raise ForeignError(self.path, "is not the folder it was")
            yield Path(name).absolute()

    def named(self, name: str) -> Path:
        """Return a path for libraries that take nothing else: by the handle, where there are such paths."""
        by_handle = Path(f"/proc/self/fd/{self.handle}")
        try:
            same = os.path.samestat(by_handle.stat(), os.fstat(self.handle))
        except OSError:
            same = False
        return (by_handle if same else self.path) / name


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
