"""The sum of S independent Tulap variables, by convolution.

Cut the line into cells of width 1 / G that begin at half-integers. Inside a cell the density of Tulap noise
is constant, but for the two cells that the ends of its support cut when delta > 0. So N = (I + V) / G - 1/2
with the index I of the cell and V uniform on (0, 1), independent, and

    G (sum N_s + S/2) = sum I_s + sum V_s.

The first sum is a convolution; the second has the Irwin-Hall law, whose density M_S is given by

    M_n(x) = (x M_(n-1)(x) + (n - x) M_(n-1)(x - 1)) / (n - 1),

and its distribution function at x by sum over i >= 0 of M_(S+1)(x - i): all terms are positive, so nothing
cancels. With delta = 0 this is exact for G = 1. Else N is replaced by a law that differs from it in two cells
only: the distribution function of the sum is off by at most S times the mass of these cells.
"""

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from holdfast.lattice.arrays import FloatArray
from holdfast.mechanisms.canonical.tulap import Tulap
from holdfast.system.errors import SamplingError

FINE = 64
MOST_CELLS = 1 << 20
TAIL = 1e-20
AT_ONCE = 1 << 14
ROUNDING = 1e-12
"""Covers the rounding of the transforms, which is about 1e-15."""


@dataclass(frozen=True, eq=False)
class TulapSum:
    """The law of a sum of ``terms`` Tulap variables; ``error`` bounds that of its distribution function."""

    terms: int
    fine: int
    first: int
    masses: FloatArray
    error: float

    @classmethod
    def of(cls, noise: Tulap, terms: int) -> "TulapSum":
        """Convolve the law with itself, around a circle so long that what meets itself weighs nothing."""
        reach = int(-float(noise.quantile(np.array([TAIL]))[0])) + 1
        if reach > MOST_CELLS:
            raise SamplingError(
                f"noise with epsilon {float(noise.epsilon):.1e} is too wide to be summed over strata: give a"
                " larger epsilon."
            )
        fine = 1 if noise.delta == 0 else max(1, min(FINE, MOST_CELLS // (2 * reach)))
        index = np.arange(-reach * fine, (reach + 1) * fine)
        cell = np.diff(noise.cdf(np.append(index, index[-1] + 1) / fine - 0.5))
        half = cell.size // 2
        cell[-half:] = cell[:half][::-1]  # the left half is exact near zero
        length = next_fast_len(min(terms, int(1 + 3 * sqrt(terms))) * cell.size, real=True)
        circle = np.zeros(length)
        circle[index % length] = cell
        total = irfft(rfft(circle) ** terms, n=length)
        first = terms * (fine - 1) // 2 - length // 2
        masses = np.maximum(0.0, total[(first + np.arange(length)) % length])
        cut = 0.0 if noise.delta == 0 else 2 * terms * float(cell[cell > 0][0])
        return cls(terms, fine, first, masses, cut + ROUNDING)

    def cdf(self, x: FloatArray) -> FloatArray:
        """Return P(sum N_s <= x)."""
        y = self.fine * (np.asarray(x, dtype=np.float64) + self.terms / 2)
        flat = y.ravel()
        blocks = [self._at(flat[i : i + AT_ONCE]) for i in range(0, flat.size, AT_ONCE)]
        return np.concatenate(blocks).reshape(y.shape) if blocks else y

    def _at(self, y: FloatArray) -> FloatArray:
        """Return P(sum I + sum V <= y)."""
        whole = np.floor(y)
        place = whole.astype(np.int64) - self.first
        size = self.masses.size
        found = self._cumulated[np.clip(place - self.terms + 1, 0, size)]
        share = np.zeros(y.shape)
        for d, density in enumerate(_irwin_hall(y - whole, self.terms + 1)[:-1]):
            share += density  # P(sum V <= y - whole + d)
            inside = (place - d >= 0) & (place - d < size)
            found += np.where(inside, self.masses[np.clip(place - d, 0, size - 1)], 0.0) * share
        return np.minimum(found, 1.0)

    @cached_property
    def _cumulated(self) -> FloatArray:
        return np.concatenate([[0.0], np.cumsum(self.masses)])


def _irwin_hall(x: FloatArray, terms: int) -> list[FloatArray]:
    """Return the density of a sum of uniform variables at x, x + 1, ..., for 0 <= x < 1."""
    density = [np.ones(x.shape)]
    for n in range(2, terms + 1):
        padded = [*density, np.zeros(x.shape)]
        density = [
            ((x + i) * padded[i] + ((n - x - i) * padded[i - 1] if i else 0.0)) / (n - 1) for i in range(n)
        ]
    return density
