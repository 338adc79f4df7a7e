"""The chosen folder: files in it by plain names, and no way out of it.

A name that a browser sends is a path of plain names below the folder. No step of it may be a link, so that
what is written lands in the folder, whatever stands there. Files of a browser are written to a hidden file of
the folder and get their name when they are whole.
"""

import errno
import os
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from holdfast.data.files import KINDS, TEXTS, kind_of
from holdfast.system.errors import ReleaseError, SpecError
from holdfast.system.files import PREFIX, hold, plain_name, sync_file, sync_folder, write_new_text
from holdfast.system.text import in_quotes

MOST_LISTED = 200
"""Files of a kind that a page offers."""
DEEPEST = 2
"""Folders below the chosen one that are looked into."""
MOST_BYTES = 255
"""Bytes of a name of a file, as systems have it."""
CERTIFICATE = "certificate.json"
LEDGER = (".ledger", ".sqlite")


@dataclass(frozen=True)
class Place:
    """A folder, by its real path."""

    folder: Path

    @classmethod
    def of(cls, folder: Path) -> "Place":
        """Return the place of a folder that is there."""
        try:
            real = folder.resolve(strict=True)
        except OSError as error:
            raise SpecError(f"{folder} cannot be used ({error.strerror}): name a folder.") from None
        if not real.is_dir():
            raise SpecError(f"{folder} is no folder: name one, or a spec or a release in it.")
        return cls(real)

    def inside(self, name: str) -> Path:
        """Return the path of a name below the folder; SpecError where it leads anywhere else."""
        steps = name.split("/")
        lengths = [len(step.encode(errors="surrogatepass")) for step in steps]
        if not all(map(plain_name, steps)) or len(name) > 1_000 or max(lengths) > MOST_BYTES:
            raise SpecError(f"{in_quotes(name)} is no name of a file in the folder: choose one that is.")
        path = self.folder
        for step in steps:
            path /= step
            if path.is_symlink():
                raise SpecError(f"{in_quotes(name)} is or has a link, and may lead anywhere: copy it here.")
        return path

    def name(self, path: Path) -> str:
        """Return the name of a path below the folder."""
        return path.relative_to(self.folder).as_posix()

    def free(self, name: str) -> str:
        """Return a name that nothing has: this one, or with a number before its ending."""
        stem, dot, ending = name.partition(".")
        number, found = 1, name
        while os.path.lexists(self.inside(found)):
            number += 1
            found = f"{stem}-{number}{dot}{ending}"
        return found

    def write(self, name: str, text: str, *, replace: bool = False) -> None:
        """Write a text, whole and synced."""
        try:
            write_new_text(self.inside(name), text, replace=replace)
        except FileExistsError:
            raise SpecError(f"{in_quotes(name)} exists already: choose another name.") from None
        except OSError as error:
            raise ReleaseError(f"{in_quotes(name)} cannot be written ({error.strerror}).") from None

    @property
    def data(self) -> list[str]:
        """The files that may hold data."""
        return self._listed(_is_read)

    @property
    def specs(self) -> list[str]:
        """The TOML files."""
        return self._listed(lambda path: path.suffix == ".toml")

    @property
    def ledgers(self) -> list[str]:
        """The files that are called as ledgers are."""
        return self._listed(lambda path: path.suffix in LEDGER)

    @property
    def keys(self) -> list[str]:
        """The files that are called as public keys are."""
        return self._listed(lambda path: path.suffix == ".pub")

    @property
    def releases(self) -> list[str]:
        """The folders with a certificate, the newest first."""
        found = [path for path in self._walk() if path.name == CERTIFICATE and path.parent != self.folder]
        found.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        return [self.name(path.parent) for path in found[:MOST_LISTED]]

    def _listed(self, wanted: Callable[[Path], bool]) -> list[str]:
        folders = {path.parent for path in self._walk() if path.name == CERTIFICATE}
        found = (path for path in self._walk() if path.parent not in folders and wanted(path))
        return sorted(self.name(path) for path in found)[:MOST_LISTED]

    def _walk(self) -> Iterator[Path]:
        """Yield the plain files that are not hidden, links left out."""
        for top, folders, files in os.walk(self.folder):
            depth = len(Path(top).relative_to(self.folder).parts)
            folders[:] = [name for name in folders if depth < DEEPEST and not name.startswith((".", "_"))]
            for name in files:
                path = Path(top, name)
                if not name.startswith(".") and plain_name(name) and path.is_file() and not path.is_symlink():
                    yield path


def _is_read(path: Path) -> bool:
    """Whether a file is of a kind that is read, packed or not: texts alone are read packed."""
    kind, packed = kind_of(path)
    return kind in (TEXTS if packed else KINDS)


@dataclass(eq=False)
class Incoming:
    """A file that a browser sends, in the making: nobody sees it until it is whole."""

    place: Place
    name: str

    def __post_init__(self) -> None:
        self.draft = self.place.inside(f"{PREFIX}{secrets.token_hex(8)}")
        new = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
        handle = os.open(self.draft, new, 0o600)
        hold(handle)  # what nobody holds was left by a run that was killed, and is swept
        self._file = os.fdopen(handle, "wb")

    def write(self, part: bytes) -> None:
        """Take a part of it."""
        try:
            self._file.write(part)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            why = "the disk is full" if full else str(error.strerror)
            raise ReleaseError(f"{in_quotes(self.name)} cannot be written: {why}.") from None

    def done(self) -> str:
        """Give it its name, or that with a number where the name is taken; return the name."""
        self._file.close()
        sync_file(self.draft)
        while True:
            name = self.place.free(self.name)
            try:
                os.link(self.draft, self.place.inside(name))  # fails where the name is taken, unlike a move
            except FileExistsError:
                continue
            self.draft.unlink()
            sync_folder(self.place.folder)
            return name

    def drop(self) -> None:
        """Forget it."""
        self._file.close()
        self.draft.unlink(missing_ok=True)
