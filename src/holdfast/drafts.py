"""A new folder that appears whole or not at all, under a name that was tried before anything is spent.

A draft is a hidden folder beside the name that it will take, and is called after that name: two runs that
want one name meet at the draft. Who holds its lock writes, the other is refused. The lock ends with its
process, so a draft that nobody holds was left by a run that was killed, and the next run removes it.
"""

import errno
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from holdfast.durable import PREFIX, held, leads_to, sweep, sync_folder, sync_tree
from holdfast.errors import ReleaseError

ROOM = "room"
TRIES, NAP = 20, 0.05
"""How often, and how many seconds apart, a draft is asked for that another run holds."""

Spare = Callable[[Path], str | None]
"""Says why a draft that nobody holds must stay; None where it may go."""


class Draft:
    """A folder in the making, held by this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = draft_path(folder)
        self.holds: str | None = None
        """The digest of a whole release, once the draft may be all that is left of it: then it stays."""
        self.named = False
        """Whether the folder has its name."""

    def reserve(self, size: int) -> None:
        """Take so many bytes of the disk, until `free`; raises ReleaseError where there are fewer."""
        try:
            with (self.path / ROOM).open("wb") as file:
                if size and hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, size)
            sync_tree(self.path)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise ReleaseError(
                    f"the disk of {self.folder} has less than the {_megabytes(size)} that this may take:"
                    " free some room, or name a folder on another disk."
                ) from None
            if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS):
                raise _unusable(self.folder, error) from None

    def free(self) -> None:
        """Give the reserved bytes back."""
        (self.path / ROOM).unlink(missing_ok=True)

    def seal(self) -> None:
        """Let everyone read the folder, and force its files and their names to the disk."""
        self.path.chmod(0o755)
        sync_tree(self.path)

    def publish(self) -> None:
        """Give the folder its name, for everyone and for good; raises ReleaseError."""
        try:
            self.path.rename(self.folder)
        except OSError as error:
            raise _unusable(self.folder, error) from error
        self.named = True
        try:
            sync_folder(self.folder.parent)
        except OSError as error:
            raise ReleaseError(
                f"{self.folder} is whole, but the disk does not confirm it"
                f" ({(error.strerror or 'it refuses').lower()}): verify it, and keep a copy elsewhere."
            ) from error


def draft_path(folder: Path) -> Path:
    """Return where the draft of a folder is: one name for each, and short whatever that is."""
    name = hashlib.sha256(os.fsencode(folder.name)).hexdigest()[:16]
    return folder.parent / f"{PREFIX}{name}"


def require_new(folder: str | Path) -> Path:
    """Return the absolute path of a folder that can be made; raises ReleaseError where it cannot."""
    folder = Path(folder)
    try:
        if folder.is_symlink():
            raise ReleaseError(f"{folder} is a symbolic link: name a new folder.")
        if folder.is_dir() and folder.samefile(Path.cwd()):
            raise ReleaseError(f"{folder} is the folder you are in: name a new folder, such as release.")
        if os.path.lexists(folder) and not (folder.is_dir() and not any(folder.iterdir())):
            raise ReleaseError(f"{folder} exists already: name a new folder, nothing is overwritten.")
        parent = folder.absolute().parent
        if not parent.is_dir():
            raise ReleaseError(f"the folder {parent} does not exist: create it first.")
        if not os.access(parent, os.W_OK):
            raise ReleaseError(f"the folder {parent} cannot be written to: name another.")
    except (OSError, ValueError) as error:
        raise _unusable(folder, error) from None
    return folder.absolute()


@contextmanager
def drafted(folder: str | Path, spare: Spare = lambda _: None) -> Iterator[Draft]:
    """Hold the draft of a new folder, after its name was tried; it goes at the end unless it was published.

    Raises ReleaseError where the folder cannot be made. Drafts beside it that nobody holds are removed,
    except those that ``spare`` wants to stay.
    """
    target = require_new(folder)
    draft = Draft(target)
    with _taken(draft, spare):
        _sweep(target.parent, spare)
        sweep(target.parent)
        try:
            _try_name(draft)
        except (OSError, ValueError) as error:
            raise _unusable(Path(folder), error) from None
        yield draft


@contextmanager
def _taken(draft: Draft, spare: Spare) -> Iterator[None]:
    """Make the draft, or take over what a killed run left, empty."""
    try:
        handle = _lock(draft.path)
    except OSError as error:
        raise _unusable(draft.folder, error) from None
    try:
        if why := spare(draft.path):
            draft.holds = why
            raise ReleaseError(why)
        _empty(draft.path)
        yield
    finally:
        if draft.holds is None and leads_to(draft.path, handle):
            shutil.rmtree(draft.path, ignore_errors=True)
        os.close(handle)


def _lock(path: Path) -> int:
    """Return a handle that holds the draft at a path, making it where there is none."""
    for _ in range(TRIES):
        path.mkdir(mode=0o700, exist_ok=True)
        handle = held(path)
        if handle is not None:
            return handle
        time.sleep(NAP)
    raise OSError(errno.EBUSY, "another run is writing to it")


def destroy(path: Path) -> bool:
    """Remove a draft that nobody holds; False where a living process does."""
    if not (path.name.startswith(PREFIX) and path.is_dir()):
        return True
    handle = held(path)
    if handle is None:
        return not path.exists()
    try:
        shutil.rmtree(path)
    finally:
        os.close(handle)
    return True


def _sweep(parent: Path, spare: Spare) -> None:
    """Remove the drafts that killed runs left beside a new folder."""
    with suppress(OSError):
        for path in parent.glob(f"{PREFIX}*"):
            if path.is_dir() and not path.is_symlink() and spare(path) is None:
                destroy(path)


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _try_name(draft: Draft) -> None:
    """Give the name to an empty folder for a moment: what the file system refuses, it refuses here."""
    there = draft.folder.is_dir()
    trial = draft.path / "trial"
    trial.mkdir()
    if there:
        shutil.copymode(draft.folder, trial)
    trial.rename(draft.folder)
    if not there:
        draft.folder.rmdir()


def _unusable(folder: Path, error: OSError | ValueError) -> ReleaseError:
    reason = getattr(error, "strerror", None) or "such a name cannot be"
    return ReleaseError(f"{folder} cannot be made ({reason.lower()}): name a new folder.")


def _megabytes(size: int) -> str:
    return f"{max(1, round(size / 1e6)):,} MB"
