"""What this machine has: memory that is free, and memory that was used."""

import sys
from pathlib import Path

from holdfast.errors import SpecError

BYTES_PER_CELL = 250
"""What the plainest release holds for each cell, at its peak."""


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


def require_room(cells: int) -> None:
    """Raise SpecError where a table is too large for this machine, before it is tried."""
    needed, free = cells * BYTES_PER_CELL, free_memory()
    if free is not None and needed > free:
        raise SpecError(
            f"a table of {cells:,} cells takes at least {needed / 1e9:.1f} GB, and this machine has"
            f" {free / 1e9:.1f} GB free: name fewer columns, merge levels, or take a larger machine."
        )
