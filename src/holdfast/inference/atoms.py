"""The law of a sum of few discrete noises, atom by atom.

The values of a sum a_1 z_1 + ... + a_n z_n are listed with their probabilities, one summand after the other.
What has a probability below `NOTHING` is left out and counts as not covered: a coverage that is told is
never too large.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from holdfast.lattice.arrays import FloatArray

NOTHING = 1e-13
MOST = 1 << 19
"""Atoms that are listed at most."""
ROUNDING = 1e-12
"""How far sums of probabilities may be off."""


def half_width(sums: Sequence[tuple[float, FloatArray]], level: Fraction) -> float | None:
    """Return the least c with P(|E| <= c) >= level for E = sum of a z; None where there are too many atoms.

    Each z has probabilities on -n, ..., n, the same for z and -z.

    >>> half_width([(1.0, np.array([0.25, 0.5, 0.25]))] * 2, Fraction(6, 7))
    1.0
    >>> half_width([(1.0, np.array([0.25, 0.5, 0.25]))] * 2, Fraction(9, 10))
    2.0
    """
    values, chances = np.zeros(1), np.ones(1)
    for size, law in sorted(sums, key=lambda each: -each[0]):
        if values.size * law.size > MOST:
            return None
        reach = len(law) // 2
        values = (values[:, None] + size * np.arange(-reach, reach + 1)).ravel()
        chances = (chances[:, None] * law).ravel()
        some = chances >= NOTHING
        values, chances = values[some], chances[some]
    sizes = np.abs(values)
    order = np.argsort(sizes, kind="stable")
    reached = np.cumsum(chances[order])
    place = int(np.searchsorted(reached, float(level) + ROUNDING))
    return float(sizes[order[place]]) if place < sizes.size else None
