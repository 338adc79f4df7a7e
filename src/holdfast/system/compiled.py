"""Loops that vectors cannot do, compiled; what was compiled is kept where nobody else can put anything.

What numba keeps is code that it runs when it finds it again. It looks in a folder of NUMBA_CACHE_DIR, beside
the package, or in one of the user's. Where another user owns or may write to such a folder, or one above it,
they could put other code there: then nothing is kept and nothing read, and each process compiles for itself.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit

from holdfast.system.private import only_ours


def compiled(function: Callable[..., Any]) -> Any:
    """Return a function of arrays and numbers, compiled when it is first called."""
    try:
        kept = njit(cache=True, nogil=True)(function)
    except RuntimeError:  # there is no folder to keep it in
        return njit(nogil=True)(function)
    place = kept.stats.cache_path
    return kept if place is not None and only_ours(Path(place)) else njit(nogil=True)(function)
