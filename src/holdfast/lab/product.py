"""Products of whole numbers that stay exact or raise."""

import numpy as np

from holdfast.lattice.arrays import IntArray


def product(coefficients: IntArray, vectors: IntArray) -> IntArray:
    """Return coefficients @ vectors, raising where 64 bits might not hold it."""
    widest = int(np.abs(vectors).sum(axis=0).max(initial=0))
    largest = int(np.abs(coefficients).max(initial=0)) * widest
    if largest >= 2**62:
        raise OverflowError("a jump is beyond the range of 64-bit integers")
    if largest < 2**53:  # floats are exact there, and fast
        return (coefficients.astype(np.float64) @ vectors.astype(np.float64)).astype(np.int64)
    return coefficients @ vectors
