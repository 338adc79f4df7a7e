"""Exact laws of l1 noise on n cells whose total is kept, in closed form.

The positive entries of z sum to m and so do the negative ones, ||z||_1 = 2 m. Choose j cells for the positive
entries, cut m into j positive parts, and cut m into n - j parts that may be zero:

    #{z : sum z = 0, ||z||_1 = 2 m} = sum over j of C(n, j) C(m - 1, j - 1) C(n - j - 1 + m, m),   m > 0.

The law of one cell is that of the package [holdfast, sampling/lattice/linear_law.py].
"""

from fractions import Fraction
from itertools import count
from math import comb

import numpy as np
from numpy.typing import NDArray

from holdfast.sampling.lattice.linear_law import SumLaw

Floats = NDArray[np.float64]
NEGLIGIBLE = 1e-16


def norm_law(cells: int, epsilon: Fraction) -> Floats:
    """Return P(||z||_1 = 2 m) for m = 0, 1, 2, ..., until the rest is negligible."""
    weights = [1.0]
    for m in count(1):
        weights.append(_points(cells, m) * float(np.exp(-2 * m * float(epsilon))))
        if weights[-1] < NEGLIGIBLE * max(weights):
            break
    found = np.array(weights)
    return np.asarray(found / found.sum())


def cell_law(cells: int, epsilon: Fraction, most: int) -> Floats:
    """Return P(z_1 = s) for s = 0, ..., most."""
    law = SumLaw(epsilon, 1, cells - 1)
    return np.array([float(law.probability(s)) for s in range(most + 1)])


def _points(cells: int, m: int) -> int:
    return sum(
        comb(cells, j) * comb(m - 1, j - 1) * comb(cells - j - 1 + m, m) for j in range(1, min(cells, m + 1))
    )
