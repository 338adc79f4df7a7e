"""A check of draws that needs no normaliser: E[q(z + u) / q(z)] = 1 for every u of the lattice.

Both sides are sums of q over the whole lattice. A law that is too narrow or too wide has another mean.
"""

import numpy as np
from numpy.typing import NDArray

from holdfast.lattice.arrays import IntArray
from studies.integer_subspace.designs import Design


def ratios(design: Design, noise: IntArray, move: IntArray) -> NDArray[np.float64]:
    """Return q(z + u) / q(z) of each draw."""
    after, before = (design.norms(z).astype(np.float64) for z in (noise + move, noise))
    if design.norm == "l2":
        after, before = np.sqrt(after), np.sqrt(before)
    return np.exp(-float(design.epsilon) * (after - before))
