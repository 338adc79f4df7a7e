"""Large arrays that stand in a file, and are held only where they are looked at.

Such a file has no name: it vanishes with the process, however that ends, and no path leads to it. The system
reads a page of it where an array is looked at. Left alone it would keep that page for as long as it likes, so
a watch lets go of all pages several times a second: what is looked at again comes back from the file, or from
what the system still has of it. So an array of any size takes no more memory than is looked at in a moment.
Where no file can have it, as there is no room for one, it is held like any other.
"""

import mmap
import os
import tempfile
from contextlib import suppress
from math import prod
from threading import Lock, Thread
from time import sleep
from typing import Any, TypeVar
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

NumberT = TypeVar("NumberT", bound=np.generic)

LARGE = 1 << 26
"""Bytes of an array from which on it stands in a file: less is no matter beside what a process holds."""
ON_DISK = "/var/tmp"  # noqa: S108 - for files without a name
ABLE = hasattr(mmap, "MADV_DONTNEED") and hasattr(os, "posix_fallocate")
"""Whether this system takes room beforehand, and lets go of pages when it is told to."""
MOMENT = 0.1
"""Seconds after which pages are let go of."""


def paged(shape: int | tuple[int, ...], dtype: type[NumberT]) -> NDArray[NumberT]:
    """Return an array of zeros, in a file if it is large."""
    size = prod(shape if isinstance(shape, tuple) else (shape,)) * np.dtype(dtype).itemsize
    if size >= LARGE and ABLE:
        with suppress(OSError), tempfile.TemporaryFile(dir=_place()) as file:
            os.posix_fallocate(file.fileno(), 0, size)  # a file with gaps ends the process on a full disk
            pages = mmap.mmap(file.fileno(), size)
            WATCH.see_to(pages)
            return np.ndarray(shape, dtype, buffer=pages)
    return np.zeros(shape, dtype)


def _place() -> str | None:
    """Return where large files belong: the usual place for others is memory on some systems."""
    chosen = any(name in os.environ for name in ("TMPDIR", "TEMP", "TMP"))
    return None if chosen or not os.access(ON_DISK, os.W_OK) else ON_DISK


def copied(values: NDArray[Any], dtype: type[NumberT]) -> NDArray[NumberT]:
    """Return the numbers of an array once more, in another type: in a file if they are many."""
    found = paged(values.shape, dtype)
    lines = max(1, LARGE // max(1, values[:1].nbytes))
    for begin in range(0, len(values), lines):
        found[begin : begin + lines] = values[begin : begin + lines]
    return found


def is_paged(values: NDArray[NumberT]) -> bool:
    """Whether an array, or what it is a part of, stands in a file."""
    part: object = values
    while isinstance(part, np.ndarray):
        part = part.base
    return isinstance(part, mmap.mmap) and part in WATCH


class Watch:
    """Lets go of the pages of all files there are; it ends with the last of them."""

    def __init__(self) -> None:
        self._files: WeakSet[mmap.mmap] = WeakSet()
        self._lock, self._watching = Lock(), False

    def __contains__(self, pages: mmap.mmap) -> bool:
        return pages in self._files

    def see_to(self, pages: mmap.mmap) -> None:
        """Watch one file more."""
        with self._lock:
            self._files.add(pages)
            if not self._watching:
                self._watching = True
                Thread(target=self._watch, daemon=True).start()

    def let_go(self) -> bool:
        """Hold nothing but what is looked at from now on; return whether there are any files."""
        with self._lock:
            for pages in self._files:
                pages.madvise(mmap.MADV_DONTNEED)  # what was written to a page is in the file
            self._watching = len(self._files) > 0
            return self._watching

    def _watch(self) -> None:
        while self.let_go():
            sleep(MOMENT)


WATCH = Watch()
