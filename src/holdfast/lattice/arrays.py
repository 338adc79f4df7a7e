"""The array types of integers, floats, truth values and words of 64 bits."""

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
WordArray = NDArray[np.uint64]


def run_sums(counts: IntArray, times: IntArray) -> IntArray:
    """Return the sums of lines of equal length that stand together, so many in each run.

    >>> run_sums(np.array([1, 2, 10, 20, 5, 6]), np.array([2, 1])).tolist()
    [11, 22, 5, 6]
    """
    starts = np.cumsum(times) - times
    return np.add.reduceat(counts.reshape(int(times.sum()), -1), starts, axis=0).ravel()
