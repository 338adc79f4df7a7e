"""How far counts are off: the laws of errors of some counts, and what they come to.

All laws are symmetric about 0. Each tells the standard deviation, the mean absolute error, and the least c
with P(|error| <= c) of a level at least.

    WholeNormal    the discrete Gaussian law on whole numbers. A linear form w'z of Gaussian noise with form Q
                   has it with w'Q^-1 w, but for the ripple of a theta function [theory, 13];
    NearNormal     a real number; ``shape`` scales a normal law where the tails are heavier;
    Radial         sqrt(w'F^-1 w) G U / kappa, G of a gamma law with shape n and U one coordinate of the unit
                   sphere in n dimensions: a linear form of noise with density exp(-kappa sqrt(z'Fz));
    Closed         v S with a closed form [holdfast, sampling/lattice/linear_law.py];
    Empirical      simulated.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, exp, lgamma, log, pi, sqrt
from typing import Protocol

import numpy as np
import scipy

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.sampling.lattice.linear_law import MixedSumLaw, SumLaw

WIDE = 400.0
"""A variance from which on sums over whole numbers are told by areas, to 1e-4 of the chance."""
REACH = 12
"""Standard deviations that are listed."""
POINTS = 400
"""Places of a mean over the radius."""
DIGITS = 4
"""Variances that agree in so many digits are taken as one, the largest of all as it is."""


@lru_cache(maxsize=1)
def _rule() -> tuple[FloatArray, FloatArray]:
    """Return places and weights for that mean; they take a tenth of a second, so not where nobody asks."""
    places, weights = np.polynomial.legendre.leggauss(POINTS)
    return places, weights


class ErrorLaw(Protocol):
    """The law of the error of one count."""

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        ...

    @property
    def mean_absolute(self) -> float:
        """The mean of the size."""
        ...

    def half_width(self, level: Fraction) -> float:
        """Return the least c with P(|error| <= c) >= level."""
        ...


@dataclass(frozen=True)
class WholeNormal:
    """P(s) proportional to exp(-s^2 / (2 variance)) over whole numbers."""

    variance: float

    @cached_property
    def _chances(self) -> FloatArray:
        """P(|S| = 0), P(|S| = 1), ..."""
        s = np.arange(ceil(REACH * sqrt(self.variance)) + 2, dtype=np.float64)
        weight = np.exp(-(s**2) / (2 * self.variance))
        weight[1:] *= 2
        return np.asarray(weight / weight.sum())

    @property
    def deviation(self) -> float:
        """Near the root of the parameter; smaller where that is small."""
        if self.variance > WIDE:
            return sqrt(self.variance)
        return sqrt(float(self._chances @ np.arange(self._chances.size) ** 2.0))

    @property
    def mean_absolute(self) -> float:
        """The mean of the size."""
        if self.variance > WIDE:
            return sqrt(2 * self.variance / pi)
        return float(self._chances @ np.arange(self._chances.size))

    def half_width(self, level: Fraction) -> float:
        """Return a whole number."""
        if self.variance > WIDE:
            return float(max(0, ceil(sqrt(self.variance) * _normal(level) - 0.5)))
        return float(np.searchsorted(np.cumsum(self._chances), float(level) - 1e-12))


@dataclass(frozen=True, eq=False)
class Shape:
    """A law of variance 1: that of a simulation, by absolute values that rise, or the normal one."""

    sizes: FloatArray | None = None

    @cached_property
    def mean_absolute(self) -> float:
        """The mean of the size."""
        return sqrt(2 / pi) if self.sizes is None else float(self.sizes.mean())

    def half_width(self, level: Fraction) -> float:
        """Return the least c with P(|error| <= c) >= level."""
        if self.sizes is None:
            return _normal(level)
        return float(self.sizes[min(ceil(float(level) * self.sizes.size), self.sizes.size) - 1])


NORMAL = Shape()


@dataclass(frozen=True)
class NearNormal:
    """A shape, scaled to a variance."""

    variance: float
    shape: Shape = NORMAL

    @property
    def deviation(self) -> float:
        """The root of the variance."""
        return sqrt(self.variance)

    @property
    def mean_absolute(self) -> float:
        """The mean of the size."""
        return self.deviation * self.shape.mean_absolute

    def half_width(self, level: Fraction) -> float:
        """Return a real number."""
        return self.deviation * self.shape.half_width(level)


@dataclass(frozen=True)
class Radial:
    """scale G U in n dimensions, in whole steps."""

    scale: float
    dimension: int

    @property
    def deviation(self) -> float:
        """E G^2 = n (n + 1), E U^2 = 1 / n."""
        return self.scale * sqrt(self.dimension + 1)

    @property
    def mean_absolute(self) -> float:
        """E G = n, E |U| = Gamma(n / 2) / (sqrt(pi) Gamma((n + 1) / 2))."""
        n = self.dimension
        return self.scale * n * exp(lgamma(n / 2) - lgamma((n + 1) / 2)) / sqrt(pi)

    def half_width(self, level: Fraction) -> float:
        """Return a whole number: an area that reaches half a step farther."""
        return float(max(0, ceil(self.scale * _radial(self.dimension, level) - 0.5)))


@lru_cache(maxsize=256)
def _radial(dimension: int, level: Fraction) -> float:
    """Return the x with P(|G U| <= x) = level, by a mean over quantiles of G."""
    if dimension == 1:  # U is 1 or -1, and G exponential
        return -log(1 - float(level))
    places, weights = _rule()
    radius = scipy.special.gammaincinv(dimension, (places + 1) / 2)

    def reached(x: float) -> float:
        ratio = np.minimum(x / radius, 1.0) ** 2
        return float(weights @ scipy.special.betainc(0.5, (dimension - 1) / 2, ratio) / 2)

    low, high = 0.0, float(radius.max())
    for _ in range(60):
        x = (low + high) / 2
        low, high = (low, x) if reached(x) >= float(level) else (x, high)
    return high


@dataclass(frozen=True)
class Closed:
    """v S for a whole number v and a law of S."""

    step: int
    law: SumLaw | MixedSumLaw

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return self.step * self.law.deviation

    @property
    def mean_absolute(self) -> float:
        """The mean of the size."""
        return self.step * self.law.mean_absolute

    def half_width(self, level: Fraction) -> float:
        """Return a whole number."""
        return float(self.step * self.law.half_width(level))


@dataclass(frozen=True, eq=False)
class Empirical:
    """Sizes of simulated errors, rising, and how often each was seen; ``scale`` multiplies them."""

    sizes: FloatArray
    times: IntArray
    scale: float = 1.0

    @property
    def deviation(self) -> float:
        """The root of the mean square."""
        return self.scale * sqrt(float(self.times @ self.sizes**2) / float(self.times.sum()))

    @property
    def mean_absolute(self) -> float:
        """The mean of the size."""
        return self.scale * float(self.times @ self.sizes) / float(self.times.sum())

    def half_width(self, level: Fraction) -> float:
        """Return a value of which so many are no larger."""
        place = int(np.searchsorted(np.cumsum(self.times), float(level) * float(self.times.sum())))
        return self.scale * float(self.sizes[min(place, self.sizes.size - 1)])


@dataclass(frozen=True, eq=False)
class CountErrors:
    """The laws of the errors of some counts, each with how many counts have it; others are exact.

    Attributes:
        laws: of the counts that noise can move.
        exact: how many the invariants determine.
        unknown: how many nothing tells of.
        draws: how many draws stand behind it, where it was simulated.

    """

    laws: tuple[tuple[ErrorLaw, int], ...]
    exact: int = 0
    unknown: int = 0
    draws: int | None = None

    @classmethod
    def of(cls, variances: FloatArray, make: Callable[[float], ErrorLaw]) -> "CountErrors":
        """Return the errors of counts by their variances: 0 where exact, infinite where unknown."""
        exact, unknown = int((variances == 0).sum()), int(np.isinf(variances).sum())
        some = variances[(variances > 0) & np.isfinite(variances)]
        if not some.size:
            return cls((), exact, unknown)
        unit = 10.0 ** (np.floor(np.log10(some)) - DIGITS + 1)
        near = np.where(
            some >= some.max() * (1 - 10.0 ** (1 - DIGITS)), some.max(), np.rint(some / unit) * unit
        )
        values, times = np.unique(near, return_counts=True)
        pairs = zip(values.tolist(), times.tolist(), strict=True)
        return cls(tuple((make(value), number) for value, number in pairs), exact, unknown)

    @property
    def is_exact(self) -> bool:
        """Whether noise moves none of the counts."""
        return not self.laws and not self.unknown

    @property
    def deviation(self) -> float:
        """The root of the mean square over all counts."""
        if self.unknown:
            return float("inf")
        return sqrt(sum(number * law.deviation**2 for law, number in self.laws) / self._number)

    @property
    def mean_absolute(self) -> float:
        """The mean size over all counts."""
        if self.unknown:
            return float("inf")
        return sum(number * law.mean_absolute for law, number in self.laws) / self._number

    def within(self, level: Fraction) -> float:
        """Return the least number that holds for each count: it is off by no more with the level at least."""
        if self.unknown:
            return float("inf")
        return max((law.half_width(level) for law, _ in self.laws), default=0.0)

    @property
    def _number(self) -> int:
        return max(1, self.exact + sum(number for _, number in self.laws))


def _normal(level: Fraction) -> float:
    return float(scipy.special.ndtri((1 + float(level)) / 2))
