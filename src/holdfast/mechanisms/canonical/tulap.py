"""Tulap noise: canonical for (epsilon, delta) [semi-dp, Section 5.3].

With b = exp(-epsilon), let K have P(k) = (1 - b)/(1 + b) b^|k| on the integers (discrete Laplace) and V be
uniform on (-1/2, 1/2). Then N_0 = K + V has, for x <= 0 in [-m - 1/2, -m + 1/2),

    F_0(x) = b^m (b + (x + m + 1/2)(1 - b)) / (1 + b),

and F_0(x - 1) = b F_0(x) there, which is F_0(x - 1) = f(1 - F_0(x)) for f of pure epsilon. For delta > 0
the law is that of N_0 between its quantiles q/2 and 1 - q/2, where

    q = 2 delta b / (1 - b + 2 delta b).

Drawing: K is drawn in integers, and the cell of V on the grid is a uniform 32-bit word, since cells of K
begin on the grid. Between the quantiles means |N_0| < t with F_0(-t) = q/2; a draw beyond is drawn again.
Enclosures of t decide all cells but the one that t cuts, and there t is refined together with the
position of N_0. For 0 < delta < 1 the quantile -t is never at an end of a cell of K: that would make b a
root of delta (1 + b) = b^m (1 - b + 2 delta b), but b = exp(-epsilon) is transcendental.

**The sum of S independent ones**, by convolution. Cut the line into cells of width 1 / G that begin at
half-integers. Inside a cell the density of Tulap noise is constant, but for the two cells that the ends of
its support cut when delta > 0. So N = (I + V) / G - 1/2 with the index I of the cell and V uniform on (0,
1), independent, and

    G (sum N_s + S/2) = sum I_s + sum V_s.

The first sum is a convolution; the second has the Irwin-Hall law, whose density M_S is given by

    M_n(x) = (x M_(n-1)(x) + (n - x) M_(n-1)(x - 1)) / (n - 1),

and its distribution function at x by sum over i >= 0 of M_(S+1)(x - i): all terms are positive, so nothing
cancels. With delta = 0 this is exact for G = 1. Else N is replaced by a law that differs from it in two cells
only: the distribution function of the sum is off by at most S times the mass of these cells.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from math import sqrt
from typing import ClassVar

import flint
import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.mechanisms.canonical.noise import (
    FARTHEST,
    GRID_BITS,
    LARGEST,
    CanonicalNoise,
    place,
    require_room,
)
from holdfast.mechanisms.mechanism import in_integers
from holdfast.privacy.claims import claim
from holdfast.privacy.evidence import Evidence, Proved
from holdfast.sampling.decisions import exp_of_minus, is_below, real
from holdfast.sampling.entropy import Entropy, short_words
from holdfast.sampling.numbers.exponential import DoubleGeometric
from holdfast.sampling.rejection import until_accepted
from holdfast.system.errors import GuaranteeError, SamplingError

SMALLEST = Fraction(1, 1 << 20)
LARGEST_EPSILON = 10**6
SMALLEST_DELTA = Fraction(1, 10**300)
LEAST_KEPT = Fraction(1, 1000)
PRECISION = 256


@dataclass(frozen=True)
class Tulap(CanonicalNoise):
    """The canonical noise of (epsilon, delta)."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    certified: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= LARGEST_EPSILON:
            raise GuaranteeError("Tulap noise needs a positive epsilon of at most 1e6: give such a one.")
        if self.delta != 0 and not SMALLEST_DELTA <= self.delta < 1:
            raise GuaranteeError(
                "Tulap noise needs a delta of 0, or from 1e-300 to below 1: give such a one."
            )

    def cdf(self, x: FloatArray) -> FloatArray:
        """Return F(x), from the left half by symmetry."""
        size = np.minimum(np.abs(np.asarray(x, dtype=np.float64)), FARTHEST)
        m = np.floor(size + 0.5)
        inside = m + 0.5 - size
        lower = np.exp(-self._epsilon * m) * (self._b + inside * self._step) / (1 + self._b)
        lower = np.maximum(0.0, lower - self._cut) / self._kept
        return np.where(x <= 0, lower, 1 - lower)

    def quantile(self, u: FloatArray) -> FloatArray:
        """Return F^-1(u)."""
        u = np.asarray(u, dtype=np.float64)
        lower = self._cut + self._kept * np.minimum(u, 1 - u)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = -np.log(lower * (1 + self._b)) / self._epsilon  # b^ratio = lower (1 + b)
            m = np.maximum(0.0, np.ceil(ratio - 1))
            inside = (np.exp(self._epsilon * (m - ratio)) - self._b) / self._step
            size = np.where(lower > 0, m + 0.5 - np.clip(inside, 0.0, 1.0), np.inf)
        return np.where(u <= 0.5, -size, size)

    def add_to(self, counts: IntArray, entropy: Entropy) -> FloatArray:
        """Return counts plus noise on the grid, exactly distributed."""

        def attempt(places: IntArray) -> tuple[IntArray, BoolArray]:
            drawn = self._cells(places.size, entropy)
            return drawn, self._within(drawn, entropy)

        cells = np.empty(counts.size, dtype=np.int64)
        until_accepted(attempt, cells)
        return place(counts, cells)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The law is canonical, and drawn exactly."""
        return (
            Proved(_canonical(self.epsilon, self.delta), "semi-dp, Definition 35; semi-dp, Section 5.3"),
            Proved(in_integers(), "holdfast, mechanisms/canonical/tulap.py"),
        )

    def _cells(self, size: int, entropy: Entropy) -> IntArray:
        whole = self._integers.sample(entropy, size)
        require_room(whole, LARGEST)
        return (whole << GRID_BITS) + short_words(entropy, size).astype(np.int64) - (1 << (GRID_BITS - 1))

    def _within(self, cells: IntArray, entropy: Entropy) -> BoolArray:
        """Decide |N_0| < t for an N_0 that is uniform in its cell."""
        if self.delta == 0:
            return np.ones(cells.size, dtype=np.bool_)
        outwards = np.where(cells < 0, -1 - cells, cells)  # the cell of |N_0|
        low, high = real(self._reach)(0)
        within: BoolArray = outwards < low
        for i in np.flatnonzero(~within & (outwards <= high)):
            j, word = int(outwards[i]), int(entropy.words(1)[0])
            within[i] = is_below(word, 64, real(partial(self._reach, j)), entropy)
        return within

    def _reach(self, cell: int = 0) -> flint.arb:
        """Return a ball around 2^32 t - cell, at the working precision."""
        b = exp_of_minus(self.epsilon)
        m = self._last
        inside = (self._half_cut() * (1 + b) * exp_of_minus(-m * self.epsilon) - b) / (1 - b)
        return (m + flint.arb(1) / 2 - inside) * flint.arb(2) ** GRID_BITS - cell

    def _half_cut(self) -> flint.arb:
        b = exp_of_minus(self.epsilon)
        delta: flint.arb = flint.arb(self.delta.numerator) / self.delta.denominator
        return delta * b / (1 - b + 2 * delta * b)

    @cached_property
    def _last(self) -> int:
        """The least m with F_0(-m - 1/2) = b^(m + 1) / (1 + b) < q / 2."""
        m = max(0, int(-np.log(self._cut * (1 + self._b)) / self._epsilon) - 3)
        while not self._beyond(m):
            m += 1
        return m

    def _beyond(self, m: int) -> bool:
        bits = PRECISION
        while True:
            with flint.ctx.workprec(bits):
                b = exp_of_minus(self.epsilon)
                one, other = exp_of_minus((m + 1) * self.epsilon), self._half_cut() * (1 + b)
                if one < other or one > other:
                    return bool(one < other)
            bits *= 2

    def require_drawable(self) -> None:
        """Raise where the noise is too wide for integers, or hardly any is left."""
        if self.epsilon < SMALLEST:
            raise SamplingError(
                f"an epsilon of {float(self.epsilon):.1e} is too small for noise in 64-bit integers: give at"
                " least 1e-6."
            )
        if self._kept < LEAST_KEPT:
            raise SamplingError(
                f"a delta of {float(self.delta):.2g} beside an epsilon of {float(self.epsilon):.2g} leaves"
                " hardly any noise to draw from: give a smaller delta."
            )

    @cached_property
    def _integers(self) -> DoubleGeometric:
        self.require_drawable()
        return DoubleGeometric(self.epsilon)

    @cached_property
    def _epsilon(self) -> float:
        return float(self.epsilon)

    @cached_property
    def _b(self) -> float:
        return float(np.exp(-self._epsilon))

    @cached_property
    def _step(self) -> float:
        """1 - b."""
        return float(-np.expm1(-self._epsilon))

    @cached_property
    def _cut(self) -> float:
        """Q / 2."""
        delta = float(self.delta)
        return delta * self._b / (self._step + 2 * delta * self._b)

    @cached_property
    def _kept(self) -> float:
        """1 - q."""
        return self._step / (self._step + 2 * float(self.delta) * self._b)


@claim("canonical-tulap")
def _canonical(epsilon: Fraction, delta: Fraction) -> str:
    return (
        f"Tulap noise with epsilon {epsilon} and delta {delta} is canonical: a count that moves by at most 1"
        " keeps them"
    )


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
