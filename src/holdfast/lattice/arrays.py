"""The array types of integers, floats, truth values and words of 64 bits."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.system.paged import copied

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
WordArray = NDArray[np.uint64]
MANY = 1 << 20
"""Whole numbers from which on it is worth while to keep them in less than 64 bits."""


def narrow(values: IntArray) -> IntArray:
    """Return many whole numbers in the fewest bits that hold them, to be kept and not to be worked with.

    >>> narrow(np.arange(1 << 20) % 1000).dtype, narrow(np.arange(5)).dtype
    (dtype('int16'), dtype('int64'))
    """
    if values.size < MANY:
        return values
    low, high = int(values.min()), int(values.max())
    kinds: tuple[type[np.signedinteger[Any]], ...] = (np.int16, np.int32, np.int64)
    held = next(kind for kind in kinds if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)
    return copied(values, held)


def wide(values: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers that were kept so in 64 bits; others as they are."""
    return values.astype(np.int64) if values.dtype.kind == "i" and values.dtype.itemsize < 8 else values


def run_sums(counts: IntArray, times: IntArray) -> IntArray:
    """Return the sums of lines of equal length that stand together, so many in each run.

    >>> run_sums(np.array([1, 2, 10, 20, 5, 6]), np.array([2, 1])).tolist()
    [11, 22, 5, 6]
    """
    starts = np.cumsum(times) - times
    return np.add.reduceat(counts.reshape(int(times.sum()), -1), starts, axis=0).ravel()
