"""Counts with real noise, released on a grid so that rounding gives nothing away.

The line is cut into cells [j, j + 1) / 2^32, and a real y is replaced by the middle of its cell: g(y) =
(floor(2^32 y) + 1/2) / 2^32. As a count x is whole,

    g(x + N) = x + g(N) = (2^32 x + j + 1/2) / 2^32,    j = floor(2^32 N).

So drawing j exactly, adding in integers and turning the sum into a float at the end is post-processing of
x + N [semi-dp, Proposition 23]: whatever is promised of x + N holds of the number released. Rounding N
first and adding floats is not: the last bits of such a sum can tell x [mironov2012]. The statistic moves
by less than 2^-32, and a p-value by less than 2^-32 times the largest density of the noise.
"""

import numpy as np

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.system.errors import SamplingError

GRID_BITS = 32
LARGEST = 1 << 30
"""Counts and noise stay below it, so that their cells add up in 64 bits."""


def place(counts: IntArray, cells: IntArray) -> FloatArray:
    """Return the middles of the cells of counts + noise, from the counts and the cells of the noise."""
    if counts.size and int(np.abs(counts).max()) >= LARGEST:
        raise SamplingError("a count of 2^30 or more leaves no room for noise in 64-bit integers.")
    return np.asarray(((counts << GRID_BITS) + cells + 0.5) * 2.0**-GRID_BITS, dtype=np.float64)


def require_room(whole: IntArray, limit: int) -> None:
    """Raise where noise has left the grid, which has a probability below exp(-1000) for every law here."""
    if whole.size and int(np.abs(whole).max()) >= limit:
        raise SamplingError("a draw left the range of 64-bit integers: draw again.")
