"""Normalisers of releases with totals: sums C(x) of prod_j h_j(y_j) exp(-rate |y_j - x_j|^p) over releases.

Releases y have the totals of x, and no count below a number that is not negative; p is 1 or 2, and
h_j(k) = Gamma(k + a_j) / k!, which is 1 for a_j = 1. Totals are of separate cells, so C(x) is a product over
them, and for one total n it is a coefficient:

    C(x) = e^(-l n)  [s^n]  prod_j W_j(s),   W_j(s) = sum_k h_j(k) exp(-rate |k - x_j|^p + l k) s^k.

By a discrete Fourier transform of N points the coefficient is that of the sum modulo N. With the slope
l = log(n / (n + sum of a_j)) the h_j(k) e^(l k) are negative binomial laws whose means have the sum n; a
little more or less makes n the mean of the sum of releases of one table, the centre. N is many deviations of
the sum: what is folded onto the coefficient is below the rounding of floats. So are the terms that are left
out, below e^-45 of the largest.

A transform is right up to the rounding of its largest terms, so a coefficient below SMALL of them all is not
taken from it. Such a table has a slope of its own, and if that does not help, as where a release has two
likely places, its series are multiplied term by term: they are positive, and nothing cancels.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, log, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.fft import rfft
from scipy.special import gammaln

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.privacy.roots import zero
from holdfast.system.errors import SamplingError

Power = Literal[1, 2]
Spectrum = NDArray[np.complex128]
NEGLIGIBLE = 45.0
KEPT = 1 << 23
"""Numbers of series that are kept, as the same counts come back: 128 MB."""
MOST_KNOWN = 1 << 14
"""Tables of one total whose normalisers are kept, as chains come back to them."""
FEWEST_POINTS = 64
SMALL = 1e-7
"""Coefficients below this are not told from the rounding of a transform to nine digits."""
FAR_OUT = 20.0
"""Deviations from its mean that a sum of terms with exponential tails is not seen beyond."""
STEEP = 60.0
"""The most that a slope of its own is off the first one."""
MOST_TERMS = 1 << 24
MOST_PRODUCTS = 1 << 30
"""Terms, and products of two, that one table may take."""


@dataclass(frozen=True, eq=False)
class TotalNormaliser:
    """log C(x) for cells with one total, for tables x around a centre."""

    total: int
    pseudo: FloatArray
    rate: float
    power: Power
    low: IntArray
    centre: IntArray
    _series: "OrderedDict[tuple[int, int], tuple[float, float, float, Spectrum]]" = field(
        default_factory=OrderedDict
    )
    _known: dict[bytes, float] = field(default_factory=dict)

    def log(self, table: IntArray) -> float:
        """Return log C of a table."""
        key = table.tobytes()
        if key not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.pop(next(iter(self._known)))
            self._known[key] = self._log(table)
        return self._known[key]

    def _log(self, table: IntArray) -> float:
        slope, points = self._plan
        product = np.ones(points // 2 + 1, dtype=np.complex128)
        logs, mean, variance = 0.0, 0.0, 0.0
        for cell, x in enumerate(table.tolist()):
            size, own, spread, spectrum = self._transformed(cell, x)
            product *= spectrum
            logs, mean, variance = logs + size, mean + own, variance + spread
        share = float((product * self._turn).real.sum()) / points
        if share < SMALL or self._folded(points, mean, variance):
            return self._alone(table)
        return logs + log(share) - slope * self.total

    def _folded(self, points: int, mean: float, variance: float) -> bool:
        """Whether sums that are not the total, but equal it modulo the points, may count."""
        return points - abs(mean - self.total) < FAR_OUT * sqrt(variance)

    def _alone(self, table: IntArray) -> float:
        """Return log C of a table by series of its own, with all their terms."""
        if table.size * (self.total + 1) > MOST_TERMS:
            raise self._too_large
        series = [self._every_term(cell, x) for cell, x in enumerate(table.tolist())]
        slope = self._own_slope(series)
        logs, mean, variance, parts = 0.0, 0.0, 0.0, []
        for counts, terms in series:
            tilted = terms + slope * counts
            top, (own, spread) = float(tilted.max()), _moments(counts, tilted)
            parts.append((int(counts[0]), np.exp(tilted - top)))
            logs, mean, variance = logs + top, mean + own, variance + spread
        points = 1 << ceil(log(max(32 * sqrt(variance), FEWEST_POINTS), 2))
        product = np.ones(points // 2 + 1, dtype=np.complex128)
        for first, shares in parts:
            places = np.arange(first, first + shares.size) % points
            whole = float(shares.sum())
            product *= rfft(np.bincount(places, weights=shares / whole, minlength=points))
        share = float((product * _turn(points, self.total)).real.sum()) / points
        if share >= SMALL and not self._folded(points, mean, variance):
            return (
                logs + sum(log(float(shares.sum())) for _, shares in parts) + log(share) - slope * self.total
            )
        return logs + self._multiplied(parts) - slope * self.total

    def _every_term(self, cell: int, x: int) -> tuple[IntArray, FloatArray]:
        counts = np.arange(int(self.low[cell]), self.total + 1)
        apart = np.abs(counts - x).astype(np.float64)
        logs = _log_weights(float(self.pseudo[cell]), counts) - self.rate * apart**self.power
        return counts, logs

    def _own_slope(self, series: list[tuple[IntArray, FloatArray]]) -> float:
        """Return the slope that makes the total the mean of the sum of releases, or one that is steep."""

        def off(slope: float) -> float:
            return sum(_moments(counts, terms + slope * counts)[0] for counts, terms in series) - self.total

        low, high = self._first_slope - STEEP, self._first_slope + STEEP
        if off(low) >= 0 or off(high) <= 0:
            return low if off(low) >= 0 else high
        return zero(off, low, high, xtol=1e-6, rtol=1e-9)

    def _multiplied(self, parts: list[tuple[int, FloatArray]]) -> float:
        """Return the logarithm of a coefficient by multiplying series term by term."""
        if (self.total + 1) ** 2 * len(parts) > MOST_PRODUCTS:
            raise self._too_large
        left = self.total - sum(first for first, _ in parts)
        found, logs = np.ones(1), 0.0
        for _, shares in parts:
            found = np.convolve(found, shares)[: left + 1]
            top = float(found.max())
            found, logs = found / top, logs + log(top)
        if left >= found.size or not found[left] > 0:
            raise self._too_large
        return logs + log(float(found[left]))

    @property
    def _too_large(self) -> SamplingError:
        return SamplingError(
            "past counts and release are so far apart that the law of the release cannot be worked out for"
            f" totals of {self.total:,}: ask for a posterior of another release."
        )

    @property
    def work(self) -> float:
        """How many numbers a normaliser takes, about."""
        return float(self.pseudo.size * (4 * self._reach + self._plan[1]))

    @property
    def _reach(self) -> int:
        """How far from x and from the mean of h terms matter."""
        if self.power == 1:
            return ceil(NEGLIGIBLE / (0.5 * self.rate)) + 1
        return ceil(sqrt(NEGLIGIBLE / self.rate)) + 1

    @property
    def _first_slope(self) -> float:
        return log(self.total / (self.total + float(self.pseudo.sum()))) if self.total else -1.0

    @cached_property
    def _plan(self) -> tuple[float, int]:
        """The slope and the number of points, for the table at the centre."""

        def moments(more: float) -> tuple[float, float]:
            mean, variance = 0.0, 0.0
            for cell, x in enumerate(self.centre.tolist()):
                own, spread = _moments(*self._terms(cell, x, self._first_slope + more))
                mean, variance = mean + own, variance + spread
            return mean - self.total, variance

        edge = 0.4 * self.rate if self.power == 1 else 1.0
        if moments(-edge)[0] < 0 < moments(edge)[0]:
            more = zero(lambda each: moments(each)[0], -edge, edge, xtol=1e-3 * edge, rtol=1e-9)
        else:
            more = edge if moments(edge)[0] <= 0 else -edge
        deviation = sqrt(moments(more)[1])
        points = 1 << ceil(log(max(32 * deviation, 2 * self._reach, FEWEST_POINTS), 2))
        return self._first_slope + more, points

    @cached_property
    def _turn(self) -> Spectrum:
        return _turn(self._plan[1], self.total)

    def _transformed(self, cell: int, x: int) -> tuple[float, float, float, Spectrum]:
        """Return the logarithm of the sum of a series, and of its shares mean, variance and transform."""
        known = self._series.get((cell, x))
        if known is not None:
            return known
        slope, points = self._plan
        counts, logs = self._terms(cell, x, slope)
        top = float(logs.max())
        shares = np.exp(logs - top)
        whole = float(shares.sum())
        folded = np.bincount(counts % points, weights=shares / whole, minlength=points)
        found = (top + log(whole), *_moments(counts, logs), np.asarray(rfft(folded)))
        self._series[cell, x] = found
        if len(self._series) * points > KEPT and len(self._series) > 2 * self.pseudo.size:
            self._series.popitem(last=False)
        return found

    def _terms(self, cell: int, x: int, slope: float) -> tuple[IntArray, FloatArray]:
        """Return the counts of a cell that matter, and the logarithms of their terms."""
        a = float(self.pseudo[cell])
        mean = int(self.total * a / float(self.pseudo.sum()))
        least = int(self.low[cell])
        low = max(least, min(x, mean) - self._reach)
        high = max(low, min(self.total, max(x, mean) + self._reach))
        counts = np.arange(low, high + 1)
        apart = np.abs(counts - x).astype(np.float64)
        logs = slope * counts - self.rate * apart**self.power
        return counts, logs + self._log_weights(cell, low, high)

    def _log_weights(self, cell: int, low: int, high: int) -> FloatArray:
        """Return log h, from a table of the counts that come up most."""
        begin, known = self._tabulated[cell]
        if begin <= low and high < begin + known.size:
            return known[low - begin : high + 1 - begin]
        return _log_weights(float(self.pseudo[cell]), np.arange(low, high + 1))

    @cached_property
    def _tabulated(self) -> list[tuple[int, FloatArray]]:
        found = []
        for x, a in zip(self.centre.tolist(), self.pseudo.tolist(), strict=True):
            mean = int(self.total * a / float(self.pseudo.sum()))
            low, high = max(0, min(x, mean) - 2 * self._reach), max(x, mean) + 2 * self._reach
            found.append((low, _log_weights(a, np.arange(low, high + 1))))
        return found


def _turn(points: int, total: int) -> Spectrum:
    """Return what a transform is multiplied by, and summed, for the coefficient of a total."""
    sides = np.full(points // 2 + 1, 2.0)
    sides[0] = sides[-1] = 1.0
    angle = 2j * np.pi * (total % points) / points
    return np.asarray(sides * np.exp(angle * np.arange(sides.size)))


def _moments(counts: IntArray, logs: FloatArray) -> tuple[float, float]:
    """Return the mean and the variance of counts by the logarithms of their weights."""
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = float(weights @ counts)
    return mean, float(weights @ (counts - mean) ** 2)


def _log_weights(a: float, counts: IntArray) -> FloatArray:
    if a == 1:
        return np.zeros(counts.size)
    return np.asarray(gammaln(counts + a) - gammaln(counts + 1.0))


@dataclass(frozen=True, eq=False)
class Normaliser:
    """log C(x) for cells with separate totals, every cell in one."""

    cells: tuple[IntArray, ...]
    parts: tuple[TotalNormaliser, ...]

    @classmethod
    def of(
        cls,
        total_of: IntArray,
        totals: IntArray,
        low: IntArray,
        centre: IntArray,
        pseudo: FloatArray,
        *,
        rate: float,
        power: Power,
    ) -> "Normaliser":
        """Return the normaliser of cells by the number of their total, for tables around a centre."""
        cells = tuple(np.flatnonzero(total_of == number) for number in range(totals.size))
        parts = tuple(
            TotalNormaliser(int(total), pseudo[each], rate, power, low[each], centre[each])
            for each, total in zip(cells, totals, strict=True)
        )
        return cls(cells, parts)

    @property
    def work(self) -> float:
        """How many numbers a normaliser takes, about."""
        return sum(part.work for part in self.parts)

    def log(self, table: IntArray) -> float:
        """Return log C of a table."""
        return sum(part.log(table[each]) for each, part in zip(self.cells, self.parts, strict=True))
