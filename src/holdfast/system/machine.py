"""What this machine has: memory that is free, memory that was used, and how its end is told."""

import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from holdfast.system.errors import SpecError

BYTES_PER_CELL = 250
"""What the plainest release holds for each cell, at its peak."""
IN_PARTS = 8
"""The same of one that is made part by part, beside its file (`benchmarks/nation.py`)."""
NARROW = 4 << 30
"""Bytes of address space below which threads are few."""
NO_MEMORY = (
    "cannot allocate memory",
    "failed to map segment",
    "can't start new thread",
    "could not spawn threads",
    "memory allocation",
    "bad_alloc",
    "resource temporarily unavailable",
    "error return without exception set",
)
"""What the loader, threads, Rust and C++ say where memory is short, and Python of those that say nothing."""


def free_memory() -> int | None:
    """Return the bytes that can be had, None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, StopIteration, IndexError):
        return None


def peak_memory() -> int:
    """Return the most bytes this process has held so far, 0 where the system does not say."""
    try:
        import resource  # noqa: PLC0415 - not on every system
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def with_few_threads() -> None:
    """Let libraries that end the process where they find no memory for their threads start with one alone.

    OpenBLAS takes memory for each thread as it is loaded, and ends the process with code 1 where there is
    none; with one thread the end of memory comes to Python, which says so. That is done where the address
    space of this process is limited, before anything is loaded, and never against what somebody has set.
    """
    try:
        import resource  # noqa: PLC0415 - not on every system
    except ImportError:
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < NARROW:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def require_room(cells: int, each: int = BYTES_PER_CELL) -> None:
    """Raise SpecError where a table is too large for this machine, before it is tried."""
    needed, free = cells * each, free_memory()
    if free is not None and needed > free:
        raise SpecError(
            f"a table of {cells:,} cells takes at least {needed / 1e9:.1f} GB, and this machine has"
            f" {free / 1e9:.1f} GB free: name fewer columns, merge levels, or take a larger machine."
        )


def short_of_memory(error: BaseException) -> bool:
    """Whether memory has run out, in the words of Python, the system, or a library that cannot load or start.

    Libraries say so in words of their own; none of these has another cause that a user meets.
    """
    return any(
        _says_no_memory(found) or any(sign in str(found).lower() for sign in NO_MEMORY)
        for found in _chain(error)
    )


def require_memory(error: BaseException) -> None:
    """Raise MemoryError where an error is, by its kind, that memory has run out: a file could hold the words.

    Whoever finds a file damaged calls this first, as a machine that is too small says nothing of the file.
    """
    if any(_says_no_memory(found) for found in _chain(error)):
        raise MemoryError("there is not enough memory") from error


def _says_no_memory(error: BaseException) -> bool:
    if isinstance(error, NameError):  # polars goes on without its compiled part where that cannot be loaded
        return str(error.name).startswith("Py")
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, and those that it came from."""
    found: BaseException | None = error
    while found is not None:
        yield found
        found = found.__cause__ or found.__context__
