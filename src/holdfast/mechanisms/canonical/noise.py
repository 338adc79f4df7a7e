"""What every canonical noise distribution can do.

**The grid**: counts with real noise are released on one, so that rounding gives nothing away. The line is
cut into cells [j, j + 1) / 2^32, and a real y is replaced by the middle of its cell: g(y) = (floor(2^32 y)
+ 1/2) / 2^32. As a count x is whole,

    g(x + N) = x + g(N) = (2^32 x + j + 1/2) / 2^32,    j = floor(2^32 N).

So drawing j exactly, adding in integers and turning the sum into a float at the end is post-processing of
x + N [semi-dp, Proposition 23]: whatever is promised of x + N holds of the number released. Rounding N
first and adding floats is not: the last bits of such a sum can tell x [mironov2012]. The statistic moves
by less than 2^-32, and a p-value by less than 2^-32 times the largest density of the noise.
"""

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.privacy.evidence import Evidence
from holdfast.sampling.entropy import Entropy
from holdfast.system.errors import SamplingError

FARTHEST = 2.0**50
"""Stands for all that is farther: no law here has mass there."""


class Noise(Protocol):
    """A continuous symmetric law with a distribution function: all that a p-value needs."""

    def cdf(self, x: FloatArray) -> FloatArray:
        """Return P(N <= x)."""
        ...


class CanonicalNoise(ABC):
    """A canonical noise distribution [semi-dp, Definition 35], drawn exactly on the grid."""

    @abstractmethod
    def cdf(self, x: FloatArray) -> FloatArray:
        """Return F(x) = P(N <= x)."""

    @abstractmethod
    def quantile(self, u: FloatArray) -> FloatArray:
        """Return the least x with F(x) >= u."""

    @abstractmethod
    def add_to(self, counts: IntArray, entropy: Entropy) -> FloatArray:
        """Return each count plus an independent draw."""

    def require_drawable(self) -> None:  # noqa: B027
        """Raise where no draw is within reach; most have no limit."""

    @property
    @abstractmethod
    def evidence(self) -> tuple[Evidence, ...]:
        """Why a count with this noise keeps the tradeoff function, as long as it moves by at most 1."""

    def sample(self, entropy: Entropy, size: int) -> FloatArray:
        """Return ``size`` independent draws."""
        return self.add_to(np.zeros(size, dtype=np.int64), entropy)


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
