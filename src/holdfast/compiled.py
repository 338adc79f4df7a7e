"""Loops that vectors cannot do, compiled; what was compiled is kept where a folder can be written."""

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any]) -> Any:
    """Return a function of arrays and numbers, compiled when it is first called."""
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:  # there is no folder to keep it in
        return njit(nogil=True)(function)
