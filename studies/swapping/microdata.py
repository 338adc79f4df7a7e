"""Records that are swapped: in strata, with a swapped code and held ones; and their two-way tables.

A record keeps its stratum and all that is held. So a table of the swapped variable, or of areas made of its
levels, by something held is what a swap changes. What it comes to on average is known exactly. Records of a
stratum are exchangeable in the draw: each of n moves with the probability

    m = p (1 - (1-p)^(n-1)) / (1 - n p (1-p)^(n-1)),

the chance to be selected given that not exactly one is, and then takes the value of each other one equally
likely [swapping-slides]. Summed over a stratum, with n_ab records of area a and held level b,

    E n'_ab = (1 - m) n_ab + m (n_a n_b - n_ab) / (n - 1).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.swapping.permute import by_stratum, permute
from holdfast.sampling.entropy import Entropy

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Microdata:
    """Records, stratum by stratum: the size of each stratum, and codes of all records from 0."""

    sizes: IntArray
    swap: IntArray
    held: Mapping[str, IntArray]

    @classmethod
    def of(cls, strata: IntArray, swap: IntArray, held: Mapping[str, IntArray]) -> "Microdata":
        """Put records in the order of their strata; numbers of strata may have gaps."""
        used, dense = np.unique(strata, return_inverse=True)
        sizes, places = by_stratum(dense, used.size)
        return cls(sizes, swap[places], {name: codes[places] for name, codes in held.items()})

    @cached_property
    def strata(self) -> IntArray:
        """The stratum of each record."""
        return np.repeat(np.arange(self.sizes.size), self.sizes)

    @property
    def largest(self) -> int:
        """Records of the largest stratum: it decides what is lost."""
        return int(self.sizes.max())

    @property
    def alone(self) -> int:
        """Records that are alone in their stratum, and are published as they are."""
        return int(np.count_nonzero(self.sizes == 1))

    def swapped(self, rate: Fraction, entropy: Entropy) -> "Swapped":
        """Swap once; in each stratum records come in a new order."""
        drawn = permute(self.sizes, rate, entropy)
        held = {name: codes[drawn.order] for name, codes in self.held.items()}
        after = Microdata(self.sizes, self.swap[drawn.source][drawn.order], held)
        return Swapped(after, int(drawn.moved.sum()))


class Swapped(NamedTuple):
    """Swapped records, and how many of them were moved."""

    records: Microdata
    moved: int


@dataclass(frozen=True, eq=False)
class TwoWay:
    """A table of areas by what is held; ``areas`` has the area of each level of what is swapped."""

    held: str
    areas: IntArray

    def counts(self, records: Microdata) -> IntArray:
        """Return the table of some records."""
        return cross(self.areas[records.swap], records.held[self.held])

    def expected(self, records: Microdata, rate: Fraction) -> Floats:
        """Return the mean of the table over all swaps."""
        area, held = self.areas[records.swap], records.held[self.held]
        moves = move_probability(records.sizes, rate)
        others = np.maximum(records.sizes - 1, 1)
        stays = 1 - moves - moves / others
        shape = int(area.max()) + 1, int(held.max()) + 1
        flat = np.bincount(area * shape[1] + held, stays[records.strata], shape[0] * shape[1])
        by_area, by_held = cross(records.strata, area), cross(records.strata, held)
        return flat.reshape(shape) + by_area.T @ (by_held * (moves / others)[:, None])


def cross(rows: IntArray, columns: IntArray) -> IntArray:
    """Return how many records have each pair of codes."""
    shape = int(rows.max()) + 1, int(columns.max()) + 1
    return np.bincount(rows * shape[1] + columns, minlength=shape[0] * shape[1]).reshape(shape)


def move_probability(sizes: IntArray, rate: Fraction) -> Floats:
    """Return with what probability a record of a stratum moves."""
    p, n = float(rate), sizes.astype(np.float64)
    rest = (1 - p) ** (n - 1)
    return np.where(sizes > 1, p * (1 - rest) / np.where(sizes > 1, 1 - n * p * rest, 1), 0.0)


def broken(before: Microdata, after: Microdata) -> list[str]:
    """Return the invariants that a swap did not keep, in integers."""
    tables = {"swapped": (before.swap, after.swap)}
    tables |= {name: (codes, after.held[name]) for name, codes in before.held.items()}
    return [
        f"stratum x {name}"
        for name, (old, new) in tables.items()
        if not np.array_equal(cross(before.strata, old), cross(after.strata, new))
    ]


def mape(true: IntArray, found: NDArray[np.int64] | Floats) -> float:
    """Return the mean absolute percentage error over the cells that are not empty."""
    full = true > 0
    return float(100 * (np.abs(found - true)[full] / true[full]).mean())
