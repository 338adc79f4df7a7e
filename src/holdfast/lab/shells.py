"""How many lattice points have each norm, counted exactly; and with that the laws of l2 and Gaussian noise.

Let v_1, ..., v_m be orthogonal vectors of a lattice L of rank m. In the coordinates y_i = z v_i / g_i, g_i
their greatest common divisor over L, ||z||^2 = sum of y_i^2 g_i^2 / ||v_i||^2, and adding v_i moves y_i
alone, by a period p_i. So L is a union of finitely many boxes c + p_1 Z x ... x p_m Z, and the theta series

    sum over z in L of q^(||z||^2)  =  sum over c of prod_i sum over y = c_i modulo p_i of q^(u_i y^2)

is a sum of products of power series in one variable, all in whole numbers. Many boxes have the same product.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import exp, isqrt, lgamma, log, pi, sqrt

import numpy as np
from flint import fmpz_poly
from numpy.typing import NDArray
from scipy.special import gammaincc

from holdfast.lattice.arrays import IntArray

Floats = NDArray[np.float64]
Series = tuple[int, int, int]
"""The sum of q^(unit y^2) over y = residue modulo period, as (unit, period, residue)."""


def shell_counts(basis: IntArray, frame: IntArray, most: int) -> list[int]:
    """Return how many points of a lattice have ||z||^2 = 0, 1, ..., most.

    ``frame`` has as many orthogonal vectors of the lattice as ``basis`` has rows.
    """
    squares = (frame * frame).sum(axis=1)
    if frame.shape != basis.shape or (frame @ frame.T != np.diag(squares)).any():
        raise ValueError("a frame has orthogonal vectors, as many as the lattice has dimensions")
    products = basis @ frame.T
    divisors = np.gcd.reduce(products, axis=0)
    periods = squares // divisors
    scale = int(np.lcm.reduce(squares // np.gcd(squares, divisors**2)))
    units = divisors**2 * scale // squares
    kinds = Counter(
        tuple(
            sorted((int(u), int(p), min(c, int(p) - c)) for u, p, c in zip(units, periods, box, strict=True))
        )
        for box in _boxes(products // divisors, periods)
    )
    power = _Powers(most * scale)
    total = fmpz_poly([0])
    for kind, boxes in kinds.items():
        product = fmpz_poly([1])
        for series, times in Counter(kind).items():
            product = power.cut(product * power.of(series, times))
        total += boxes * product
    counts = [int(count) for count in total.coeffs()]
    return (counts + [0] * (most * scale + 1 - len(counts)))[::scale]


def _boxes(steps: IntArray, periods: IntArray) -> Iterator[tuple[int, ...]]:
    """Yield the classes of the lattice modulo the periods."""
    start = (0,) * periods.size
    seen, left = {start}, [start]
    while left:
        box = left.pop()
        yield box
        for beside in ((np.array(box) + steps) % periods).tolist():
            if tuple(beside) not in seen:
                seen.add(tuple(beside))
                left.append(tuple(beside))


class _Powers:
    """Powers of one-dimensional series, up to some degree."""

    def __init__(self, degree: int) -> None:
        self._degree = degree
        self.of = lru_cache(maxsize=None)(self._of)

    def cut(self, series: fmpz_poly) -> fmpz_poly:
        """Return a series without its terms beyond the degree."""
        return fmpz_poly(series.coeffs()[: self._degree + 1])

    def _of(self, series: Series, times: int) -> fmpz_poly:
        if times > 1:
            return self.cut(self.of(series, times // 2) * self.of(series, times - times // 2))
        unit, period, residue = series
        terms = [0] * (self._degree + 1)
        reach = isqrt(self._degree // unit)
        for y in range(-reach, reach + 1):
            terms[unit * y * y] += (y - residue) % period == 0
        return fmpz_poly(terms)


@dataclass(frozen=True)
class ShellLattice:
    """A lattice as its tail bounds see it: its dimension, its volume, and the counts of its shells."""

    dimension: int
    volume: float
    counts: tuple[int, ...]

    @classmethod
    def of(cls, basis: IntArray, frame: IntArray, most: int) -> "ShellLattice":
        """Count the shells up to ||z||^2 = most."""
        gram = (basis @ basis.T).astype(np.float64)
        volume = sqrt(round(float(np.linalg.det(gram))))
        return cls(basis.shape[0], volume, tuple(shell_counts(basis, frame, most)))

    @property
    def ball(self) -> float:
        """V, the volume of the unit ball."""
        return exp(self.dimension / 2 * log(pi) - lgamma(self.dimension / 2 + 1))

    @property
    def norms(self) -> Floats:
        """The norms that points have, the least first."""
        return np.sqrt(np.flatnonzero(np.array(self.counts, dtype=np.float64)))

    @property
    def points(self) -> Floats:
        """How many points have each of these norms."""
        counts = np.array(self.counts, dtype=np.float64)
        return counts[counts > 0]


@dataclass(frozen=True, eq=False)
class RadialLaw:
    """P(z) prop. to a function of ||z||_2, told by the norms.

    Attributes:
        lattice: where z lives.
        weights: of all points of each norm together.
        beyond: of all points that were not counted, by their volume, which is off by less than a thousandth
            for balls of that size.
        beyond_mean: the same, each weight times its norm.

    """

    lattice: ShellLattice
    weights: Floats
    beyond: float
    beyond_mean: float

    @classmethod
    def laplace(cls, lattice: ShellLattice, epsilon: float) -> "RadialLaw":
        """P(z) prop. to exp(-epsilon ||z||)."""
        m, end = lattice.dimension, float(lattice.norms[-1])
        surface = m * lattice.ball / lattice.volume
        beyond, beyond_mean = (
            surface * exp(lgamma(k) - k * log(epsilon)) * float(gammaincc(k, epsilon * end))
            for k in (m, m + 1)  # the integral of r^(k-1) exp(-epsilon r) from the end on
        )
        return cls(lattice, lattice.points * np.exp(-epsilon * lattice.norms), beyond, beyond_mean)

    @classmethod
    def gaussian(cls, lattice: ShellLattice, variance: float) -> "RadialLaw":
        """P(z) prop. to exp(-||z||^2 / (2 variance))."""
        m, end = lattice.dimension, float(lattice.norms[-1])
        surface = m * lattice.ball / lattice.volume
        beyond, beyond_mean = (
            surface
            * exp(lgamma(k / 2) + k / 2 * log(2 * variance))
            / 2
            * float(gammaincc(k / 2, end * end / (2 * variance)))
            for k in (m, m + 1)  # the integral of r^(k-1) exp(-r^2 / (2 variance)) from the end on
        )
        weights = lattice.points * np.exp(-(lattice.norms**2) / (2 * variance))
        return cls(lattice, weights, beyond, beyond_mean)

    @property
    def normaliser(self) -> float:
        """The sum of all weights; that of z = 0 is 1."""
        return float(self.weights.sum()) + self.beyond

    @property
    def tails(self) -> Floats:
        """P(||z|| >= r) for each norm r."""
        return (np.cumsum(self.weights[::-1])[::-1] + self.beyond) / self.normaliser

    @property
    def mean_norm(self) -> float:
        """E ||z||."""
        return (float(self.weights @ self.lattice.norms) + self.beyond_mean) / self.normaliser

    def norm_with_tail(self, share: float) -> float:
        """Return the least norm r with P(||z|| >= r) <= share."""
        return float(self.lattice.norms[np.flatnonzero(self.tails <= share)[0]])
