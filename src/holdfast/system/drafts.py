"""A new folder that appears whole or not at all, under a name that was tried before anything is spent.

A draft is a hidden folder beside the name that it will take, and is called after that name: two runs that
want one name meet at the draft. Who holds its lock writes, the other is refused. The lock ends with its
process, so a draft that nobody holds was left by a run that was killed, and the next run removes it.
"""

import errno
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from holdfast.system.errors import ReleaseError
from holdfast.system.files import PREFIX, leads_to, sweep, sync_folder, sync_handle
from holdfast.system.private import MARK, TRIAL, ForeignError, Private

ROOM = "room"
TRIES, NAP = 20, 0.05
"""How often, and how many seconds apart, a draft is asked for that another run holds."""

KeepReason = Callable[[Path], str | None]
"""Says why a draft that nobody holds must stay; None where it may go."""


class Draft:
    """A folder in the making, held by this process. Until it is published nobody else may look inside."""

    def __init__(self, folder: Path, inside: Private) -> None:
        self.folder = folder
        self.inside = inside
        """Where files are written."""
        self.mode = inside.usual_mode()
        """The mode of the folder once it is published."""
        self.holds: str | None = None
        """The digest of a whole release, once the draft may be all that is left of it: then it stays."""
        self.named = False
        """Whether the folder has its name."""

    @property
    def path(self) -> Path:
        """The hidden name of the draft, to speak of it."""
        return self.inside.path

    def reserve(self, size: int) -> None:
        """Take so many bytes of the disk, until `free`; raises ReleaseError where there are fewer."""
        try:
            with self.inside.create(ROOM) as file:
                if size and hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, size)
            self.inside.sync()
        except OSError as error:
            if error.errno == errno.ENOSPC:
                megabytes = max(1, round(size / 1e6))
                raise ReleaseError(
                    f"the disk of {self.folder} has less than the {megabytes:,} MB that this may take:"
                    " free some room, or name a folder on another disk."
                ) from None
            if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS):
                raise _unusable(self.folder, error) from None

    def free(self) -> None:
        """Give the reserved bytes back."""
        self.inside.remove(ROOM)

    def seal(self) -> None:
        """Force the files and their names to the disk; still nobody else may see them."""
        self.inside.sync()

    def publish(self) -> None:
        """Give the folder its name, for everyone and for good; raises ReleaseError."""
        try:
            publish(self.inside, self.folder, self.mode)
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


def publish(inside: Private, folder: Path, mode: int) -> None:
    """Let others read a folder, and give it its name; raises OSError.

    An empty folder that had the name is replaced, and who could not read that cannot read this.
    """
    with suppress(FileNotFoundError):
        mode &= folder.lstat().st_mode
    inside.chmod(mode & ~0o022 | MARK)  # nobody else may write to it under its hidden name
    inside.path.rename(folder)
    if not leads_to(folder, inside.handle):
        raise ForeignError(folder, "is not what was written, as others change names beside it")
    inside.chmod(mode)
    sync_handle(inside.handle)


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
        if folder.is_dir() and folder.stat().st_uid != os.geteuid():
            raise ReleaseError(f"{folder} belongs to another user of this machine: name a new folder.")
        parent = folder.absolute().parent
        if not parent.is_dir():
            raise ReleaseError(f"the folder {parent} does not exist: create it first.")
        if not os.access(parent, os.W_OK):
            raise ReleaseError(f"the folder {parent} cannot be written to: name another.")
    except (OSError, ValueError) as error:
        raise _unusable(folder, error) from None
    return folder.absolute()


@contextmanager
def drafted(folder: str | Path, spare: KeepReason = lambda _: None) -> Iterator[Draft]:
    """Hold the draft of a new folder, after its name was tried; it goes at the end unless it was published.

    Raises ReleaseError where the folder cannot be made. Drafts beside it that nobody holds are removed,
    except those that ``spare`` wants to stay.
    """
    target = require_new(folder)
    with _taken(target, spare) as draft:
        _sweep(target.parent, spare)
        sweep(target.parent)
        try:
            _try_name(draft)
        except (OSError, ValueError) as error:
            raise _unusable(Path(folder), error) from None
        yield draft


@contextmanager
def _taken(folder: Path, spare: KeepReason) -> Iterator[Draft]:
    """Make the draft, or take over what a killed run left, empty."""
    with _held(folder) as inside:
        if why := spare(inside.path):
            raise ReleaseError(why)
        draft = None
        try:
            draft = _emptied(folder, inside)
            yield draft
        finally:
            if (draft is None or draft.holds is None) and not leads_to(folder, inside.handle):
                with suppress(OSError):
                    inside.discard()


def _emptied(folder: Path, inside: Private) -> Draft:
    try:
        inside.close_to_others()
        inside.clear()
        return Draft(folder, inside)
    except OSError as error:
        raise _unusable(folder, error) from None


def _held(folder: Path) -> Private:
    """Return the draft of a folder, made where there is none, in the hands of this process."""
    error: OSError | ValueError = OSError(errno.EBUSY, "another run is writing to it")
    for _ in range(TRIES):
        try:
            inside = Private.made(draft_path(folder))
        except (OSError, ValueError) as found:
            error = found
            if isinstance(found, FileNotFoundError):  # another run removed it meanwhile
                continue
            break
        if inside.hold():
            return inside
        inside.close()
        time.sleep(NAP)
    raise _unusable(folder, error) from None


def destroy(path: Path) -> bool:
    """Remove a draft of ours that nobody holds; False where a living process does. Raises OSError."""
    if not path.name.startswith(PREFIX):
        return True
    try:
        inside = Private.opened(path)
    except (FileNotFoundError, ForeignError):
        return True
    with inside:
        if not inside.hold():
            return not path.exists()
        inside.discard()
    return True


def _sweep(parent: Path, spare: KeepReason) -> None:
    """Remove the drafts that killed runs left beside a new folder; what others put there stays."""
    for path in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if path.is_dir() and not path.is_symlink() and spare(path) is None:
                destroy(path)


def _try_name(draft: Draft) -> None:
    """Give the name to an empty folder for a moment: what the file system refuses, it refuses here."""
    handle = draft.inside.handle
    os.mkdir(TRIAL, dir_fd=handle)
    there = draft.folder.is_dir()
    if there:
        os.chmod(TRIAL, draft.folder.stat().st_mode & 0o777, dir_fd=handle)
    os.rename(TRIAL, draft.folder, src_dir_fd=handle)
    if not there:
        draft.folder.rmdir()


def _unusable(folder: Path, error: OSError | ValueError) -> ReleaseError:
    if isinstance(error, ForeignError):
        return ReleaseError(
            f"{folder} cannot be made, as {error.strerror}: name a folder where others cannot write."
        )
    reason = getattr(error, "strerror", None) or "such a name cannot be"
    return ReleaseError(f"{folder} cannot be made ({reason.lower()}): name a new folder.")
